"""One torch thread for all tests here, and skipped with its reason where the extra is missing."""

import pytest

torch = pytest.importorskip("torch", reason='needs pip install "scrubjay[deep]"')
pytest.importorskip("stable_baselines3", reason='needs pip install "scrubjay[deep]"')
torch.set_num_threads(1)
