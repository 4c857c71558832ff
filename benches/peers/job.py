"""What the Python peers share: the numbers of the job, its tables, the command line and the processes."""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

EPISODES, HORIZON, STATES = 20_000, 10, 10
BETA, P = 0.9, 0.8
NOISE_SD = 0.1**0.5
SIGMA2, DELTA = 0.2, 0.01
K = HORIZON * STATES * 2

Floats = NDArray[np.float64]

# Steps count from 0 here. Chance of a resource by step; expected reward by step and state.
CHANCE: Floats = P / np.sqrt(np.arange(1, HORIZON + 1))
REWARD: Floats = BETA ** np.arange(HORIZON)[:, None] * np.arange(STATES)


def gaps() -> Floats:
    """What stopping [t, x, 0] and going on [t, x, 1] lose against the benchmark."""
    gap = np.zeros((HORIZON, STATES, 2))
    value = REWARD[-1]
    for t in reversed(range(HORIZON - 1)):

        def ahead(after: Floats, p: float = CHANCE[t]) -> Floats:
            # The last state has no next one; it cannot be reached before the last step.
            return (1 - p) * after + p * np.append(after[1:], after[-1])

        # The benchmark stops unless the next expected reward is larger.
        stop, go = REWARD[t], ahead(value)
        value = np.where(ahead(REWARD[t + 1]) > stop, go, stop)
        gap[t] = np.stack([value - stop, value - go], axis=1)
    return gap


def widths() -> Floats:
    """The confidence width by count, infinite at 0."""
    n = np.arange(1.0, EPISODES + 1)
    return np.append(np.inf, np.sqrt((1 + n) / n**2 * 4 * SIGMA2 * np.log(K * np.sqrt(1 + n) / DELTA)))


class Done(NamedTuple):
    regret: Floats  # of each run
    steps: int  # of all runs
    start: float  # on a clock that all processes share
    end: float


clock = time.monotonic
Ready = Callable[[], Any]
# A peer's work: compiles and warms up, says that it is ready and waits for the others, then plays so many runs.
# The seed is a pair: that of the command line, and the number of the process.
Work = Callable[[int, tuple[int, int], Ready], Done]


class Options(NamedTuple):
    runs: int
    threads: int
    seed: int


def options() -> Options:
    parser = argparse.ArgumentParser()
    for name in Options._fields:
        parser.add_argument(f"--{name}", type=int, required=True)
    return Options(**vars(parser.parse_args()))


_ready: Any = None


def _enter(ready: Any, cores: Any) -> None:
    global _ready
    _ready = ready
    core = cores.get()
    if core is not None:
        os.sched_setaffinity(0, {core})


def _share(work: Work, runs: int, seed: tuple[int, int]) -> Done:
    return work(runs, seed, _ready.wait)


def in_processes(work: Work, runs: int, threads: int, seed: int) -> list[Done]:
    """Shares the runs among as many processes as threads are asked for, each on a core of its own."""
    if threads == 1:
        return [work(runs, (seed, 0), lambda: None)]
    # Started anew rather than forked: JAX's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    ours = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    cores = context.Queue()
    for i in range(threads):
        cores.put(ours[i] if len(ours) == threads else None)
    jobs = [(work, runs // threads + (i < runs % threads), (seed, i)) for i in range(threads)]
    with context.Pool(threads, _enter, (context.Barrier(threads), cores)) as pool:
        return pool.starmap(_share, jobs, chunksize=1)


def report(peer: str, done: list[Done]) -> None:
    """Prints the line of JSON."""
    regret = np.concatenate([d.regret for d in done])
    line = {
        "peer": peer,
        "runs": len(regret),
        "regret": float(regret.mean()),
        "stderr": float(regret.std(ddof=1) / len(regret) ** 0.5),
        "steps": sum(d.steps for d in done),
        "seconds": max(d.end for d in done) - min(d.start for d in done),
    }
    print(json.dumps(line))
