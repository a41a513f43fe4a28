"""Continuous Episodic Control as one would write it down first: lists, brute force, no tricks.

It draws the same random numbers as the library (per episode, in blocks of 64 steps: uniforms, then
normals where noise explores), so that whole trainings can be compared bit for bit.

`embed` may be an object with `ready` and `end_episode`: while it is not ready, actions are uniform
and episodes wait for their keys.
"""

import math

import gymnasium as gym
import numpy as np

from scrubjay.randomness import Stream, generator, reset_seed

f32 = np.float32


class NaiveCEC:
    def __init__(
        self, space, *, k, tau, sigma, n, d, gamma, epsilon, capacity, seed, uniform=False,
        recency="write", embed=None,
    ):  # fmt: skip
        self.space, self.discrete = space, not isinstance(space, gym.spaces.Box)
        self.low, self.high = indices(space) if self.discrete else inside(space)
        uniform = uniform or self.discrete  # noise between two buttons means nothing
        self.k, self.tau, self.sigma, self.n, self.d, self.gamma = k, tau, sigma, n, d, gamma
        self.epsilon, self.capacity, self.seed, self.uniform = epsilon, capacity, seed, uniform
        self.recency, self.embed = recency, embed or (lambda observation: observation)
        self.rows, self.order, self.clock, self.steps, self.held = [], [], 0, 0, []

    def near(self, key):
        distances = [(sum((float(a) - float(b)) ** 2 for a, b in zip(key, row["key"], strict=True)),
                      i) for i, row in enumerate(self.rows)]  # fmt: skip
        return sorted(distances)

    def act(self, key, uniforms, normals):
        limit = (self.n * self.d) ** 2
        near = [i for distance, i in self.near(key)[: self.k] if distance <= limit]
        explore = uniforms[0] < self.epsilon(self.steps)
        if not near or (explore and self.uniform):
            return self.uniform_action(uniforms[2:])
        best = max(float(self.rows[i]["value"]) for i in near)
        weights = [math.exp((float(self.rows[i]["value"]) - best) / self.tau) for i in near]
        left, chosen = uniforms[1] * sum(weights), near[-1]
        for i, weight in zip(near, weights, strict=True):
            left -= weight
            if left < 0:
                chosen = i
                break
        action = self.rows[chosen]["action"]
        if explore:
            raw = [float(a) + self.sigma * z * (s / 2) for a, z, s in zip(action, normals,
                                                                          self.span,
                                                                          strict=True)]  # fmt: skip
            action = np.clip(np.array(raw).astype(f32), self.low, self.high)
        return action

    @property
    def span(self):
        return [float(h) - float(low) for low, h in zip(self.low, self.high, strict=True)]

    def uniform_action(self, draws):
        if self.discrete:
            counts = self.high + 1
            return np.array([math.floor(u * n) for u, n in zip(draws, counts, strict=True)], f32)
        raw = [float(low) + u * s for low, u, s in zip(self.low, draws, self.span, strict=True)]
        return np.clip(np.array(raw).astype(f32), self.low, self.high)

    def write(self, key, action, value):
        value, near = f32(value), self.near(key)
        if near and near[0][0] <= self.d**2:
            row = near[0][1]
            better = value > self.rows[row]["value"]
            if self.recency == "hit" or (better and self.recency == "write"):
                self.order.remove(row)
                self.order.append(row)
            if not better:
                return
        elif len(self.rows) < self.capacity:
            row = len(self.rows)
            self.rows.append({})
            self.order.append(row)
        else:
            row = self.order.pop(0)
            self.order.append(row)
        self.clock += 1
        self.rows[row] = {"key": key, "action": action, "value": value, "stamp": self.clock}

    def train(self, env, total_timesteps):
        number = 0
        while self.steps < total_timesteps:
            rng = generator(self.seed, Stream.POLICY, 0, number)
            observation, _ = env.reset(seed=reset_seed(self.seed, Stream.ENVIRONMENT, 0, number))
            episode, ended = [], False
            decides = getattr(self.embed, "ready", True)
            while not ended:
                vector = np.array(observation, np.float64)
                key = self.embed(vector)
                if len(episode) % 64 == 0:
                    uniforms = rng.random((64, 2 + len(self.low)))
                    shape = (64, len(self.low))
                    normals = np.zeros(shape) if self.uniform else rng.standard_normal(shape)
                draw = len(episode) % 64
                if decides:
                    key = np.asarray(key).astype(f32)
                    action = self.act(key, uniforms[draw], normals[draw])
                else:
                    key, action = vector, self.uniform_action(uniforms[draw][2:])
                observation, reward, terminated, truncated, _ = env.step(self.executed(action))
                ended = terminated or truncated
                episode.append((key, action, float(reward)))
                self.steps += 1
            self.embed(np.asarray(observation, np.float64))
            number += 1
            if decides:
                self.learn(episode)
            else:
                self.held.append(episode)
                self.embed.end_episode()
            if self.held and self.embed.ready:
                for episode in self.held:
                    self.learn([(f32(self.embed(vector)), *rest) for vector, *rest in episode])
                self.held = []

    def learn(self, episode):
        value = 0.0
        for key, action, reward in reversed(episode):
            value = reward + self.gamma * value
            self.write(key, action, value)

    def executed(self, action):
        """The action as the environment wants it."""
        if isinstance(self.space, gym.spaces.Discrete):
            return int(self.space.start) + int(action[0])
        if self.discrete:
            return self.space.start + action.reshape(self.space.shape).astype(self.space.dtype)
        return action.astype(self.space.dtype)

    def columns(self):
        names = ("key", "action", "value", "stamp")
        return {name: np.array([row[name] for row in self.rows]) for name in names}


def indices(space):
    """The numbers of the first and the last action of each part, counted from 0."""
    counts = np.ravel(space.nvec if isinstance(space, gym.spaces.MultiDiscrete) else space.n)
    return np.zeros(len(counts), f32), counts.astype(f32) - f32(1)


def inside(space):
    """The bounds in float32, never outside the space."""
    low, high = space.low.astype(f32), space.high.astype(f32)
    low = np.where(low.astype(float) < space.low, np.nextafter(low, f32(np.inf)), low)
    high = np.where(high.astype(float) > space.high, np.nextafter(high, f32(-np.inf)), high)
    return low, high
