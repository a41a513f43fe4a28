"""A method of your own in one file: repeat the nearest success, unless a failure is nearer.

Each step of an episode is written to one of two memories, depending on whether the episode had a
reward. The agent finds the nearest row of both: if the success is nearer, its action is repeated;
otherwise, or with probability `epsilon`, the action is random.

To use it from a script, register it:

    import scrubjay

    scrubjay.register("nearest-success", "own_method:NearestSuccess")
    agent = scrubjay.make("nearest-success", "scrubjay/GrowingTree-v0", trust=3.0).learn(20_000)

For the command line, declare an entry point in the pyproject.toml of your package; once it is
installed, `scrubjay train nearest-success GrowingTree --trust 3` works like any other method:

    [project.entry-points."scrubjay.agents"]
    nearest-success = "own_method:NearestSuccess"
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from scrubjay import EpisodicMemory
from scrubjay.agents import CHOICE, Choice, Experience, Lanes, Learned, MemoryAgent, Range, Step
from scrubjay.agents.sampling import write_uniform_action

Floats = npt.NDArray[np.float64]


class NearestSuccess(MemoryAgent):
    """Repeats the nearest success, unless a failure is nearer.

    Args:
        env: A Gymnasium environment or vector environment, or an id.
        trust: a success may be this many times as far as the nearest failure
        epsilon: probability of a random action
        distance_threshold: states nearer than this are one row of a memory
        capacity: rows of each memory
        seed: determines all random numbers
    """

    name = "nearest-success"

    def __init__(
        self,
        env: Any,
        *,
        trust: Annotated[float, Range(0, above=True)] = 1.0,
        epsilon: Annotated[float, Range(0, 1)] = 0.1,
        distance_threshold: Annotated[float, Range(0)] = 0.01,
        capacity: Annotated[int, Range(1, 2**31 - 1)] = 10_000,
        seed: int = 0,
    ) -> None:
        super().__init__(env, locals())

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory for the steps of successful episodes, one for those of the others."""
        return {name: self._make_memory() for name in ("successes", "failures")}

    def _make_memory(self) -> EpisodicMemory:
        return EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={"action": self.codec.size},
        )

    def decide(self, lanes: Lanes, keys: Floats) -> int:
        """Choose the actions of training; `step.draws` are random numbers between 0 and 1."""
        successes, failures = self.memories.values()
        for step in lanes.steps(keys):
            row, distance = nearest(successes, step.key)
            _, limit = nearest(failures, step.key)
            if row < 0 or distance > self.trust * limit:
                self._act_at_random(step, Choice.NO_NEIGHBOR)
            elif step.draws[0] < self.epsilon:
                self._act_at_random(step, Choice.UNIFORM)
            else:
                step.action[:] = successes.columns["action"][row]
                step.trace[CHOICE] = Choice.MEMORY
        return -1

    def _act_at_random(self, step: Step, why: Choice) -> None:
        # the first two random numbers are for exploring and for choosing a neighbour
        write_uniform_action(self.codec.bounds, self.codec.discrete, step.draws[2:], step.action)
        step.trace[CHOICE] = why

    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """Choose the action of the nearest success; before the first one, the default action."""
        successes = self.memories["successes"]
        if len(successes) == 0:
            return np.repeat(self.codec.encode(self.codec.default())[None], len(keys), axis=0)
        rows, _ = successes.nearest(keys)
        actions: npt.NDArray[np.float32] = successes.columns["action"][rows]
        return actions

    def learn_from(self, experience: Experience) -> Learned:
        """Write an episode; of two close steps, the one nearer to the end is kept."""
        memory = self.memories["successes" if experience.rewards.sum() > 0 else "failures"]
        steps_left = np.arange(len(experience.rewards))[::-1]
        _, outcomes = memory.write_many(experience.keys, -steps_left, action=experience.actions)
        return Learned(outcomes)


def nearest(memory: EpisodicMemory, key: npt.NDArray[np.float32]) -> tuple[int, float]:
    """Return the nearest row and its distance; (-1, infinity) if there is none."""
    return memory.nearest(key) if len(memory) else (-1, np.inf)
