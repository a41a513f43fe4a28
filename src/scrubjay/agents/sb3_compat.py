"""Compatibility with Stable-Baselines3: arguments and attributes that its users expect.

Every agent takes `verbose`, `tensorboard_log` and `device`, whether or not its constructor lists
them. They are not settings: they are neither in `config()` nor tuned. An argument or attribute that
only a network has raises an error of one line that says what to use instead.
"""

import difflib
import functools
import inspect
import secrets
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from scrubjay.agents.settings import settings_of

DEFAULTS: Mapping[str, Any] = {"verbose": 0, "tensorboard_log": None, "device": "auto"}

EPSILON = "write epsilon=(start, end, steps)"
NO_NETWORK = "it trains no network, leave it out"
# Arguments of Stable-Baselines3's constructors that memory agents do not have.
ARGUMENTS: Mapping[str, str] = {
    "buffer_size": "write capacity=, the rows of the memory",
    "exploration_fraction": EPSILON,
    "exploration_initial_eps": EPSILON,
    "exploration_final_eps": EPSILON,
    "action_noise": "write noise_std=, or exploration='uniform'",
    "learning_starts": "it learns from the first episode on, leave it out",
    "monitor_wrapper": "episodes are recorded without a Monitor, leave it out",
    "stats_window_size": "means are over the last 100 episodes, leave it out",
    **dict.fromkeys(
        (
            "policy_kwargs", "learning_rate", "batch_size", "tau", "train_freq", "gradient_steps",
            "n_steps", "n_epochs", "gae_lambda", "clip_range", "clip_range_vf", "ent_coef",
            "vf_coef", "max_grad_norm", "use_sde", "sde_sample_freq", "use_sde_at_warmup",
            "target_kl", "target_update_interval", "target_entropy", "target_policy_noise",
            "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
            "rollout_buffer_kwargs", "optimize_memory_usage", "normalize_advantage",
            "policy_delay", "_init_setup_model",
        ),
        NO_NETWORK,
    ),
}  # fmt: skip
# Attributes and methods of Stable-Baselines3's models that memory agents do not have.
ATTRIBUTES: Mapping[str, str] = {
    "policy": "use agent.predict(observation)",
    "policy_class": "use agent.predict(observation)",
    "actor": "use agent.predict(observation)",
    "critic": "the values are in agent.memory",
    "learning_rate": "it trains no network",
    "lr_schedule": "it trains no network",
    "get_parameters": "use agent.config() for its settings and agent.memory for what it knows",
    "set_parameters": "make it with {cls}(env, ...), or read a file with {cls}.load(path)",
    "replay_buffer": "use agent.memory",
    "save_replay_buffer": "agent.save(path) keeps the memory too",
    "load_replay_buffer": "{cls}.load(path) reads the memory too",
    "collect_rollouts": "use agent.learn(), or agent.begin_episode() for a loop of your own",
    "train": "use agent.learn()",
}


def with_conveniences(constructor: Callable[..., None]) -> Callable[..., None]:
    """Wrap a class's `__init__`: it also takes the conveniences, and explains wrong arguments."""
    own = inspect.signature(constructor)

    @functools.wraps(constructor)
    def made(self: Any, *args: Any, **given: Any) -> None:
        cls = type(self)
        if cls.__init__ is not made:  # a subclass's constructor calls this one
            constructor(self, *args, **given)
            return
        check_arguments(cls, args, given)
        chosen = {name: given.get(name, DEFAULTS[name]) for name in cls.conveniences}
        for name in chosen:
            if name not in own.parameters:
                given.pop(name, None)
        check_conveniences(cls, chosen)
        vars(self).update(chosen)
        constructor(self, *args, **given)

    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in DEFAULTS.items()
        if name not in own.parameters
    ]
    kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    rest = [p for p in own.parameters.values() if p.kind is p.VAR_KEYWORD]
    made.__signature__ = own.replace(parameters=[*kept, *extra, *rest])  # type: ignore[attr-defined]
    return made


def check_arguments(cls: type[Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    """Refuse arguments of networks and unknown ones, with a hint what to use instead.

    Raises:
        TypeError: If there is such an argument.
    """
    policy = given.get("policy", args[0] if args else None)
    if "policy" in given or (isinstance(policy, str) and policy.endswith("Policy")):
        raise TypeError(
            f"{cls.__name__} takes no policy: write {cls.__name__}(env, ...) instead of "
            f"{cls.__name__}({policy!r}, env, ...)"
        )
    known = {"env", *settings_of(cls), *cls.conveniences}
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
        raise TypeError(f"{cls.__name__} has no argument {name}: {cls.hints.get(name, hint)}")


def check_conveniences(cls: type[Any], chosen: Mapping[str, Any]) -> None:
    """Refuse a `verbose` that is not 0, 1 or 2, and warn that the device is always the CPU."""
    verbose, device = chosen["verbose"], str(chosen.get("device", "auto"))
    if not isinstance(verbose, int) or not 0 <= verbose <= 2:
        raise ValueError(f"expected verbose to be 0, 1 or 2, got {verbose!r}")
    if device not in ("auto", "cpu"):
        warnings.warn(
            f"{cls.__name__} runs on the CPU: device={device!r} is ignored",
            UserWarning,
            stacklevel=4,
        )


class UnavailableAttribute:
    """An attribute that an agent does not have; reading it raises what to use instead."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, agent: Any, cls: type) -> Any:
        hint = ATTRIBUTES[self._name].format(cls=cls.__name__)
        message = f"{cls.__name__} has no {self._name}: {hint}"
        raise AttributeError(message, name=self._name, obj=agent)


class NoNetworkMixin:
    """Attributes that only a model with a network has raise an error that says what to use instead.

    `__getattr__` could do the same, but would make every attribute access four times as slow.
    """

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) - ATTRIBUTES.keys())


for _name in ATTRIBUTES:
    setattr(NoNetworkMixin, _name, UnavailableAttribute(_name))


def chosen_seed(seed: int | None) -> int:
    """The seed that was given, or a new one."""
    return secrets.randbelow(2**31) if seed is None else seed
