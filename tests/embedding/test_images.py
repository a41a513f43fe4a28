"""Keys of images: against naive averages and cosines, in all layouts, and what is refused."""

import math

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scrubjay.envs  # noqa: F401
from scrubjay import (
    MFEC,
    CECPlus,
    Chain,
    Downsample,
    FrozenNormalizer,
    Grey,
    LowFrequencies,
    RandomProjection,
    Resize,
)
from scrubjay.agents import Spaces
from scrubjay.cli.main import CommandError
from scrubjay.cli.options import parse_embedding
from scrubjay.embedding import load_embedding
from scrubjay.embedding.images import find_layout

WEIGHTS = (0.299, 0.587, 0.114)


def box(image):
    return gym.spaces.Box(0, 255, image.shape, image.dtype)


def key_of(embedding, image):
    flattener = embedding.flattener(box(image))
    embedding.bind(flattener.bounds, 0)
    vector, key = np.empty(flattener.size), np.empty(embedding.key_dim)
    flattener.into(image, vector)
    embedding.embed(vector, key)
    return key


def naive_grey(image):
    return sum(w * image[..., c].astype(float) for c, w in enumerate(WEIGHTS))


def naive_area(grey, height, width):
    """Each new pixel pixel by pixel: the overlap of areas, exactly."""
    out = np.zeros((height, width))
    tall, wide = grey.shape[0] / height, grey.shape[1] / width
    for i in range(height):
        for j in range(width):
            for y in range(grey.shape[0]):
                for x in range(grey.shape[1]):
                    over_y = min(y + 1, (i + 1) * tall) - max(y, i * tall)
                    over_x = min(x + 1, (j + 1) * wide) - max(x, j * wide)
                    if over_y > 0 and over_x > 0:
                        out[i, j] += grey[y, x] * over_y * over_x / (tall * wide)
    return out


def naive_cosines(grey, n, m):
    out = np.zeros((n, m))
    height, width = grey.shape
    for u in range(n):
        for v in range(m):
            scale = math.sqrt((1 if u == 0 else 2) / height * (1 if v == 0 else 2) / width)
            for y in range(height):
                for x in range(width):
                    out[u, v] += (
                        scale * grey[y, x]
                        * math.cos(math.pi * u * (y + 0.5) / height)
                        * math.cos(math.pi * v * (x + 0.5) / width)
                    )  # fmt: skip
    return out


images = st.tuples(st.integers(9, 14), st.integers(9, 14), st.integers(0, 1000)).map(
    lambda n: np.random.default_rng(n[2]).integers(0, 256, (n[0], n[1], 3), dtype=np.uint8)
)


@settings(max_examples=20, deadline=None)
@given(images, st.integers(1, 9), st.integers(1, 9))
def test_resizing_averages_areas(image, height, width):
    expected = naive_area(naive_grey(image), height, width)
    found = key_of(Resize((height, width)), image)
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-12, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(images, st.integers(1, 5), st.integers(1, 5))
def test_low_frequencies_are_those_of_the_cosine_transform(image, n, m):
    expected = naive_cosines(naive_grey(image), n, m)
    found = key_of(LowFrequencies((n, m)), image)
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-12, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(images, st.integers(1, 6))
def test_downsampling_averages_blocks(image, factor):
    grey = naive_grey(image)
    expected = [
        grey[i : i + factor, j : j + factor].mean()
        for i in range(0, grey.shape[0], factor)
        for j in range(0, grey.shape[1], factor)
    ]
    np.testing.assert_allclose(key_of(Downsample(factor), image), expected, rtol=1e-12)


def test_grey_keeps_every_pixel():
    image = np.random.default_rng(0).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    np.testing.assert_allclose(key_of(Grey(), image), naive_grey(image).ravel(), rtol=1e-12)
    white = np.full((12, 10, 3), 255, np.uint8)
    np.testing.assert_allclose(key_of(Resize(4), white), 255.0)


