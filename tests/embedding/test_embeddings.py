"""Each embedding against the formula it stands for, in plain NumPy."""

import json

import gymnasium as gym
import numpy as np
import pytest

from probes import mixed_space
from scrubjay.embedding import (
    BoundsScaler,
    Chain,
    Embedding,
    FrozenNormalizer,
    GoalDifference,
    Identity,
    Periodic,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
    load_embedding,
)
from scrubjay.embedding.flatten import Flattener
from scrubjay.randomness import Stream, generator


def bound(embedding, dim=3, seed=0, low=-4.0, high=12.0):
    embedding.bind((np.full(dim, low), np.full(dim, high)), seed)
    return embedding


def observe(embedding, vector):
    out = np.full(embedding.key_dim, np.nan)
    embedding.observe(np.asarray(vector, np.float64), out)
    return out


def embed(embedding, vector):
    out = np.full(embedding.key_dim, np.nan)
    embedding.embed(np.asarray(vector, np.float64), out)
    return out


def stream(n=200, dim=3, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal([5.0, -0.001, 1e4][:dim], [2.0, 1e-5, 300.0][:dim], (n, dim))


class PublishedNormalizer:
    """Running mean and variance merged batch by batch (of one), float64, prior count 1e-4."""

    def __init__(self, dim):
        self.mean, self.var, self.count = np.zeros(dim), np.ones(dim), 1e-4

    def __call__(self, x):
        batch_mean, batch_var, batch_count = x, np.zeros_like(x), 1.0
        delta, total = batch_mean - self.mean, self.count + batch_count
        m2 = self.var * self.count + batch_var * batch_count
        m2 = m2 + delta**2 * self.count * batch_count / total
        self.mean = self.mean + delta * batch_count / total
        self.var, self.count = m2 / total, total
        return (x - self.mean) / np.sqrt(self.var + 1e-8)


def test_running_normalizer_is_the_published_formula_step_by_step():
    embedding, published = bound(RunningNormalizer()), PublishedNormalizer(3)
    for x in stream():
        np.testing.assert_allclose(observe(embedding, x), published(x), rtol=1e-12, atol=1e-15)
    state = embedding.state()
    np.testing.assert_allclose(state["mean"], published.mean, rtol=1e-13)
    np.testing.assert_allclose(state["variance"], published.var, rtol=1e-13)
    assert state["count"].tolist() == [published.count]


def test_the_first_normalized_value_is_about_a_hundredth():
    # the prior weighs 1e-4: x - mean is x / 10^4, the deviation about |x| / 100
    for x in (5.0, -70.0, 1e4):
        key = observe(bound(RunningNormalizer(), dim=1), [x])
        assert key[0] == pytest.approx(np.sign(x) * 0.01, rel=0.05)


def test_running_statistics_approach_those_of_the_data():
    data = stream(5000)[:, [0, 2]]
    embedding = bound(RunningNormalizer(), dim=2)
    for x in data:
        observe(embedding, x)
    np.testing.assert_allclose(
        embed(embedding, data[7]), (data[7] - data.mean(0)) / data.std(0), rtol=1e-4
    )


def test_frozen_normalizer_has_the_mean_and_variance_of_the_first_steps_only():
    data, later = stream(60), stream(40, seed=2) + 1000
    embedding = bound(FrozenNormalizer(n_steps=50))
    for i, x in enumerate(data):
        observe(embedding, x)
        if i in (30, 48):
            embedding.end_episode()
            assert not embedding.ready
    assert not embedding.ready, "it may become ready only at an episode's end"
    embedding.end_episode()
    assert embedding.ready
    expected = (later - data.mean(0)) / data.std(0)
    for x, key in zip(later, expected, strict=True):
        np.testing.assert_allclose(observe(embedding, x), key, rtol=1e-9)
    np.testing.assert_allclose(embedding.embed_batch(later), expected, rtol=1e-9)


def test_frozen_normalizer_leaves_a_constant_dimension_alone():
    embedding = bound(FrozenNormalizer(n_steps=2), dim=2)
    for x in ([1.0, 3.0], [2.0, 3.0], [3.0, 3.0]):
        observe(embedding, x)
    embedding.end_episode()
    assert embed(embedding, [2.0, 5.0]).tolist() == [0.0, 2.0]


def test_frozen_normalizer_may_have_one_scale_for_all_dimensions():
    embedding = FrozenNormalizer(100, common=True)
    embedding.bind((np.zeros(3), np.ones(3)), seed=1)
    draws = np.random.default_rng(0).normal(size=(100, 3)) * [0.0, 1.0, 9.0]
    for row in draws:
        embedding.observe(row, np.empty(3))
    embedding.end_episode()
    scale = np.sqrt(draws.var(axis=0).mean())
    keys = embedding.embed_batch(draws)
    np.testing.assert_allclose(keys, (draws - draws.mean(axis=0)) / scale, atol=1e-9)


def test_projection_is_x_times_a_matrix_of_normals_from_the_seed():
    embedding = bound(RandomProjection(2), dim=5, seed=9)
    matrix = generator(9, Stream.EMBEDDING).standard_normal((5, 2))
    x = stream(1, 3)[0].repeat(2)[:5]
    np.testing.assert_allclose(embed(embedding, x), x @ matrix, rtol=1e-13)
    np.testing.assert_array_equal(embedding.state()["matrix"], matrix)
    assert not np.array_equal(bound(RandomProjection(2), 5, seed=8).matrix, matrix)


def test_projection_is_unscaled():
    matrix = bound(RandomProjection(200), dim=200).matrix
    assert matrix.std() == pytest.approx(1.0, abs=0.02)
    assert matrix.mean() == pytest.approx(0.0, abs=0.02)


def test_bounds_map_to_one_and_come_out_as_bounds():
    embedding = BoundsScaler()
    low, high = np.array([-2.0, 10.0, 3.0]), np.array([4.0, 20.0, 3.0])
    out_low, out_high = embedding.bind((low, high), 0)
    assert embed(embedding, low).tolist() == [-1, -1, 0]
    assert embed(embedding, high).tolist() == [1, 1, 0]
    assert embed(embedding, [1.0, 12.5, 3.0]).tolist() == [0, -0.5, 0]
    assert (out_low.tolist(), out_high.tolist()) == ([-1] * 3, [1] * 3)


def test_chain_is_one_stage_after_the_other():
    data = stream(50)
    chain = bound(Chain([RunningNormalizer(), RandomProjection(2), RunningNormalizer()]), seed=3)
    first, projection, last = (
        bound(RunningNormalizer()),
        bound(RandomProjection(2), seed=3),
        bound(RunningNormalizer(), dim=2),
    )
    for x in data:
        expected = observe(last, observe(projection, observe(first, x)))
        np.testing.assert_array_equal(observe(chain, x), expected)
    x = data[3]
    expected = embed(last, embed(projection, embed(first, x)))
    np.testing.assert_array_equal(embed(chain, x), expected)
    np.testing.assert_array_equal(chain.embed_batch(data[3:4])[0], expected)
    assert chain.input_dim == 3
    assert chain.key_dim == 2


def test_a_chain_waits_for_its_frozen_stage():
    data = stream(40)
    chain = bound(Chain([RandomProjection(2), FrozenNormalizer(20)]))
    for x in data[:20]:
        observe(chain, x)
        assert not chain.ready
    chain.end_episode()
    assert chain.ready
    projected = data[:20] @ chain.stages[0].matrix
    expected = (data[30] @ chain.stages[0].matrix - projected.mean(0)) / projected.std(0)
    np.testing.assert_allclose(observe(chain, data[30]), expected, rtol=1e-9)


DICT = {
    "goal": np.array([0.1, 0.2]),
    "body": np.array([[1, 2], [3, 4]], np.float32),
    "arm": np.array([0.5]),
}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["goal", "arm"], [0.1, 0.2, 0.5]),
        (["arm", "goal"], [0.5, 0.1, 0.2]),
        (["body"], [1, 2, 3, 4]),
    ],
)
def test_selected_entries_come_in_the_order_asked_for(keys, expected):
    flattener = SelectKeys(keys).flattener(mixed_space())
    out = np.zeros(flattener.size)
    flattener.into(DICT, out)
    np.testing.assert_allclose(out, expected)
    low = {"goal": [-1, -1], "arm": [0], "body": [-5] * 4}
    assert flattener.bounds[0].tolist() == [x for key in keys for x in low[key]]


