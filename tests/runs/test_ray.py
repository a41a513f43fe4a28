"""Ray: sweeps and collectors on a cluster of two nodes, which lose actors and a node."""

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
    # a store that spills to the disk is slow, not full
    config = {"automatic_object_spilling_enabled": False}
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


def cec() -> CEC:
    return CEC("scrubjay/GrowingTree-v0", seed=0, distance_threshold=0.05)


def test_collectors_on_ray_learn_the_same_in_rounds_and_are_replaced(cluster):  # noqa: ARG001
    from scrubjay.runs.ray_collectors import RayCollectors

    agents = [cec(), cec()]
    agents[0].learn(600, collectors=2)
    agents[1].learn(600, collectors=Collectors(2, open_transport=RayCollectors))
    assert agents[0].memory.digest() == agents[1].memory.digest()

    opened, calls = [], []

    def open_transport(opening):
        opened.append(RayCollectors(opening))
        return opened[0]

    def lose_one(_locals, _globals):
        calls.append(1)
        if len(calls) == 3:
            ray.kill(opened[0]._actors[0])

    agent = cec()
    with pytest.warns(UserWarning, match="collector 0 was replaced and its open episode dropped"):
        agent.learn(
            600, callback=lose_one,
            collectors=Collectors(2, mode="free", open_transport=open_transport),
        )  # fmt: skip
    assert agent.num_timesteps >= 600
    assert agent.n_dropped_episodes == 1
    agent.memory.check_invariants()

    with pytest.raises(RayError, match="Ray's object store is full: expected room for rows of 160"):
        opened[0]._put(bytes(2 * STORE), "rows")
