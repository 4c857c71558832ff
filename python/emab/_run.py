"""Runs of learners on a problem."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import cast

from emab._emab import Experiment, Problem
from emab._learner import LearnerLike, engine_learners
from emab._problem import ProblemLike, load
from emab._progress import Progress, progress_bar
from emab._result import Result
from emab._simulator import MakeSimulator, is_simulator, simulate
from emab._warnings import category


def run(
    problem: ProblemLike | MakeSimulator,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    runs: int = 100,
    episodes: int = 10_000,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    record_at: Sequence[int] = (),
    conditions: Sequence[str] = (),
    threads: int = 0,
    progress: bool | Progress | None = None,
) -> Result:
    """Run learners on a problem and return their regret, with its standard error.

    The same seed gives the same numbers as ``emab run``, bit for bit, on any machine and with any number of threads
    (0: one per processor). Ctrl-C stops the work, and other Python threads continue meanwhile. ``conditions`` are those
    of ``emab run --condition``, such as ``["delay=20"]``. ``record_at`` adds episodes, besides the last, at which
    :meth:`Result.single_runs` has the regret and the gain of every run. A simulator class is run by :func:`simulate`.

    Warns with :class:`SoundnessWarning` if a guarantee of a learner does not hold on the problem, and with
    :class:`AssumptionWarning` if a parameter is not set and its default is assumed.

    >>> result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=1000)
    >>> result.curve("feedbal").regret[-1] < result.curve("ucb1v").regret[-1]
    np.True_
    """
    if callable(problem) or is_simulator(problem):
        if conditions:
            raise ValueError("`conditions` apply to problems only: a simulator implements its own")
        if record_at:
            raise ValueError("`record_at` applies to problems only: single runs on a simulator are not recorded")
        return simulate(
            cast(MakeSimulator, problem),
            learners,
            runs=runs,
            episodes=episodes,
            seed=seed,
            checkpoints=checkpoints,
            progress=progress,
        )
    found = with_conditions(problem, conditions)
    experiment = prepare(
        found, learners, runs=runs, episodes=episodes, seed=seed, checkpoints=checkpoints, record_at=record_at
    )
    with progress_bar(progress, "running") as report:
        experiment.run(threads, report)
    return Result.of_experiment(experiment, found)


def with_conditions(problem: ProblemLike, conditions: Sequence[str]) -> Problem:
    """Return the problem under these conditions."""
    found = load(problem)
    return found.with_conditions(list(conditions)) if conditions else found


def prepare(
    problem: Problem,
    learners: LearnerLike | Iterable[LearnerLike],
    *,
    runs: int,
    episodes: int,
    seed: int,
    checkpoints: Sequence[int] | None,
    record_at: Sequence[int],
    shard: str | None = None,
    quiet: bool = False,
    stacklevel: int = 3,
) -> Experiment:
    """Return the experiment of the engine, and warn about its premises unless ``quiet``."""
    experiment = Experiment(
        problem,
        engine_learners(learners),
        episodes=episodes,
        runs=runs,
        seed=seed,
        checkpoints=None if checkpoints is None else list(checkpoints),
        record_at=list(record_at),
        shard=shard,
    )
    for note in [] if quiet else experiment.notes:
        kind, message = category(note)
        warnings.warn(message, kind, stacklevel=stacklevel)
    return experiment
