"""The parts of a training that are set up before it begins: budget, evaluator, run folder."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from scrubjay.training.evaluation import Evaluator
from scrubjay.training.protocols import Described, Trained
from scrubjay.training.run_folder import RunFolder, command_line
from scrubjay.training.session import NEVER, Plan
from scrubjay.training.vec_env import FirstLane, is_vec_env, spec_of


class Budget:
    """The number of steps or episodes after which no further episode is begun."""

    def __init__(self, agent: Trained, timesteps: float | None, episodes: float | None) -> None:
        if (timesteps is None) == (episodes is None):
            raise ValueError("expected total_timesteps or total_episodes, one of the two")
        self._agent = agent
        self.unit = "steps" if timesteps is not None else "episodes"
        self.total = self.done + _whole(timesteps if timesteps is not None else episodes)

    @property
    def done(self) -> int:
        return self._agent.num_timesteps if self.unit == "steps" else self._agent.n_episodes

    @property
    def last_step(self) -> int:
        """The agent's step at which it is spent; unknown, and very large, for episodes."""
        return self.total if self.unit == "steps" else NEVER

    @property
    def spent(self) -> bool:
        return self.done >= self.total

    def allows_another(self, n_open: int) -> bool:
        """Whether a further episode may begin while `n_open` others are under way."""
        return not self.spent and (self.unit == "steps" or self.done + n_open < self.total)


def _whole(amount: Any) -> int:
    """A number of steps or episodes, also written as 1e6."""
    if isinstance(amount, float | np.floating) and float(amount).is_integer():
        amount = int(amount)
    if isinstance(amount, bool) or not isinstance(amount, int | np.integer) or amount < 0:
        raise ValueError(
            f"expected a whole number of steps or episodes of at least 0, got {amount!r}"
        )
    return int(amount)


def open_evaluator(
    env: Any,
    training_env: Any,
    eval_freq: int,
    n_episodes: int,
    seed: int,
    max_episode_steps: int | None,
    success_key: str | None,
) -> Evaluator | None:
    """The evaluator on an environment of its own, or none."""
    if env is None:
        if eval_freq:
            raise ValueError(
                "expected eval_env, an environment of its own for evaluation, because eval_freq is "
                f"{eval_freq}"
            )
        return None
    if env is training_env:
        raise ValueError("expected eval_env to be an environment of its own, got the training one")
    if isinstance(env, str):
        env = gymnasium.make(env)
    if is_vec_env(env):
        env = FirstLane(env)
    if not isinstance(env, gymnasium.Env):
        raise TypeError(
            "expected one Gymnasium environment, a VecEnv of Stable-Baselines3 or an id for "
            f"evaluation, got {type(env).__name__}"
        )
    return Evaluator(env, n_episodes, seed, max_episode_steps, success_key)


# ---------------------------------------------------------------- run folders


def open_folder(
    run_folder: Any,
    agent: Described,
    env: Any,
    budget: Budget,
    plan: Plan,
    evaluator: Evaluator | None,
    max_episode_steps: int | None,
    success_key: str | None,
    more: Mapping[str, Any] | None = None,
) -> RunFolder | None:
    """The run folder: none, one that is open already, or a new one at a path.

    A new one gets a config.json with everything that resuming needs.
    """
    if run_folder is None:
        return None
    if isinstance(run_folder, RunFolder):
        run_folder.update(status="running", finished=None)
        return run_folder
    config = {
        "agent": agent.name,
        **describe_environments(env, plan, evaluator, max_episode_steps),
        "success_key": success_key,
        "seed": agent.seed,
        "options": _checked_options(agent),
        "start_timestep": agent.num_timesteps,
        budget.unit: budget.total,
        **asdict(plan),
        **(more or {}),
    }
    if evaluator is not None:
        config["n_eval_episodes"] = evaluator.n_episodes
    return RunFolder.create(run_folder, config, command_line())


def _checked_options(agent: Described) -> dict[str, Any]:
    options = agent.config()
    for name, value in options.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"expected settings that can be written to config.json, got {name}={value!r}; "
                "train without a run folder, or use another value"
            ) from error
    return options


def describe_environments(
    env: Any, plan: Plan, evaluator: Evaluator | None, max_episode_steps: int | None
) -> dict[str, Any]:
    """How the environments can be made again, and whether their id is enough for that.

    Args:
        env: The training environment.
        plan: How often it is evaluated.
        evaluator: With the evaluation environment, if there is one.
        max_episode_steps: The cap that training was given.

    Returns:
        Entries of config.json: "task", "task_options", "max_episode_steps", "n_envs", and
        "env_by_id": false if only the program that started the run can make its environments.
    """
    found = _made_by(env)
    n_envs = getattr(env, "num_envs", 1)
    limits = [limit for limit in (found.get("limit"), max_episode_steps) if limit is not None]
    # without a frequency an evaluator only looks for the first greedy success; `--resume` has none
    same = evaluator is None or (plan.eval_freq > 0 and _made_by(evaluator.env) == found)
    spec = spec_of(env) if is_vec_env(env) else getattr(env, "spec", None)
    return {
        "task": spec.id if spec is not None else None,
        "task_options": found.get("options", {}),
        "max_episode_steps": min(limits, default=None),
        "n_envs": int(n_envs),
        "env_by_id": bool(found) and same,
    }


def _made_by(env: Any) -> dict[str, Any]:
    """The arguments of `gymnasium.make` that make this environment; empty if none do."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return {}
    registered = gymnasium.registry.get(spec.id)
    if registered is None or registered.additional_wrappers:
        return {}
    options, limit = dict(spec.kwargs), spec.max_episode_steps
    if isinstance(env, VectorEnv):
        # make_vec puts its own arguments there too
        mode = options.pop("vectorization_mode", "")
        if isinstance(env, VectorWrapper) or mode == "vector_entry_point" or "wrappers" in options:
            return {}
        options.pop("num_envs", None)
        options.pop("vector_kwargs", None)
        limit = options.pop("max_episode_steps", limit)
    elif not _is_as_made(env, registered):
        return {}
    for name, value in registered.kwargs.items():
        if options.get(name) == value:
            del options[name]
    if not _is_json(options) or (limit is None and registered.max_episode_steps is not None):
        return {}
    own_limit = None if limit == registered.max_episode_steps else limit
    return {"id": spec.id, "options": options, "limit": own_limit}


def _is_as_made(env: Any, registered: EnvSpec) -> bool:
    """Whether what `gymnasium.make` made has no wrappers but a time limit."""
    while isinstance(env, TimeLimit):
        env = env.env
    if registered.order_enforce:
        return isinstance(env, OrderEnforcing)
    return isinstance(env, PassiveEnvChecker) or not isinstance(env, gymnasium.Wrapper)


def _is_json(value: Any) -> bool:
    """Whether JSON gives the same value back; a tuple comes back as a list."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
