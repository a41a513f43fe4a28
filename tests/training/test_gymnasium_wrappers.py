"""RecordVideo and RecordEpisodeStatistics of Gymnasium, in training and in evaluation."""

import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.report.page import write_report

REWARDS = [0.0, 0.0, 1.0]


class Drawn(Corridor):
    """A corridor that can be drawn."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    render_mode = "rgb_array"

    def render(self):
        return np.zeros((32, 32, 3), np.uint8)


def test_statistics_of_training_and_evaluation_are_those_of_the_run(tmp_path):
    env = RecordEpisodeStatistics(Corridor(REWARDS))
    eval_env = RecordEpisodeStatistics(Corridor(REWARDS))
    agent = CEC(env, seed=0)
    folder = tmp_path / "run"
    agent.learn(30, run_folder=folder, eval_env=eval_env, eval_freq=10, n_eval_episodes=2)
    assert len(env.return_queue) == agent.n_episodes
    assert list(env.length_queue) == [3] * agent.n_episodes
    with np.load(folder / "evaluations.npz") as file:
        # after the first success one greedy episode more is run, which no table has
        assert len(eval_env.return_queue) in (file["results"].size, file["results"].size + 1)
    plain = CEC(Corridor(REWARDS), seed=0).learn(30)
    assert agent.memory.digest() == plain.memory.digest()


def test_videos_of_training_are_written_and_linked_by_the_report(tmp_path):
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    folder = tmp_path / "run"
    env = RecordVideo(Drawn(REWARDS), str(folder / "videos"), episode_trigger=lambda n: n == 2)
    CEC(env, seed=0).learn(15, run_folder=folder, eval_env=Drawn(REWARDS), eval_freq=5)
    env.close()
    assert list((folder / "videos").glob("*.mp4"))


def test_videos_of_evaluation(tmp_path):
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    eval_env = RecordVideo(
        Drawn(REWARDS), str(tmp_path / "videos"), episode_trigger=lambda n: n < 1
    )
    agent = CEC(Drawn(REWARDS), seed=0)
    agent.learn(15, eval_env=eval_env, eval_freq=5, n_eval_episodes=1)
    eval_env.close()
    assert len(list((tmp_path / "videos").glob("*.mp4"))) == 1


def test_a_video_in_a_run_folder_is_linked(make_run, tmp_path):
    run = make_run("a")
    (run / "videos").mkdir()
    (run / "videos" / "rl-video-episode-0.mp4").write_bytes(b"")
    write_report(run, tmp_path / "report.html")
    assert "videos/rl-video-episode-0.mp4" in (tmp_path / "report.html").read_text()