def test_all_entries_come_in_the_order_of_the_space():
    space = mixed_space()
    flattener = Identity().flattener(space)
    out = np.zeros(flattener.size)
    flattener.into(DICT, out)
    expected = np.concatenate([DICT[key].ravel() for key in space.spaces])
    np.testing.assert_allclose(out, expected)


def test_a_chain_selects_with_its_first_stage():
    chain = Chain([SelectKeys(["arm", "goal"]), BoundsScaler()])
    flattener = chain.flattener(mixed_space())
    chain.bind(flattener.bounds, 0)
    vector = np.zeros(3)
    flattener.into(DICT, vector)
    np.testing.assert_allclose(embed(chain, vector), [0.0, 0.1, 0.2])


MAKERS = {
    "identity": Identity,
    "select": lambda: SelectKeys(["a", "b"]),
    "bounds": BoundsScaler,
    "running": RunningNormalizer,
    "frozen": lambda: FrozenNormalizer(30),
    "common": lambda: FrozenNormalizer(30, common=True),
    "unfrozen": lambda: FrozenNormalizer(1000),
    "projection": lambda: RandomProjection(2),
    "chain": lambda: Chain([RunningNormalizer(), RandomProjection(2), FrozenNormalizer(10)]),
    "nested": lambda: Chain([Chain([BoundsScaler(), RunningNormalizer()]), RandomProjection(4)]),
}


