"""MinAtar's games as tasks."""

import copy
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import scrubjay.envs  # noqa: F401
from scrubjay import MFEC
from scrubjay.agents.mfec import preset
from scrubjay.envs.minatar import GAMES, MinAtar

pytest.importorskip("minatar")

NAMES = {game: f"MinAtar{game.title().replace('_', '')}" for game in GAMES}
# channels and actions
SIZES = {
    "asterix": (4, 5), "breakout": (4, 3), "freeway": (7, 3), "seaquest": (10, 6),
    "space_invaders": (6, 4),
}  # fmt: skip


def play(env, seed, n_steps=200):
    rng = np.random.default_rng(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(n_steps):
        observation, reward, terminated, *_ = env.step(rng.integers(env.action_space.n))
        seen += [observation, np.array(reward)]
        if terminated:
            break
    return seen


def assert_same(one, other):
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("sticky_actions", [0.0, 0.5])
def test_an_episode_is_determined_by_its_seed(game, sticky_actions):
    env = gym.make(f"scrubjay/{NAMES[game]}-v0", sticky_actions=sticky_actions)
    channels, n_actions = SIZES[game]
    assert env.observation_space == gym.spaces.Box(0, 1, (10, 10, channels), np.uint8)
    assert env.action_space == gym.spaces.Discrete(n_actions)
    first = play(env, 1)
    play(env, 2)
    assert_same(play(env, 1), first)


@pytest.mark.parametrize("game", GAMES)
def test_it_is_the_game_of_the_package(game):
    from minatar import Environment

    env = MinAtar(game, all_actions=True)
    env.reset(seed=3)
    theirs = Environment(game, sticky_action_prob=0.0)
    theirs.seed(0)
    theirs.env.random = copy.deepcopy(env._game.random)
    # the same dice, as they were when the game began
    theirs.env = copy.deepcopy(env._game)
    rng = np.random.default_rng(0)
    for _ in range(100):
        action = rng.integers(6)
        observation, reward, terminated, truncated, _ = env.step(action)
        expected, over = theirs.act(action)
        assert (reward, terminated, truncated) == (expected, over, False)
        np.testing.assert_array_equal(observation, theirs.state())
        if over:
            break


@pytest.mark.parametrize("game", GAMES)
def test_it_passes_the_environment_checker(game):
    env = MinAtar(game, render_mode="rgb_array")
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    assert env.render().shape == (320, 320, 3)
    copied = pickle.loads(pickle.dumps(env))
    assert_same(play(copied, 0, 20), play(env, 0, 20))


def test_sticky_actions_repeat_the_previous_one():
    env = MinAtar("breakout", sticky_actions=1.0)
    calm = MinAtar("breakout")
    env.reset(seed=0)
    calm.reset(seed=0)
    for _ in range(5):  # no action ever arrives
        np.testing.assert_array_equal(env.step(1)[0], calm.step(0)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "pong"}, "expected one of the games asterix, .*got 'pong'"),
        ({"sticky_actions": -0.1}, "expected sticky_actions between 0 and 1, got -0.1"),
        ({"render_mode": "human"}, "expected render_mode None or 'rgb_array'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MinAtar(**{"game": "breakout", **options})


def test_mfec_learns_breakout():
    env = gym.make("scrubjay/MinAtarBreakout-v0")
    agent = MFEC(env, **preset("MinAtarBreakout"), seed=0)
    returns = []
    agent.learn(15_000, callback=lambda names, _: note_return(names, returns))
    # a random player has 0.4
    assert np.mean(returns[-50:]) > 2.0


def note_return(names, returns):
    for info in names.get("infos", ()):
        if "episode" in info:
            returns.append(info["episode"]["r"])
    return True


def test_without_the_package_the_message_names_the_extra():
    script = (
        "import sys; sys.modules['minatar'] = None\n"
        "from scrubjay.cli.main import main\n"
        "sys.exit(main(['train', 'mfec', 'MinAtarBreakout', '--out', 'never']))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode != 0
    assert 'pip install "scrubjay[minatar]"' in result.stderr.splitlines()[-1]
