"""Helpers that several test modules share."""

import math
import os
import re
import subprocess
import sys


def timeless(text):
    """A result document without its times."""
    return re.sub(r'"seconds": [0-9.e+-]+', '"seconds": 0', text)


def command(*arguments, code=0, cwd=None):
    """Run the command `emab` and check its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "emab", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "COLUMNS": "1000"},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


class RandomLearner:
    """Takes a random allowed action."""

    def __init__(self, spec, rng):
        self.spec, self.rng = spec, rng

    def choose(self, step, state):
        return self.rng.choice(self.spec.allowed(step, state))

    def learn(self, episode):
        pass


class PurePython:
    """FeedBAL, Algorithm 2 of the paper, with the order of sums of the built-in learner."""

    def __init__(self, spec, sigma2, delta=0.01):
        self.spec, self.coefficient = spec, 2 * (sigma2 + sigma2)
        self.log_k_over_delta = math.log(spec.k / delta)
        self.counts, self.sums, self.indices = {}, {}, {}

    def index(self, cell):
        return self.indices.get(cell, math.inf)

    def choose(self, step, state):
        *actions, stop = self.spec.allowed(step, state)
        if not actions:
            return stop
        best = max(actions, key=lambda a: (self.index((step, state, a)), -a))
        return best if self.index((step, state, best)) > self.index((step, state, stop)) else stop

    def observe(self, cell, value):
        n = self.counts[cell] = self.counts.get(cell, 0) + 1
        self.sums[cell] = self.sums.get(cell, 0.0) + value
        log = self.log_k_over_delta + 0.5 * math.log1p(n)
        width = math.sqrt((1 + n) / (n * n) * self.coefficient * log)
        self.indices[cell] = self.sums[cell] * (1 / n) + width

    def learn(self, episode):
        states, costs, rewards = episode.states, episode.costs, episode.rewards
        # The condition `lost` removes the rewards.
        for i, reward in enumerate(rewards):
            if not math.isnan(reward):
                self.observe((i + 1, states[i], self.spec.stop), reward)
            if i < len(costs) and not math.isnan(gain := rewards[i + 1] - costs[i]):
                self.observe((i + 1, states[i], episode.actions[i]), gain)