def trained(maker, seed=5):
    embedding = bound(maker(), seed=seed)
    for episode in np.array_split(stream(100), 4):
        for x in episode:
            observe(embedding, x)
        embedding.end_episode()
    return embedding


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_config_and_state_make_the_same_embedding(maker):
    embedding = trained(maker)
    config = json.loads(json.dumps(embedding.config()))
    # bound with another seed: what was drawn must come from the state
    other = bound(load_embedding(config), seed=99)
    other.restore(embedding.state())
    assert (type(other), other.config()) == (type(embedding), embedding.config())
    assert other.ready == embedding.ready
    for x in stream(20, seed=8):
        np.testing.assert_array_equal(embed(other, x), embed(embedding, x))
        np.testing.assert_array_equal(observe(other, x), observe(embedding, x))
    for mine, theirs in zip(embedding.state().items(), other.state().items(), strict=True):
        assert mine[0] == theirs[0]
        np.testing.assert_array_equal(mine[1], theirs[1])


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_reading_changes_nothing_and_state_is_a_copy(maker):
    embedding = trained(maker)
    before = embedding.state()
    for x in stream(5, seed=8):
        embed(embedding, x)
    embedding.embed_batch(stream(5, seed=8))
    after = embedding.state()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])
    for x in stream(5, seed=9):
        observe(embedding, x)
    for name, array in after.items():
        np.testing.assert_array_equal(array, before[name])


def test_bounds_of_an_infinite_space_are_refused():
    with pytest.raises(ValueError, match=r"finite bounds.*\[0, 1\].*FrozenNormalizer"):
        BoundsScaler().bind((np.array([-np.inf, 0.0, 0.0]), np.array([1.0, np.inf, 1.0])), 0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomProjection(0), ValueError, r"at least 1, got 0"),
        (lambda: RandomProjection(2.5), ValueError, r"whole number.*2\.5"),
        (lambda: FrozenNormalizer(1), ValueError, r"at least 2, got 1"),
        (lambda: FrozenNormalizer("many"), ValueError, r"whole number.*'many'"),
        (lambda: Chain([]), ValueError, "at least one stage"),
        (lambda: Chain([RunningNormalizer]), TypeError, r"embedding.*got"),
        (lambda: Chain([Identity(), SelectKeys(["a"])]), ValueError, r"first stage.*SelectKeys"),
        (lambda: SelectKeys("goal"), TypeError, r"list of names.*'goal'"),
        (lambda: SelectKeys([]), TypeError, "list of names"),
        (lambda: SelectKeys([1]), TypeError, r"list of names.*1"),
        (lambda: load_embedding({"name": "magic"}), ValueError, r"'magic'.*one of:.*bounds"),
        (lambda: load_embedding({}), ValueError, r"None.*one of"),
        (
            lambda: SelectKeys(["x"]).flattener(mixed_space()),
            ValueError,
            r"entries.*goal.*got \['x'\]",
        ),
        (
            lambda: SelectKeys(["x"]).flattener(gym.spaces.Box(0, 1, (2,))),
            TypeError,
            r"expected a Dict observation",
        ),
        (lambda: Identity().flattener(gym.spaces.Text(3)), TypeError, "Transform"),
    ],
)
def test_bad_arguments_say_what_was_expected(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        (np.zeros(2), ValueError, r"\(3,\), got shape \(2,\)"),
        (np.zeros((1, 3)), ValueError, r"\(3,\), got shape \(1, 3\)"),
        (np.zeros(3, np.complex128), TypeError, "numeric.*complex128"),
        (np.array(["a", "b", "c"]), TypeError, "numeric.*<U1"),
        (np.array([None] * 3), TypeError, "numeric.*object"),
    ],
)
def test_observations_of_the_wrong_kind_are_refused(observation, error, message):
    flattener = Identity().flattener(gym.spaces.Box(-1, 1, (3,)))
    with pytest.raises(error, match=message):
        flattener.into(observation, np.zeros(3))


