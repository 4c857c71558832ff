"""Runs and sweeps on any :class:`concurrent.futures.Executor`: processes, Dask, a batch system.

>>> from concurrent.futures import ThreadPoolExecutor
>>> import emab.futures
>>> with ThreadPoolExecutor(2) as executor:
...     result = emab.futures.run("resource", runs=20, episodes=1000, executor=executor)
>>> result.curve("feedbal").regret[-1] == emab.run("resource", runs=20, episodes=1000).curve("feedbal").regret[-1]
np.True_
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from typing import TypeAlias

from emab._learner import LearnerLike
from emab._problem import ProblemLike
from emab._progress import Watch, watched
from emab._result import Result
from emab._shards import Job, Plan, R, Told, plan_run, plan_sweep, work
from emab._sweep import SweepLike, SweepResult

__all__ = ["ExecutorLike", "run", "sweep"]

ExecutorLike: TypeAlias = "Executor | Callable[[], Executor]"
"""An executor, or a function that makes one: what it made is shut down in the end, and made anew if a worker dies."""


def run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    executor: ExecutorLike,
    shards: int | None = None,
    runs: int = 100,
    episodes: int = 10_000,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    conditions: Sequence[str] = (),
    threads: int = 1,
    retries: int = 3,
    progress: bool | Watch | None = None,
) -> Result:
    """Do what :func:`emab.run` does, in shards on an executor, with the same numbers.

    There are four ``shards`` a worker unless you say how many, and at most one a run; each uses so many ``threads``.
    A learner of your own must pickle if workers are processes. What it raises comes back, with its traceback, and is
    not tried again. A dead worker's shard is: up to ``retries`` times if ``executor`` is a function that makes one, as
    in ``executor=lambda: ProcessPoolExecutor(8)``. Ctrl-C cancels what has not begun.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> emab.futures.run("resource", runs=8, episodes=100, executor=ThreadPoolExecutor, shards=4).runs
    8
    """
    with _Pool(executor) as pool:
        plan = plan_run(
            problem,
            learners,
            runs=runs,
            episodes=episodes,
            seed=seed,
            checkpoints=checkpoints,
            conditions=conditions,
            shards=shards,
            workers=pool.workers,
            threads=threads,
        )
        return _drive(plan, pool, retries, progress)


def sweep(
    sweep: SweepLike,
    *,
    executor: ExecutorLike,
    shards: int | None = None,
    problem: ProblemLike | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: bool | Watch | None = None,
) -> SweepResult:
    """Do what :func:`emab.sweep` does, in shards of its cells on an executor; see :func:`run`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> grid = {"problem": "resource", "runs": 10, "episodes": 100, "grid": {"problem.p": [0.2, 0.8]}}
    >>> emab.futures.sweep(grid, executor=ThreadPoolExecutor).csv == emab.sweep(grid).csv
    True
    """
    with _Pool(executor) as pool:
        plan = plan_sweep(sweep, problem=problem, shards=shards, workers=pool.workers, threads=threads)
        return _drive(plan, pool, retries, progress)


class _Pool:
    """Somebody's executor, or one of ours that can be made anew."""

    def __init__(self, executor: ExecutorLike) -> None:
        if not isinstance(executor, Executor) and not callable(executor):
            raise TypeError(f"`executor` must be a concurrent.futures.Executor or make one, got {executor!r}")
        self._make = None if isinstance(executor, Executor) else executor
        self.executor = executor if isinstance(executor, Executor) else executor()

    @property
    def workers(self) -> int:
        """How many work at once; executors that do not say have as many as there are processors here."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    @property
    def ours(self) -> bool:
        return self._make is not None

    def remake(self) -> None:
        if self._make is not None:
            # Whoever still works is waited for: the same shard should not be done twice at once.
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = self._make()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.ours:
            self.executor.shutdown(wait=kind is None, cancel_futures=True)


def _drive(plan: Plan[R], pool: _Pool, retries: int, progress: bool | Watch | None) -> R:
    """Have all shards done, those of dead workers again."""
    if isinstance(pool.executor, ProcessPoolExecutor):
        _check_that_it_pickles(plan.job)
    missing = list(range(1, plan.job.shards + 1))
    with watched(progress, "running") as watch:
        told = Told(plan.job, watch)
        deaths = 0
        while True:
            done, broken = _submit(plan, missing, pool.executor, told)
            if broken is None:
                return plan.finish()
            deaths += 1
            missing = [number for number in missing if number not in done]
            left = f"{len(missing)} of {plan.job.shards} shards not done"
            if not pool.ours:
                raise BrokenExecutor(
                    f"a worker died with {left}, and its executor cannot go on; give a function that makes one, such "
                    "as executor=lambda: ProcessPoolExecutor(4), and it is made anew"
                ) from broken
            if deaths > retries:
                raise BrokenExecutor(
                    f"workers died {deaths} times, with {left}: they may lack memory, or not find a learner of your "
                    "own, which must be in a module that they can import"
                ) from broken
            pool.remake()


def _submit(
    plan: Plan[R], numbers: Sequence[int], executor: Executor, told: Told
) -> tuple[set[int], BrokenExecutor | None]:
    """Have shards done by an executor; returns which were, and why others were not, if workers died."""
    futures: dict[Future[str], int] = {}
    finished, broken = set(), None
    try:
        try:
            for number in numbers:
                futures[executor.submit(_work, plan.job, number)] = number
        except BrokenExecutor as error:
            broken = error
        for future in as_completed(futures):
            try:
                done = future.result()
            except BrokenExecutor as error:
                broken = error
                continue
            plan.take(done)
            finished.add(futures[future])
            told.done(futures[future])
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return finished, broken


def _work(job: Job, number: int) -> str:
    """Do a shard; an exception that could not be read on the other side, and would look like a dead worker, is told."""
    try:
        return work(job, number)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError("".join(traceback.format_exception(error))) from None
        raise


def _check_that_it_pickles(job: Job) -> None:
    """Say before anything runs that a learner cannot be sent."""
    try:
        pickle.dumps(job)
    except Exception as error:
        raise TypeError(
            f"a learner of yours cannot be sent to another process: {error}; define it at the top of a module, or use "
            "emab.ray"
        ) from error
