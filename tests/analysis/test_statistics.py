"""The statistics against rliable, scipy and closed forms."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats

from scrubjay.analysis import statistics

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from rliable import library, metrics


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def scores_of(n_runs, n_tasks, seed=0):
    """(runs, tasks) with ties, as success rates of five episodes have."""
    return np.round(np.random.default_rng(seed).random((n_runs, n_tasks)) * 5) / 5


def rliable_interval(scores, function, repeats=4000):
    np.random.seed(3)  # noqa: NPY002 - rliable draws from the global generator
    _, intervals = library.get_interval_estimates({"x": scores}, function, reps=repeats)
    return intervals["x"]


@pytest.mark.parametrize("n_runs", range(1, 14))
def test_interquartile_mean_is_the_trimmed_mean(n_runs):
    scores = np.random.default_rng(n_runs).normal(size=(n_runs, 4))
    expected = scipy.stats.trim_mean(scores, 0.25, axis=0)
    np.testing.assert_allclose(statistics.interquartile_mean(scores), expected, rtol=1e-14)


def test_aggregate_equals_rliable_exactly():
    scores = scores_of(7, 5)
    assert statistics.aggregate(scores.T)[0] == pytest.approx(
        metrics.aggregate_iqm(scores), abs=1e-15
    )
    assert statistics.aggregate(scores.T, statistics.mean)[0] == pytest.approx(
        metrics.aggregate_mean(scores), abs=1e-15
    )


def test_stratified_interval_agrees_with_rliable(generator):
    # Scores that differ much between tasks: resampling across tasks would be far wider.
    scores = scores_of(10, 6) + 10 * np.arange(6)
    ours = statistics.bootstrap_interval(
        scores.T, statistics.interquartile_mean, generator, n_resamples=4000
    )
    theirs = rliable_interval(scores, lambda x: np.array([metrics.aggregate_iqm(x)]))
    width = theirs[1, 0] - theirs[0, 0]
    assert ours.low[0] == pytest.approx(theirs[0, 0], abs=0.06 * width)
    assert ours.high[0] == pytest.approx(theirs[1, 0], abs=0.06 * width)


def test_probability_of_improvement_equals_rliable(generator):
    x, y = scores_of(8, 4, seed=1), scores_of(6, 4, seed=2) * 0.8
    ours = statistics.probability_of_improvement(x.T, y.T)
    assert ours[0] == pytest.approx(metrics.probability_of_improvement(x, y), abs=1e-15)
    interval = statistics.probability_of_improvement_interval(x.T, y.T, generator, 3000)
    theirs = rliable_interval(
        [x, y], lambda a, b: np.array([metrics.probability_of_improvement(a, b)]), repeats=700
    )
    width = theirs[1, 0] - theirs[0, 0]
    assert interval.low[0] == pytest.approx(theirs[0, 0], abs=0.12 * width)
    assert interval.high[0] == pytest.approx(theirs[1, 0], abs=0.12 * width)


def test_probability_of_improvement_is_mann_whitney_with_ties():
    x, y = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0])
    u = scipy.stats.mannwhitneyu(x, y, alternative="two-sided").statistic
    assert statistics.probability_of_improvement([x], [y])[0] == u / 6
    assert statistics.probability_of_improvement([x], [x])[0] == 0.5


def test_sample_efficiency_treats_every_step_like_rliable(generator):
    curves = np.random.default_rng(5).random((8, 6)) + np.arange(6)
    result = statistics.sample_efficiency(curves, generator, n_resamples=4000)
    for step in (0, 5):
        column = curves[:, [step]]
        theirs = rliable_interval(column, lambda x: np.array([metrics.aggregate_iqm(x)]))
        assert result.interquartile_mean[step] == pytest.approx(
            metrics.aggregate_iqm(column), abs=1e-14
        )
        width = theirs[1, 0] - theirs[0, 0]
        assert result.interval.low[step] == pytest.approx(theirs[0, 0], abs=0.1 * width)
        assert result.interval.high[step] == pytest.approx(theirs[1, 0], abs=0.1 * width)
    np.testing.assert_allclose(result.mean, curves.mean(axis=0))
    np.testing.assert_allclose(result.standard_error, scipy.stats.sem(curves, axis=0))


def test_tasks_may_have_different_numbers_of_runs(generator):
    tasks = [np.array([1.0, 2.0, 3.0]), np.array([10.0, 10.0, 10.0, 10.0, 10.0])]
    assert statistics.aggregate(tasks, statistics.mean)[0] == 56 / 8
    interval = statistics.bootstrap_interval(tasks, statistics.mean, generator)
    assert 53 / 8 <= interval.low[0] < 56 / 8 < interval.high[0] <= 59 / 8


@pytest.mark.parametrize("n_runs", [1, 2])
def test_fewer_than_three_runs_have_no_interval(n_runs, generator):
    curves = scores_of(n_runs, 5)
    result = statistics.sample_efficiency(curves, generator)
    assert result.interval is None
    assert result.standard_error is None
    enough = scores_of(5, 1).T
    assert (
        statistics.probability_of_improvement_interval(enough, curves[:, [0]].T, generator) is None
    )


def test_equal_generators_give_equal_intervals_in_any_block_size(monkeypatch):
    curves = scores_of(5, 20)
    first = statistics.sample_efficiency(curves, np.random.default_rng(1))
    second = statistics.sample_efficiency(curves, np.random.default_rng(1))
    np.testing.assert_array_equal(first.interval.low, second.interval.low)
    monkeypatch.setattr(statistics, "BLOCK", 700)
    blocked = statistics.sample_efficiency(curves, np.random.default_rng(1))
    np.testing.assert_array_equal(first.interval.high, blocked.interval.high)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    """With 20 runs a percentile interval of the mean covers a little less than 95%."""
    draw, inside = np.random.default_rng(11), 0
    for _ in range(300):
        scores = draw.normal(size=20)
        interval = statistics.bootstrap_interval([scores], statistics.mean, draw, 500)
        inside += bool(interval.low[0] <= 0 <= interval.high[0])
    assert 0.87 <= inside / 300 <= 0.98


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 4, 5)), "average the evaluation episodes"),
        (np.zeros((0, 4)), "shape"),
        ([1.0, math.nan, 2.0], "finite"),
    ],
)
def test_bad_scores_are_refused(scores, message, generator):
    with pytest.raises(ValueError, match=message):
        statistics.sample_efficiency(scores, generator)


def test_mismatched_tasks_are_refused():
    with pytest.raises(ValueError, match="same tasks"):
        statistics.probability_of_improvement([[1.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="same number of steps"):
        statistics.aggregate([np.zeros((3, 2)), np.zeros((3, 4))])
