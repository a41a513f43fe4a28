"""Words of Stable-Baselines3's and other tools are answered with ours."""

import time

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train cec GrowingTree --total-timesteps 1000", "did you mean --steps?"),
        ("train cec GrowingTree --total_timesteps=1000", "did you mean --steps?"),
        ("train cec GrowingTree --timesteps 1000", "did you mean --steps?"),
        ("train cec GrowingTree -n 1000", "did you mean --steps?"),
        ("train cec GrowingTree --num-envs 4", "did you mean --n-envs?"),
        ("train cec GrowingTree -f logs", "did you mean --out?"),
        ("train --algo cec --env GrowingTree", "plain words: scrubjay train cec-plus PointUMaze"),
        ("train --env GrowingTree --algo cec", "plain words: scrubjay train cec-plus PointUMaze"),
        ("train GrowingTree cec", "did you mean: scrubjay train cec GrowingTree?"),
        ("train cecplus GrowingTree", "there is no method 'cecplus'; did you mean cec-plus?"),
        ("train cec GrowingTre", "did you mean GrowingTree"),
        ("evaluate run -n 10", "did you mean --episodes?"),
        ("evaluate run --n-eval-episodes 10", "did you mean --episodes?"),
        ("evaluate run --env GrowingTree", "plain words: scrubjay evaluate RUN [TASK]"),
        ("watch run --load-best", "did you mean --checkpoint best?"),
        ("evaluate run a b", "expected no further word, got 'b'"),
    ],
)
def test_words_of_other_tools(words, said, scrubjay, tmp_path):
    answer = scrubjay(*words.split())
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_suggestions_take_no_time(scrubjay):
    """Networks are not imported for a word that is known from other tools."""
    start = time.perf_counter()
    scrubjay("train", "cec", "GrowingTree", "--total-timesteps", "5")
    assert time.perf_counter() - start < 5
