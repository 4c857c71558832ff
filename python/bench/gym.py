"""Steps per second of an environment of `resource`: in pure Python, native, and vectorised.

    python bench/gym.py [--seconds 1] [--envs 1024]

The Python environment is a usual implementation: NumPy's generator, Gymnasium's API, the same spaces, the same contents
of `info`, the same draws per step (feedback, noise of the cost, noise of the reward), and precomputed numbers of the
problem. All three are stepped without wrappers, with precomputed actions; one in four is `stop`. All use one thread;
its processor time is measured. The rounds alternate, and the fastest of each is shown.
"""

from __future__ import annotations

import argparse
import time
from itertools import cycle

import gymnasium
import numpy as np

import emab
import emab.gym


class PlainEnv(gymnasium.Env):
    """Section 5 of the paper in Python."""

    def __init__(self):
        """Compute the numbers of the problem."""
        self.observation_space = gymnasium.spaces.MultiDiscrete([10, 10], start=[1, 0])
        self.action_space = gymnasium.spaces.Discrete(2)
        self.probability = [0.8 / np.sqrt(step) for step in range(1, 11)]
        self.value = [[0.9 ** (step - 1) * state for state in range(10)] for step in range(1, 11)]
        self.sd = float(np.sqrt(0.1))

    def reset(self, *, seed=None, options=None):
        """Begin an episode."""
        super().reset(seed=seed)
        self.step_, self.state = 1, 0
        self.states, self.actions, self.feedbacks, self.costs, self.rewards = [0], [], [], [], []
        return self.observed(), {"action_mask": self.mask()}

    def observed(self):
        """Return the observation."""
        return np.array([self.step_, self.state])

    def mask(self):
        """Return the allowed actions."""
        return np.array([self.step_ < 10, 1], dtype=np.int8)

    def step(self, action):
        """Take an action."""
        rng = self.np_random
        reward = self.value[self.step_ - 1][self.state] + rng.normal(0.0, self.sd)
        self.rewards.append(reward)
        not_allowed = action == 0 and self.step_ == 10
        if action == 1 or not_allowed:
            info = {
                "action_mask": self.mask(),
                "costs": self.costs,
                "rewards": self.rewards,
                "revealed": (self.states, self.actions, self.feedbacks, self.costs, self.rewards),
            }
            if not_allowed:
                info["not_allowed"] = True
            return self.observed(), reward, True, False, info
        feedback = int(rng.random() < self.probability[self.step_ - 1])
        cost = rng.normal(0.0, self.sd)
        self.step_ += 1
        self.state += feedback
        self.states.append(self.state)
        self.actions.append(action)
        self.feedbacks.append(feedback)
        self.costs.append(cost)
        return self.observed(), -cost, False, False, {"action_mask": self.mask()}


def one(env, actions, seconds):
    """Return the steps per second of one environment."""
    env.reset(seed=1)
    step, reset = env.step, env.reset
    steps, begin = 0, time.thread_time()
    while time.thread_time() - begin < seconds:
        for action in actions:
            if step(action)[2]:
                reset()
        steps += len(actions)
    return steps / (time.thread_time() - begin)


def many(envs, actions, seconds):
    """Return the steps per second of a vector of environments; resets do not count."""
    envs.reset(seed=1)
    step = envs.step
    steps, begin = 0, time.thread_time()
    ended = np.zeros(envs.num_envs, dtype=bool)
    for batch in cycle(actions):
        steps += envs.num_envs - np.count_nonzero(ended)
        ended = step(batch)[2]
        if time.thread_time() - begin >= seconds:
            return steps / (time.thread_time() - begin)
    raise AssertionError("there are no actions")


def main():
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per measurement")
    parser.add_argument("--envs", type=int, default=1024, help="number of environments in the vector")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    actions = (rng.random(10_000) < 0.25).astype(np.int64)
    batches = list((rng.random((64, arguments.envs)) < 0.25).astype(np.int64))
    single = [int(action) for action in actions]
    rows = {
        "pure Python": lambda seconds: one(PlainEnv(), single, seconds),
        "emab.gym.Env": lambda seconds: one(emab.gym.Env("resource"), single, seconds),
        f"emab.gym.VectorEnv, {arguments.envs} environments": lambda seconds: many(
            emab.gym.VectorEnv("resource", arguments.envs), batches, seconds
        ),
    }
    rounds = 5
    best = dict.fromkeys(rows, 0.0)
    for _ in range(rounds):
        for name, measure in rows.items():
            best[name] = max(best[name], measure(arguments.seconds / rounds))
    base = best["pure Python"]
    print(f"emab {emab.__version__}, Gymnasium {gymnasium.__version__}, NumPy {np.__version__}")
    print(f"{'steps per second':36} {'':>12} {'times':>8}")
    for name, speed in best.items():
        print(f"{name:36} {speed:12,.0f} {speed / base:8.1f}")


if __name__ == "__main__":
    main()
