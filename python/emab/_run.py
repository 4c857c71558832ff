"""Runs of learners on a problem."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TypeAlias, cast

from emab._device import check_device, warn_of_device
from emab._emab import Experiment, Problem
from emab._learner import LearnerLike, engine_learners
from emab._problem import ProblemLike, load
from emab._progress import Progress, progress_bar
from emab._result import Result
from emab._simulator import MakeSimulator, is_simulator, simulate
from emab._warnings import category

Conditions: TypeAlias = "str | Sequence[str] | Mapping[str, float | str | Sequence[float]]"
"""Conditions of runs: ``"dropout=0.1"``, several such texts, or ``{"dropout": 0.1}``."""


def run(
    problem: ProblemLike | MakeSimulator,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    runs: float = 100,
    episodes: float = 10_000,
    seed: float = 1,
    checkpoints: Sequence[float] | None = None,
    record_at: float | Sequence[float] = (),
    conditions: Conditions = (),
    threads: int = 0,
    device: str = "cpu",
    progress: bool | Progress | None = None,
) -> Result:
    """Run learners on a problem and return their regret, with its standard error.

    The same seed gives the same numbers as ``emab run``, bit for bit, on any machine and with any number of threads
    (0: one per processor). Ctrl-C stops the work, and other Python threads continue meanwhile. ``conditions`` are those
    of ``emab run --condition``, such as ``["delay=20"]`` or ``{"delay": 20}``. ``record_at`` adds episodes, besides the
    last, at which :meth:`Result.single_runs` has the regret and the gain of every run. A simulator class is run by
    :func:`simulate`. A built-in learner that is given twice is run once.

    ``device`` is ``"cpu"``, ``"gpu"``, or ``"auto"``: a GPU if there is one. The numbers do not depend on it. Without a
    usable GPU, ``"gpu"`` raises ``RuntimeError``; ``"auto"`` uses the processor and warns with :class:`DeviceWarning`.

    Warns with :class:`SoundnessWarning` if a guarantee of a learner does not hold on the problem, and with
    :class:`AssumptionWarning` if a parameter is not set and its default is assumed.

    >>> result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=1000)
    >>> result.curve("feedbal").regret[-1] < result.curve("ucb1v").regret[-1]
    np.True_
    """
    check_device(device)
    if callable(problem) or is_simulator(problem):
        if device == "gpu":
            raise ValueError("`device='gpu'` applies to problems only: a simulator runs on the processor")
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
        experiment.run(threads, report, device=device)
    warn_of_device(experiment.device_notices)
    return Result.of_experiment(experiment, found)


def with_conditions(problem: ProblemLike, conditions: Conditions) -> Problem:
    """Return the problem under these conditions."""
    found = load(problem)
    if isinstance(conditions, str):
        conditions = [conditions]
    elif isinstance(conditions, Mapping):
        conditions = [f"{name}={_condition(name, value)}" for name, value in conditions.items()]
    elif not isinstance(conditions, Iterable):
        expected = "texts such as 'dropout=0.1', or a dictionary such as {'dropout': 0.1}"
        raise TypeError(f"`conditions` must be {expected}, got {conditions!r}")
    return found.with_conditions(list(conditions)) if conditions else found


def as_list(values: float | Sequence[float]) -> list[float]:
    """Return one or several numbers as a list."""
    return list(values) if isinstance(values, Iterable) else [values]


def _condition(name: str, value: float | str | Sequence[float]) -> str:
    """Return the value of a condition as on the command line."""
    if isinstance(value, str):
        return value
    values = as_list(value)
    if not all(isinstance(one, Real) for one in values):
        expected = "a number, a list of numbers, or a text such as 'geometric:20'"
        raise TypeError(f"`conditions`: `{name}` must be {expected}, got {value!r}")
    return ":".join(map(str, values))


def prepare(
    problem: Problem,
    learners: LearnerLike | Iterable[LearnerLike],
    *,
    runs: float,
    episodes: float,
    seed: float,
    checkpoints: Sequence[float] | None,
    record_at: float | Sequence[float],
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
        record_at=as_list(record_at),
        shard=shard,
    )
    for note in [] if quiet else experiment.notes:
        kind, message = category(note)
        warnings.warn(message, kind, stacklevel=stacklevel)
    return experiment
