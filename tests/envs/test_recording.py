"""Films: right frames, right speed, whole files or none."""

import subprocess
import sys
from itertools import pairwise

import gymnasium as gym
import imageio.v3 as iio
import numpy as np
import pytest

from scrubjay.envs import recording
from scrubjay.envs.recording import record

# imageio's reader of MP4 leaves its pipes to the garbage collector; the writer does not.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

TREE = "scrubjay/GrowingTree-v0"


class Counter(gym.Env):
    """Ten steps, ten frames a second, and the step's number as the grey of the picture."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    action_space = gym.spaces.Box(-1, 1, (1,))
    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, render_mode="rgb_array", size=(32, 48)):
        self.render_mode = render_mode
        self.size = size
        self.seeds, self.actions = [], []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.seeds.append(seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.actions.append(action)
        self.t += 1
        done = self.t == 10
        return np.full(1, self.t, np.float32), 0.5, done, False, {"is_success": done}

    def render(self):
        return np.full((*self.size, 3), 20 * self.t, np.uint8)


def grey(path):
    return iio.imread(path, index=None)[:, 0, 0, 0].tolist()


def test_a_gif_shows_every_frame_of_every_episode(tmp_path):
    env = Counter()
    film = record(env, lambda observation: observation, tmp_path / "film.gif", episodes=2, seed=3)
    assert film == (tmp_path / "film.gif", 22, [5.0, 5.0], [10, 10], [True, True], 0)
    assert grey(film.path) == [20 * t for t in range(11)] * 2
    assert iio.immeta(film.path)["duration"] == 100
    assert env.seeds == [3, None]
    assert [float(action[0]) for action in env.actions] == [*range(10)] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


def test_frames_are_left_out_but_never_the_last(tmp_path):
    film = record(Counter(), None, tmp_path / "film.gif", max_frame_rate=3.4)
    assert grey(film.path) == [0, 60, 120, 180, 200]
    assert iio.immeta(film.path)["duration"] == 300


def test_an_mp4_has_the_frames_and_the_speed(tmp_path):
    film = record(Counter(size=(64, 96)), None, tmp_path / "film.MP4", caption=False)
    assert np.abs(np.array(grey(film.path)) - 20 * np.arange(11)).max() < 8
    assert iio.immeta(film.path)["fps"] == 10
    assert iio.improps(film.path).shape[1:] == (64, 96, 3)


def test_a_film_ends_at_the_largest_number_of_frames(tmp_path):
    film = record(Counter(), None, tmp_path / "film.gif", episodes=5, max_frames=15)
    assert (film.n_frames, film.lengths, film.cut_at) == (15, [10], 3)
    assert len(grey(film.path)) == 15


def test_an_episode_without_an_end_is_cut_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MAX_STEPS", 7)
    film = record(Counter(), None, tmp_path / "film.gif")
    assert (film.n_frames, film.lengths, film.cut_at) == (8, [], 7)


def test_a_caption_is_below_the_picture_and_says_how_it_stands(tmp_path):
    pictures = {}
    for caption in (False, True):
        film = record(Counter(size=(60, 400)), None, tmp_path / "film.gif", caption=caption)
        pictures[caption] = iio.imread(film.path, index=None)
    assert pictures[False].shape == (11, 60, 400, 3)
    height, width = pictures[True].shape[1:3]
    assert width == 400
    assert height > 60
    assert height % 2 == 0
    assert np.array_equal(pictures[True][:, :60, :, 0], pictures[False][..., 0])
    below = pictures[True][:, 60:].astype(int)
    assert all((a != b).any() for a, b in pairwise(below)), "steps and return"
    green = (below[..., 1] - below[..., 0] > 60).sum(axis=(1, 2))
    assert green[-1] > 50, "success, at the end"
    assert green[:-1].max() == 0


def test_small_pictures_are_enlarged_under_a_caption(tmp_path):
    film = record(Counter(size=(20, 30)), None, tmp_path / "film.gif")
    assert iio.imread(film.path, index=0).shape[1] == 330


def test_the_last_picture_of_an_episode_is_held(tmp_path):
    film = record(Counter(size=(64, 96)), None, tmp_path / "film.mp4", hold=1.0, caption=False)
    assert film.n_frames == 11
    assert len(grey(film.path)) == 11 + 10


def test_success_is_read_as_asked(tmp_path):
    film = record(Counter(), None, tmp_path / "film.gif", success_of=lambda info: None)  # noqa: ARG005
    assert film.successes == [None]


def test_random_actions_follow_the_seed(tmp_path):
    runs = [Counter(), Counter(), Counter()]
    for env, seed in zip(runs, (1, 1, 2), strict=True):
        record(env, None, tmp_path / "film.gif", seed=seed)
    assert np.array_equal(runs[0].actions, runs[1].actions)
    assert not np.array_equal(runs[0].actions, runs[2].actions)


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
@pytest.mark.parametrize("id_", [TREE, "scrubjay/SafexpCarGoal-v0"])
def test_a_task_is_filmed_by_its_id(tmp_path, id_, suffix):
    film = record(id_, None, tmp_path / "new" / f"film{suffix}", max_frames=4)
    frames = iio.imread(film.path, index=None)
    assert len(frames) == 4
    assert frames.std() > 10


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_after_an_error_the_old_film_is_still_there_and_nothing_else(tmp_path, suffix):
    path = tmp_path / f"film{suffix}"
    path.write_bytes(b"old")

    def broken(observation):
        if observation[0] == 3:
            raise RuntimeError("no idea")
        return observation

    with pytest.raises(RuntimeError, match="no idea"):
        record(Counter(), broken, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["film.avi", "film", "film.gif.part"])
def test_an_unknown_suffix_is_refused_before_anything_runs(tmp_path, name):
    env = Counter()
    with pytest.raises(ValueError, match=r"ends in \.gif or \.mp4"):
        record(env, None, tmp_path / name)
    assert env.seeds == []


@pytest.mark.parametrize("settings", [{"episodes": 0}, {"max_frames": 0}])
def test_an_empty_film_is_refused(tmp_path, settings):
    with pytest.raises(ValueError, match="to be at least 1, got 0"):
        record(Counter(), None, tmp_path / "film.gif", **settings)


def test_an_environment_that_draws_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match='make it with render_mode="rgb_array"'):
        record(Counter(render_mode=None), None, tmp_path / "film.gif")


def run_without(module, name, tmp_path):
    code = (
        f"import sys; sys.modules['{module}'] = None\n"
        "from scrubjay.envs.recording import record\n"
        f"record('{TREE}', None, {str(tmp_path / name)!r}, max_frames=2)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_ffmpeg_only_gif_works(tmp_path):
    missing = run_without("imageio_ffmpeg", "film.mp4", tmp_path)
    assert missing.returncode == 1
    assert 'pip install "scrubjay[mujoco]"' in missing.stderr.splitlines()[-1]
    assert run_without("imageio_ffmpeg", "film.gif", tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


def test_without_opengl_the_message_says_what_to_install(tmp_path):
    code = (
        "import ctypes, os\n"
        "import scrubjay.envs.safexp\n"
        "os.environ.update(MUJOCO_GL='', DISPLAY='', WAYLAND_DISPLAY='')\n"
        "def missing(name, *_, **__): raise OSError(name)\n"
        "ctypes.CDLL = missing\n"
        "from scrubjay.envs.recording import record\n"
        f"record('scrubjay/SafexpPointGoal-v0', None, {str(tmp_path / 'film.gif')!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "apt-get install libegl1" in run.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
