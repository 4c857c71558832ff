"""The paper's FeedBAL job in JAX: all runs at once, `lax.scan` over the episodes, no loop over the steps.

An episode visits no pair of step and state twice, so the learner's table is constant during it. The states on the way
to the last step do not depend on the decisions. So the program draws the whole episode, compares the indices of all
steps at once, cuts the episode off at the first stop and writes what was observed in one update.

On a GPU XLA starts several kernels for each episode, and with few runs their start takes most of the time: compiled for
an H200, 8 kernels (13 with the generator `rbg`), against 21 with the masks of benches/peers/peer_jax_tuned.py.

`--form plain` plays benches/peers/peer_jax_plain.py instead: one run as a function, `vmap` over the runs, a loop over the steps.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from common import job, parser, report

# One call of the compiled program plays so many episodes. The host adds up the regret of the calls in double precision.
CHUNK = 1000

HORIZON = job.HORIZON
# The reachable pairs (t, x), x <= t, in one row: those of step t start at FIRST[t].
STEP, STATE = np.tril_indices(HORIZON)
FIRST = (np.arange(HORIZON) * np.arange(1, HORIZON + 1) // 2).astype(np.int32)
PAIRS = len(STEP)
GAP = job.gaps()[STEP, STATE]
DISCOUNT = job.BETA ** np.arange(HORIZON)


def index(count, total):
    """FeedBAL's index: mean plus confidence width, infinite without an observation."""
    n = jnp.maximum(count, 1)
    width = jnp.sqrt((1 + n) / (n * n) * (4 * job.SIGMA2) * (np.log(job.K / job.DELTA) + 0.5 * jnp.log1p(n)))
    return jnp.where(count > 0, total / n + width, jnp.inf)


def before(rows, first, combine):
    """Row t of the result combines `first` and the rows before row t."""
    out = [first]
    for row in rows[:-1]:
        out.append(combine(out[-1], row))
    return jnp.stack(out)


def episode(form, state, keys):
    table, regret, steps = state  # table: [action (stop, go), count or total, pair, run]
    runs, real = table.shape[-1], table.dtype
    run = jnp.arange(runs, dtype=jnp.int32)
    constant = partial(jnp.asarray, dtype=real)
    noise = job.NOISE_SD * jax.random.normal(keys[0], (2, HORIZON, runs), real)
    hit = jax.random.uniform(keys[1], (HORIZON, runs), real) < constant(job.CHANCE)[:, None]

    x = before(hit, jnp.zeros(runs, jnp.int32), jnp.add)
    pair = FIRST[:, None] + x
    here = table.at[:, :, pair, run].get(mode="promise_in_bounds", wrap_negative_indices=False)
    goes = (index(*here[1]) > index(*here[0])) & (np.arange(HORIZON) < HORIZON - 1)[:, None]
    alive = before(goes, jnp.ones(runs, bool), jnp.logical_and)
    goes &= alive

    gap = constant(GAP)[pair, goes.astype(jnp.int32)]
    regret += jnp.sum(jnp.where(alive, gap, 0), axis=0)
    steps += jnp.sum(alive, axis=0, dtype=jnp.int32)

    reward = constant(DISCOUNT)[:, None] * x + noise[0]
    ahead = jnp.concatenate([reward[1:], reward[:1]])  # no run continues at the last step
    seen = jnp.stack([alive, goes])
    value = jnp.stack([reward, ahead - noise[1]])
    change = jnp.stack([seen.astype(real), jnp.where(seen, value, 0)], axis=1)
    if form == "scatter":
        cells = table.at[:, :, pair, run]
        table = cells.add(change, mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False)
    else:  # dense: rewrites the whole table, without a scatter
        table += jnp.where(x[STEP] == STATE[:, None], change[:, :, STEP], 0)
    return (table, regret, steps), None


@partial(jax.jit, static_argnames=("form", "unroll"), donate_argnums=0)
def play(table, key, form, unroll):
    runs = table.shape[-1]
    state = table, jnp.zeros(runs, table.dtype), jnp.zeros(runs, jnp.int32)
    keys = jax.random.split(key, (CHUNK, 2))
    (table, regret, steps), _ = jax.lax.scan(partial(episode, form), state, keys, unroll=unroll)
    return table, regret, steps


def play_plain(p, o):
    import peer_jax_plain  # asks for the processor, which has no effect any more: JAX is loaded

    if o.episodes != job.EPISODES or o.precision != "float32":
        p.error(f"--form plain has {job.EPISODES} episodes in float32")
    keys = jax.random.split(jax.random.key(o.seed), o.runs)
    start = time.perf_counter()
    compiled = peer_jax_plain.play.lower(keys).compile()
    compiling = time.perf_counter() - start
    start = time.perf_counter()
    regret, steps = jax.block_until_ready(compiled(keys))
    seconds = time.perf_counter() - start
    peer = f"JAX, plain, on {jax.devices()[0].device_kind}"
    report(peer, o, np.asarray(regret, np.float64), int(np.asarray(steps).sum(dtype=np.int64)), seconds, compiling)


def main():
    p = parser(__doc__.splitlines()[0])
    p.add_argument("--form", choices=["scatter", "dense", "plain"], default="scatter", help="how the table is updated")
    p.add_argument("--unroll", type=int, default=1, help="episodes in one iteration of XLA's loop")
    p.add_argument("--rng", choices=["threefry2x32", "rbg"], default="threefry2x32")
    o = p.parse_args()
    if o.episodes % CHUNK:
        p.error(f"--episodes must be a multiple of {CHUNK}")
    if o.form == "plain":
        return play_plain(p, o)
    jax.config.update("jax_enable_x64", o.precision == "float64")

    def new():
        return jnp.zeros((2, 2, PAIRS, o.runs), o.precision)

    keys = jax.random.split(jax.random.key(o.seed, impl=o.rng), 1 + o.episodes // CHUNK)
    start = time.perf_counter()
    compiled = play.lower(new(), keys[0], form=o.form, unroll=o.unroll).compile()
    compiling = time.perf_counter() - start
    jax.block_until_ready(compiled(new(), keys[0]))  # warm-up: one call

    table, done = jax.block_until_ready(new()), []
    start = time.perf_counter()
    for key in keys[1:]:
        table, *result = compiled(table, key)
        done.append(result)
    jax.block_until_ready((table, done))
    seconds = time.perf_counter() - start

    regret = sum(np.asarray(r, np.float64) for r, _ in done)
    steps = sum(int(np.asarray(s).sum(dtype=np.int64)) for _, s in done)
    peer = f"JAX, {o.form}, unroll {o.unroll}, {o.rng}, on {jax.devices()[0].device_kind}"
    report(peer, o, regret, steps, seconds, compiling)


if __name__ == "__main__":
    main()