def test_a_dict_observation_without_an_entry_says_which():
    flattener = Identity().flattener(mixed_space())
    with pytest.raises(ValueError, match=r"arm.*goal.*got"):
        flattener.into({"goal": np.zeros(2)}, np.zeros(7))


def test_integers_and_booleans_are_numbers():
    flattener = Identity().flattener(gym.spaces.Box(0, 255, (2, 2), np.uint8))
    out = np.zeros(4)
    flattener.into(np.array([[0, 1], [2, 255]], np.uint8), out)
    assert out.tolist() == [0, 1, 2, 255]


def test_an_embedding_of_ones_own_is_found_by_its_name():
    class Doubled(Identity):
        name = "doubled for this test"

        def embed(self, vector, out):
            out[:] = 2 * vector

    assert isinstance(load_embedding(Doubled().config()), Doubled)
    assert isinstance(Doubled(), Embedding)


# ---------------------------------------------------------------- classes of one's own


def test_defect_17_a_class_without_a_name_of_its_own_is_not_saved_as_its_parent():
    class Shifted(RunningNormalizer):
        pass

    stage = bound(Shifted())
    observe(stage, np.ones(3))
    for unnamed in (stage, Chain([Identity(), stage])):
        with pytest.raises(AttributeError, match=r'Shifted has no name.*name = "shifted"'):
            unnamed.config()

    class Named(Shifted):
        name = "named for this test"

    assert type(load_embedding(Named().config())) is Named


def test_defect_17_two_classes_of_one_name_are_refused():
    def define():
        class Twin(Identity):
            name = "twin for this test"

        return Twin

    define()
    again = define()  # a cell of a notebook is run again
    assert type(load_embedding({"name": "twin for this test"})) is again
    with pytest.raises(TypeError, match=r"'twin for this test'.*Twin.*Another"):

        class Another(Identity):
            name = "twin for this test"

    with pytest.raises(TypeError, match=r"'identity'.*Mine"):

        class Mine(Identity):
            name = "identity"

    assert type(load_embedding({"name": "identity"})) is Identity


@pytest.mark.parametrize(
    "stage",
    [
        GoalDifference(),
        SelectKeys(["goal"]),
        Chain([GoalDifference(), RunningNormalizer()]),
    ],
)
def test_defect_17_what_reads_the_observation_must_be_the_first_stage(stage):
    name = type(stage).__name__
    with pytest.raises(ValueError, match=f"first stage.*{name}.*make it the first stage"):
        Chain([RunningNormalizer(), stage])
    Chain([stage, RunningNormalizer()])
    Chain([RunningNormalizer(), Chain([RunningNormalizer(), Identity()])])


@pytest.mark.parametrize("dimensions", [[1.5], ["1"], [None], [True]])
def test_defect_14_angles_are_whole_numbers(dimensions):
    with pytest.raises(ValueError, match="dimensions to be a whole number"):
        Periodic(dimensions)


def test_a_state_that_does_not_fit_changes_nothing():
    stage = trained(lambda: FrozenNormalizer(30))
    before = stage.state()
    for name, value in (("variance", 0.0), ("mean", np.nan), ("count", -1.0)):
        with pytest.raises(ValueError, match=name):
            stage.restore({**before, name: np.full_like(before[name], value)})
    for name, array in stage.state().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("shape", [(0,), (0, 84)])
def test_observations_without_numbers_are_refused(shape):
    space = gym.spaces.Box(-1.0, 1.0, shape)
    with pytest.raises(ValueError, match="expected observations with at least one number"):
        Flattener(space)
