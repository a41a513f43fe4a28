"""DQN as a baseline for discrete actions: its networks, its settings, its files."""

import gymnasium
import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium import spaces

import scrubjay
from scrubjay.deep import DQN
from scrubjay.deep.dqn import SmallImages, preset
from scrubjay.runs.launch import load_agent

GRID = "scrubjay/FourRoomsGrid-v0"
FEW = {"learning_starts": 50, "batch_size": 8, "buffer_size": 500}


class Cells(gymnasium.Env):
    """A grid of cells like MinAtar's: action 1 is right where the first cell is set."""

    def __init__(self, shape=(10, 10, 2), high=1):
        self.observation_space = spaces.Box(0, high, shape, np.uint8)
        self.action_space = spaces.Discrete(2)

    def _seen(self):
        self._set = bool(self.np_random.integers(2))
        cells = np.zeros(self.observation_space.shape, np.uint8)
        cells.flat[0] = self._set
        return cells

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self._left = 10
        return self._seen(), {}

    def step(self, action):
        reward = float(action == self._set)
        self._left -= 1
        return self._seen(), reward, self._left == 0, False, {}


def test_defaults_are_stable_baselines_own():
    env = gymnasium.make("CartPole-v1")
    ours = DQN(env, **preset("CartPole-v1"), seed=0).model
    theirs = stable_baselines3.DQN("MlpPolicy", env, seed=0, device="cpu")
    for name in (
        "batch_size", "learning_rate", "gamma", "tau", "learning_starts", "buffer_size",
        "train_freq", "gradient_steps", "target_update_interval", "exploration_fraction",
        "exploration_initial_eps", "exploration_final_eps",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name


def test_minatar_has_its_authors_settings():
    given = preset("scrubjay/MinAtarBreakout-v0")
    assert (given["train_freq"], given["target_update_interval"]) == (1, 1000)
    assert preset("FourRoomsGrid") == {}
    with pytest.raises(ValueError, match="expected the preset default, got 'paper'"):
        preset("MinAtarBreakout", "paper")


def test_cells_have_a_small_network_that_reads_channels_last():
    model = DQN(Cells(), **FEW, seed=0).model
    network = model.q_net.features_extractor
    assert isinstance(network, SmallImages)
    grids = np.zeros((2, 10, 10, 2), np.float32)
    grids[1, 4, 7, 1] = 1
    convolved = network.layers[0](torch.as_tensor(grids).permute(0, 3, 1, 2))
    changed = (convolved[1] - convolved[0]).abs().sum(dim=0) > 0
    rows, columns = changed.nonzero().T
    assert set(rows.tolist()) == {2, 3, 4}
    assert set(columns.tolist()) == {5, 6, 7}


def test_screens_have_the_network_of_stable_baselines():
    model = DQN(Cells((36, 36, 1), high=255), **FEW, seed=0).model
    assert type(model.policy).__name__ == "CnnPolicy"


def test_it_learns_what_the_cells_say():
    settings = {"learning_rate": 1e-3, "train_freq": 1, "target_update_interval": 100}
    agent = DQN(Cells(), **{**FEW, **settings}, seed=0).learn(1500)
    cells = np.zeros((2, 10, 10, 2), np.uint8)
    cells[1].flat[0] = 1
    assert agent.predict(cells, deterministic=True)[0].tolist() == [0, 1]


def test_a_run_is_saved_and_loaded(tmp_path):
    agent = scrubjay.make("dqn", GRID, seed=1, **FEW)
    agent.learn(300, run_folder=tmp_path / "run", eval_env=GRID, eval_freq=150, n_eval_episodes=1)
    loaded, config = load_agent(tmp_path / "run")
    assert (config.agent, loaded.num_timesteps) == ("dqn", 300)
    assert loaded.config() == agent.config()
    observation = gymnasium.make(GRID).reset(seed=3)[0]
    chosen = [each.predict(observation, deterministic=True)[0] for each in (agent, loaded)]
    assert chosen[0] == chosen[1]


def test_an_action_space_that_it_cannot_act_in():
    with pytest.raises(ValueError, match=r"expected a Discrete action space, got Box.*cec, cec-"):
        DQN("Pendulum-v1")
