"""Runs and sweeps on a Ray cluster: ``pip install emab[ray]``.

>>> import emab.ray
>>> result = emab.ray.run("resource", ["feedbal", "ucb1v"], runs=20, episodes=1000)
>>> result.curve("ucb1v").regret[-1] == emab.run("resource", "ucb1v", runs=20, episodes=1000).curves[0].regret[-1]
np.True_
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from emab._device import check_device
from emab._learner import LearnerLike
from emab._problem import ProblemLike
from emab._progress import Progress, progress_bar
from emab._result import Result
from emab._run import Conditions
from emab._shards import Plan, R, ShardProgress, plan_run, plan_sweep, work
from emab._sweep import SweepLike, SweepResult

__all__ = ["run", "sweep"]


def run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    shards: int | None = None,
    runs: float = 100,
    episodes: float = 10_000,
    seed: float = 1,
    checkpoints: Sequence[float] | None = None,
    record_at: float | Sequence[float] = (),
    conditions: Conditions = (),
    address: str | None = None,
    num_cpus: int = 1,
    num_gpus: float = 0,
    device: str | None = None,
    retries: int = 3,
    progress: bool | Progress | None = None,
) -> Result:
    """Run :func:`emab.run` in shards as Ray tasks, with the same numbers.

    Uses the Ray instance that is running, connects to ``address``, or starts one. The default is four ``shards`` per
    worker and at most one per run; each uses ``num_cpus`` threads. The shard of a dead worker or machine is repeated up
    to ``retries`` times. Exceptions of user-defined learners are raised here, with the traceback, and not retried.
    Ctrl-C cancels all tasks.

    ``num_gpus`` is the number of GPUs that Ray reserves for a shard, such as 1, or 0.5 for two shards on one GPU. The
    default ``device`` is then ``"auto"``: a worker without a usable GPU uses its processor and warns there with
    :class:`emab.DeviceWarning`. Without GPUs the default is ``"cpu"``.

    >>> emab.ray.run("resource", runs=8, episodes=100, shards=2).runs
    8
    """
    device = _device(device, num_gpus)
    ray = _ray(address, num_cpus)
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
        workers=_workers(ray, num_cpus, num_gpus),
        threads=num_cpus,
        device=device,
    )
    return _drive(ray, plan, num_cpus, num_gpus, retries, progress)


def sweep(
    sweep: SweepLike,
    *,
    shards: int | None = None,
    problem: ProblemLike | None = None,
    address: str | None = None,
    num_cpus: int = 1,
    num_gpus: float = 0,
    device: str | None = None,
    retries: int = 3,
    progress: bool | Progress | None = None,
) -> SweepResult:
    """Run :func:`emab.sweep` in shards of its cells as Ray tasks; see :func:`run`.

    >>> grid = {"problem": "resource", "runs": 10, "episodes": 100, "grid": {"problem.p": [0.2, 0.8]}}
    >>> emab.ray.sweep(grid).csv == emab.sweep(grid).csv
    True
    """
    device = _device(device, num_gpus)
    ray = _ray(address, num_cpus)
    plan = plan_sweep(
        sweep,
        problem=problem,
        shards=shards,
        workers=_workers(ray, num_cpus, num_gpus),
        threads=num_cpus,
        device=device,
    )
    return _drive(ray, plan, num_cpus, num_gpus, retries, progress)


def _device(device: str | None, num_gpus: float) -> str:
    """Return the device of a shard: by default a GPU only if Ray reserves one."""
    if not num_gpus >= 0:
        raise ValueError(f"`num_gpus` must be at least 0, got {num_gpus}")
    if device is None:
        return "auto" if num_gpus > 0 else "cpu"
    return check_device(device)


def _ray(address: str | None, num_cpus: int) -> Any:
    """Return Ray, initialized."""
    if num_cpus < 1:
        raise ValueError(f"`num_cpus` must be at least 1, got {num_cpus}")
    try:
        import ray
    except ImportError as error:
        raise ImportError("emab.ray needs Ray: pip install emab[ray]") from error
    if not ray.is_initialized():
        ray.init(address=address)
    return ray


def _workers(ray: Any, num_cpus: int, num_gpus: float) -> int:
    """Return the number of shards that the cluster runs at once."""
    resources = ray.cluster_resources()
    workers = int(resources.get("CPU", 1)) // num_cpus
    if num_gpus > 0:
        # Not `//`: 1 // 0.1 is 9.
        workers = min(workers, int(resources.get("GPU", 0) / num_gpus))
    return max(1, workers)


def _drive(
    ray: Any, plan: Plan[R], num_cpus: int, num_gpus: float, retries: int, progress: bool | Progress | None
) -> R:
    """Do all shards."""
    task = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus, max_retries=retries)(work)
    # Sent once, not once per shard: the problem may be large.
    job = ray.put(plan.job)
    pending = {task.remote(job, number): number for number in range(1, plan.job.shards + 1)}
    try:
        with progress_bar(progress, "running") as callback:
            report = ShardProgress(plan.job, callback)
            while pending:
                for ref in ray.wait(list(pending), num_returns=1)[0]:
                    number = pending.pop(ref)
                    plan.take(ray.get(ref))
                    report.done(number)
    except BaseException:
        for ref in pending:
            # Ray 2.60 may abort this process if a task that just ended is cancelled (a race like that of
            # ray-project/ray#54798). Others are killed: user-defined learners do not check whether to stop.
            if not ray.wait([ref], timeout=0)[0]:
                ray.cancel(ref, force=True)
        raise
    return plan.finish()
