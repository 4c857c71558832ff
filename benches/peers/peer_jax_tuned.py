"""The paper's FeedBAL job in JAX on the processor, tuned: many runs at once, `lax.scan` over the episodes.

What was tried and is slower: gathers and scatters instead of a mask over the few states of a step (by a third), a
vmapped single run (by a factor of three), the generators `rbg` and `unsafe_rbg`, XLA's vector width of 512.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

import job

# So many runs at once: enough to hide the cost of an operation, few enough for their cells to stay in the cache.
WIDTH = 256

HORIZON = job.HORIZON
GAP = job.gaps().astype(np.float32)


def width(n):
    # Cheaper than a table here: it becomes a part of the loop that uses it.
    n = jnp.maximum(n, 1)
    return jnp.sqrt((1 + n) / (n * n) * (4 * job.SIGMA2) * (np.log(job.K / job.DELTA) + 0.5 * jnp.log1p(n)))


def observe(cells, here, value):
    count, total, index = cells
    count = count + here
    total = total + jnp.where(here, value, 0)
    return count, total, jnp.where(here, total / count + width(count), index)


def episode(state, key):
    cells, regret, steps = state
    normal, uniform = jax.random.split(key)
    noise = job.NOISE_SD * jax.random.normal(normal, (HORIZON, 2, WIDTH))
    draw = jax.random.uniform(uniform, (HORIZON, WIDTH))
    x = jnp.zeros(WIDTH, jnp.int32)
    alive = jnp.ones(WIDTH, bool)
    reward = noise[0, 0]
    learned = []
    for t, (stop, go) in enumerate(cells):
        # [state, run]: the pair that each run is at, if it has not stopped. No pair is met twice in an episode, so what
        # is learned can be written down at once.
        here = (x == jnp.arange(t + 1)[:, None]) & alive
        goes = jnp.any(here & (go[2] > stop[2]), axis=0) & (t < HORIZON - 1)
        stop = observe(stop, here, reward)
        lost = jnp.where(goes, GAP[t, : t + 1, 1, None], GAP[t, : t + 1, 0, None])
        regret = regret + jnp.sum(jnp.where(here, lost, 0), axis=0)
        steps = steps + alive
        if t < HORIZON - 1:
            x = x + (draw[t] < job.CHANCE[t])
            reward = job.BETA ** (t + 1) * x + noise[t + 1, 0]
            go = observe(go, here & goes, reward - noise[t, 1])
        alive = goes
        learned.append((stop, go))
    return (learned, regret, steps), None


@jax.jit
def play(key):
    def new(t):
        return jnp.zeros((t + 1, WIDTH)), jnp.zeros((t + 1, WIDTH)), jnp.full((t + 1, WIDTH), jnp.inf)

    state = [(new(t), new(t)) for t in range(HORIZON)], jnp.zeros(WIDTH), jnp.zeros(WIDTH, jnp.int32)
    (_, regret, steps), _ = jax.lax.scan(episode, state, jax.random.split(key, job.EPISODES))
    return regret, jnp.sum(steps)


def work(runs: int, seed: tuple[int, int], ready: job.Ready) -> job.Done:
    """Plays whole blocks: more runs than asked for if they are not a multiple of the width."""
    key = jax.random.fold_in(jax.random.key(seed[0]), seed[1])
    compiled = play.lower(key).compile()
    keys = [jax.random.fold_in(key, i) for i in range(-(-runs // WIDTH))]
    ready()
    start = job.clock()
    done = [jax.block_until_ready(compiled(key)) for key in keys]
    end = job.clock()
    return job.Done(np.concatenate([d[0] for d in done], dtype=np.float64), sum(int(d[1]) for d in done), start, end)


if __name__ == "__main__":
    job.report("JAX, tuned", job.in_processes(work, *job.options()))
