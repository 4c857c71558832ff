"""The paper's FeedBAL job in CuPy: all runs take one step after another together.

`--form arrays` uses array operations alone: masks, gathers and scatters. `--form elementwise` makes each step of all runs
one call of a cupy.ElementwiseKernel. In both, Python starts every step, and this takes most of the time with few runs.
`--numpy` runs the form `arrays` with NumPy, to test it on a machine without a GPU.
"""

import sys
import time

import numpy as np

from common import job, parser, report

HORIZON, STATES = job.HORIZON, job.STATES
BATCH = 16  # the random numbers of so many episodes are drawn at once

# One step of run i. `alive` and `reward` are those at step t. In the tables, row x is stop and row STATES + x is go.
STEP = """
    if (t == 0) { x = 0; alive = true; reward = SD * normal[base * 2 + i]; }
    if (alive) {
        const ptrdiff_t n = _ind.size();
        const ptrdiff_t stop = ((ptrdiff_t)t * 2 * STATES + x) * n + i, go = stop + STATES * n;
        const bool goes = t < HORIZON - 1 && index[go] > index[stop];
        int k = ++count[stop];
        index[stop] = (total[stop] += reward) / k + width[k];
        regret += gap[(t * STATES + x) * 2 + goes];
        ++steps;
        if (goes) {
            const T cost = SD * normal[base * 2 + (HORIZON + t) * n + i];
            x += uniform[base + t * n + i] < chance[t];
            reward = mean_reward[(t + 1) * STATES + x] + SD * normal[base * 2 + (t + 1) * n + i];
            k = ++count[go];
            index[go] = (total[go] += reward - cost) / k + width[k];
        }
        alive = goes;
    }
"""


class Tables:
    """The job's constants and the learner's tables of all runs, on the device."""

    def __init__(self, xp, runs, episodes, real):
        put = lambda a: xp.asarray(a, dtype=real)  # noqa: E731
        self.chance, self.reward, self.gap = put(job.CHANCE), put(job.REWARD), put(job.gaps())
        n = np.arange(1.0, episodes + 1)
        width = np.sqrt((1 + n) / n**2 * 4 * job.SIGMA2 * np.log(job.K * np.sqrt(1 + n) / job.DELTA))
        self.width, self.inverse = put(np.append(np.inf, width)), put(np.append(0, 1 / n))  # by count
        shape = HORIZON, 2, STATES, runs
        self.count, self.total, self.index = xp.zeros(shape, np.int32), xp.zeros(shape, real), xp.full(shape, np.inf, real)
        self.regret, self.steps = xp.zeros(runs), xp.zeros(runs, np.int32)


def play_arrays(xp, tables, batches):
    """Array operations alone. A run that has stopped takes part with masked updates, so no step waits for the device."""
    runs = len(tables.regret)
    run = xp.arange(runs)

    def observe(t, action, x, value, seen):
        cell = t, action, x, run
        count, total = tables.count[cell] + seen, tables.total[cell] + xp.where(seen, value, 0)
        tables.count[cell], tables.total[cell] = count, total
        tables.index[cell] = total * tables.inverse[count] + tables.width[count]

    for uniform, normal in batches:
        normal *= job.NOISE_SD
        for hit, noise, cost in zip(uniform < tables.chance[:, None], normal[:, 0], normal[:, 1]):
            x, alive, reward = xp.zeros(runs, np.int32), xp.ones(runs, bool), noise[0]
            for t in range(HORIZON):
                goes = alive & (tables.index[t, 1, x, run] > tables.index[t, 0, x, run]) & (t < HORIZON - 1)
                observe(t, 0, x, reward, alive)
                tables.regret += xp.where(alive, tables.gap[t, x, goes.astype(np.int32)], 0)
                tables.steps += alive
                if t < HORIZON - 1:
                    y = x + hit[t]
                    reward = tables.reward[t + 1, y] + noise[t + 1]
                    observe(t, 1, x, reward - cost[t], goes)
                    x = y
                alive = goes


def play_elementwise(cp, tables, batches):
    """One kernel for each step."""
    runs = len(tables.regret)
    step = cp.ElementwiseKernel(
        "int32 t, int64 base, raw T uniform, raw T normal, raw T chance, raw T mean_reward, raw T gap, raw T width",
        "raw int32 count, raw T total, raw T index, int32 x, bool alive, T reward, float64 regret, int32 steps",
        STEP,
        "feedbal_step",
        preamble=f"#define HORIZON {HORIZON}\n#define STATES {STATES}\n#define SD (T)({job.NOISE_SD!r})\n",
    )
    x, alive, reward = cp.empty(runs, np.int32), cp.empty(runs, bool), cp.empty(runs, tables.total.dtype)
    constants = tables.chance, tables.reward, tables.gap, tables.width
    state = tables.count, tables.total, tables.index, x, alive, reward, tables.regret, tables.steps
    for uniform, normal in batches:
        for episode in range(len(uniform)):
            for t in range(HORIZON):
                step(t, episode * HORIZON * runs, uniform, normal, *constants, *state)


def main():
    p = parser(__doc__.splitlines()[0])
    p.add_argument("--form", choices=["elementwise", "arrays"], default="elementwise")
    p.add_argument("--numpy", action="store_true", help="NumPy in place of CuPy, for a test; with --form arrays")
    o = p.parse_args()
    if o.numpy and o.form != "arrays":
        p.error("--numpy needs --form arrays")
    if o.numpy:
        xp, rng = np, np.random.default_rng(o.seed)
        uniforms, wait = rng.random, lambda: None
    else:
        import cupy as xp

        # cuRAND's host API: one kernel for any number of draws.
        rng = xp.random.RandomState(o.seed, method=xp.cuda.curand.CURAND_RNG_PSEUDO_PHILOX4_32_10)
        uniforms, wait = rng.random_sample, xp.cuda.Device().synchronize

    def batches(episodes):
        for first in range(0, episodes, BATCH):
            size = min(BATCH, episodes - first)
            normal = rng.standard_normal((size, 2, HORIZON, o.runs), dtype=np.dtype(o.precision))
            yield uniforms((size, HORIZON, o.runs), dtype=np.dtype(o.precision)), normal

    def timed(episodes):
        tables = Tables(xp, o.runs, episodes, np.dtype(o.precision))
        play = play_arrays if o.form == "arrays" else play_elementwise
        wait()
        start = time.perf_counter()
        play(xp, tables, batches(episodes))
        wait()
        return tables, time.perf_counter() - start

    _, first = timed(2 * BATCH)  # compiles the kernels
    _, second = timed(2 * BATCH)
    tables, seconds = timed(o.episodes)
    if o.episodes != job.EPISODES:
        print(f"note: {o.episodes} episodes, not {job.EPISODES}: compare ns_per_step, not the regret", file=sys.stderr)
    regret, steps = (a if o.numpy else xp.asnumpy(a) for a in (tables.regret, tables.steps))
    name = "NumPy" if o.numpy else "CuPy"
    report(f"{name}, {o.form}", o, regret, int(steps.sum(dtype=np.int64)), seconds, max(first - second, 0.0))


if __name__ == "__main__":
    main()
