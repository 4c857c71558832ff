"""The paper's FeedBAL job in JAX, the straightforward way: one run as a function of a key, `vmap` over the runs.

An inner `lax.scan` over all steps rather than a `lax.while_loop` until the runs have stopped: shorter, and faster, as
a vmapped `while_loop` copies all cells in every step. So is one draw for the episode, not a split key for each step.
"""

import os
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

import job

HORIZON, STATES = job.HORIZON, job.STATES
SHAPE = HORIZON, STATES, 2
CHANCE, REWARD, GAP, WIDTH = map(jnp.float32, (job.CHANCE, job.REWARD, job.gaps(), job.widths()))

Array = jax.Array
Cells = tuple[Array, Array]  # counts and means by step, state and action
Sofar = tuple[Cells, Array, Array]  # with the regret and the steps of the run


def observe(cells: Cells, cell: tuple[Array, Array, int], value: Array, seen: Array) -> Cells:
    count, mean = cells
    count = count.at[cell].add(seen)
    # The count is 0 only if nothing was seen.
    return count, mean.at[cell].add(jnp.where(seen, (value - mean[cell]) / count[cell], 0))


def step(state: tuple[Cells, *tuple[Array, ...]], drawn: tuple[Array, Array, Array]) -> tuple[Any, None]:
    (count, mean), regret, steps, x, reward, alive = state
    t, (reward_noise, cost_noise), uniform = drawn
    index = mean[t, x] + WIDTH[count[t, x]]
    goes = alive & (t < HORIZON - 1) & (index[1] > index[0])
    # No pair is met twice in an episode, so what is learned can be written down at once.
    cells = observe((count, mean), (t, x, 0), reward, alive)
    regret = regret + jnp.where(alive, GAP[t, x, goes.astype(int)], 0)
    y = x + (uniform < CHANCE[t])
    # At the last step this reads the last row once more, as JAX cuts off an index that is too large; no run continues.
    reward = REWARD[t + 1, y] + reward_noise
    cells = observe(cells, (t, x, 1), reward - cost_noise, goes)
    return (cells, regret, steps + alive, y, reward, goes), None


def episode(state: Sofar, key: Array) -> tuple[Sofar, None]:
    to_first, to_noise, to_uniform = jax.random.split(key, 3)
    first = job.NOISE_SD * jax.random.normal(to_first)
    noise = job.NOISE_SD * jax.random.normal(to_noise, (HORIZON, 2))
    uniform = jax.random.uniform(to_uniform, HORIZON)
    state, _ = jax.lax.scan(step, (*state, 0, first, True), (jnp.arange(HORIZON), noise, uniform))
    return state[:3], None


def run(key: Array) -> tuple[Array, Array]:
    cells = jnp.zeros(SHAPE, int), jnp.zeros(SHAPE)
    (_, regret, steps), _ = jax.lax.scan(episode, (cells, 0.0, 0), jax.random.split(key, job.EPISODES))
    return regret, steps


play = jax.jit(jax.vmap(run))


def work(runs: int, seed: tuple[int, int], ready: job.Ready) -> job.Done:
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed[0]), seed[1]), runs)
    compiled = play.lower(keys).compile()
    ready()
    start = job.clock()
    regret, steps = jax.block_until_ready(compiled(keys))
    end = job.clock()
    return job.Done(np.asarray(regret, np.float64), int(np.asarray(steps).sum()), start, end)


if __name__ == "__main__":
    job.report("JAX, plain", job.in_processes(work, *job.options()))
