"""Pictures of MuJoCo tasks, with the mazes as the example."""

import os
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("mujoco")

import scrubjay.envs  # noqa: F401
from scrubjay.envs.maze_map import U_MAZE
from scrubjay.envs.point_maze import PointMaze
from scrubjay.envs.rendering import (
    RenderingError,
    has_display,
    has_egl_device,
    has_osmesa,
)


def make(task, **options):
    env = gym.make(task, render_mode="rgb_array", **options)
    env.reset(seed=0)
    try:
        env.render()
    except RenderingError as error:
        pytest.skip(str(error))
    return env


def colored(picture, color):
    """Where the picture has that colour: (x, y) of the middle and the number of pixels."""
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    masks = {
        "red": (red > green + 80) & (red > blue + 80) & (green < blue + 40),
        "green": (green > red + 40) & (green > blue + 40),
        "blue": (blue > red + 60) & (blue > green + 30),
        "orange": (red > 150) & (green > blue + 50) & (red > green + 50),
    }
    y, x = np.nonzero(masks[color])
    return np.array([x.mean(), y.mean()]), len(x)


def test_a_maze_from_above_shows_goal_robot_and_heading():
    env = make("scrubjay/PointUMaze-v0")
    for x, y, heading in ((8.0, 0.0, 0.0), (8.0, 8.0, np.pi / 2), (4.0, 8.0, np.pi)):
        env.reset(options={"qpos": [x, y, heading], "qvel": [0, 0, 0]})
        picture = env.render()
        assert picture.shape == (480, 480, 3)
        assert picture.dtype == np.uint8
        goal, _ = colored(picture, "red")
        robot, n_robot = colored(picture, "blue")
        arrow, n_arrow = colored(picture, "orange")
        assert n_robot > 300
        assert n_arrow > 50
        scale = 480 / 14
        np.testing.assert_allclose((robot - goal) / scale, [x, -(y - 8)], atol=0.25)
        ahead = (arrow - robot) * [1, -1]
        assert np.dot(ahead / np.linalg.norm(ahead), [np.cos(heading), np.sin(heading)]) > 0.98


def test_sub_goals_are_green():
    picture = make("scrubjay/Point4Rooms-v0").render()
    assert colored(picture, "green")[1] > 1.5 * colored(picture, "red")[1] > 0


def test_pictures_have_the_shape_of_the_maze_or_the_size_asked_for():
    env = PointMaze(["########", "#R    G#", "########"], render_mode="rgb_array")
    assert (env.width, env.height) == (480, 80)
    assert make("scrubjay/PointUMaze-v0", width=800, height=600).render().shape == (600, 800, 3)


@pytest.mark.parametrize("size", [{"width": 0}, {"height": -3}])
def test_a_picture_without_pixels_is_an_error(size):
    with pytest.raises(ValueError, match="at least 1 x 1 pixels"):
        PointMaze(U_MAZE, [(0, 8)], **size)


def test_drawing_changes_nothing():
    drawn, plain = make("scrubjay/PointUMaze-v0"), gym.make("scrubjay/PointUMaze-v0")
    np.testing.assert_array_equal(drawn.reset(seed=1)[0], plain.reset(seed=1)[0])
    for _ in range(100):
        action = plain.action_space.sample()
        drawn.render()
        np.testing.assert_array_equal(drawn.step(action)[0], plain.step(action)[0])


def test_closing_twice_and_drawing_again_works():
    env = make("scrubjay/PointUMaze-v0")
    first = env.render()
    env.close()
    env.close()
    np.testing.assert_array_equal(env.render(), first)
    env.close()


def test_drawing_without_a_render_mode_warns():
    env = PointMaze(U_MAZE, [(0, 8)])
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert env.render() is None


@pytest.mark.skipif(has_display(), reason="there is a display")
def test_a_window_without_a_display_says_what_to_do():
    with pytest.raises(RenderingError, match="rgb_array"):
        PointMaze(U_MAZE, [(0, 8)], render_mode="human").reset(seed=0)


SCRIPT = """
import gymnasium, scrubjay.envs
env = gymnasium.make("scrubjay/PointUMaze-v0", render_mode="rgb_array")
env.reset(seed=0)
print(env.render().shape)
"""


def draw_elsewhere(**variables):
    """Draw in a new process that has these environment variables and no other choice made."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=kept | variables, capture_output=True, text=True
    )


@pytest.mark.skipif(not (has_egl_device() or has_osmesa()), reason="neither EGL nor OSMesa here")
def test_without_a_display_the_library_is_chosen_automatically():
    result = draw_elsewhere(DISPLAY="", WAYLAND_DISPLAY="")
    assert result.stdout == "(480, 480, 3)\n"
    assert result.stderr == ""  # also when Python ends with the environment still open


def test_without_a_library_the_message_says_what_to_install():
    result = draw_elsewhere(MUJOCO_GL="disable")
    assert result.returncode != 0
    assert "apt-get install libegl1 libegl-mesa0 (or libosmesa6)" in result.stderr