def test_all_layouts_of_an_image_have_the_same_key():
    image = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    expected = key_of(Resize((5, 6)), image)
    for same, layout in (
        (image.transpose(2, 0, 1).copy(), "CHW"),
        (image[None], "NHWC"),
        (image.transpose(2, 0, 1)[None].copy(), "NCHW"),
        (np.asfortranarray(image), "HWC"),
    ):
        assert find_layout(same.shape, None) == layout
        np.testing.assert_array_equal(key_of(Resize((5, 6)), same), expected)
    for dtype in (np.float32, np.float64, np.int64, np.float16):
        np.testing.assert_array_equal(key_of(Resize((5, 6)), image.astype(dtype)), expected)


def test_frames_of_a_stack_are_reduced_one_by_one():
    frames = np.random.default_rng(2).integers(0, 256, (4, 20, 20), dtype=np.uint8)
    expected = np.concatenate([key_of(LowFrequencies(3), frame) for frame in frames])
    np.testing.assert_array_equal(key_of(LowFrequencies(3), frames), expected)
    last = frames.transpose(1, 2, 0).copy()
    assert find_layout(last.shape, None) == "HWN"
    np.testing.assert_array_equal(key_of(LowFrequencies(3), last), expected)
    colored = np.random.default_rng(3).integers(0, 256, (2, 16, 18, 3), dtype=np.uint8)
    expected = np.concatenate([key_of(Resize(4), frame) for frame in colored])
    np.testing.assert_array_equal(key_of(Resize(4), colored), expected)


@pytest.mark.parametrize("shape", [(), (8,), (3, 40, 3), (40, 40, 40), (2, 2, 40, 40, 3), (5, 40)])
def test_shapes_that_leave_a_doubt_are_refused(shape):
    if shape == (5, 40):
        assert find_layout(shape, None) == "HW"  # nothing else it could be
        return
    with pytest.raises(ValueError, match=r'expected an image, .*got the shape .*layout="HWC"'):
        find_layout(shape, None)


def test_a_layout_decides_what_the_shape_does_not():
    assert find_layout((3, 40, 3), "CHW") == "CHW"
    assert find_layout((6, 6, 3), "HWC") == "HWC"
    image = np.random.default_rng(4).integers(0, 256, (6, 7, 3), dtype=np.uint8)
    expected = naive_grey(image).ravel()
    np.testing.assert_allclose(key_of(Grey("HWC"), image), expected, rtol=1e-12)
    for wrong in ("HWC", "HH", "HWX", "CWHN"):
        with pytest.raises(ValueError, match=f"axes '{wrong}', got the shape"):
            find_layout((40, 40, 4), wrong)
    with pytest.raises(TypeError, match="expected a layout such as 'HWC', got 3"):
        Grey(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Resize(0), "expected size to be a whole number of at least 1, got 0"),
        (lambda: Resize((4, 4, 4)), "expected size to be one number or height and width"),
        (lambda: LowFrequencies("8"), "expected size to be a whole number"),
        (lambda: Downsample(2.5), "expected factor to be a whole number"),
        (lambda: Resize(30).flattener(gym.spaces.Box(0, 1, (40, 20))), r"at most \(40, 20\)"),
    ],
)
def test_wrong_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_observations_are_refused():
    embedding = Resize(4)
    flattener = embedding.flattener(gym.spaces.Box(0, 255, (20, 20, 3), np.uint8))
    out = np.empty(16)
    with pytest.raises(ValueError, match=r"image of shape \(20, 20, 3\), got \(20, 20\)"):
        flattener.into(np.zeros((20, 20), np.uint8), out)
    with pytest.raises(TypeError, match="expected an image of numbers, got dtype object"):
        flattener.into(np.full((20, 20, 3), None), out)
    with pytest.raises(ValueError, match=r"expected 2 images of shape \(20, 20, 3\), got"):
        flattener.into_batch(np.zeros((3, 20, 20, 3), np.uint8), np.empty((2, 16)))
    with pytest.raises(TypeError, match="expected a Box of images"):
        embedding.flattener(gym.spaces.Dict({"image": gym.spaces.Box(0, 1, (20, 20))}))
    with pytest.raises(ValueError, match="only the first stage of a chain"):
        Chain([RandomProjection(4), Resize(4)])


