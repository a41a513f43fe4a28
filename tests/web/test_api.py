"""What the page is told, compared with the memory and the agent themselves."""

import argparse
import json
import math
import time

import gymnasium
import numpy as np
import pytest

from scrubjay import CECPlus, EpisodicMemory
from scrubjay.agents import MemoryAgent, Spaces
from scrubjay.cli.inspect_web import open_source
from scrubjay.cli.main import CommandError, build_parser, main
from scrubjay.embedding import FrozenNormalizer, RandomProjection
from scrubjay.envs.four_rooms_grid import FourRoomsGrid
from scrubjay.web import point_cloud
from scrubjay.web.api import Api, BadRequest, as_json
from scrubjay.web.episodes import Followed, PlayedEpisode, overestimated_rows
from scrubjay.web.point_cloud import PointCloud
from scrubjay.web.position import find_position
from scrubjay.web.source import Source

HERE = {"checkpoint": "2", "memory": "0", "x": "0", "y": "1"}


def arguments(*words) -> argparse.Namespace:
    words = ["inspect", *map(str, words), "--web"]
    return build_parser("inspect", words).parse_args(words)


@pytest.fixture(scope="module")
def api(finished):
    made = Api(open_source(arguments(finished)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def agent(finished):
    return MemoryAgent.load(finished / "checkpoints" / "last.scrub")


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


# -- the run and the map ---------------------------------------------------------------------------


def test_checkpoints_are_in_the_order_of_their_steps(api):
    about = api.about({})
    assert about["checkpoints"] == ["step-1000", "step-2000", "last"]
    assert (about["shown"], about["method"], about["no_replay"]) == (2, "cec-plus", "")
    sizes = [api.memories({"checkpoint": str(i)})["memories"][0]["rows"] for i in range(3)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_the_map_is_the_memory(api, agent):
    memory, n = agent.memory, len(agent.memory)
    cloud = api.cloud(HERE)
    x, y = np.frombuffer(cloud, np.float32, 2 * n).reshape(2, n)
    assert np.array_equal(x, memory.keys[:, 0])
    assert np.array_equal(y, memory.columns["action"][:, 0])
    assert np.array_equal(np.frombuffer(cloud, np.int32, offset=8 * n), np.arange(n))


def test_colours_are_the_memory_s_numbers(api, agent):
    memory = agent.memory

    def colors(by):
        found = np.frombuffer(api.colors({**HERE, "by": by}), np.float32)
        return found[0], found[1:]

    assert np.array_equal(colors("value")[1], memory.values)
    assert np.array_equal(colors("age")[1], memory.clock - memory.stamps)
    until(lambda: colors("density")[0] == 1)
    distances = np.abs(memory.keys[:, None, 0].astype(float) - memory.keys[None, :, 0])
    assert np.allclose(colors("density")[1], np.sort(distances, axis=1)[:, 5])


def test_a_large_memory_is_sampled_for_drawing(monkeypatch):
    monkeypatch.setattr(point_cloud, "MAX_POINTS", 50)
    memory = EpisodicMemory(2, capacity=200)
    keys = np.random.default_rng(0).normal(size=(200, 2))
    memory.write_many(keys, np.zeros(200), action=np.zeros((200, 2)))
    cloud = PointCloud(memory)
    assert len(cloud.rows) == len(set(cloud.rows)) == 50
    assert np.array_equal(cloud.along(0), memory.keys[cloud.rows, 0])


def test_the_axes_vary_most_and_principal_components_are_numpy_s():
    rng = np.random.default_rng(1)
    memory = EpisodicMemory(4, capacity=300, columns={})
    keys = rng.normal(size=(300, 4)) * [1, 5, 0.1, 3]
    memory.write_many(keys, np.zeros(300))
    cloud = PointCloud(memory)
    assert cloud.default_axes() == (1, 3)
    assert cloud.axes()[-1] == "value"
    assert cloud.axes()[4].startswith("component 1")
    single = memory.keys.astype(float)
    left, sizes, _ = np.linalg.svd(single - single.mean(axis=0))
    for component in range(2):
        found, expected = cloud.along(4 + component), left[:, component] * sizes[component]
        assert np.allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_the_place_in_a_maze_is_found_through_the_embedding():
    box = gymnasium.spaces.Box(-9, 9, (3,), np.float64)
    spaces = Spaces(box, gymnasium.spaces.Box(-1, 1, (2,), np.float32))
    agent = CECPlus(spaces, embedding=FrozenNormalizer(3), seed=0)
    for vector in np.random.default_rng(0).normal(size=(3, 3)) * [2, 4, 1]:
        agent.embedding.observe(vector, np.empty(3))
    agent.embedding.end_episode()
    seen = {"observation": np.array([1.0, 2.0, 0.5]), "position": (1.0, 2.0)}
    place = find_position(agent, {**seen, "walls": [[0.0, 1.0, 4.0, 1.0]]})
    keys = agent.embedding.embed_batch(np.array([[0.0, 1.0, 0.0], [4.0, 1.0, 0.0]]))
    assert place.axes == (0, 1)
    assert np.allclose(place.walls, [[*keys[0, :2], *keys[1, :2]]])
    # an observation that does not begin with the place, and a key that mixes everything
    assert find_position(agent, {**seen, "position": (2.0, 1.0)}) is None
    mixed = CECPlus(spaces, embedding=RandomProjection(2), seed=0)
    assert find_position(mixed, seen) is None


def test_a_place_with_rows_and_columns_is_drawn_as_its_frame():
    env = FourRoomsGrid()
    env.reset(seed=0)
    env._cell = (10, 4)
    seen = {
        "observation": env._observation(),
        "position": env.position,
        "position_in_observation": env.position_in_observation,
        "walls": [[4.5, -9.5, 4.5, -10.5]],
    }
    agent = CECPlus(env, embedding=FrozenNormalizer(3), seed=0)
    for cell in ((0, 1), (7, 3), (2, 9)):
        agent.embedding.observe(np.array(cell) / 12, np.empty(2))
    agent.embedding.end_episode()
    place = find_position(agent, seen)
    assert place.axes == (1, 0)
    assert place.flipped == (False, True)  # the row grows downwards
    ends = agent.embedding.embed_batch(np.array([[9.5, 4.5], [10.5, 4.5]]) / 12)
    assert np.allclose(place.walls, [[ends[0, 1], ends[0, 0], ends[1, 1], ends[1, 0]]])


# -- one state -------------------------------------------------------------------------------------


def test_a_row_is_explained_as_the_agent_does(api, agent):
    for row in (0, len(agent.memory) - 1):
        found = api.explain({**HERE, "row": str(row)})
        expected = agent.explain_key(agent.memory.keys[row].astype(float))
        assert found["action"] == [float(x) for x in agent.codec.decode(expected.action)]
        assert found["followed"] == expected.followed
        assert found["at"] == [agent.memory.keys[row, 0], agent.memory.columns["action"][row, 0]]
        for told, neighbor in zip(found["neighbors"], expected.neighbors, strict=True):
            assert told["row"] == neighbor.row
            assert told["trust"] == neighbor.trust
            assert told["probability"] == neighbor.probability


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({**HERE, "checkpoint": "3"}, "expected checkpoint to be a whole number below 3, got '3'"),
        ({**HERE, "checkpoint": "../last"}, "expected checkpoint"),
        ({**HERE, "memory": "1"}, "expected memory"),
        ({**HERE, "x": "-1"}, "expected x"),
        ({**HERE, "y": "\u0661"}, "expected y"),
        ({**HERE, "row": "999999999"}, "expected row"),
        ({**HERE, "row": "9" * 500}, "expected row"),
        (HERE, "expected row"),
    ],
)
def test_questions_out_of_range_are_refused(api, query, words):
    with pytest.raises(BadRequest, match=words.replace("'", ".")):
        api.explain(query)


def test_json_has_no_infinite_numbers():
    assert json.loads(as_json({"a": [math.nan, 1.5], "b": math.inf})) == {
        "a": [None, 1.5],
        "b": None,
    }


# -- episodes --------------------------------------------------------------------------------------


def test_a_replayed_episode_is_the_greedy_one(api, agent):
    query = {**HERE, "episode": "1"}
    until(lambda: api.replay(query)["done"])
    found = api.replay(query)
    assert found["error"] == ""
    env = api.source.make_env()
    from scrubjay.training.evaluation import Evaluator

    records = Evaluator(env, 2, api.source.seed).run(agent, 0)
    assert (found["steps"], found["total"]) == (records[1].length, records[1].total_reward)
    assert found["frames"] == found["steps"] + 1
    assert api.frame({**query, "step": "0"}).startswith(b"\x89PNG")
    assert len(api.replay({**query, "since": "3"})["new"]) == found["steps"] - 3
    state = api.explain({**query, "step": "2"})
    assert state["action"] == found["new"][2]["action"]
    assert state["neighbors"][state["followed"]]["row"] == found["new"][2]["followed"]["row"]
    returns = agent.plain_returns(np.array([step["reward"] for step in found["new"]]), True)
    assert np.allclose(found["returns"], returns)
    env.close()


def test_the_path_is_where_the_states_are(api):
    query = {**HERE, "episode": "1"}
    until(lambda: api.replay(query)["done"])
    assert api.path(query) == b""  # a state has no place along the action
    found = np.frombuffer(api.path({**query, "y": "0"}), np.float32)
    assert len(found) == 2 * api.replay(query)["steps"]


def test_values_are_compared_with_the_returns_after_them():
    def episode(number, values, returns):
        played = PlayedEpisode(number, with_frames=False)
        played.followed = [
            None if v is None else Followed("memory", row, v, 0.5, 0.9)
            for row, v in enumerate(values)
        ]
        played.returns = returns
        return played

    episodes = [
        episode(0, [1.0, None, 0.5], [0.2, 0.3, 0.5]),
        episode(1, [1.0, 0.7], [0.6, 0.65]),
    ]
    rows = overestimated_rows(episodes, value_range=1.0)
    assert [row["row"] for row in rows] == [0, 1, 2]
    assert [row["gap"] for row in rows] == pytest.approx([0.6, 0.05, 0.0])
    assert [row["overestimated"] for row in rows] == [True, False, False]
    assert (rows[0]["times"], rows[0]["episode"], rows[0]["step"]) == (2, 0, 0)


def test_a_row_that_lies_is_found(finished):
    """One row of a good memory gets ten times its value."""
    agent = MemoryAgent.load(finished / "checkpoints" / "last.scrub")
    source = open_source(arguments(finished))
    env = source.make_env()
    observation, _ = env.reset(seed=0)
    liar = agent.explain(observation).neighbors[agent.explain(observation).followed].row
    agent.memory.set_values([liar], [10.0])
    agent.memory_changed()
    made = Api(Source("a", "GrowingTree", ("last",), 0, lambda _: agent, source.make_env))
    query = {"checkpoint": "0", "episodes": "3"}
    until(lambda: made.overestimates(query)["done"] == 3)
    found = made.overestimates(query)
    made.close()
    env.close()
    assert found["error"] == ""
    assert found["rows"][0]["row"] == liar
    assert found["rows"][0]["gap"] > 8
    assert found["n_overestimated"] >= 1


# -- what can be shown -----------------------------------------------------------------------------


def test_a_file_with_only_a_memory_has_a_map_and_no_replay(tmp_path):
    memory = EpisodicMemory(2, capacity=10)
    memory.write_many(np.eye(2), [1.0, 2.0], action=np.zeros((2, 2)))
    memory.save(tmp_path / "rows.scrub")
    made = Api(open_source(arguments(tmp_path / "rows.scrub")))
    assert made.no_replay.startswith("the file has a memory and no agent")
    found = made.explain({"checkpoint": "0", "x": "0", "y": "1", "row": "0"})
    assert [row["row"] for row in found["neighbors"]] == [0, 1]
    with pytest.raises(BadRequest, match="no agent"):
        made.replay({"checkpoint": "0", "episode": "0"})
    made.close()


def test_a_saved_agent_needs_its_task_for_a_replay(finished, tmp_path):
    path = tmp_path / "agent.scrub"
    MemoryAgent.load(finished / "checkpoints" / "last.scrub").save(path)
    made = Api(open_source(arguments(path)))
    assert "name it too: scrubjay inspect" in made.no_replay
    made.close()
    made = Api(open_source(arguments(path, "GrowingTree")))
    assert made.no_replay == ""
    made.close()


def test_a_module_is_imported_only_if_it_is_trusted(finished, tmp_path, monkeypatch):
    import shutil

    folder = shutil.copytree(finished, tmp_path / "run")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "task": "evil_module:Env"}))
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    made = Api(open_source(arguments(folder)))
    assert "--trust-module" in made.no_replay
    made.close()


def test_a_method_without_a_memory_gets_a_message(tmp_path):
    class Nothing:
        name, memories, suffix = "sac", {}, ".zip"

    import scrubjay.cli.inspect_web as module

    with pytest.MonkeyPatch.context() as patch:
        subject = argparse.Namespace(agent=Nothing(), config=None, name="x")
        patch.setattr(module, "open_agent", lambda *_, **__: subject)
        with pytest.raises(CommandError, match="sac keeps no episodic memory"):
            open_source(arguments(tmp_path))


def test_a_missing_extra_is_named_before_anything_is_opened(monkeypatch, tmp_path, capsys):
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["inspect", str(tmp_path / "nothing"), "--web"]) == 1
    assert 'pip install "scrubjay[web]"' in capsys.readouterr().err
