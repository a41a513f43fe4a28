"""The training of `LearnedEncoder`'s network, by PyTorch (an extra).

All random numbers are NumPy's, of the agent's seed, and one thread computes, so that a resumed run
trains the same network.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.embedding.encoder import N_UNITS, Layer, Steps, forward
from scrubjay.optional import require
from scrubjay.randomness import Stream, generator

BATCH = 128
LEARNING_RATE = 1e-3

Inputs = Callable[[npt.NDArray[Any]], npt.NDArray[np.float32]]


def trained_layers(
    layers: list[Layer], inputs: Inputs, steps: Steps, n_updates: int, seed: int
) -> list[Layer]:
    """Train a network.

    Args:
        layers: The network, with random weights.
        inputs: Turns observations into inputs of the network.
        steps: What was observed and done.
        n_updates: Gradient steps.
        seed: Decides every random number.

    Returns:
        The trained network, as arrays.
    """
    torch = require("torch", "deep")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rng = generator(seed, Stream.EMBEDDING, 1)
        task = Dynamics(torch, layers, steps, rng)
        optimizer = torch.optim.Adam(task.parameters, LEARNING_RATE)
        for _ in range(n_updates):
            optimizer.zero_grad()
            task.loss(lambda rows: torch.from_numpy(inputs(steps.vectors[rows]))).backward()
            optimizer.step()
    finally:
        torch.set_num_threads(n_threads)
    return [
        Layer(layer.patches, trained.weights.detach().numpy(), trained.bias.detach().numpy())
        for layer, trained in zip(layers, task.encoder(), strict=True)
    ]


class Dynamics:
    """Inverse dynamics and temporal contrast: which action was it, and which observation came next.

    The observations of a batch that came next elsewhere are the wrong answers of the second
    question (InfoNCE, with a bilinear score).
    """

    def __init__(
        self, torch: Any, layers: list[Layer], steps: Steps, rng: np.random.Generator
    ) -> None:
        self.torch, self.rng = torch, rng
        self.parameters: list[Any] = []
        dim = len(layers[-1].bias)
        kinds, actions = np.unique(steps.actions, axis=0, return_inverse=True)
        self._actions = torch.from_numpy(actions.reshape(-1).astype(np.int64))
        self._starts = np.flatnonzero(~steps.is_last)
        self._layers = self.trainable(layers)
        self._inverse = [self.linear(2 * dim, N_UNITS), self.linear(N_UNITS, len(kinds))]
        self._score = self.parameter(np.eye(dim))

    def loss(self, inputs: Callable[[npt.NDArray[np.int64]], Any]) -> Any:
        torch = self.torch
        rows = self._starts[self.rng.integers(len(self._starts), size=BATCH)]
        now, then = (forward(self._layers, inputs(rows + i)) for i in (0, 1))
        guess = forward(self._inverse, torch.cat([now, then], dim=1))
        entropy = torch.nn.functional.cross_entropy
        scores = now @ self._score @ then.T
        return entropy(guess, self._actions[rows]) + entropy(scores, torch.arange(BATCH))

    def encoder(self) -> list[Layer]:
        return self._layers

    def parameter(self, array: npt.NDArray[Any]) -> Any:
        tensor = self.torch.tensor(array, dtype=self.torch.float32, requires_grad=True)
        self.parameters.append(tensor)
        return tensor

    def linear(self, n_inputs: int, n_outputs: int) -> Layer:
        weights = self.rng.standard_normal((n_inputs, n_outputs)) * np.sqrt(2 / n_inputs)
        nothing = np.empty((0, 0), np.int64)
        return Layer(nothing, self.parameter(weights), self.parameter(np.zeros(n_outputs)))

    def trainable(self, layers: list[Layer]) -> list[Layer]:
        torch = self.torch
        return [
            Layer(torch.from_numpy(patches), self.parameter(weights), self.parameter(bias))
            for patches, weights, bias in layers
        ]