@pytest.mark.parametrize(
    "embedding", [Grey("HWC"), Resize((4, 5)), Downsample(3), LowFrequencies(4, layout="HWC")]
)
def test_configurations_make_the_same_embedding(embedding):
    again = load_embedding(embedding.config())
    assert again.config() == embedding.config()
    image = np.random.default_rng(5).integers(0, 256, (20, 20, 3), dtype=np.uint8)
    np.testing.assert_array_equal(key_of(again, image), key_of(embedding, image))


def test_on_the_command_line():
    assert load_embedding(parse_embedding("resize:84+project:64")).config() == (
        Chain([Resize(84), RandomProjection(64)]).config()
    )
    assert load_embedding(parse_embedding("resize:21x16")).size == (21, 16)
    assert load_embedding(parse_embedding("frequencies:8")).size == (8, 8)
    assert load_embedding(parse_embedding("downsample:4")).factor == 4
    assert load_embedding(parse_embedding("grey")).config() == Grey().config()
    with pytest.raises(CommandError, match="expected a whole number"):
        parse_embedding("resize:large")


class Pictures(gym.Env):
    """Random pictures; the action that its first pixel names is rewarded."""

    def __init__(self, shape=(20, 20, 3)):
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        return self.picture(), {}

    def picture(self):
        self.right = int(self.np_random.integers(2))
        shape = self.observation_space.shape
        return np.full(shape, 40 + 100 * self.right + self.time, np.uint8)

    def step(self, action):
        reward = float(action == self.right)
        self.time += 1
        return self.picture(), reward, self.time == 20, False, {}


@pytest.mark.parametrize(
    "embedding",
    [
        LowFrequencies(2),
        Chain([Resize(8), RandomProjection(4)]),
        Chain([Downsample(5), FrozenNormalizer(100)]),
    ],
)
def test_an_agent_with_image_keys_is_saved_and_goes_on(embedding, tmp_path):
    whole = MFEC(Pictures(), n_neighbors=1, embedding=embedding, seed=0).learn(800)
    MFEC(Pictures(), n_neighbors=1, embedding=embedding, seed=0).learn(400).save(tmp_path / "a")
    loaded = MFEC.load(tmp_path / "a", env=Pictures()).learn(400)
    for name, memory in whole.memories.items():
        assert loaded.memories[name].digest() == memory.digest()
    stack = np.stack([Pictures().reset(seed=seed)[0] for seed in range(4)])
    together, _ = loaded.predict(stack, deterministic=True)
    assert together.tolist() == [whole.predict(one, deterministic=True)[0] for one in stack]


def test_cec_plus_learns_on_drawn_pictures(tmp_path):
    pytest.importorskip("mujoco")
    env = gym.make("scrubjay/PointUMaze-v0", pixels=32, max_episode_steps=60)
    embedding = Chain([LowFrequencies(4), FrozenNormalizer(100)])
    agent = CECPlus(env, embedding=embedding, seed=0).learn(400)
    assert agent.embedding.key_dim == 16
    assert len(agent.memory) > 0
    agent.save(tmp_path / "agent")
    observation, _ = env.reset(seed=1)
    again = CECPlus.load(tmp_path / "agent")
    np.testing.assert_array_equal(
        again.predict(observation, deterministic=True)[0],
        agent.predict(observation, deterministic=True)[0],
    )


def test_whole_images_as_keys_are_warned_of_with_their_bytes():
    spaces = Spaces(gym.spaces.Box(0, 255, (84, 84), np.uint8), gym.spaces.Discrete(2))
    with pytest.warns(UserWarning, match=r"keys of 7,056 numbers, about 56,448 bytes a row"):
        MFEC(spaces, embedding=Grey())


class Memorable(Pictures):
    def __init__(self):
        super().__init__((400, 500))


def test_a_memory_that_cannot_fit_is_told_before_the_run(monkeypatch):
    agent = MFEC(Memorable(), n_neighbors=1, embedding=LowFrequencies(4), capacity=10**9, seed=0)
    agent.learn(20)  # twenty rows do
    monkeypatch.setattr("scrubjay.agents.checks.physical_memory", lambda: 2.0**30)
    with pytest.warns(
        UserWarning, match=r"rows of .* bytes need .* GiB, and this computer has 1.0"
    ):
        agent.learn(total_episodes=1)
