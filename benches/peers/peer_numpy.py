"""The paper's FeedBAL job in NumPy: many runs at once, one step of all of them after another."""

import numpy as np
from numpy.typing import NDArray

import job

# So many runs at once: enough to hide the cost of a call, few enough for their cells to stay in the cache.
WIDTH = 2000

Ints = NDArray[np.int64]


class Cells:
    """Count, sum and index of one action at one step, by state * runs + run."""

    width = job.widths()

    def __init__(self, runs: int) -> None:
        size = job.STATES * runs
        self.count, self.sum, self.index = np.zeros(size, np.int64), np.zeros(size), np.full(size, np.inf)

    def observe(self, cell: Ints, value: job.Floats) -> None:
        # `take` and arithmetic in place: a fifth faster than the same with brackets and new arrays.
        count = self.count.take(cell)
        count += 1
        total = self.sum.take(cell)
        total += value
        self.count[cell] = count
        self.sum[cell] = total
        total /= count
        total += self.width.take(count)
        self.index[cell] = total


def play(runs: int, episodes: int, rng: np.random.Generator) -> tuple[job.Floats, int]:
    gap = job.gaps().reshape(job.HORIZON, -1)
    cells = [(Cells(runs), Cells(runs)) for _ in range(job.HORIZON)]
    everyone, nothing = np.arange(runs), np.zeros(runs, np.int64)
    regret, steps = np.zeros(runs), 0
    for _ in range(episodes):
        alive, x, cell = everyone, nothing, everyone
        reward = rng.standard_normal(runs)
        reward *= job.NOISE_SD
        for t, (stop, go) in enumerate(cells):
            steps += len(alive)
            # No pair is met twice in an episode, so what is learned can be written down at once.
            goes = go.index.take(cell) > stop.index.take(cell)
            stop.observe(cell, reward)
            if t == job.HORIZON - 1:
                break  # the remaining runs must stop, without loss
            regret[alive] += gap[t].take(2 * x + goes)
            on = np.flatnonzero(goes)
            if len(on) == 0:
                break
            if len(on) < len(alive):
                alive, x, cell = alive.take(on), x.take(on), cell.take(on)
            x = x + (rng.random(len(on)) < job.CHANCE[t])
            noise = rng.standard_normal((2, len(on)))
            noise *= job.NOISE_SD
            reward = job.REWARD[t + 1].take(x)
            reward += noise[0]
            go.observe(cell, reward - noise[1])
            cell = x * runs + alive
    return regret, steps


def work(runs: int, seed: tuple[int, int], ready: job.Ready) -> job.Done:
    rng = np.random.Generator(np.random.SFC64(seed))
    play(10, 10, rng)
    ready()
    start = job.clock()
    blocks = [play(min(WIDTH, runs - i), job.EPISODES, rng) for i in range(0, runs, WIDTH)]
    return job.Done(np.concatenate([b[0] for b in blocks]), sum(b[1] for b in blocks), start, job.clock())


if __name__ == "__main__":
    job.report("NumPy", job.in_processes(work, *job.options()))
