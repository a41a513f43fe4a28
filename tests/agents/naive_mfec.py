"""Model-Free Episodic Control as one would write it down first: lists, brute force, no tricks.

It draws the same random numbers as the library (per episode, in blocks of 64 steps), so that whole
trainings can be compared bit for bit.
"""

import math

import numpy as np

from scrubjay.randomness import Stream, generator, reset_seed

f32 = np.float32


class NaiveMFEC:
    def __init__(self, n_actions, *, k, gamma, epsilon, capacity, seed, embed=None, d=0.0, hold=1):
        self.hold, self.held, self.last = hold, 0, None
        self.n_actions, self.k, self.gamma, self.epsilon = n_actions, k, gamma, epsilon
        self.capacity, self.seed, self.d = capacity, seed, d
        self.embed = embed or (lambda observation: observation)
        self.tables = [[] for _ in range(n_actions)]  # rows [key, value], by row id
        self.orders = [[] for _ in range(n_actions)]  # row ids, least recently updated first
        self.steps = 0

    def near(self, action, key):
        """(squared distance, row id), nearest first."""
        return sorted(
            (sum((float(a) - float(b)) ** 2 for a, b in zip(key, stored, strict=True)), i)
            for i, (stored, _) in enumerate(self.tables[action])
        )

    def estimate(self, action, key, training):
        near, table = self.near(action, key), self.tables[action]
        if near and near[0][0] <= self.d**2:
            return float(table[near[0][1]][1])
        if len(near) < self.k and (training or not near):
            return math.inf if training else -math.inf
        values = [float(table[row][1]) for _, row in near[: self.k]]
        return sum(values) / len(values)

    def act(self, key, uniforms):
        if self.held > 0:
            self.held -= 1
            return self.last
        estimates = [self.estimate(action, key, True) for action in range(self.n_actions)]
        best = [action for action, value in enumerate(estimates) if value == max(estimates)]
        self.last = best[math.floor(uniforms[1] * len(best))]
        random = uniforms[0] < self.epsilon(self.steps)
        if random:
            self.last = math.floor(uniforms[2] * self.n_actions)
        if self.hold > 1 and (random or len(best) == self.n_actions):
            self.held = min(math.floor(1 / (1 - uniforms[3])), self.hold) - 1
        return self.last

    def greedy(self, key):
        estimates = [self.estimate(action, key, False) for action in range(self.n_actions)]
        return estimates.index(max(estimates))

    def write(self, action, key, value):
        table, order, value = self.tables[action], self.orders[action], f32(value)
        near = self.near(action, key)
        if near and near[0][0] <= self.d**2:
            row = near[0][1]
            table[row][1] = max(table[row][1], value)
            order.remove(row)
        elif len(table) < self.capacity:
            row = len(table)
            table.append([key, value])
        else:
            row = order.pop(0)
            table[row] = [key, value]
        order.append(row)

    def train(self, env, total_timesteps):
        number = 0
        while self.steps < total_timesteps:
            rng = generator(self.seed, Stream.POLICY, 0, number)
            observation, _ = env.reset(seed=reset_seed(self.seed, Stream.ENVIRONMENT, 0, number))
            episode, ended, self.held = [], False, 0
            while not ended:
                key = np.asarray(self.embed(observation)).astype(f32)
                if len(episode) % 64 == 0:
                    uniforms = rng.random((64, 3 + (self.hold > 1)))
                action = self.act(key, uniforms[len(episode) % 64])
                observation, reward, terminated, truncated, _ = env.step(action)
                ended = terminated or truncated
                episode.append((key, action, float(reward)))
                self.steps += 1
            number += 1
            value = 0.0
            for key, action, reward in reversed(episode):
                value = reward + self.gamma * value
                self.write(action, key, value)
