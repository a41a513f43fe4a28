"""Minari datasets: fill a memory from recorded episodes, and record episodes as a dataset."""

from typing import Any

import gymnasium
import numpy as np

from scrubjay.optional import require
from scrubjay.training.steps import over_parts, select


def learn_from_dataset(agent: Any, dataset: Any, n_episodes: int | None = None) -> Any:
    """Let an agent learn from recorded episodes as if it had run them itself.

    Every action that was executed is stored, with the return that followed. The agent's
    counters of steps and episodes continue.

    Args:
        agent: An agent that acts from memory.
        dataset: A `minari.MinariDataset`, or the id of one that is on this computer.
        n_episodes: How many episodes, from the first on; by default all.

    Returns:
        The agent.

    Raises:
        ImportError: If `dataset` is an id and Minari is not installed (extra `minari`).
        ValueError: If the dataset has other spaces than the agent.
    """
    if isinstance(dataset, str):
        dataset = require("minari", "minari").load_dataset(dataset)
    _check_spaces(agent, dataset)
    for number, recorded in enumerate(dataset.iterate_episodes()):
        if n_episodes is not None and number >= n_episodes:
            break
        episode = agent.begin_episode()
        n_steps = len(recorded.rewards)
        for step in range(n_steps):
            episode.act(select(recorded.observations, step))
            episode.record(float(recorded.rewards[step]), action=select(recorded.actions, step))
        episode.finish(select(recorded.observations, n_steps), bool(recorded.terminations[-1]))
    return agent


def _check_spaces(agent: Any, dataset: Any) -> None:
    for name in ("observation_space", "action_space"):
        expected, found = getattr(agent, name), getattr(dataset, name)
        if expected != found:
            raise ValueError(f"expected a dataset with the {name} {expected}, got {found}")


class DatasetRecorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the whole episodes that run through it, and saves them as a Minari dataset.

    >>> env = DatasetRecorder(gymnasium.make("scrubjay/GrowingTree-v0"))
    >>> env.episodes
    []

    Args:
        env: The environment. An agent can be trained on the recorder, or evaluated.

    Attributes:
        episodes: The whole episodes so far, each with `observations`, `actions`, `rewards`,
            `terminations` and `truncations`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes: list[dict[str, Any]] = []
        self._seed: int | None = None
        self._observations: list[Any] = []
        self._steps: list[tuple[Any, float, bool, bool]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; one that has not ended is dropped."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._seed, self._observations, self._steps = seed, [_copied(observation)], []
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and keep the episode when it ends."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observations.append(_copied(observation))
        self._steps.append((_copied(action), float(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            actions, rewards, ends, cuts = zip(*self._steps, strict=True)
            self.episodes.append(
                {
                    "seed": self._seed,
                    "observations": _stacked(self._observations),
                    "actions": np.stack(actions),
                    "rewards": list(rewards),
                    "terminations": list(ends),
                    "truncations": list(cuts),
                }
            )
        return observation, reward, terminated, truncated, info

    def save(self, dataset_id: str, **about: Any) -> Any:
        """Save the episodes as a dataset on this computer.

        Args:
            dataset_id: Its name, such as "tree/cec-v0".
            **about: Further arguments of `minari.create_dataset_from_buffers`, such as `author` or
                `algorithm_name`.

        Returns:
            The `minari.MinariDataset`.

        Raises:
            ImportError: If Minari is not installed (extra `minari`).
            ValueError: If no episode has ended.
        """
        minari: Any = require("minari", "minari")
        buffers: Any = require("minari.data_collector.episode_buffer", "minari")
        if not self.episodes:
            raise ValueError("expected at least one whole episode to save, got none")
        episodes = [
            buffers.EpisodeBuffer(id=number, **episode)
            for number, episode in enumerate(self.episodes)
        ]
        spaces = {
            "observation_space": self.env.observation_space,
            "action_space": self.env.action_space,
        }
        known = self.env if self.env.spec is not None else None
        # Minari warns unless it is told that evaluation is on the same task
        about = {"env": known, "eval_env": known, **about}
        return minari.create_dataset_from_buffers(dataset_id, episodes, **spaces, **about)


def _copied(value: Any) -> Any:
    """A copy: environments may return the same array again and again."""
    return over_parts(np.array, value)


def _stacked(values: list[Any]) -> Any:
    return over_parts(lambda *parts: np.stack(parts), *values)
