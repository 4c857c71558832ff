"""Runs and sweeps on a Ray cluster: ``pip install emab[ray]``.

>>> import emab.ray
>>> result = emab.ray.run("resource", ["feedbal", "ucb1v"], runs=20, episodes=1000)
>>> result.curve("ucb1v").regret[-1] == emab.run("resource", "ucb1v", runs=20, episodes=1000).curves[0].regret[-1]
np.True_
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from emab._learner import LearnerLike
from emab._problem import ProblemLike
from emab._progress import Watch, watched
from emab._result import Result
from emab._shards import Plan, R, Told, plan_run, plan_sweep, work
from emab._sweep import SweepLike, SweepResult

__all__ = ["run", "sweep"]


def run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    shards: int | None = None,
    runs: int = 100,
    episodes: int = 10_000,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    conditions: Sequence[str] = (),
    address: str | None = None,
    num_cpus: int = 1,
    retries: int = 3,
    progress: bool | Watch | None = None,
) -> Result:
    """Do what :func:`emab.run` does, in shards as Ray tasks, with the same numbers.

    Uses the Ray that is running, or connects to ``address``, or starts one. There are four ``shards`` a worker unless
    you say how many, and at most one a run; each uses ``num_cpus`` threads. The shard of a worker or a machine that
    dies is done again, up to ``retries`` times; what a learner of your own raises comes back, with its traceback, and
    is not tried again. Ctrl-C cancels all tasks.

    >>> emab.ray.run("resource", runs=8, episodes=100, shards=2).runs
    8
    """
    ray = _ray(address, num_cpus)
    plan = plan_run(
        problem,
        learners,
        runs=runs,
        episodes=episodes,
        seed=seed,
        checkpoints=checkpoints,
        conditions=conditions,
        shards=shards,
        workers=_workers(ray, num_cpus),
        threads=num_cpus,
    )
    return _drive(ray, plan, num_cpus, retries, progress)


def sweep(
    sweep: SweepLike,
    *,
    shards: int | None = None,
    problem: ProblemLike | None = None,
    address: str | None = None,
    num_cpus: int = 1,
    retries: int = 3,
    progress: bool | Watch | None = None,
) -> SweepResult:
    """Do what :func:`emab.sweep` does, in shards of its cells as Ray tasks; see :func:`run`.

    >>> grid = {"problem": "resource", "runs": 10, "episodes": 100, "grid": {"problem.p": [0.2, 0.8]}}
    >>> emab.ray.sweep(grid).csv == emab.sweep(grid).csv
    True
    """
    ray = _ray(address, num_cpus)
    plan = plan_sweep(sweep, problem=problem, shards=shards, workers=_workers(ray, num_cpus), threads=num_cpus)
    return _drive(ray, plan, num_cpus, retries, progress)


def _ray(address: str | None, num_cpus: int) -> Any:
    """Ray, running."""
    if num_cpus < 1:
        raise ValueError(f"`num_cpus` must be at least 1, got {num_cpus}")
    try:
        import ray
    except ImportError as error:
        raise ImportError("emab.ray needs Ray: pip install emab[ray]") from error
    if not ray.is_initialized():
        ray.init(address=address)
    return ray


def _workers(ray: Any, num_cpus: int) -> int:
    """How many shards the cluster can do at once."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // num_cpus)


def _drive(ray: Any, plan: Plan[R], num_cpus: int, retries: int, progress: bool | Watch | None) -> R:
    """Have all shards done."""
    task = ray.remote(num_cpus=num_cpus, max_retries=retries)(work)
    # Once into the cluster, not once a shard: the problem may be large.
    job = ray.put(plan.job)
    pending = {task.remote(job, number): number for number in range(1, plan.job.shards + 1)}
    try:
        with watched(progress, "running") as watch:
            told = Told(plan.job, watch)
            while pending:
                for ref in ray.wait(list(pending), num_returns=1)[0]:
                    number = pending.pop(ref)
                    plan.take(ray.get(ref))
                    told.done(number)
    except BaseException:
        for ref in pending:
            # Ray 2.60 may abort this process if a task that just ended is cancelled (a race like that of
            # ray-project/ray#54798). Others are ended by force: somebody's own code may never look whether to stop.
            if not ray.wait([ref], timeout=0)[0]:
                ray.cancel(ref, force=True)
        raise
    return plan.finish()
