"""Logs of decisions: what other learners would have done, what other policies are worth, and the model behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from os import PathLike, fspath
from typing import Any, TypeAlias

from emab._emab import DecisionLog, Episode, Learner, Problem
from emab._learner import LearnerLike, engine_learners
from emab._optional import require
from emab._problem import ProblemLike, load
from emab._solve import Policy

LogLike: TypeAlias = "str | PathLike[str] | Iterable[Episode] | Any"
"""A log: a path or an address as the commands take it, a table of decisions (pandas, Polars or Arrow), or episodes."""

PolicyLike: TypeAlias = (
    "str | PathLike[str] | Policy | Mapping[str, Any] | Sequence[Sequence[str | None]] | Learner"
    " | Callable[[int, int], Any]"
)
"""A policy: a name, a file, one of :func:`solve`, a table by step and state, a learner, or a function of both."""

Range: TypeAlias = "tuple[float, float] | None"


def _columns(table: Any) -> list[tuple[str, list[Any]]] | None:
    """Return the columns of a data frame or an Arrow table that a log may have; none for anything else."""
    names = DecisionLog.columns()
    if hasattr(table, "to_pydict") and hasattr(table, "column_names"):  # pyarrow.Table
        return [(name, table.column(name).to_pylist()) for name in names if name in table.column_names]
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        series = [(name, table[name]) for name in names if name in table.columns]
        if all(hasattr(column, "to_list") for _, column in series):  # pandas and Polars
            return [(name, column.to_list()) for name, column in series]
    return None


def _read(log: LogLike, problem: ProblemLike | None, study: str | None) -> DecisionLog:
    known = None if problem is None else load(problem)
    if isinstance(log, DecisionLog):
        return log
    if isinstance(log, (str, PathLike)):
        return DecisionLog.read(fspath(log), study, known)
    if study is not None:
        raise ValueError("`study` names a study of a store or a service; this log is in memory")
    columns = _columns(log)
    if columns is None and not isinstance(log, Iterable):
        raise TypeError(f"a log is a path, a data frame, an Arrow table or a list of episodes, got {log!r}")
    if known is None:
        raise ValueError("a log in memory does not say which problem it is of: pass `problem`")
    if columns is not None:
        return DecisionLog.of_columns(known, columns)
    return DecisionLog.of_episodes(known, log)


class _Shown:
    """Shows the text of the command."""

    _text: str

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._text.rstrip())}</pre>"


@dataclass(frozen=True)
class ReplayedLearner:
    """What a learner would have done in a log."""

    learner: str
    decisions: int
    """The number of logged decisions."""
    agreed: int
    """Those at which it would have done the same."""
    choices: int
    """The decisions at which another action than ``stop`` was allowed."""
    choices_agreed: int
    """Those at which it would have done the same."""
    recommended: int
    """The recommendations of the learner of the log, not those of a protocol, also in open and voided episodes."""
    recommended_same: int
    """Those at which it would have recommended the same."""
    earlier_stops: dict[str, Any]
    """Episodes in which it would have stopped earlier: ``count``, ``gain_difference`` (their mean, exact) and
    ``stderr``; the same ``after_agreement`` with all steps before."""
    by_pair: list[dict[str, Any]]
    """Agreement by step and state, and what it would have done instead."""
    over_time: list[dict[str, int]]
    """Agreement in ten parts of the log, in order."""


@dataclass(frozen=True, repr=False)
class Replay(_Shown):
    """What learners would have done in a log; see :func:`replay`."""

    learners: list[ReplayedLearner]
    log: dict[str, int]
    """The number of episodes of the log, by status."""
    _text: str

    def __getitem__(self, learner: str) -> ReplayedLearner:
        """Return the replay of a learner by its name."""
        found = [it for it in self.learners if it.learner == learner]
        if not found:
            raise KeyError(f"{learner} was not replayed; there are {', '.join(it.learner for it in self.learners)}")
        return found[0]

    def to_pandas(self) -> Any:
        """Return agreement by learner, step and state as a data frame."""
        pandas = require("pandas", "pandas")
        rows = [{"learner": it.learner, **pair} for it in self.learners for pair in it.by_pair]
        return pandas.DataFrame(rows).drop(columns="instead", errors="ignore")


def replay(
    log: LogLike,
    learners: LearnerLike | Iterable[LearnerLike] | None = None,
    *,
    problem: ProblemLike | None = None,
    study: str | None = None,
    seed: int = 1,
) -> Replay:
    """Replay a log through learners: each learns from it in its order and is asked before each step.

    ``log`` is a path or an address as ``emab replay`` takes it, a table with one row per decision (pandas, Polars or
    Arrow, with the columns of ``emab export --table decisions``), or a list of :class:`Episode`. ``problem`` is needed
    where the log does not carry it. Without ``learners``, the learner of the log is replayed. They are named as for
    :func:`run`, user-defined ones by their class.

    Agreement is not a value. Where a learner would have stopped earlier, the difference in gain is exact.

    >>> episodes = [emab.Episode(actions=[0], feedbacks=[1], costs=[0.5], rewards=[0.0, 0.25]) for _ in range(20)]
    >>> replayed = emab.replay(episodes, "feedbal", problem="resource")["feedbal"]
    >>> replayed.decisions, replayed.earlier_stops["gain_difference"]
    (40, 0.25)
    """
    read = _read(log, problem, study)
    given = engine_learners(learners if learners is not None else read.learner or "feedbal")
    document, text = read.replay(given, seed)
    found = json.loads(document)
    return Replay([ReplayedLearner(**it) for it in found["learners"]], found["log"], text)


@dataclass(frozen=True, repr=False)
class Evaluation(_Shown):
    """The value of a policy, by a log; see :func:`evaluate`."""

    policy: str
    value: float
    """The estimated expected gain of an episode."""
    lower: float
    """The lower end of the interval."""
    upper: float
    """The upper end of the interval."""
    stderr: float | None
    """The standard error if the counts had been fixed beforehand: for comparison, not for an interval."""
    episodes: int
    confidence: float
    supported: bool
    """Whether every pair that the policy leads to was observed with its action."""
    unsupported: list[dict[str, Any]]
    """The pairs that were not."""
    logged_value: float | None
    """The mean gain of the logged episodes."""
    logged_stderr: float | None
    logged_episodes: int
    """The number of logged episodes whose gain is known."""
    from_log: bool
    """Whether the policy was chosen from this log; the interval then allows for it."""
    pooling: str
    pairs: list[dict[str, Any]]
    """The pairs that the policy needs, with the number of observations, the probability of each, and its value."""
    assumed: list[dict[str, str]]
    """What is not stated and was taken from the log; the interval holds only if it is true."""
    violations: list[str]
    """Where the log contradicts what is stated; the interval is wrong then."""
    contradictions: list[dict[str, Any]]
    """Where the log contradicts the assumption that nothing but step and state matters."""
    log: dict[str, int]
    """The number of episodes of the log, by status."""
    without_overrides: dict[str, float] | None
    """The same without overridden steps and what followed them, if there are any."""
    _text: str

    def to_pandas(self) -> Any:
        """Return the pairs that the policy needs as a data frame."""
        return require("pandas", "pandas").DataFrame(self.pairs)


def _policy(policy: PolicyLike, log: DecisionLog) -> tuple[str, str | None, bool]:
    """Return the name of a policy, its document, and whether it may depend on the log."""
    if isinstance(policy, (str, PathLike)):
        return fspath(policy), None, False
    if isinstance(policy, Policy):
        return "policy", json.dumps({"policy": policy.policy}), False
    if isinstance(policy, Mapping):
        return "policy", json.dumps(policy), False
    if isinstance(policy, Learner) or callable(policy):
        if isinstance(policy, Learner):
            log.check_learner(policy)
        choose = policy.choose if isinstance(policy, Learner) else policy
        name = policy.text if isinstance(policy, Learner) else getattr(policy, "__name__", "policy")
        choices = []
        for step, state in log.pairs():
            action = choose(step, state)
            if action is not None and not isinstance(action, str):
                action = log.action_name(action)
            if action is not None:
                choices.append({"step": step, "state": state, "action": action})
        return name, json.dumps({"policy": choices}), isinstance(policy, Learner)
    return "policy", json.dumps({"policy": [list(row) for row in policy]}), False


def evaluate(
    log: LogLike,
    policy: PolicyLike,
    *,
    problem: ProblemLike | None = None,
    study: str | None = None,
    confidence: float = 0.95,
    by: str = "state",
    from_log: bool = False,
    reward_range: Range = None,
    cost_range: Range = None,
    sigma2: float | None = None,
) -> Evaluation:
    """Evaluate a policy on a log: its expected gain, with an interval that allows for adaptive collection.

    ``policy`` is ``"benchmark"``, ``"optimal"`` or ``"best-fixed"`` of the fitted model, ``"logged"`` (what was done),
    the file of a policy or of a saved learner, a policy of :func:`solve`, a table ``policy[step - 1][state]`` of
    names, a learner (its current choices), or a function of step and state. Set ``from_log`` if it was computed from
    this log, other than by a name or a learner. ``by="path"`` pools observations by the actions and feedbacks before
    instead of by state. The ranges and ``sigma2`` replace those of the problem. ``log`` is as for :func:`replay`.

    >>> episodes = [emab.Episode(actions=[0], feedbacks=[1], costs=[0.0], rewards=[0.0, 1.0]) for _ in range(50)]
    >>> stop_at_once = emab.evaluate(episodes, lambda step, state: "stop", problem="resource")
    >>> stop_at_once.value, stop_at_once.supported
    (0.0, True)
    """
    read = _read(log, problem, study)
    name, document, depends = _policy(policy, read)
    found, text = read.evaluate(
        (name, document),
        confidence=confidence,
        by=by,
        from_log=from_log or depends,
        stated=(reward_range, cost_range, sigma2),
    )
    known = {field.name for field in fields(Evaluation)}
    values = {key: value for key, value in json.loads(found).items() if key in known}
    return Evaluation(**values, _text=text)


@dataclass(frozen=True, repr=False)
class Fit:
    """A model estimated from a log; see :func:`fit`."""

    problem: Problem
    """The fitted problem."""
    text: str
    """Its file, with the number of observations and the error of every number in comments."""
    draws: list[Problem]
    """Plausible models from the posterior."""

    def __repr__(self) -> str:
        """Show the problem."""
        return f"Fit({self.problem!r}, draws={len(self.draws)})"


def fit(
    log: LogLike,
    *,
    problem: ProblemLike | None = None,
    study: str | None = None,
    draws: int = 0,
    seed: int = 1,
    reward_range: Range = None,
    cost_range: Range = None,
    sigma2: float | None = None,
) -> Fit:
    """Fit a model to a log: shares of feedback, and mean costs and rewards, by step and state.

    ``draws`` asks for plausible models from the posterior. ``log`` is as for :func:`replay`.

    >>> episodes = [emab.Episode(actions=[0], feedbacks=[i % 2], costs=[0.5], rewards=[0.0, 1.0]) for i in range(10)]
    >>> fitted = emab.fit(episodes, problem="resource", draws=3)
    >>> fitted.problem.cost(step=1, state=0, action=0), len(fitted.draws)
    (0.5, 3)
    """
    read = _read(log, problem, study)
    source = DecisionLog.source_name(fspath(log), study) if isinstance(log, (str, PathLike)) else "a table"
    text, drawn = read.fit(source, draws, seed, (reward_range, cost_range, sigma2))
    return Fit(Problem.from_toml(text), text, [Problem.from_toml(it) for it in drawn])
