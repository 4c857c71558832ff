"""Work in shards: what is sent to a worker, what comes back, and how the driver makes one result of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from emab._emab import Problem, Sweep, __version__
from emab._learner import LearnerLike, line_or_maker, listed
from emab._problem import ProblemLike, load
from emab._progress import Watch
from emab._result import Result
from emab._run import prepare
from emab._sweep import SweepLike, SweepResult, state

R = TypeVar("R", Result, SweepResult)

PER_WORKER = 4
"""Shards a worker, unless told: enough that none waits long for the last, few enough that solving anew costs little."""


@dataclass(frozen=True)
class RunJob:
    """A run of which each shard does some of the runs."""

    version: str
    problem: str
    learners: list[LearnerLike]
    runs: int
    episodes: int
    seed: int
    checkpoints: list[int] | None
    shards: int
    threads: int

    def size(self, number: int) -> int:
        """The episodes of a shard, of all learners."""
        before, behind = (self.runs * k // self.shards for k in (number - 1, number))
        return (behind - before) * self.episodes * len(self.learners)

    def work(self, number: int) -> str:
        """Do a shard."""
        experiment = prepare(
            Problem.from_json(self.problem),
            self.learners,
            runs=self.runs,
            episodes=self.episodes,
            seed=self.seed,
            checkpoints=self.checkpoints,
            conditions=(),
            shard=f"{number}/{self.shards}",
            quiet=True,
        )
        experiment.run(self.threads)
        return experiment.state()


@dataclass(frozen=True)
class SweepJob:
    """A sweep of which each shard does some of the cells."""

    version: str
    problem: str
    text: str
    file: str
    cells: int
    episodes: int
    """Episodes of a cell."""
    shards: int
    threads: int

    def size(self, number: int) -> int:
        """The episodes of a shard."""
        return len(range(number - 1, self.cells, self.shards)) * self.episodes

    def work(self, number: int) -> str:
        """Do a shard."""
        sweep = Sweep(self.text, self.file, Problem.from_json(self.problem), check=False)
        return json.dumps(sweep.run(f"{number}/{self.shards}", self.threads))


Job: TypeAlias = "RunJob | SweepJob"


def work(job: Job, number: int) -> str:
    """Do a shard of a job: what a worker is asked for."""
    if job.version != __version__:
        # Random numbers may differ between versions, and nobody would notice.
        raise RuntimeError(
            f"this worker has emab {__version__}, and the job is of emab {job.version}: install the same on both"
        )
    return job.work(number)


@dataclass(frozen=True)
class Plan(Generic[R]):
    """A job, and where its shards come together. They may come in any order: sums are exact."""

    job: Job
    take: Callable[[str], None]
    finish: Callable[[], R]


class Told:
    """Tells how far it is, shard by shard, in episodes."""

    def __init__(self, job: Job, watch: Watch | None) -> None:
        self._job, self._watch, self._done = job, watch, 0
        self._total = sum(map(job.size, range(1, job.shards + 1)))

    def done(self, number: int) -> None:
        """Count a shard."""
        self._done += self._job.size(number)
        if self._watch is not None:
            self._watch(self._done, self._total)


def plan_run(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike],
    *,
    runs: int,
    episodes: int,
    seed: int,
    checkpoints: Sequence[int] | None,
    conditions: Sequence[str],
    shards: int | None,
    workers: int,
    threads: int,
) -> Plan[Result]:
    """Cut a run into shards."""
    found = load(problem)
    if conditions:
        found = found.with_conditions(list(conditions))
    sent = _sent(learners)
    points = None if checkpoints is None else list(checkpoints)
    whole = prepare(
        found,
        sent,
        runs=runs,
        episodes=episodes,
        seed=seed,
        checkpoints=points,
        conditions=(),
        stacklevel=4,
    )
    count = how_many(shards, workers, runs)
    job = RunJob(__version__, found.to_json(), sent, runs, episodes, seed, points, count, threads)
    return Plan(job, whole.merge, lambda: Result.parse(whole.document(), found))


def plan_sweep(
    sweep: SweepLike, *, problem: ProblemLike | None, shards: int | None, workers: int, threads: int
) -> Plan[SweepResult]:
    """Cut a sweep into shards."""
    stated = state(sweep, problem)
    count = how_many(shards, workers, len(stated.sweep))
    job = SweepJob(
        __version__,
        stated.sweep.problem.to_json(),
        stated.text,
        stated.file,
        len(stated.sweep),
        stated.sweep.episodes,
        count,
        threads,
    )
    cells: list[str] = []

    def take(done: str) -> None:
        cells.extend(json.loads(done))

    return Plan(job, take, lambda: SweepResult.of(stated.sweep, cells))


def how_many(asked: int | None, workers: int, pieces: int) -> int:
    """How many shards there are: as many as asked for, else a few a worker, and none of them empty."""
    if asked is not None and asked < 1:
        raise ValueError(f"`shards` must be at least 1, got {asked}")
    return min(asked or PER_WORKER * workers, pieces)


def _sent(learners: LearnerLike | Iterable[LearnerLike]) -> list[LearnerLike]:
    """The learners as they travel: of those of the engine the setting alone, not what they have learned."""
    return [line_or_maker(learner) for learner in listed(learners)]
