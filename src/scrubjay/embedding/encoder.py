"""Keys from a small network that is trained on the first steps and then never changes.

Until then keys are a random projection, so that the agent learns from its first episode on. When
enough steps are known, the network is trained, and the agent embeds what it has stored once more
(`EpisodicMemory.rekey`). PyTorch is needed for the training only (`encoder_training.py`); the keys
are computed by NumPy, and a saved agent needs nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.base import Bounds, Embedding, Vector, unbounded, whole_number
from scrubjay.embedding.flatten import Flattener
from scrubjay.embedding.images import Resize
from scrubjay.embedding.project import RandomProjection
from scrubjay.optional import require
from scrubjay.randomness import Stream, generator

Singles = npt.NDArray[np.float32]

SMALLEST = 3  # pixels on each side that the network can see
N_UNITS = 128  # of the layer before the keys
LARGE = 20  # pixels on each side from which on there are two convolutions with a stride of 2


class Layer(NamedTuple):
    """A linear layer, of all inputs or of patches of them: a convolution.

    Attributes:
        patches: (positions, inputs of a patch): which inputs each output position sees; all of
            them if it has no positions.
        weights: (inputs of a patch, outputs).
        bias: (outputs,).
    """

    patches: npt.NDArray[np.int64]
    weights: Any
    bias: Any


def forward(layers: Sequence[Layer], inputs: Any) -> Any:
    """Compute the outputs of a network for a batch of inputs, both NumPy's or both PyTorch's."""
    for i, (patches, weights, bias) in enumerate(layers):
        seen = inputs[:, patches] if len(patches) else inputs
        outputs = (seen @ weights + bias).reshape(len(inputs), -1)
        inputs = outputs if i + 1 == len(layers) else outputs.clip(min=0)
    return inputs


def patches_of(
    shape: tuple[int, int, int], side: int, stride: int
) -> tuple[npt.NDArray[np.int64], tuple[int, int]]:
    """The inputs of each patch of an image, (height, width, channels), and how many there are."""
    height, width, _ = shape
    places = np.arange(np.prod(shape)).reshape(shape)
    rows = range(0, height - side + 1, stride)
    columns = range(0, width - side + 1, stride)
    found = [places[i : i + side, j : j + side].ravel() for i in rows for j in columns]
    return np.array(found), (len(rows), len(columns))


def new_layers(shape: tuple[int, int, int], dim: int, rng: np.random.Generator) -> list[Layer]:
    """The network for images of this shape, (height, width, channels), with random weights."""
    convolutions = [(16, 4, 2), (32, 4, 2)] if min(shape[:2]) >= LARGE else [(16, 3, 1)]
    layers = []
    for n_filters, side, stride in convolutions:
        patches, places = patches_of(shape, side, stride)
        layers.append(_random_layer(patches, patches.shape[1], n_filters, rng))
        shape = (*places, n_filters)
    nothing = np.empty((0, 0), np.int64)
    layers.append(_random_layer(nothing, int(np.prod(shape)), N_UNITS, rng))
    return [*layers, _random_layer(nothing, N_UNITS, dim, rng)]


def _random_layer(
    patches: npt.NDArray[np.int64], n_inputs: int, n_outputs: int, rng: np.random.Generator
) -> Layer:
    weights = rng.standard_normal((n_inputs, n_outputs)) * np.sqrt(2 / n_inputs)
    return Layer(patches, weights.astype(np.float32), np.zeros(n_outputs, np.float32))


class Steps(NamedTuple):
    """The steps from which the network is trained, one episode after the other."""

    vectors: npt.NDArray[Any]
    """(n, inputs): the observations, as pixels."""
    keys: Singles
    """(n, dim): the first keys of the observations."""
    actions: Singles
    """(n, A): the executed actions."""
    is_last: npt.NDArray[np.bool_]
    """(n,): whether the next step is one of another episode."""


class LearnedEncoder(Embedding):
    """A small convolutional network, trained on the first steps and then frozen.

    It is trained to predict, from two successive observations, the action between them (inverse
    dynamics), and to distinguish the next observation from others (temporal contrast).

    Large images are grey and resized first; small ones, such as MinAtar's grids, are used as they
    are. It reads the observation itself and cannot be part of a `Chain`. Only methods that call two
    states the same if their keys are equal can use it (`MFEC`): after the training distances mean
    something else.

    Args:
        dim: Length of the keys.
        n_steps: Steps after which the network is trained, at the end of an episode.
        size: Height and width to which larger images are resized.
        n_updates: Gradient steps of the training.

    Raises:
        ValueError: If an argument is out of its range.
    """

    name = "learned_encoder"
    studies = True

    def __init__(
        self,
        dim: int = 32,
        n_steps: int = 10_000,
        size: int = 28,
        n_updates: int = 2_000,
    ) -> None:
        self.dim = whole_number("dim", dim, at_least=1)
        self.n_steps = whole_number("n_steps", n_steps, at_least=2)
        self.size = whole_number("size", size, at_least=8)
        self.n_updates = whole_number("n_updates", n_updates, at_least=1)

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        shape = space.shape or ()
        if len(shape) < 2 or not isinstance(space, gymnasium.spaces.Box):
            raise TypeError(f"expected a Box of images as the observation space, got {space}")
        if sorted(shape)[-2] > self.size:
            flattener = Resize(self.size).flattener(space)
            self._shape = self.size, self.size, flattener.size // self.size**2
            self._planes = True  # one frame after the other
        else:
            flattener = Flattener(space)
            self._planes = len(shape) == 3 and shape[0] < min(shape[1:])
            axes = (*shape[1:], shape[0]) if self._planes else shape
            self._shape = axes[0], axes[1], int(np.prod(axes[2:]))
        if min(self._shape[:2]) < SMALLEST:
            raise ValueError(f"expected images of at least 3 by 3 pixels, got {space}")
        self._pixels = flattener.picture_type
        self._range = float(np.min(space.low)), float(np.max(space.high))
        if not np.isfinite(self._range).all():
            raise ValueError(f"expected images with a lowest and a highest number, got {space}")
        return flattener

    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        self.input_dim, self.key_dim, self.seed = len(bounds[0]), self.dim, seed
        self._first = RandomProjection(self.dim)
        self._first.bind(bounds, seed)
        self.layers = new_layers(self._shape, self.dim, generator(seed, Stream.EMBEDDING))
        self.frozen = False
        self._steps: list[Steps] = []
        return unbounded(self.dim)

    def inputs(self, vectors: npt.NDArray[Any]) -> Singles:
        """Turn observations into inputs of the network, from 0 to 1, (n, height * width * ...).

        Args:
            vectors: One observation in each row.

        Returns:
            The inputs.
        """
        low, high = self._range
        # as whole pixels, so that stored and new observations have the same key
        pixels = vectors.astype(self._pixels).astype(np.float32)
        if self._planes:
            frames = pixels.reshape(len(vectors), self._shape[2], -1)
            pixels = np.ascontiguousarray(np.moveaxis(frames, 1, 2)).reshape(len(vectors), -1)
        return (pixels - np.float32(low)) * np.float32(1 / (high - low if high > low else 1.0))

    def embed(self, vector: Vector, out: Vector) -> None:
        if self.frozen:
            out[:] = forward(self.layers, self.inputs(vector[None]))[0]
        else:
            self._first.embed(vector, out)

    def require_extras(self) -> None:
        """Raise ImportError if PyTorch is missing and the network is not trained yet."""
        if not self.frozen:
            require("torch", "deep")

    def study(
        self, vectors: npt.NDArray[Any], keys: npt.NDArray[Any], actions: npt.NDArray[np.float32]
    ) -> bool:
        """Take in an episode; train the network when there are enough steps."""
        if self.frozen:
            return False
        last = np.arange(len(vectors)) == len(vectors) - 1
        self._steps.append(Steps(vectors, keys.astype(np.float32), actions.copy(), last))
        if sum(len(part.keys) for part in self._steps) < self.n_steps:
            return False
        from scrubjay.embedding.encoder_training import trained_layers

        steps = self._joined()
        self.layers = trained_layers(self.layers, self.inputs, steps, self.n_updates, self.seed)
        self.frozen = True
        self._known = {key.tobytes(): i for i, key in enumerate(steps.keys)}
        return True

    def translate(self, keys: Singles) -> Vector:
        """Return the keys of the network for first keys, right after the training."""
        vectors = self._joined().vectors
        found = [vectors[self._known[key.tobytes()]] for key in keys]
        new = np.empty((len(keys), self.dim))
        for vector, key in zip(found, new, strict=True):
            self.embed(vector, key)
        return new

    def forget(self) -> None:
        """Drop the observations of the training, which are not needed any more."""
        self._steps, self._known = [], {}

    def _joined(self) -> Steps:
        if not self._steps:
            empty = np.empty((0, self.input_dim), self._pixels)
            keys, actions = np.empty((0, self.dim), np.float32), np.empty((0, 1), np.float32)
            return Steps(empty, keys, actions, np.empty(0, np.bool_))
        if len(self._steps) > 1:
            self._steps = [Steps(*map(np.concatenate, zip(*self._steps, strict=True)))]
        return self._steps[0]

    def config(self) -> dict[str, Any]:
        return {
            "name": self.name, "dim": self.dim, "n_steps": self.n_steps, "size": self.size,
            "n_updates": self.n_updates,
        }  # fmt: skip

    def state(self) -> dict[str, npt.NDArray[Any]]:
        layers = {
            f"layer_{i}/{name}": getattr(layer, name).copy()
            for i, layer in enumerate(self.layers)
            for name in ("weights", "bias")
        }
        steps = {f"steps/{name}": part for name, part in self._joined()._asdict().items()}
        return {"frozen": np.array([self.frozen]), **layers, **steps}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        own = self.state()
        if state.keys() != own.keys():
            raise ValueError(f"expected the embedding's arrays {sorted(own)}, got {sorted(state)}")
        n_steps, n_actions = len(state["steps/keys"]), state["steps/actions"].shape[1:]
        for name, array in own.items():
            found, shape = state[name], array.shape
            if name.startswith("steps/"):  # there may be any number of them
                shape = n_steps, *(n_actions if name == "steps/actions" else shape[1:])
            if (found.dtype, found.shape) != (array.dtype, shape) or not np.isfinite(found).all():
                raise ValueError(
                    f"expected finite {array.dtype} of shape {shape} as the embedding's {name}, "
                    f"got {found.dtype} of shape {found.shape}"
                )
        self.layers = [
            Layer(layer.patches, *(state[f"layer_{i}/{part}"] for part in ("weights", "bias")))
            for i, layer in enumerate(self.layers)
        ]
        self.frozen = bool(state["frozen"][0])
        steps = Steps(*(state[f"steps/{name}"] for name in Steps._fields))
        self._steps = [steps] if len(steps.keys) else []
