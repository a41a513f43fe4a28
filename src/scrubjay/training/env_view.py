"""The training environment with the interface of Stable-Baselines3's `VecEnv`.

That is what `agent.get_env()` returns: the loops that people write with `model.get_env()`,
`evaluate_policy` and callbacks expect it. Stable-Baselines3 need not be installed.
"""

import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.training.environments import open_environment
from scrubjay.training.steps import stack_of_one
from scrubjay.training.vec_env import is_vec_env, spec_of


class EnvView:
    """A Gymnasium environment or vector environment with the methods of a `VecEnv`.

    Args:
        env: The environment; it is used as it is, not copied.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.num_envs: int = getattr(env, "num_envs", 1)
        self.observation_space = getattr(env, "single_observation_space", env.observation_space)
        self.action_space = getattr(env, "single_action_space", env.action_space)
        self.metadata: dict[str, Any] = env.metadata
        self.render_mode: str | None = env.render_mode
        self._source = open_environment(env)
        self._rng = np.random.default_rng()
        self._observations: Any = None
        self._actions: Any = None

    @property
    def unwrapped(self) -> "EnvView":
        """The view itself."""
        return self

    @property
    def envs(self) -> Sequence[gymnasium.Env[Any, Any]]:
        """The single environments, where they can be reached."""
        found: Sequence[gymnasium.Env[Any, Any]] = getattr(self.env, "envs", [self.env])
        return found

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the following resets."""
        self._rng = np.random.default_rng(seed)
        return [seed] * self.num_envs

    def reset(self) -> Any:
        """Start new episodes everywhere; returns the stack of first observations."""
        first, _ = self._source.reset(range(self.num_envs), self._seeds(self.num_envs), None)
        self._observations = first
        return self._stack(first)

    def step(self, actions: Any) -> tuple[Any, Any, npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Take a step everywhere; where an episode ends the next one begins at once.

        Args:
            actions: One action for each environment.

        Returns:
            The stacks of observations, rewards and ends, and an info for each environment, in
            which an ended one has its last observation as `terminal_observation`.
        """
        batched = self._source.batched
        step = self._source.step(actions if batched else np.asarray(actions)[0])
        stacked = self._source.stacked(step, actions)
        ended = self._source.ended(step)
        dones = np.zeros(self.num_envs, np.bool_)
        for lane in ended:
            last = self._source.last_step(lane, step)
            dones[lane] = True
            stacked.infos[lane] |= {
                **last.info,
                "terminal_observation": last.observation,
                "TimeLimit.truncated": last.truncated and not last.terminated,
            }
        observations = step[0]
        if ended:
            seeds = self._seeds(len(ended))
            observations, _ = self._source.reset(ended, seeds, observations)
        self._observations = observations
        return self._stack(observations), stacked.rewards.astype(np.float32), dones, stacked.infos

    def step_async(self, actions: Any) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take the step of `step_async`."""
        return self.step(self._actions)

    def render(self, mode: str | None = None) -> Any:  # noqa: ARG002
        """Render in the environment's own render mode."""
        return self.env.render()

    def get_images(self) -> list[Any]:
        """The pictures of all environments."""
        shown = self.env.render()
        return list(shown) if isinstance(shown, tuple | list) else [shown]

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each environment."""
        return [env.get_wrapper_attr(attr_name) for env in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each environment."""
        for env in self._chosen(indices):
            env.set_wrapper_attr(attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method of each environment; returns what they return."""
        found = [env.get_wrapper_attr(method_name) for env in self._chosen(indices)]
        return [method(*args, **kwargs) for method in found]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Whether each environment has a wrapper of that class."""
        return [_is_wrapped(env, wrapper_class) for env in self._chosen(indices)]

    def _chosen(self, indices: Any) -> list[gymnasium.Env[Any, Any]]:
        if indices is None:
            return list(self.envs)
        indices = [indices] if isinstance(indices, int) else indices
        return [self.envs[i] for i in indices]

    def _seeds(self, n: int) -> list[int]:
        return [int(seed) for seed in self._rng.integers(2**31, size=n)]

    def _stack(self, observations: Any) -> Any:
        if self._source.batched:
            return observations
        return stack_of_one(observations)

    def __repr__(self) -> str:
        return f"EnvView({self.env})"


def describe_env(env: Any) -> str:
    """An environment in a few characters: `<CartPole-v1>`, `<4 x CartPole-v1>`."""
    if env is None:
        return "None"
    spec = spec_of(env) if is_vec_env(env) else getattr(env, "spec", None)
    name = spec.id if spec is not None else type(getattr(env, "unwrapped", env)).__name__
    count = getattr(env, "num_envs", None)
    return f"<{name}>" if count is None else f"<{count} x {name}>"


def as_vec_env(env: Any) -> Any:
    """An environment of any kind as a `VecEnv`.

    If Stable-Baselines3 is loaded, the view counts as one of its own: `isinstance` says so.
    """
    if env is None or is_vec_env(env):
        return env
    loaded: Any = sys.modules.get("stable_baselines3.common.vec_env")
    if loaded is not None:
        loaded.DummyVecEnv.register(EnvView)
    return EnvView(env)


def _is_wrapped(env: Any, wrapper_class: type[Any]) -> bool:
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, wrapper_class):
            return True
        env = env.env
    return False
