"""The pictures of best rows: whose they are, in files, in the report and by `scrubjay inspect`."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from scrubjay import CEC, MFEC, Chain, FrozenNormalizer, LowFrequencies, RandomProjection, Resize
from scrubjay.agents.album import N_BEST, check_page, highest
from scrubjay.agents.files import read_album
from scrubjay.cli.main import main
from scrubjay.embedding.pictures import picture_of
from scrubjay.memory.archive import ArchiveError


class Screens(gym.Env):
    """Grey screens of noise, each determined by a number that random actions lead to."""

    seen: dict[bytes, np.ndarray]

    def __init__(self, n=60):
        self.observation_space = gym.spaces.Box(0, 255, (12, 10), np.uint8)
        self.action_space = gym.spaces.Discrete(2)
        self.screens = np.random.default_rng(0).integers(0, 256, (n, 12, 10), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place, self.time = int(self.np_random.integers(len(self.screens))), 0
        return self.screens[self.place], {}

    def step(self, action):
        self.place = (3 * self.place + 7 * int(action) + 1) % len(self.screens)
        self.time += 1
        reward = float(self.place % 5) + 0.25 * float(self.np_random.integers(4))
        return self.screens[self.place], reward, self.time == 9, False, {}


PROJECTED = Chain([Resize((6, 5)), RandomProjection(4)])


def check_pictures(agent, env):
    """Each picture is that of the screen with the row's key, and the values fall."""
    flattener, embedding = agent.flattener, agent.embedding
    for name, memory in agent.memories.items():
        page = agent.album.pages[name]
        values = memory.values[page.rows]
        assert (np.diff(values) < 0).all()
        for row, picture in zip(page.rows, page.pictures, strict=True):
            found = []
            for screen in env.screens:
                vector, key = np.empty(flattener.size), np.empty(embedding.key_dim)
                flattener.into(screen, vector)
                embedding.embed(vector, key)
                if (key.astype(np.float32) == memory.keys[row]).all():
                    found.append(flattener.picture(vector.astype(flattener.picture_type)))
            assert any((picture == each).all() for each in found)


@pytest.mark.parametrize(
    "embedding", [PROJECTED, Resize(4), Chain([Resize(4), FrozenNormalizer(50)])]
)
def test_the_highest_values_have_the_pictures_of_their_screens(embedding):
    env = Screens()
    agent = MFEC(env, n_neighbors=2, embedding=embedding, seed=1).learn(900)
    check_pictures(agent, env)
    for name, memory in agent.memories.items():
        expected = np.unique(memory.values)[::-1][:N_BEST]
        np.testing.assert_array_equal(memory.values[agent.album.pages[name].rows], expected)


def test_rows_that_were_replaced_lose_their_picture():
    env = Screens()
    agent = MFEC(env, n_neighbors=2, embedding=PROJECTED, capacity=12, epsilon=1.0, seed=1)
    for _ in range(20):
        agent.learn(60)
        check_pictures(agent, env)


def test_several_environments_keep_their_own_screens():
    envs = SyncVectorEnv([Screens] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = MFEC(envs, n_neighbors=2, embedding=PROJECTED, seed=1).learn(900)
    check_pictures(agent, Screens())


def test_saved_and_loaded_it_goes_on_as_it_would_have(tmp_path):
    whole = MFEC(Screens(), n_neighbors=2, embedding=PROJECTED, seed=1).learn(900)
    half = MFEC(Screens(), n_neighbors=2, embedding=PROJECTED, seed=1).learn(450)
    half.save(tmp_path / "half")
    again = MFEC.load(tmp_path / "half", env=Screens()).learn(450)
    again.save(tmp_path / "again")
    whole.save(tmp_path / "whole")
    mine, theirs = (read_album(tmp_path / f"{name}.scrub") for name in ("again", "whole"))
    assert mine.keys() == theirs.keys() == {"action_0", "action_1"}
    for name, page in theirs.items():
        for column, array in page.items():
            np.testing.assert_array_equal(mine[name][column], array)


def test_only_images_are_kept():
    vectors = gym.make("CartPole-v1")
    assert MFEC(vectors, seed=0).learn(50).album is None
    assert CEC(gym.make("scrubjay/GrowingTree-v0"), seed=0).album is None


def test_of_equal_values_the_smallest_row():
    values = np.array([1, 3, 2, 3, 2, 5], np.float32)
    assert highest(values, np.array([0, 1, 2, 3, 4])).tolist() == [1, 2, 0]


ROWS, PICTURES = np.arange(2), np.zeros((2, 4, 5), np.uint8)


@pytest.mark.parametrize(
    ("rows", "pictures"),
    [
        (ROWS.astype(np.int32), PICTURES),
        (ROWS[:1], PICTURES),
        (np.array([1, 1]), PICTURES),
        (ROWS, PICTURES.astype(np.int16)),
        (ROWS, PICTURES[0]),
        (np.array([0, 7]), PICTURES),
        (np.array([-1, 0]), PICTURES),
    ],
)
def test_pages_that_contradict_their_memory_are_refused(rows, pictures):
    check_page(ROWS, PICTURES, 2)
    with pytest.raises(ArchiveError, match="expected"):
        check_page(rows, pictures, 2)


def test_pictures_of_all_kinds_of_images():
    grey = np.arange(20, dtype=np.uint8).reshape(4, 5) * 12
    colors = np.stack([grey, grey // 2, grey // 3], axis=2)
    np.testing.assert_array_equal(picture_of(grey, 0, 255), grey)
    np.testing.assert_array_equal(picture_of(grey[None], 0, 255), grey)
    np.testing.assert_array_equal(picture_of(colors, 0, 255), colors)
    np.testing.assert_array_equal(picture_of(np.moveaxis(colors, 2, 0), 0, 255), colors)
    np.testing.assert_array_equal(picture_of(np.stack([grey // 2, grey]), 0, 255), grey)
    np.testing.assert_array_equal(picture_of(np.stack([colors // 2, colors]), 0, 255), colors)
    assert picture_of(grey / 1000, -np.inf, np.inf)[-1, -1] == 255
    objects = picture_of(np.eye(4, dtype=np.uint8)[None].repeat(5, axis=0), 0, 1)
    assert objects.shape == (5, 4, 3)
    assert len(np.unique(objects.reshape(-1, 3), axis=0)) == 4


def test_all_frequencies_are_the_image_again():
    space = gym.spaces.Box(0, 255, (6, 5), np.uint8)
    flattener = LowFrequencies((6, 5)).flattener(space)
    image = np.random.default_rng(0).integers(0, 256, (6, 5), np.uint8)
    vector = np.empty(flattener.size)
    flattener.into(image, vector)
    np.testing.assert_array_equal(flattener.picture(vector), image)


def test_inspect_writes_the_pictures(tmp_path, capsys):
    agent = MFEC(Screens(), n_neighbors=2, embedding=PROJECTED, seed=1).learn(300)
    agent.save(tmp_path / "agent")
    assert main(["inspect", str(tmp_path / "agent.scrub")]) == 0
    assert "--frames FILE.png" in capsys.readouterr().out
    picture = tmp_path / "best.png"
    assert main(["inspect", str(tmp_path / "agent.scrub"), "--frames", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    MFEC(gym.make("CartPole-v1"), seed=0).save(tmp_path / "vectors")
    assert main(["inspect", str(tmp_path / "vectors.scrub"), "--frames", str(picture)]) != 0
    assert "one without images of its rows" in capsys.readouterr().err
