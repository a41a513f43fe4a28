"""Learned keys: the network against PyTorch's convolutions, training, files and rekeying."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from scrubjay import CEC, MFEC, Chain, LearnedEncoder, RandomProjection
from scrubjay.agents import Spaces
from scrubjay.cli.options import parse_embedding
from scrubjay.embedding import load_embedding
from scrubjay.embedding.encoder import forward, new_layers

torch = pytest.importorskip("torch", reason='needs pip install "scrubjay[deep]"')


class Walk(gym.Env):
    """A bright square that actions move left and right, on a small grey screen."""

    def __init__(self, shape=(9, 10), fresh=False):
        self.fresh = fresh  # new noise in every step
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place, self.time = int(self.np_random.integers(1, 7)), 0
        self.noise = self.np_random.integers(0, 40, self.observation_space.shape)
        return self.screen(), {}

    def screen(self):
        if self.fresh:
            self.noise = self.np_random.integers(0, 40, self.observation_space.shape)
        screen = self.noise.astype(np.uint8)
        screen[3:6, self.place : self.place + 3] = 255
        return screen

    def step(self, action):
        self.place = int(np.clip(self.place + 2 * int(action) - 1, 0, 7))
        self.time += 1
        return self.screen(), float(self.place == 7), self.time == 12, False, {}


def small():
    return LearnedEncoder(6, n_steps=100, n_updates=15)


@pytest.mark.parametrize("shape", [(28, 28, 2), (10, 8, 5)])
def test_the_network_is_one_of_convolutions(shape):
    layers = new_layers(shape, 6, np.random.default_rng(0))
    images = np.random.default_rng(1).random((3, *shape), np.float32)
    found = forward(layers, images.reshape(3, -1))
    hidden = torch.from_numpy(images).permute(0, 3, 1, 2)
    for patches, weights, bias in layers:
        if len(patches):
            side, stride = (4, 2) if shape[0] >= 20 else (3, 1)
            kernel = torch.from_numpy(weights).reshape(side, side, -1, len(bias))
            kernel = kernel.permute(3, 2, 0, 1)
            hidden = torch.conv2d(hidden, kernel, torch.from_numpy(bias), stride).relu()
            flat = hidden.permute(0, 2, 3, 1).flatten(1)
        else:
            last = flat @ torch.from_numpy(weights) + torch.from_numpy(bias)
            flat = last.relu()
    np.testing.assert_allclose(found, last.numpy(), rtol=1e-4, atol=1e-5)


def test_rows_have_the_keys_of_the_trained_network():
    agent = MFEC(Walk(), n_neighbors=2, embedding=small(), seed=1)
    agent.learn(90)
    first = {name: memory.keys.copy() for name, memory in agent.memories.items()}
    assert not agent.embedding.frozen
    agent.learn(120)
    assert agent.embedding.frozen
    assert agent.embedding.state()["steps/keys"].shape == (0, 6)
    known = set()
    for page in agent.album.pages.values():
        for picture in page.pictures:
            key = np.empty(6)
            agent.embedding.embed(picture.ravel().astype(np.float64), key)
            known.add(key.astype(np.float32).tobytes())
    stored = {key.tobytes() for memory in agent.memories.values() for key in memory.keys}
    assert known <= stored
    assert not {key.tobytes() for keys in first.values() for key in keys} & stored
    for memory in agent.memories.values():
        memory.check_invariants()


def test_the_training_makes_the_task_easier():
    agent = MFEC(Walk(fresh=True), n_neighbors=2, epsilon=1.0, seed=1,
                 embedding=LearnedEncoder(6, n_steps=1500, n_updates=250))  # fmt: skip
    agent.learn(1600)
    embedding, rng = agent.embedding, np.random.default_rng(0)

    def keys(place):
        screens = rng.integers(0, 40, (40, 9, 10)).astype(np.float64)
        screens[:, 3:6, place : place + 3] = 255
        return embedding.embed_batch(screens.reshape(40, -1))

    here, there = keys(2), keys(5)
    within = np.linalg.norm(here - here.mean(axis=0), axis=1).mean()
    assert np.linalg.norm(here.mean(axis=0) - there.mean(axis=0)) > 2 * within


@pytest.mark.parametrize("steps", [60, 200])
def test_saved_and_loaded_it_goes_on_as_it_would_have(steps, tmp_path):
    whole = MFEC(Walk(), n_neighbors=2, embedding=small(), seed=1).learn(300)
    MFEC(Walk(), n_neighbors=2, embedding=small(), seed=1).learn(steps).save(tmp_path / "a")
    again = MFEC.load(tmp_path / "a", env=Walk())
    again.learn(300 - again.num_timesteps)
    for name, memory in whole.memories.items():
        assert again.memories[name].digest() == memory.digest()
    for name, array in whole.embedding.state().items():
        np.testing.assert_array_equal(again.embedding.state()[name], array)


def test_several_environments_have_the_keys_of_one_network():
    envs = SyncVectorEnv([Walk] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = MFEC(envs, n_neighbors=2, embedding=small(), seed=1).learn(400)
    assert agent.embedding.frozen
    for name, memory in agent.memories.items():
        page = agent.album.pages[name]
        for row, picture in zip(page.rows, page.pictures, strict=True):
            key = np.empty(6)
            agent.embedding.embed(picture.ravel().astype(np.float64), key)
            np.testing.assert_array_equal(key.astype(np.float32), memory.keys[row])


def test_large_images_are_resized_and_stacks_are_channels():
    for shape in ((84, 84), (60, 50, 3), (4, 40, 40)):
        agent = MFEC(Walk(shape[:2]) if len(shape) == 2 else Spaces(
            gym.spaces.Box(0, 255, shape, np.uint8), gym.spaces.Discrete(2)),
            embedding=small(), seed=0)  # fmt: skip
        n_frames = 4 if shape[0] == 4 else 1
        assert agent.flattener.size == 28 * 28 * n_frames
        inputs = agent.embedding.inputs(np.arange(agent.flattener.size)[None] % 256)
        assert inputs.shape == (1, 28 * 28 * n_frames)
        assert inputs[0, 1] == np.float32(784 % 256 if n_frames > 1 else 1) * np.float32(1 / 255)


def test_bad_input():
    images = Spaces(gym.spaces.Box(0, 255, (9, 10), np.uint8), gym.spaces.Discrete(2))
    vectors = Spaces(gym.spaces.Box(0, 1, (4,), np.float32), gym.spaces.Discrete(2))
    endless = Spaces(gym.spaces.Box(-np.inf, np.inf, (9, 10)), gym.spaces.Discrete(2))
    tiny = Spaces(gym.spaces.Box(0, 255, (2, 9), np.uint8), gym.spaces.Discrete(2))
    with pytest.raises(ValueError, match="use it with MFEC"):
        CEC(images, embedding=small())
    with pytest.raises(ValueError, match="use it alone"):
        Chain([small(), RandomProjection(2)])
    with pytest.raises(TypeError, match="Box of images"):
        MFEC(vectors, embedding=small())
    with pytest.raises(ValueError, match="lowest and a highest"):
        MFEC(endless, embedding=small())
    with pytest.raises(ValueError, match="at least 3 by 3"):
        MFEC(tiny, embedding=small())
    agent = MFEC(images, embedding=small(), seed=0)
    state = agent.embedding.state()
    with pytest.raises(ValueError, match="layer_0/weights"):
        agent.embedding.restore({**state, "layer_0/weights": state["layer_0/weights"][:-1]})
    with pytest.raises(ValueError, match="arrays"):
        agent.embedding.restore({"frozen": state["frozen"]})


def test_on_the_command_line():
    assert load_embedding(parse_embedding("learned:16")).config() == LearnedEncoder(16).config()


def test_without_torch_the_message_names_the_extra_and_nothing_starts(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from scrubjay import MFEC, LearnedEncoder\n"
        "import gymnasium\n"
        "import numpy as np\n"
        "space = gymnasium.spaces.Box(0, 255, (9, 10), np.uint8)\n"
        "class Env(gymnasium.Env):\n"
        "    observation_space, action_space = space, gymnasium.spaces.Discrete(2)\n"
        "    def reset(self, **options): raise SystemExit('it started')\n"
        "MFEC(Env(), embedding=LearnedEncoder(), seed=0).learn(10)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert 'pip install "scrubjay[deep]"' in result.stderr.splitlines()[-1]
    assert "it started" not in result.stderr
