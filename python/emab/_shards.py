"""Shards of runs and sweeps: jobs for workers, and the merge of their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from emab._device import warn_of_device
from emab._emab import Problem, Sweep, __version__
from emab._learner import LearnerLike, text_or_factories
from emab._problem import ProblemLike
from emab._progress import Progress
from emab._result import Result
from emab._run import Conditions, as_list, prepare, with_conditions
from emab._sweep import SweepLike, SweepResult, read_sweep

R = TypeVar("R", Result, SweepResult)

PER_WORKER = 4
"""The default number of shards per worker: enough to balance the load, few enough that solving again is cheap."""


@dataclass(frozen=True)
class RunJob:
    """An experiment whose shards do some of the runs each."""

    version: str
    problem: str
    learners: Sequence[LearnerLike]
    runs: int
    episodes: int
    seed: int
    checkpoints: list[float] | None
    record_at: list[float]
    shards: int
    threads: int
    device: str

    def size(self, number: int) -> int:
        """Return the number of episodes of a shard, for all learners."""
        before, behind = (self.runs * k // self.shards for k in (number - 1, number))
        return (behind - before) * self.episodes * len(self.learners)

    def work(self, number: int) -> str:
        """Do a shard and return its result as JSON."""
        experiment = prepare(
            Problem.from_json(self.problem),
            self.learners,
            runs=self.runs,
            episodes=self.episodes,
            seed=self.seed,
            checkpoints=self.checkpoints,
            record_at=self.record_at,
            shard=f"{number}/{self.shards}",
            quiet=True,
        )
        experiment.run(self.threads, device=self.device)
        warn_of_device(experiment.device_notices)
        return experiment.state()


@dataclass(frozen=True)
class SweepJob:
    """A sweep whose shards do some of the cells each."""

    version: str
    problem: str
    text: str
    file: str
    cells: int
    episodes: int
    """The number of episodes of a cell."""
    shards: int
    threads: int
    device: str

    def size(self, number: int) -> int:
        """Return the number of episodes of a shard."""
        return len(range(number - 1, self.cells, self.shards)) * self.episodes

    def work(self, number: int) -> str:
        """Do a shard and return its result as JSON."""
        sweep = Sweep(self.text, self.file, Problem.from_json(self.problem), check=False)
        cells = sweep.run(f"{number}/{self.shards}", self.threads, device=self.device)
        warn_of_device(sweep.device_notices)
        return json.dumps(cells)


Job: TypeAlias = "RunJob | SweepJob"


def work(job: Job, number: int) -> str:
    """Do a shard of a job, in a worker."""
    if job.version != __version__:
        # Random numbers may differ between versions, without any sign in the result.
        raise RuntimeError(
            f"this worker has emab {__version__}, and the job is of emab {job.version}: install the same on both"
        )
    return job.work(number)


@dataclass(frozen=True)
class Plan(Generic[R]):
    """A job and the merge of its shards. They may come in any order, because sums are exact."""

    job: Job
    take: Callable[[str], None]
    finish: Callable[[], R]


class ShardProgress:
    """Reports progress after each shard, in episodes."""

    def __init__(self, job: Job, callback: Progress | None) -> None:
        self._job, self._callback, self._done = job, callback, 0
        self._total = sum(map(job.size, range(1, job.shards + 1)))

    def done(self, number: int) -> None:
        """Count a shard."""
        self._done += self._job.size(number)
        if self._callback is not None:
            self._callback(self._done, self._total)


def plan_run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike],
    *,
    runs: float,
    episodes: float,
    seed: float,
    checkpoints: Sequence[float] | None,
    record_at: float | Sequence[float],
    conditions: Conditions,
    shards: int | None,
    workers: int,
    threads: int,
    device: str,
) -> Plan[Result]:
    """Divide an experiment into shards."""
    found = with_conditions(problem, conditions)
    # Built-in learners are sent as text, without what they have learned.
    sent = text_or_factories(learners)
    points = None if checkpoints is None else list(checkpoints)
    recorded = as_list(record_at)
    whole = prepare(
        found,
        sent,
        runs=runs,
        episodes=episodes,
        seed=seed,
        checkpoints=points,
        record_at=recorded,
        stacklevel=4,
    )
    runs, episodes, seed = int(runs), int(episodes), int(seed)
    count = shard_count(shards, workers, runs)
    job = RunJob(__version__, found.to_json(), sent, runs, episodes, seed, points, recorded, count, threads, device)
    return Plan(job, whole.merge, lambda: Result.of_experiment(whole, found))


def plan_sweep(
    sweep: SweepLike, *, problem: ProblemLike | None, shards: int | None, workers: int, threads: int, device: str
) -> Plan[SweepResult]:
    """Divide a sweep into shards."""
    whole = read_sweep(sweep, problem)
    count = shard_count(shards, workers, len(whole.sweep))
    job = SweepJob(
        __version__,
        whole.sweep.problem.to_json(),
        whole.text,
        whole.file,
        len(whole.sweep),
        whole.sweep.episodes,
        count,
        threads,
        device,
    )
    cells: list[str] = []

    def take(done: str) -> None:
        cells.extend(json.loads(done))

    return Plan(job, take, lambda: SweepResult.of(whole.sweep, cells))


def shard_count(shards: int | None, workers: int, pieces: int) -> int:
    """Return the number of shards: as given, or a few per worker; none is empty."""
    if shards is not None and shards < 1:
        raise ValueError(f"`shards` must be at least 1, got {shards}")
    return min(shards or PER_WORKER * workers, pieces)
