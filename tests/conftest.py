"""Shared by all tests: nothing here needs a display."""

import os

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "Agg")
