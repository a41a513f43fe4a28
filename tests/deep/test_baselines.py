"""Settings as the authors had them, and models made from them."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3 import HerReplayBuffer

import scrubjay
import scrubjay.envs
from scrubjay.deep import EMAC, SAC, EMACAgent, NumberedEpisodes, state_values
from scrubjay.envs.catalog import TASKS
from scrubjay.registry import agent_specs
from scrubjay.runs.config import RunConfig

TREE = "scrubjay/GrowingTree-v0"
REACH = "scrubjay/SparseFetchReach-v0"
NETWORK = {"net_arch": [8]}


def sac(name, setting="paper"):
    options = SAC.preset(f"scrubjay/{name}-v0", setting)
    return options["batch_size"], options["learning_rate"]


def test_authors_settings():
    assert sac("PointUMaze") == (16, 1e-3)
    assert sac("Point4Rooms") == sac("SparseFetchReach") == (32, 1e-3)
    assert sac("SparseMountainCar") == (16, 0.01)
    assert sac("SafexpPointGoal") == sac("SafexpCarGoal") == (32, 0.01)
    assert sac("NoisyPointUMaze") == sac("PointUMaze")


@pytest.mark.parametrize("task_id", [task.id for task in TASKS if task.paper_name])
def test_every_task_of_the_paper_has_its_settings(task_id):
    assert SAC.preset(task_id, "paper")["batch_size"] in (16, 32)
    assert EMACAgent.preset(task_id, "paper") == {}


@pytest.mark.parametrize("name", ["sac", "emac", "dqn"])
def test_every_preset_that_is_registered_is_known_to_its_class(name):
    spec = agent_specs()[name]
    for preset in spec.presets:
        spec.load().preset(REACH, preset)


def test_defaults_are_stable_baselines_own():
    env = gymnasium.make("Pendulum-v1")
    ours = SAC(env, **SAC.preset("Pendulum-v1", "defaults")).model
    theirs = stable_baselines3.SAC("MlpPolicy", env, seed=0, device="cpu")
    for name in (
        "batch_size", "learning_rate", "gamma", "tau", "learning_starts", "buffer_size", "ent_coef",
        "gradient_steps", "train_freq",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name)
    assert type(ours) is stable_baselines3.SAC
    assert str(ours.device) == "cpu"


def test_emac_has_its_authors_settings():
    model = RunConfig("emac", "GrowingTree").make_agent(gymnasium.make(TREE)).model
    assert isinstance(model, EMAC)
    buffer = model.episodes
    assert (buffer.alpha, buffer.beta, buffer.memory.n_neighbors) == (0.1, 0.5, 2)
    assert (model.batch_size, model.learning_starts, model.learning_rate) == (256, 1000, 1e-3)
    assert (buffer.timeouts_as, buffer.memory.projection.shape[1], model.gamma) == (
        "terminal", 4, 0.99,
    )  # fmt: skip
    assert model.policy.net_arch == [256, 256]


def test_the_agent_of_emac_has_the_defaults_of_its_model():
    plain = EMAC("MlpPolicy", TREE, seed=0, device="cpu")
    model = EMACAgent(TREE, seed=0).model
    for name in ("batch_size", "learning_rate", "gamma", "tau", "learning_starts", "buffer_size"):
        assert getattr(model, name) == getattr(plain, name)
    assert model.replay_buffer_kwargs == plain.replay_buffer_kwargs
    assert repr(model.action_noise) == repr(plain.action_noise)


def test_hindsight_on_the_task_with_goals():
    pytest.importorskip("gymnasium_robotics")
    settings = SAC.preset(REACH, "her")
    model = SAC(REACH, **settings, buffer_size=500, batch_size=16).model
    assert isinstance(model.replay_buffer, HerReplayBuffer)
    model.learn(150)
    assert model._n_updates == 50


def test_emac_on_the_task_with_goals():
    pytest.importorskip("gymnasium_robotics")
    model = EMACAgent(REACH, buffer_size=500, learning_starts=100, seed=0).model
    model.learn(110)
    assert model._n_updates == 10
    assert model.memory.projection.shape == (16 + 4, 4)


def test_options_go_over_the_preset():
    config = RunConfig("sac", "GrowingTree", options={"batch_size": 8})
    agent = config.make_agent(config.make_env())
    assert agent.model.batch_size == agent.config()["batch_size"] == 8
    assert agent.learning_rate == agent.model.learning_rate == 1e-3
    assert all(agent.model.get_env().env_is_wrapped(NumberedEpisodes))


def test_what_stable_baselines_writes_into_a_dict_is_not_our_setting():
    given = {"net_arch": [8]}
    agent = SAC(TREE, policy_kwargs=given, seed=0)
    assert given == agent.config()["policy_kwargs"] == {"net_arch": [8]}
    agent.config()["policy_kwargs"]["net_arch"].append(9)
    assert agent.policy_kwargs == {"net_arch": [8]}


@pytest.mark.parametrize("name", ["sac", "emac"])
def test_made_by_name_and_again_by_its_config(name):
    agent = scrubjay.make(name, TREE, seed=2, policy_kwargs=NETWORK)
    again = scrubjay.make(name, TREE, **agent.config())
    assert again.config() == agent.config()
    assert agent.config()["seed"] == agent.model.seed == 2
    for key, tensor in agent.model.policy.state_dict().items():
        assert torch.equal(tensor, again.model.policy.state_dict()[key])


def test_state_values_are_the_smaller_critics_at_the_own_action():
    model = SAC(TREE, **SAC.preset(TREE, "paper")).model
    observations = np.array([[0.0], [0.5], [1.0]], dtype=np.float32)
    expected = []
    for observation in observations:
        action, _ = model.predict(observation, deterministic=True)
        scaled = torch.tensor(model.policy.scale_action(action))[None]
        values = model.critic(torch.tensor(observation)[None], scaled)
        expected.append(min(value.item() for value in values))
    np.testing.assert_allclose(state_values(model, observations), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ppo", TREE), "no method 'ppo'.*sac, emac"),
        (("sac", TREE, "best"), "no preset 'best'.*paper, defaults, small-entropy, her"),
        (("emac", TREE, "her"), "no preset 'her'.*expected one of paper"),
    ],
)
def test_unknown_methods_and_presets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RunConfig(*arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SAC.preset("Pendulum-v1", "paper"), "use the preset defaults"),
        (lambda: SAC.preset(TREE, "best"), "paper, defaults, small-entropy, her, got 'best'"),
        (lambda: SAC(TREE, hindsight=True, seed=0), "hindsight requires observations with goals"),
        (
            lambda: SAC(TREE, batch_size=0, seed=0),
            "batch_size .* whole number of at least 1, got 0",
        ),
        (lambda: EMACAgent(TREE, alpha=1.5, seed=0), "alpha .* at least 0 and at most 1, got 1.5"),
        (
            lambda: EMACAgent(TREE, timeouts="never", seed=0),
            "'terminal' or 'bootstrap', got 'never'",
        ),
        (lambda: SAC("CartPole-v1", seed=0), "expected a Box action space, got Discrete"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3"])
@pytest.mark.parametrize(
    "program", ["import scrubjay.deep", "import scrubjay; scrubjay.make('sac', 'Pendulum-v1')"]
)
def test_missing_extra_says_what_to_install(missing, program):
    program = f"import sys; sys.modules[{missing!r}] = None; {program}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode != 0
    last = result.stderr.strip().splitlines()[-1]
    assert missing in last
    assert 'pip install "scrubjay[deep]"' in last
