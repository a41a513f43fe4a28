"""Hindsight experience replay on tasks whose episodes end with success.

Stable-Baselines3's buffer computes the reward of a relabelled step, but keeps the `done` of the
recorded one. If reaching the goal ends an episode, a relabelled success would then have the value
of a success that continues forever, up to 1 / (1 - gamma) instead of 1.
"""

from typing import Any

import torch
from stable_baselines3 import HerReplayBuffer


class HindsightBuffer(HerReplayBuffer):
    """Stable-Baselines3's buffer; a relabelled step ends if its environment would have ended it.

    This is determined by the environment's `compute_terminated(achieved_goal, desired_goal, info)`,
    as in gymnasium-robotics, for one pair of goals at a time. Without it, `done` is as recorded.
    """

    def _get_virtual_samples(self, *args: Any, **kwargs: Any) -> Any:
        batch = super()._get_virtual_samples(*args, **kwargs)
        if self.env is None or not self.env.has_attr("compute_terminated"):
            return batch
        (compute_terminated,) = self.env.get_attr("compute_terminated", indices=[0])
        after = batch.next_observations
        goals = (after[name].cpu().numpy() for name in ("achieved_goal", "desired_goal"))
        pairs = zip(*goals, strict=True)
        ended = [[float(compute_terminated(*pair, {}))] for pair in pairs]
        return batch._replace(dones=torch.maximum(batch.dones, batch.dones.new_tensor(ended)))
