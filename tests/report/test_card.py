"""The model card: what the Hub's own library reads from it."""

import json
from dataclasses import replace

import pytest

from scrubjay.agents import MemoryAgent
from scrubjay.analysis.reading import load_run
from scrubjay.cli.main import main
from scrubjay.report.card import _use, wilson, write_card
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.training.errors import RunError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "tree"
    config = RunConfig("cec", "GrowingTree", seed=3, steps=300, eval_freq=100, n_eval_episodes=4)
    start(config, path, "scrubjay train cec GrowingTree --seed 3 --steps 300")
    return path


def test_the_hub_reads_the_results(run, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="an extra: scrubjay[hub]")
    write_card(run, tmp_path)
    card = hub.ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "scrubjay"
    assert {"scrubjay/GrowingTree-v0", "reinforcement-learning"} <= set(card.data.tags)
    found = {result.metric_type: result for result in card.data.eval_results}
    assert set(found) == {"mean_reward", "success_rate"}
    reward = found["mean_reward"]
    assert (reward.task_type, reward.dataset_name) == (
        "reinforcement-learning",
        "scrubjay/GrowingTree-v0",
    )
    results = json.loads((tmp_path / "results.json").read_text())
    expected = f"{results['mean_reward']:.2f} +/- {results['std_reward']:.2f}"
    assert reward.metric_value == expected
    assert found["success_rate"].metric_value.endswith("n=4")


def test_the_folder_has_an_agent_that_loads_and_the_command(run, tmp_path):
    (run / "video.gif").write_bytes(b"GIF89a")
    files = write_card(run, tmp_path)
    assert [file.name for file in files] == [
        "README.md", "cec-scrubjay-GrowingTree-v0.scrub", "replay.gif", "config.json",
        "results.json",
    ]  # fmt: skip
    assert MemoryAgent.load(files[1]).num_timesteps >= 300
    assert "scrubjay train cec GrowingTree --seed 3 --steps 300" in files[0].read_text()
    assert "- `n_neighbors`: 5" in files[0].read_text()


def test_its_lines_of_python_run(run, tmp_path, monkeypatch):
    text = write_card(run, tmp_path)[0].read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    assert code.startswith("import gymnasium\nfrom scrubjay import CEC\n\nenv = ")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    assert names["env"].action_space.contains(names["action"])


@pytest.mark.parametrize(
    ("agent", "task", "file", "lines"),
    [
        ("sac", "scrubjay/GrowingTree-v0", "a.zip", "from scrubjay.deep.sac import SAC"),
        ("sac", "scrubjay/GrowingTree-v0", "a.zip", 'agent = SAC.load("a.zip", trusted=True)'),
        ("cec", "my_module:MyEnv", "a.scrub", "from my_module import MyEnv\nfrom scrubjay import "),
        ("cec", "my_module:MyEnv", "a.scrub", "\nenv = MyEnv()\n"),
        ("cec", "my_module:My-v0", "a.scrub", 'env = gymnasium.make("my_module:My-v0")'),
        ("unknown", "", "a.scrub", "from scrubjay import MemoryAgent\n\nenv = ..."),
    ],
)
def test_what_it_imports(agent, task, file, lines, run):
    found = load_run(run)
    manifest = {**found.manifest, "agent": agent, "task": task}
    known = replace(found, manifest=manifest, config={**found.config, "env_by_id": bool(task)})
    assert lines in _use(known, file)


def test_the_command_writes_and_sends_nothing(run, capsys):
    assert main(["card", str(run)]) == 0
    assert "README.md" in capsys.readouterr().out
    assert (run / "card" / "README.md").exists()


def test_a_repository_without_an_owner_is_refused_before_any_work(run, tmp_path, capsys):
    assert main(["card", str(run), "--out", str(tmp_path / "x"), "--upload", "name"]) == 2
    assert "expected ORGANISATION/NAME" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_run_without_evaluations_has_no_card(tmp_path):
    config = RunConfig("cec", "GrowingTree", steps=50, eval_freq=0)
    start(config, tmp_path / "run")
    with pytest.raises(RunError, match="expected a run with evaluations"):
        write_card(tmp_path / "run", tmp_path / "card")


def test_wilson_against_known_values():
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0.0, 10)[0] == pytest.approx(0)
    assert wilson(1.0, 10)[1] == pytest.approx(1)
