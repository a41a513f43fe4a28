"""Atari: frames, stacks, starts and sticky actions; the emulator itself is the oracle."""

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
from scrubjay.envs.atari import Atari

ale_py = pytest.importorskip("ale_py")

GAMES = {
    "MsPacman": ("ms_pacman", 9),
    "Qbert": ("qbert", 6),
    "Frostbite": ("frostbite", 18),
    "Hero": ("hero", 18),
    "Riverraid": ("riverraid", 18),
    "SpaceInvaders": ("space_invaders", 6),
}


def play(env, seed, n_steps=60):
    """Observations and rewards of some random steps."""
    rng = np.random.default_rng(seed)
    seen, rewards = [env.reset(seed=seed)[0]], []
    for _ in range(n_steps):
        observation, reward, *_ = env.step(rng.integers(env.action_space.n))
        seen.append(observation)
        rewards.append(reward)
    return np.array(seen), rewards


@pytest.mark.parametrize("name", GAMES)
def test_an_episode_is_determined_by_its_seed_whatever_came_before(name):
    env = gym.make(f"scrubjay/{name}-v0")
    assert env.action_space.n == GAMES[name][1]
    first, second = play(env, 1), play(env, 2)
    again = play(env, 1)
    fresh = play(gym.make(f"scrubjay/{name}-v0"), 1)
    for run in (again, fresh):
        np.testing.assert_array_equal(run[0], first[0])
        assert run[1] == first[1]
    assert not np.array_equal(first[0], second[0])


@pytest.mark.parametrize("stack", [1, 4])
def test_it_passes_the_environment_checker(stack):
    env = Atari("ms_pacman", stack=stack, render_mode="rgb_array")
    check_env(env, skip_render_check=True)
    shape = (84, 84) if stack == 1 else (4, 84, 84)
    assert env.observation_space == gym.spaces.Box(0, 255, shape, np.uint8)
    assert env.render().shape == (210, 160, 3)
    copied = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(play(copied, 0, 5)[0], play(env, 0, 5)[0])


def test_frames_are_those_of_the_emulator():
    from ale_py import roms

    env = Atari("space_invaders", size=None, max_noops=0)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 0)
    ale.loadROM(roms.get_rom_path("space_invaders"))
    ale.reset_game()
    np.testing.assert_array_equal(env.reset(seed=0)[0], ale.getScreenGrayscale())
    rng, codes = np.random.default_rng(0), ale.getMinimalActionSet()
    for _ in range(40):
        action = rng.integers(len(codes))
        observation, reward, *_, info = env.step(action)
        expected = 0
        for frame in range(4):
            expected += ale.act(codes[action])
            if frame == 2:
                before = ale.getScreenGrayscale()
        np.testing.assert_array_equal(observation, np.maximum(before, ale.getScreenGrayscale()))
        assert reward == expected
        assert info["lives"] == ale.lives()


def test_smaller_frames_are_area_averages():
    large, small = Atari("qbert", size=None), Atari("qbert", size=10)
    screens, pictures = play(large, 3, 30)[0], play(small, 3, 30)[0]
    blocks = screens.reshape(-1, 10, 21, 10, 16).mean(axis=(2, 4))
    np.testing.assert_array_equal(pictures, np.rint(blocks))


def test_a_stack_has_the_last_observations_and_nothing_from_before_the_episode():
    alone, stacked = play(Atari("frostbite"), 5, 10)[0], play(Atari("frostbite", stack=3), 5, 10)[0]
    padded = np.concatenate([np.zeros((2, 84, 84), np.uint8), alone])
    for t, stack in enumerate(stacked):
        np.testing.assert_array_equal(stack, padded[t : t + 3])


def test_starts_are_random_unless_told_otherwise():
    env, fixed = Atari("ms_pacman"), Atari("ms_pacman", max_noops=0)

    def frame(env, seed):
        env.reset(seed=seed)
        return env.ale.getEpisodeFrameNumber()

    frames = {frame(env, seed) - frame(fixed, seed) for seed in range(30)}
    assert len(frames) > 10
    assert frames <= set(range(1, 31))


def test_sticky_actions_repeat_the_previous_one_in_some_frames():
    env = Atari("riverraid", sticky_actions=0.25, max_noops=0)
    calm = Atari("riverraid", max_noops=0)
    np.testing.assert_array_equal(play(env, 1)[0], play(env, 1)[0])
    assert not np.array_equal(play(env, 1)[0], play(calm, 1)[0])
    always = Atari("riverraid", sticky_actions=1.0, max_noops=0)
    always.reset(seed=0)
    calm.reset(seed=0)
    for _ in range(20):  # no action ever arrives
        np.testing.assert_array_equal(always.step(5)[0], calm.step(0)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "pacwoman"}, "expected the name of a game"),
        ({"frame_skip": 0}, "expected frame_skip to be a whole number from 1 on, got 0"),
        ({"stack": 1.5}, "expected stack to be a whole number"),
        ({"max_noops": -1}, "expected max_noops"),
        ({"size": 0}, "expected size to be None or between 1 and 160, got 0"),
        ({"sticky_actions": 2}, "expected sticky_actions between 0 and 1, got 2"),
        ({"render_mode": "human"}, "expected render_mode None or 'rgb_array'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Atari(**{"game": "qbert", **options})


@pytest.mark.parametrize("stack", [1, 2])
def test_mfec_trains_on_it(stack, tmp_path):
    env = gym.make("scrubjay/MsPacman-v0", stack=stack, max_episode_steps=40)
    agent = MFEC(env, **preset("MsPacman", "paper"), seed=0).learn(80)
    assert agent.embedding.key_dim == 64
    assert sum(map(len, agent.memories.values())) > 0
    agent.save(tmp_path / "agent")
    observation = env.reset(seed=9)[0]
    expected = agent.predict(observation, deterministic=True)[0]
    assert MFEC.load(tmp_path / "agent").predict(observation, deterministic=True)[0] == expected


def test_without_the_emulator_the_message_names_the_extra():
    script = (
        "import sys; sys.modules['ale_py'] = None\n"
        "from scrubjay.cli.main import main\n"
        "sys.exit(main(['train', 'mfec', 'MsPacman', '--out', 'never']))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode != 0
    assert 'pip install "scrubjay[atari]"' in result.stderr.splitlines()[-1]
