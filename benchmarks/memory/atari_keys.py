"""Keys of real screens for `high_dimensions.py`: MsPacman, played at random.

    python -m benchmarks.memory.atari_keys FILE.npy [--steps 140000]

The keys are those of MFEC's preset default: grey, 28 by 28 pixels, a random projection to 64.
"""

import argparse

import gymnasium
import numpy as np

import scrubjay.envs  # noqa: F401  registers the tasks
from scrubjay.agents.mfec import image_embedding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="the .npy file to write")
    parser.add_argument("--steps", type=int, default=140_000)
    parser.add_argument("--game", default="MsPacman")
    options = parser.parse_args()
    env = gymnasium.make(f"scrubjay/{options.game}-v0")
    embedding = image_embedding(env.observation_space.shape or ())
    flattener = embedding.flattener(env.observation_space)
    embedding.bind(flattener.bounds, 0)
    vector, key = np.empty(flattener.size), np.empty(embedding.key_dim)
    keys = np.empty((options.steps, embedding.key_dim), np.float32)
    rng, over, episode = np.random.default_rng(0), True, 0
    for i in range(options.steps):
        if over:
            observation, _ = env.reset(seed=episode)
            episode += 1
        flattener.into(observation, vector)
        embedding.embed(vector, key)
        keys[i] = key
        observation, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        over = terminated or truncated
    np.save(options.file, keys)


if __name__ == "__main__":
    main()
