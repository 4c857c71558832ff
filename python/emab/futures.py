"""Runs and sweeps on a :class:`concurrent.futures.Executor`: processes, Dask, a batch system.

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

from emab._device import check_device
from emab._learner import LearnerLike
from emab._problem import ProblemLike
from emab._progress import Progress, progress_bar
from emab._result import Result
from emab._run import Conditions
from emab._shards import Job, Plan, R, ShardProgress, plan_run, plan_sweep, work
from emab._sweep import SweepLike, SweepResult

__all__ = ["ExecutorLike", "run", "sweep"]

ExecutorLike: TypeAlias = "Executor | Callable[[], Executor]"
"""An executor, or a function that creates one, which is then shut down at the end and replaced if a worker dies."""


def run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    executor: ExecutorLike,
    shards: int | None = None,
    runs: float = 100,
    episodes: float = 10_000,
    seed: float = 1,
    checkpoints: Sequence[float] | None = None,
    record_at: float | Sequence[float] = (),
    conditions: Conditions = (),
    threads: int = 1,
    device: str = "cpu",
    retries: int = 3,
    progress: bool | Progress | None = None,
) -> Result:
    """Run :func:`emab.run` in shards on an executor, with the same numbers.

    The default is four ``shards`` per worker and at most one per run; each uses ``threads`` threads. If workers are
    processes, user-defined learners must support pickle. Their exceptions are raised here, with the traceback, and not
    retried. The shard of a dead worker is repeated up to ``retries`` times if ``executor`` is a function, as in
    ``executor=lambda: ProcessPoolExecutor(8)``. Ctrl-C cancels the shards that have not begun. Each worker uses its own
    ``device``, and warns there with :class:`emab.DeviceWarning`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> emab.futures.run("resource", runs=8, episodes=100, executor=ThreadPoolExecutor, shards=4).runs
    8
    """
    check_device(device)
    with _Pool(executor) as pool:
        plan = plan_run(
            problem,
            learners,
            runs=runs,
            episodes=episodes,
            seed=seed,
            checkpoints=checkpoints,
            record_at=record_at,
            conditions=conditions,
            shards=shards,
            workers=pool.workers,
            threads=threads,
            device=device,
        )
        return _drive(plan, pool, retries, progress)


def sweep(
    sweep: SweepLike,
    *,
    executor: ExecutorLike,
    shards: int | None = None,
    problem: ProblemLike | None = None,
    threads: int = 1,
    device: str = "cpu",
    retries: int = 3,
    progress: bool | Progress | None = None,
) -> SweepResult:
    """Run :func:`emab.sweep` in shards of its cells on an executor; see :func:`run`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> grid = {"problem": "resource", "runs": 10, "episodes": 100, "grid": {"problem.p": [0.2, 0.8]}}
    >>> emab.futures.sweep(grid, executor=ThreadPoolExecutor).csv == emab.sweep(grid).csv
    True
    """
    check_device(device)
    with _Pool(executor) as pool:
        plan = plan_sweep(sweep, problem=problem, shards=shards, workers=pool.workers, threads=threads, device=device)
        return _drive(plan, pool, retries, progress)


class _Pool:
    """An executor of the caller, or one that is created here and can be replaced."""

    def __init__(self, executor: ExecutorLike) -> None:
        if not isinstance(executor, Executor) and not callable(executor):
            raise TypeError(f"`executor` must be an Executor or a function that creates one, got {executor!r}")
        self._create = None if isinstance(executor, Executor) else executor
        self.executor = executor if isinstance(executor, Executor) else executor()

    @property
    def workers(self) -> int:
        """The number of workers; that of processors if the executor does not have it."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    @property
    def is_replaceable(self) -> bool:
        return self._create is not None

    def replace(self) -> None:
        if self._create is not None:
            # Wait for the other workers: a shard should not run twice at once.
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = self._create()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.is_replaceable:
            self.executor.shutdown(wait=kind is None, cancel_futures=True)


def _drive(plan: Plan[R], pool: _Pool, retries: int, progress: bool | Progress | None) -> R:
    """Do all shards, and repeat those of dead workers."""
    if isinstance(pool.executor, ProcessPoolExecutor):
        _check_pickle(plan.job)
    missing = list(range(1, plan.job.shards + 1))
    with progress_bar(progress, "running") as callback:
        report = ShardProgress(plan.job, callback)
        deaths = 0
        while True:
            done, broken = _submit(plan, missing, pool.executor, report)
            if broken is None:
                return plan.finish()
            deaths += 1
            missing = [number for number in missing if number not in done]
            left = f"{len(missing)} of {plan.job.shards} shards not done"
            if not pool.is_replaceable:
                raise BrokenExecutor(
                    f"a worker died with {left}, and its executor cannot continue; pass a function that creates one, "
                    "such as executor=lambda: ProcessPoolExecutor(4), so that it can be replaced"
                ) from broken
            if deaths > retries:
                raise BrokenExecutor(
                    f"workers died {deaths} times, with {left}: they may lack memory, or not find a user-defined "
                    "learner, which must be in a module that they can import"
                ) from broken
            pool.replace()


def _submit(
    plan: Plan[R], numbers: Sequence[int], executor: Executor, report: ShardProgress
) -> tuple[set[int], BrokenExecutor | None]:
    """Do shards on an executor; return those done, and the error if workers died."""
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
            report.done(futures[future])
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return finished, broken


def _work(job: Job, number: int) -> str:
    """Do a shard. An exception that cannot be unpickled would look like a dead worker, and is replaced by its text."""
    try:
        return work(job, number)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError("".join(traceback.format_exception(error))) from None
        raise


def _check_pickle(job: Job) -> None:
    """Raise `TypeError` before anything runs if a learner cannot be pickled."""
    try:
        pickle.dumps(job)
    except Exception as error:
        raise TypeError(
            f"a user-defined learner cannot be sent to another process: {error}; define it at the top of a module, "
            "or use emab.ray"
        ) from error
