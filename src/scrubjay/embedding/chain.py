"""Several embeddings applied in sequence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.base import Bounds, Embedding, Vector, check_state, load_embedding
from scrubjay.embedding.flatten import Flattener


class Chain(Embedding):
    """Applies several embeddings in sequence, each to the output of the one before it.

    Args:
        stages: The embeddings, or their configurations. Only the first may read the observation
            itself, as `SelectKeys` and `GoalDifference` do.

    Raises:
        ValueError: If there is no stage, or a later one reads the observation itself.
    """

    name = "chain"

    def __init__(self, stages: Sequence[Embedding | Mapping[str, Any]]) -> None:
        if not stages:
            raise ValueError("expected a chain of at least one stage, got none")
        self.stages = tuple(
            stage if isinstance(stage, Embedding) else load_embedding(stage) for stage in stages
        )
        if any(stage.studies for stage in self.stages):
            raise ValueError(
                "expected stages that do not change stored keys, got LearnedEncoder; use it alone, "
                "it reads images itself"
            )
        for stage in self.stages[1:]:
            if reads_observations(stage):
                raise ValueError(
                    "expected only the first stage of a chain to read the observation itself, got "
                    f"{type(stage).__name__} as a later one; make it the first stage"
                )

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        return self.stages[0].flattener(space)

    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        self.input_dim = len(bounds[0])
        for stage in self.stages:
            bounds = stage.bind(bounds, seed)
        self.key_dim = self.stages[-1].key_dim
        self._between = [np.empty(stage.key_dim) for stage in self.stages[:-1]]
        return bounds

    def _steps(self, vector: Vector, out: Vector) -> Iterator[tuple[Embedding, Vector, Vector]]:
        sources, targets = [vector, *self._between], [*self._between, out]
        return zip(self.stages, sources, targets, strict=True)

    def embed(self, vector: Vector, out: Vector) -> None:
        for stage in self.stages[:-1]:
            between = np.empty(stage.key_dim)  # not shared: several threads may embed at once
            stage.embed(vector, between)
            vector = between
        self.stages[-1].embed(vector, out)

    def observe(self, vector: Vector, out: Vector) -> None:
        for stage, source, target in self._steps(vector, out):
            stage.observe(source, target)
            if not stage.ready:
                return

    def observe_batch(self, vectors: Vector, out: Vector) -> None:
        for stage in self.stages[:-1]:
            between = np.empty((len(vectors), stage.key_dim))
            stage.observe_batch(vectors, between)
            if not stage.ready:
                return
            vectors = between
        self.stages[-1].observe_batch(vectors, out)

    def embed_batch(self, vectors: Vector) -> Vector:
        for stage in self.stages:
            vectors = stage.embed_batch(vectors)
        return vectors

    @property
    def ready(self) -> bool:
        return all(stage.ready for stage in self.stages)

    @property
    def learns(self) -> bool:
        return any(stage.learns for stage in self.stages)

    def end_episode(self) -> None:
        for stage in self.stages:
            stage.end_episode()

    def warm_up(self) -> None:
        for stage in self.stages:
            stage.warm_up()

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "stages": [stage.config() for stage in self.stages]}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {
            f"{index}/{key}": array
            for index, stage in enumerate(self.stages)
            for key, array in stage.state().items()
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        check_state(state, self.state())
        for index, stage in enumerate(self.stages):
            prefix = f"{index}/"
            stage.restore(
                {key[len(prefix) :]: a for key, a in state.items() if key.startswith(prefix)}
            )


def reads_observations(stage: Embedding) -> bool:
    """Whether a stage reads entries of the observation, not just any vector."""
    if isinstance(stage, Chain):
        return reads_observations(stage.stages[0])
    return type(stage).flattener is not Embedding.flattener
