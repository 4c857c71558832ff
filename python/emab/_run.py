"""Many runs of learners on a problem."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import cast

from emab._emab import Experiment, Problem
from emab._learner import LearnerLike, asked
from emab._problem import ProblemLike, load
from emab._progress import Watch, watched
from emab._result import Result
from emab._simulate import MakeSimulator, is_simulator, simulate


class SoundnessWarning(UserWarning):
    """A learner's confidence does not cover what its problem varies by, or rests on what nobody said."""


def run(
    problem: ProblemLike | MakeSimulator,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    runs: int = 100,
    episodes: int = 10_000,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    conditions: Sequence[str] = (),
    threads: int = 0,
    progress: bool | Watch | None = None,
) -> Result:
    """Run learners on a problem and return their regret, with its error.

    The same seed gives the same numbers as ``emab run``, bit for bit, on any machine and any number of threads (0: one
    a processor). Ctrl-C stops it within a moment, and other Python threads go on meanwhile. ``conditions`` are those of
    ``emab run --condition``, such as ``["delay=20"]``. A class of simulators of your own is played by :func:`simulate`.

    >>> result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=1000)
    >>> result.curve("feedbal").regret[-1] < result.curve("ucb1v").regret[-1]
    np.True_
    """
    if callable(problem) or is_simulator(problem):
        if conditions:
            raise ValueError("`conditions` are for problems: a simulator of your own makes its own")
        return simulate(
            cast(MakeSimulator, problem),
            learners,
            runs=runs,
            episodes=episodes,
            seed=seed,
            checkpoints=checkpoints,
            progress=progress,
        )
    experiment = prepare(
        problem,
        learners,
        runs=runs,
        episodes=episodes,
        seed=seed,
        checkpoints=checkpoints,
        conditions=conditions,
    )
    with watched(progress, "running") as watch:
        experiment.run(threads, watch)
    return Result.parse(experiment.document(), played(problem, conditions))


def played(problem: ProblemLike, conditions: Sequence[str]) -> Problem:
    """The problem under these conditions."""
    found = load(problem)
    return found.with_conditions(list(conditions)) if conditions else found


def prepare(
    problem: ProblemLike,
    learners: LearnerLike | Iterable[LearnerLike],
    *,
    runs: int,
    episodes: int,
    seed: int,
    checkpoints: Sequence[int] | None,
    conditions: Sequence[str],
    shard: str | None = None,
    quiet: bool = False,
    stacklevel: int = 3,
) -> Experiment:
    """Make what the engine runs, and say what is doubtful about it."""
    experiment = Experiment(
        played(problem, conditions),
        asked(learners),
        episodes=episodes,
        runs=runs,
        seed=seed,
        checkpoints=None if checkpoints is None else list(checkpoints),
        shard=shard,
    )
    for note in [] if quiet else experiment.notes:
        words = note.removeprefix("note: ").removeprefix("warning: ")
        warnings.warn(words, SoundnessWarning, stacklevel=stacklevel)
    return experiment


__all__ = ["SoundnessWarning", "prepare", "run"]
