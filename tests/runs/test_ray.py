"""Ray: sweeps and collectors on a cluster of two nodes, which lose actors and a node."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path

import pytest

from scrubjay import CEC, Collectors
from scrubjay.cli.main import main
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.runs.launchers import make_launcher
from scrubjay.runs.ray_cluster import RayError, check_versions, connect, versions
from scrubjay.runs.ray_collectors import RayCollectors
from scrubjay.runs.sweep import folder_of, sweep

ray = pytest.importorskip("ray", reason='needs pip install "scrubjay[ray]"')
cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

TABLES = ("episodes.csv", "eval.csv", "progress.csv")
STORE = 80_000_000  # bytes; nearly the least that Ray accepts


def tree(seed: int, steps: int = 2_000) -> RunConfig:
    frequencies = {"eval_freq": 1_000, "n_eval_episodes": 1, "checkpoint_freq": 1_000}
    return RunConfig("cec", "GrowingTree", seed=seed, steps=steps, **frequencies)


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in TABLES]


def wait_for(condition, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


# ---------------------------------------------------------------- before there is a cluster


def test_an_address_that_does_not_answer(capsys):
    began = time.monotonic()
    with pytest.raises(RayError, match=r"no Ray cluster answers at '127.0.0.1:9' .*ray start"):
        connect("127.0.0.1:9")
    with pytest.raises(RayError, match="no Ray cluster answers at"):
        connect("auto")  # also where a killed cluster has left its address
    assert time.monotonic() - began < 60
    words = "train cec GrowingTree --collectors 2 --launcher ray --address 127.0.0.1:9"
    assert main(words.split()) == 2
    assert "no Ray cluster answers" in capsys.readouterr().err
    assert main(["train", "cec", "GrowingTree", "--launcher", "ray"]) == 2
    assert "add --collectors N" in capsys.readouterr().err
    assert main(["reproduce", "toy", "--address", "here:1"]) == 2
    assert "expected no address for the launcher local" in capsys.readouterr().err
    with pytest.raises(ValueError, match="expected the launcher local or ray, got 'slurm'"):
        make_launcher("slurm")  # type: ignore[arg-type]


def test_nodes_with_other_versions_are_refused():
    here = versions()
    check_versions("a", here, here)
    there = {k: v for k, v in here.items() if k != "numba"} | {"numpy": "1.0"}
    with pytest.raises(RayError, match=r"got numpy 1.0 \(here .*\), numba missing .* on node-7"):
        check_versions("node-7", there, here)


# ---------------------------------------------------------------- with one


@pytest.fixture(scope="module")
def cluster():
    if not os.environ.get("SCRUBJAY_RAY_CLUSTER"):
        pytest.skip("starts a cluster of two nodes: make test-ray")
    settings = {"num_cpus": 1, "object_store_memory": STORE}
    # a store that goes on on the disk is slow, not full
    config = {"automatic_object_spilling_enabled": False, "local_fs_capacity_threshold": 0.0}
    head = {**settings, "include_dashboard": False, "_system_config": config}
    found = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    found.add_node(**settings)
    ray.init(address=found.address, log_to_driver=False, logging_level="error")
    yield found
    ray.shutdown()
    found.shutdown()


def test_runs_on_ray_are_the_same_and_survive_lost_actors_and_nodes(tmp_path, cluster, capfd):
    short, long = tree(0), [tree(1, 60_000), tree(2, 60_000)]
    local = tmp_path / "local"
    for config in (short, *long):
        start(config, folder_of(local, config))
    there = tmp_path / "ray"
    launcher = make_launcher("ray")
    assert launcher.jobs == 2
    results = []
    thread = threading.Thread(
        target=lambda: results.append(sweep([*long, short], there, launcher=launcher))
    )
    thread.start()
    folders = [folder_of(there, config) for config in long]
    wait_for(lambda: all((each / "checkpoints" / "last.scrub").exists() for each in folders))
    worker = json.loads((folders[0] / "owner.json").read_text())["pid"]
    os.kill(worker, 9)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    thread.join(240)
    assert results[0].n_done == 3, results[0].failed
    for config in (short, *long):
        assert contents(folder_of(there, config)) == contents(folder_of(local, config))
    assert "lost: " in capfd.readouterr().err
    cluster.add_node(num_cpus=1, object_store_memory=STORE)
    wait_for(lambda: launcher.jobs == 2)


def test_more_runs_at_a_time_than_processors_take_turns(tmp_path, cluster):  # noqa: ARG001
    configs = [tree(seed, 500) for seed in range(4)]
    assert sweep(configs, tmp_path, jobs=3, launcher=make_launcher("ray")).n_done == 4


def test_a_study_on_ray(tmp_path, cluster):  # noqa: ARG001
    pytest.importorskip("optuna", reason='needs pip install "scrubjay[tune]"')
    words = "tune cec GrowingTree --steps 200 --seeds 1 --trials 3 --eval-episodes 1 --launcher ray"
    assert main([*words.split(), "--out", str(tmp_path / "study")]) == 0
    assert len(list((tmp_path / "study" / "logs").iterdir())) == 2
    assert len(list((tmp_path / "study" / "runs").glob("*/seed-*/eval.csv"))) == 3


def cec() -> CEC:
    return CEC("scrubjay/GrowingTree-v0", seed=0, distance_threshold=0.05)


def test_collectors_on_ray_learn_the_same_in_rounds(cluster):  # noqa: ARG001
    agents = [cec(), cec()]
    agents[0].learn(600, collectors=2)
    agents[1].learn(600, collectors=Collectors(2, open_transport=RayCollectors))
    assert agents[0].memory.digest() == agents[1].memory.digest()


class Losses:
    """A callback: first a collector is killed, then a node with one, then training is stopped."""

    def __init__(self, cluster, agent):
        self.cluster, self.agent = cluster, agent
        self.transport = None
        self.n_lost, self.heard = 0, set()

    def open(self, opening):
        self.transport = RayCollectors(opening)
        return self.transport

    def __call__(self, locals_, _globals):
        if self.agent.n_dropped_episodes < self.n_lost:
            return True  # the loss has not been noticed yet
        self.heard |= {index for index, done in enumerate(locals_["dones"]) if done}
        if self.heard != {0, 1}:
            return True
        self.heard.clear()
        self.n_lost += 1
        if self.n_lost == 1:
            ray.kill(self.transport._actors[0])
        if self.n_lost == 2:
            self.cluster.remove_node(next(iter(self.cluster.worker_nodes)), allow_graceful=False)
            self.cluster.add_node(num_cpus=1, object_store_memory=STORE)
        return self.n_lost < 3


def test_collectors_on_ray_are_replaced_when_they_or_their_node_are_lost(cluster, tmp_path):
    agent = cec()
    losses = Losses(cluster, agent)
    with pytest.warns(UserWarning, match="was replaced and its open episode dropped"):
        agent.learn(
            10**7, callback=losses, run_folder=tmp_path / "run",
            collectors=Collectors(2, mode="free", open_transport=losses.open),
        )  # fmt: skip
    assert losses.n_lost == 3
    assert agent.n_dropped_episodes == 2 + 2  # the two that were open at the end too
    agent.memory.check_invariants()
    rows = (tmp_path / "run" / "episodes.csv").read_text().split()[1:]
    assert sum(int(row.split(",")[3]) for row in rows) == agent.num_timesteps


def test_a_replaced_collector_on_a_node_with_other_versions_is_refused(cluster, monkeypatch):  # noqa: ARG001
    agent = cec()

    def open_transport(opening):
        transport = RayCollectors(opening)
        monkeypatch.setattr("scrubjay.runs.ray_collectors.versions", lambda: {"numpy": "0.1"})
        transport.replace(0)
        return transport

    with pytest.raises(RayError, match=r"expected the same versions .* on the node of collector 0"):
        agent.learn(10**6, collectors=Collectors(2, open_transport=open_transport))


def test_a_full_object_store_ends_the_training_and_loses_nothing(cluster, tmp_path):  # noqa: ARG001
    agent, held = cec(), []

    def fill(_locals, _globals):
        for size in (STORE // 20, STORE // 1000, 1000):
            with contextlib.suppress(ray.exceptions.OutOfDiskError):
                while True:
                    held.append(ray.put(bytes(size)))

    with pytest.raises(RayError, match="Ray's object store is full: expected room for the changed"):
        agent.learn(
            10_000, callback=fill, run_folder=tmp_path / "run",
            collectors=Collectors(2, open_transport=RayCollectors),
        )  # fmt: skip
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "failed"
    saved = CEC.load(tmp_path / "run" / "checkpoints" / "last.scrub")
    assert saved.memory.digest() == agent.memory.digest()
    assert saved.num_timesteps == agent.num_timesteps > 0
