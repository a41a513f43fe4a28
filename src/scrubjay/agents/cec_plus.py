"""CEC that explores further, joins what it knows and checks what it believes.

The same table and the same walk as `CEC`; only the settings differ, and they are the same for all
tasks: lengths are measured in steps, values in shares of the best at hand. What each of them is
worth is in docs/plus.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces

from scrubjay.agents.cec import CEC
from scrubjay.embedding import Chain, Embedding, FrozenNormalizer, GoalDifference, Periodic

DEFAULTS: Mapping[str, Any] = {
    "n_neighbors": 20,
    "temperature": 0.02,
    "temperature_unit": "best",
    "radius_factor": 6.0,
    "distance_threshold": "step",
    "epsilon": 0.05,
    "epsilon_spread": 20.0,
    "exploration": "uniform",
    "hold": 100,
    "skip_worthless": True,
    "detour_cost": 1.3,
    "stitching": True,
    "correction": 0.3,
    "timeouts": "continue",
}


class CECPlus(CEC):
    """`CEC` with one setting for all tasks; every argument of `CEC` may still be given.

    Keys are the observations, divided by their spread in the first 1,000 steps; of a dictionary
    with goals the difference of desired and achieved goal. `periodic` names the dimensions of the
    observation that are angles in radians; `embedding` replaces all of that.
    """

    name = "cec-plus"

    def __init__(self, env: Any, *, periodic: Sequence[int] = (), **settings: Any) -> None:
        self._periodic = tuple(periodic)
        super().__init__(env, **{**DEFAULTS, **settings})
        # `config` has both, and they agree
        if self._periodic not in ((), self.periodic):
            raise ValueError(
                "periodic dimensions are for the default embedding: give one of both, or an "
                f"embedding with Periodic({list(self._periodic)})"
            )

    @property
    def periodic(self) -> tuple[int, ...]:
        """The dimensions that the embedding takes as angles."""
        stages = self.embedding.stages if isinstance(self.embedding, Chain) else (self.embedding,)
        return tuple(i for stage in stages if isinstance(stage, Periodic) for i in stage.dimensions)

    def config(self) -> dict[str, Any]:
        # left out where there are none, as in files that are older than this entry
        periodic = {"periodic": list(self.periodic)} if self.periodic else {}
        return {**super().config(), **periodic}

    def _default_embedding(self) -> Embedding:
        stages: list[Embedding] = [FrozenNormalizer(1000)]
        if self._periodic:
            stages.insert(0, Periodic(self._periodic))
        if has_goals(self.observation_space):
            stages.insert(0, GoalDifference())
        return stages[0] if len(stages) == 1 else Chain(stages)


def has_goals(space: spaces.Space[Any]) -> bool:
    """Whether observations say where things are and where they should be."""
    return isinstance(space, spaces.Dict) and {"achieved_goal", "desired_goal"} <= set(space.spaces)
