"""The command line with a slow task, SlowTree-v0, whose episodes wait until a file exists.

A program: RELEASE WORDS..., where RELEASE is that file.
"""

import sys
import time
from pathlib import Path

import gymnasium

from scrubjay.cli.main import main
from scrubjay.envs.growing_tree import GrowingTree

RELEASE = Path(sys.argv[1])


class SlowTree(GrowingTree):
    def reset(self, **settings):
        while not RELEASE.exists():
            time.sleep(0.01)
        return super().reset(**settings)

    def step(self, action):
        time.sleep(0.0005)
        return super().step(action)


if __name__ == "__main__":
    gymnasium.register("SlowTree-v0", SlowTree, max_episode_steps=200, disable_env_checker=True)
    sys.exit(main(sys.argv[2:]))
