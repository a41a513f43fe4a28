"""Numbers of a training for Weights & Biases."""

from collections.abc import Mapping
from typing import Any

from scrubjay.optional import require
from scrubjay.training.logger import STEPS, is_number


class WandbOutput:
    """Sends the rows of a training's log to a run of Weights & Biases.

    The x-axis of all its charts is `timestep`. With WANDB_MODE=offline everything stays in the
    folder `wandb`, and `wandb sync` sends it later.

    >>> agent.logger.add(WandbOutput("my-project", config=agent.config()))  # doctest: +SKIP

    Args:
        project: The project.
        name: The name of the run; by default Weights & Biases chooses one.
        config: The settings that are shown with the run.
        **settings: Further arguments of `wandb.init`, such as `dir`, `group`, `tags` or `mode`.

    Raises:
        ImportError: If wandb is not installed (extra `wandb`).
    """

    kind, trigger = "wandb", STEPS

    def __init__(
        self,
        project: str,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        wandb: Any = require("wandb", "wandb")
        self.run = wandb.init(project=project, name=name, config=dict(config or {}), **settings)
        # a resumed run has some of its steps again, which the own counter of W&B does not allow
        self.run.define_metric("*", step_metric="timestep")

    def write(self, values: Mapping[str, Any], step: int) -> None:
        """Send the numbers among the values."""
        numbers = {name: float(value) for name, value in values.items() if is_number(value)}
        self.run.log({"timestep": step, **numbers})

    def close(self) -> None:
        """Finish the run."""
        self.run.finish()
