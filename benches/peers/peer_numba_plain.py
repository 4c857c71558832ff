"""The paper's FeedBAL job in numba, the straightforward way: numba's `np.random`, arrays by step, state and action."""

import numba
import numpy as np
from numpy.typing import NDArray

import job

CHANCE, REWARD, GAP, WIDTH = job.CHANCE, job.REWARD, job.gaps(), job.widths()
HORIZON, STATES, SD = job.HORIZON, job.STATES, job.NOISE_SD
SHAPE = HORIZON, STATES, 2

Ints = NDArray[np.int64]


@numba.njit
def observe(count: Ints, mean: job.Floats, t: int, x: int, a: int, value: float) -> None:
    count[t, x, a] += 1
    mean[t, x, a] += (value - mean[t, x, a]) / count[t, x, a]


@numba.njit
def play(episodes: int, seed: int) -> tuple[float, int]:
    # Numba's random numbers have a state for each thread, not for each run, so a run sets it.
    np.random.seed(seed)
    count, mean = np.zeros(SHAPE, np.int64), np.zeros(SHAPE)
    regret, steps = 0.0, 0
    for _ in range(episodes):
        t, x = 0, 0
        reward = SD * np.random.standard_normal()
        while True:
            stop = mean[t, x, 0] + WIDTH[count[t, x, 0]]
            go = mean[t, x, 1] + WIDTH[count[t, x, 1]]
            goes = t < HORIZON - 1 and go > stop
            # No pair is met twice in an episode, so what is learned can be written down at once.
            observe(count, mean, t, x, 0, reward)
            regret += GAP[t, x, int(goes)]
            steps += 1
            if not goes:
                break
            cost = SD * np.random.standard_normal()
            y = x + 1 if np.random.random() < CHANCE[t] else x
            reward = REWARD[t + 1, y] + SD * np.random.standard_normal()
            observe(count, mean, t, x, 1, reward - cost)
            t, x = t + 1, y
    return regret, steps


@numba.njit(parallel=True)
def play_all(runs: int, episodes: int, seed: int) -> tuple[job.Floats, Ints]:
    regret, steps = np.zeros(runs), np.zeros(runs, np.int64)
    for run in numba.prange(runs):
        regret[run], steps[run] = play(episodes, seed + run)
    return regret, steps


def work(runs: int, threads: int, seed: int) -> job.Done:
    numba.set_num_threads(threads)
    play_all(threads, 10, 0)
    start = job.clock()
    # Calls have seeds in a row, and the runs of none of them are as many as this.
    regret, steps = play_all(runs, job.EPISODES, seed * 100_000)
    return job.Done(regret, int(steps.sum()), start, job.clock())


if __name__ == "__main__":
    job.report("numba, plain", [work(*job.options())])
