"""TensorBoard's files are written, and TensorBoard reads them."""

import pytest

from probes import Corridor
from scrubjay.agents import CEC

accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="TensorBoard is an extra: scrubjay[tensorboard]",
)


def test_scalars_can_be_read_back(tmp_path):
    CEC(Corridor([0.0, 1.0]), seed=0).learn(
        100, run_folder=tmp_path / "run", tensorboard=True, log_freq=20,
        eval_env=Corridor([0.0, 1.0]), eval_freq=50, n_eval_episodes=2,
    )  # fmt: skip
    events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    assert {
        "rollout/ep_rew_mean", "rollout/success_rate", "memory/size", "policy/random_fraction",
        "time/fps", "eval/mean_reward", "eval/success_rate", "eval/mean_ep_length",
    } <= tags  # fmt: skip
    assert "timestep" not in tags
    size = events.Scalars("memory/size")
    assert [event.step for event in size] == [20, 40, 60, 80, 100]
    assert [event.value for event in size] == [2.0] * 5
    assert [event.step for event in events.Scalars("eval/mean_reward")] == [50, 100]
