"""evaluate, watch and inspect on saved agents of every method, without a run folder."""

import shutil

import pytest


def test_a_file_is_evaluated_watched_and_inspected(finished, scrubjay, tmp_path):
    for name in ("agent.scrub", "agent.zip"):
        shutil.copy(finished / "checkpoints" / "last.scrub", tmp_path / name)
        answer = scrubjay("evaluate", name, "GrowingTree", "--episodes", 2)
        assert answer.code == 0, answer.err
        assert "cec on scrubjay/GrowingTree-v0 after" in answer.out
        assert scrubjay("watch", name, "GrowingTree", "--max-frames", 2).code == 0
        assert "method      cec\n" in scrubjay("inspect", name).out
    answer = scrubjay("evaluate", "agent.scrub")
    assert answer.code == 2
    assert "agent.scrub does not say its task; name it too: scrubjay evaluate agent.scrub TASK" in (
        answer.err
    )
    answer = scrubjay("evaluate", "agent.scrub", "SparseMountainCar")
    assert (answer.code, "is another task than the agent's" in answer.err) == (2, True)
    answer = scrubjay("evaluate", "agent.scrb", "GrowingTree")
    assert (answer.code, "did you mean agent.scrub?" in answer.err) == (1, True)
    checkpoint = finished / "checkpoints" / "step-300.scrub"
    assert "on scrubjay/GrowingTree-v0" in scrubjay("evaluate", checkpoint, "--episodes", 1).out


@pytest.mark.parametrize("agent", ["sac", "emac"])
def test_networks_are_evaluated_watched_and_inspected(agent, scrubjay, tmp_path):
    pytest.importorskip("stable_baselines3")
    words = ["--steps", 300, "--eval-freq", 0, "--quiet", "--out", "run"]
    assert scrubjay("train", agent, "GrowingTree", *words).code == 0
    shutil.copy(tmp_path / "run" / "checkpoints" / "last.zip", tmp_path / "agent.zip")
    subjects = (["run"], ["agent.zip", "GrowingTree", "--trust-file"])
    for subject in subjects:
        assert scrubjay("evaluate", *subject, "--episodes", 1).code == 0
        assert scrubjay("watch", *subject, "--max-frames", 2).code == 0
    assert scrubjay("inspect", "run").code == 0
    assert scrubjay("inspect", "agent.zip", "--trust-file").code == 0
    answer = scrubjay("evaluate", "agent.zip", "GrowingTree")
    assert (answer.code, "add --trust-file if you trust its origin" in answer.err) == (2, True)
    answer = scrubjay("train", "--resume", "run", "--steps", 600)
    assert (answer.code, f"a run of {agent} cannot be extended" in answer.err) == (1, True)
