"""Cost of shards: seconds and bytes of each, and one job in this process, in processes, and on Ray.

    python bench/shards.py

Prints two Markdown tables, in a minute or two. Times are medians of ROUNDS alternating measurements.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import re
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date
from multiprocessing import get_context
from typing import Any

import ray

import emab
import emab.futures
import emab.ray
from emab import _shards

ROUNDS = 5
LEARNERS = ["feedbal", "ucb1v"]
JOB: dict[str, Any] = {"runs": 1000, "episodes": 10_000, "progress": False}
# Almost no work: the difference between many and few shards is the cost of shards.
NOTHING: dict[str, Any] = {"runs": 200, "episodes": 10, "progress": False}
FEW, MANY = 8, 200
RUNS_A_SHARD = 10


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore", emab.SoundnessWarning)
    cores = os.cpu_count() or 1
    print(
        f"{date.today()}, emab {emab.__version__}, Python {platform.python_version()}, Ray {ray.__version__},", end=" "
    )
    print(f"{cores} processors ({processor()}), load {os.getloadavg()[0]:.1f} before\n")
    print_cost_of_a_shard()
    print_time_of_one_job(cores)


def processor() -> str:
    """Return the name of the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1) if found else platform.machine()


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median(work: Callable[[], object]) -> float:
    """Return the median seconds of a call."""
    return statistics.median(seconds(work) for _ in range(ROUNDS))


def print_cost_of_a_shard() -> None:
    """Print the fixed cost of a shard, measured with a single run of one episode."""
    print("| problem | checkpoints | fixed, ms | merge, ms | sent, bytes | returned, bytes |")
    print("|---|---:|---:|---:|---:|---:|")
    large = json.loads(emab.load("resource").to_json())
    large |= {"horizon": 200, "states": 200}
    for name, problem, learners, episodes in (
        ("resource, one learner", "resource", ["feedbal"], 10_000),
        ("resource, two learners", "resource", LEARNERS, 10_000),
        ("resource, two learners", "resource", LEARNERS, 100_000),
        ("treatment, two learners", "treatment", LEARNERS, 10_000),
        ("resource with 200 steps and states, two learners", large, LEARNERS, 10_000),
    ):

        def plan(
            episodes: int, runs: int, shards: int, problem: Any = problem, learners: Any = learners
        ) -> _shards.Plan[emab.Result]:
            return _shards.plan_run(
                problem,
                learners,
                runs=runs,
                episodes=episodes,
                seed=1,
                checkpoints=None,
                record_at=(),
                conditions=(),
                shards=shards,
                workers=1,
                threads=1,
                device="cpu",
            )

        empty, full = plan(1, 1, 1), plan(episodes, 2 * RUNS_A_SHARD, 2)
        states = [_shards.work(full.job, number) for number in (1, 2)]
        points = len(json.loads(states[0])["learners"][0]["tally"]["regret"])
        fixed = median(lambda empty=empty: _shards.work(empty.job, 1))
        merge = statistics.median(seconds(lambda state=state, full=full: full.take(state)) for state in states)
        sent = len(pickle.dumps(full.job))
        size = max(map(len, states))
        print(f"| {name} | {points} | {1000 * fixed:.1f} | {1000 * merge:.1f} | {sent:,} | {size:,} |")
    print()


def print_time_of_one_job(cores: int) -> None:
    """Print the time of one job in threads, in processes and on Ray, in few and in many shards."""

    def processes() -> Executor:
        return ProcessPoolExecutor(cores, mp_context=get_context("spawn"))

    def ready(executor: Executor) -> None:
        list(executor.map(abs, range(100)))
        emab.futures.run("resource", LEARNERS, runs=100, episodes=10, executor=executor, progress=False)

    threads, pool = ThreadPoolExecutor(cores), processes()
    starts = {
        "threads": seconds(lambda: ready(threads)),
        "processes": seconds(lambda: ready(pool)),
        "Ray": seconds(
            lambda: (
                ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False),
                emab.ray.run("resource", LEARNERS, runs=100, episodes=10, progress=False),
            )
        ),
    }
    places: dict[str, Callable[..., emab.Result]] = {
        "threads": lambda **settings: emab.futures.run("resource", LEARNERS, executor=threads, **settings),
        "processes": lambda **settings: emab.futures.run("resource", LEARNERS, executor=pool, **settings),
        "Ray": lambda **settings: emab.ray.run("resource", LEARNERS, **settings),
    }
    whole: list[float] = []
    job: dict[str, list[float]] = {place: [] for place in places}
    few: dict[str, list[float]] = {place: [] for place in places}
    many: dict[str, list[float]] = {place: [] for place in places}
    results: list[emab.Result] = []
    for _ in range(ROUNDS):
        whole.append(seconds(lambda: results.append(emab.run("resource", LEARNERS, threads=cores, **JOB))))
        for place, run in places.items():
            job[place].append(seconds(lambda run=run: results.append(run(shards=FEW, **JOB))))
            few[place].append(seconds(lambda run=run: run(shards=FEW, **NOTHING)))
            many[place].append(seconds(lambda run=run: run(shards=MANY, **NOTHING)))
    pool.shutdown()
    ray.shutdown()
    texts = {re.sub(r'"seconds": [0-9.e+-]+', "", result.text) for result in results}
    print(f"resource, {' and '.join(LEARNERS)}, {JOB['runs']} runs of {JOB['episodes']} episodes; ", end="")
    print("all results are the same bytes" if len(texts) == 1 else f"{len(texts)} DIFFERENT RESULTS")
    print(f"\n| where | start, s | the job in {FEW} shards, s | one more shard, ms |")
    print("|---|---:|---:|---:|")
    print(f"| `emab.run`, {cores} threads | 0 | {statistics.median(whole):.2f} (undivided) | |")
    for place, start in starts.items():
        more = 1000 * (statistics.median(many[place]) - statistics.median(few[place])) / (MANY - FEW)
        print(f"| {place}, {cores} workers | {start:.2f} | {statistics.median(job[place]):.2f} | {more:.2f} |")


if __name__ == "__main__":
    main()
