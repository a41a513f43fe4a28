"""The state values of a trained model."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm


def state_values(model: OffPolicyAlgorithm, observations: Any) -> npt.NDArray[np.float64]:
    """The value of each observation of a batch: the smallest critic at the model's own action.

    Args:
        model: A trained model with a critic.
        observations: The batch of observations.

    Returns:
        The values.
    """
    critic: Any = model.policy.critic  # SAC's and EMAC's policies have one
    states, _ = model.policy.obs_to_tensor(observations)
    with torch.no_grad():
        # `predict` would scale the actions to the environment's; critics want them in [-1, 1]
        actions = model.policy._predict(states, deterministic=True)  # noqa: SLF001
        values = torch.cat(critic(states, actions), dim=1).min(dim=1).values
    return values.cpu().numpy().astype(np.float64)
