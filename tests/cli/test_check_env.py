"""`scrubjay check-env`, as a user would call it."""

import os
import subprocess
import sys

MODULE = """
import gymnasium, numpy as np
from gymnasium import spaces

class Line(gymnasium.Env):
    def __init__(self, bounded=True):
        high = 1.0 if bounded else np.inf
        self.observation_space = spaces.Box(-10, 10, (1,), np.float64)
        self.action_space = spaces.Box(-high, high, (1,), np.float32)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-0.1, 0.1), 0
        return np.array([self.x]), {}
    def step(self, action):
        self.x, self.t = self.x + 0.2 * float(action[0]), self.t + 1
        done = bool(self.x > 1)
        observation, info = np.array([np.clip(self.x, -10, 10)]), {"is_success": done}
        return observation, float(done), done, self.t >= 50, info
"""


def check(folder, *words):
    (folder / "my_line.py").write_text(MODULE)
    return subprocess.run(
        [sys.executable, "-m", "scrubjay.cli.main", "check-env", *words],
        cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def test_a_sound_environment_gets_a_command_to_try(tmp_path):
    answer = check(tmp_path, "my_line:Line", "--steps", "1000")
    assert answer.returncode == 0, answer.stderr
    assert "random episodes succeed" in answer.stdout
    assert "next: scrubjay train cec-plus my_line:Line --steps 20000" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_a_problem_is_told_with_its_fix_and_exit_code_1(tmp_path):
    answer = check(tmp_path, "my_line:Line", "--env-kwargs", "bounded=false")
    assert answer.returncode == 1, answer.stderr
    assert "PROBLEM  actions: expected a bounded Box" in answer.stdout
    assert "fix:" in answer.stdout
    assert "Fix the problems first" in answer.stdout


def test_an_unknown_task_is_refused(tmp_path):
    answer = check(tmp_path, "PointUMazes")
    assert answer.returncode == 2
    assert "did you mean" in answer.stderr
