"""The oracle, and the bounds of the paper's theorems."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from emab import _emab
from emab._emab import did_you_mean, format_number, text_table
from emab._learner import learner_text
from emab._problem import ProblemLike, load
from emab._tables import Cells, html_table, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Choices = list[list["str | None"]]
"""The chosen action by step and state."""

MAX_ROWS = 60
"""The largest number of rows that are shown."""


@dataclass(frozen=True, repr=False)
class Policy:
    """A policy and its expected gain per episode.

    ``policy[step - 1][state]`` is the name of an action, ``"stop"``, or ``None`` if the pair is unreachable.

    >>> emab.solve("parity").optimal
    Policy(value=7)
     step   0      1      2
    ───────────────────────────
        1   a0     ·      ·
        2   a0     a1     ·
        3   stop   stop   stop
    """

    value: float
    policy: Choices
    states: list[str]
    """The names of the states."""

    def choice(self, step: int, state: int | str) -> str | None:
        """Return the action at a step and state, which is a number or a name."""
        if isinstance(state, str):
            if state not in self.states:
                raise ValueError(f"there is no state `{state}`{did_you_mean(state, self.states)}")
            state = self.states.index(state)
        for name, least, most, got in (
            ("step", 1, len(self.policy), step),
            ("state", 0, len(self.policy[0]) - 1, state),
        ):
            if not least <= got <= most:
                raise IndexError(f"`{name}` must be from {least} to {most}, got {got}")
        return self.policy[step - 1][state]

    def __repr__(self) -> str:
        """Show the actions by step and state."""
        head = f"Policy(value={format_number(self.value)})"
        cells = _choices(self.states, self.policy)
        return f"{head}\n{text_table(*cells)}" if cells else head

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        title = f"earns {format_number(self.value)} an episode"
        cells = _choices(self.states, self.policy)
        return html_table(*cells, title=title) if cells else f"<p>Policy: {escape(title)}</p>"


@dataclass(frozen=True)
class Sequence:
    """A fixed sequence of actions and its expected gain per episode."""

    value: float
    sequence: list[str]


@dataclass(frozen=True, repr=False)
class Solution:
    """The solution of a problem: the benchmark, the optimal policy, and the best fixed sequences.

    >>> print(emab.solve("feedback-gap"))
     feedback gap     value
    ───────────────────────────────────────────────────
     benchmark       0.5000   best next step, by state
     optimal         0.5000   best of all policies
     best fixed      0.5000   cont, stop
     best repeated   0.5000   cont, stop
    <BLANKLINE>
    The benchmark's choice by step and state, optimal everywhere (· cannot be reached):
     step   0      1
    ────────────────────
        1   cont   ·
        2   stop   stop
    """

    problem: str
    reachable_pairs: int
    benchmark: Policy
    optimal: Policy
    best_fixed: Sequence | None
    best_repeated: Sequence

    def _values(self) -> Cells:
        """Return the table of expected gains that ``emab solve`` prints."""
        fixed = self.best_fixed
        best = ["?", "too many sequences to look at"]
        if fixed is not None:
            best = [format_number(fixed.value), shorten(fixed.sequence)]
        rows = [
            ["benchmark", format_number(self.benchmark.value), "best next step, by state"],
            ["optimal", format_number(self.optimal.value), "best of all policies"],
            ["best fixed", *best],
            ["best repeated", format_number(self.best_repeated.value), shorten(self.best_repeated.sequence)],
        ]
        return [self.problem, "value", ""], rows

    def _both(self) -> tuple[str, Choices]:
        """Return both policies in one table, with its title."""
        pairs = [
            [b if b == o else f"{b} | {o}" for b, o in zip(*row, strict=True)]
            for row in zip(self.benchmark.policy, self.optimal.policy, strict=True)
        ]
        if self.benchmark.policy == self.optimal.policy:
            return "The benchmark's choice by step and state, optimal everywhere (· cannot be reached)", pairs
        other = "after a bar the optimal policy's where it differs"
        return f"The benchmark's choice by step and state; {other} (· cannot be reached)", pairs

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the policy as a map; see :func:`emab.plot.policy`."""
        from emab import plot

        return plot.policy(self, ax, **options)

    def __repr__(self) -> str:
        """Show it as ``emab solve`` prints it."""
        title, pairs = self._both()
        cells = _choices(self.benchmark.states, pairs)
        policy = f"{title}:\n{text_table(*cells)}" if cells else _too_many(self.reachable_pairs)
        return f"{text_table(*self._values())}\n\n{policy}"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        title, pairs = self._both()
        cells = _choices(self.benchmark.states, pairs)
        policy = html_table(*cells, title=title) if cells else f"<p>{escape(_too_many(self.reachable_pairs))}</p>"
        return html_table(*self._values()) + policy


def _too_many(pairs: int) -> str:
    return f"The policies cover {format_number(pairs)} pairs, too many to show here; .benchmark.policy has them."


def _choices(states: list[str], policy: Choices) -> Cells | None:
    """Return a table of choices: one row per step or, if that is too wide, per state; None if too large."""
    reached = [x for x in range(len(states)) if any(row[x] is not None for row in policy)]
    if len(policy) > MAX_ROWS or len(reached) > MAX_ROWS:
        return None
    cells = [[row[x] or "·" for x in reached] for row in policy]
    steps = [str(t) for t in range(1, len(policy) + 1)]
    names = [states[x] for x in reached]
    # The width of a page of text.
    if sum(max(map(len, column)) + 3 for column in zip(names, *cells, strict=True)) <= 112:
        return ["step", *names], [[t, *row] for t, row in zip(steps, cells, strict=True)]
    return ["state \\ step", *steps], [[name, *column] for name, *column in zip(names, *cells, strict=True)]


def solve(problem: ProblemLike) -> Solution:
    """Return the benchmark, the optimal policy and the best fixed sequences of a problem.

    >>> solution = emab.solve("treatment")
    >>> round(solution.benchmark.value, 4), solution.benchmark.choice(step=1, state=2)
    (0.6265, 'chemotherapy')
    """
    found = load(problem)
    document: dict[str, Any] = json.loads(_emab.solve(found))
    fixed, states = document["best_fixed"], found.spec.states
    return Solution(
        problem=found.name,
        reachable_pairs=document["reachable_pairs"],
        benchmark=Policy(**document["benchmark"], states=states),
        optimal=Policy(**document["optimal"], states=states),
        best_fixed=None if fixed is None else Sequence(**fixed),
        best_repeated=Sequence(**document["best_repeated"]),
    )


@dataclass(frozen=True)
class Bound:
    """One bound in three versions: as printed, as the paper's proof derives it, and as tight as the proof allows."""

    printed: float
    derived: float
    tight: float

    @classmethod
    def parse(cls, document: dict[str, float | None]) -> Bound:
        """Read one bound from a document."""
        return cls(**{reading: _finite(value) for reading, value in document.items()})


def _finite(value: float | None) -> float:
    """Return a number from a document, in which infinity is null."""
    return math.inf if value is None else value


@dataclass(frozen=True, repr=False)
class Bounds:
    """The regret bounds of the paper's theorems for FeedBAL on a problem.

    ``document`` is the document of ``emab bounds --json``.

    >>> emab.bounds("parity", episodes=1000)
     parity                         as printed   as derived   tight   informative from   tight from
    ────────────────────────────────────────────────────────────────────────────────────────────────
     Theorem 1, delta = 0.01             139.0        141.5      37                 16            5
     Theorem 2, delta = 1/1,000          148.7        151.9      46                 17            6
     Corollary 2, delta = 1/1,000        345.0        350.8      46                 39            6
     no theorem, n * Omega_max           9,000        9,000   9,000                  1            1
    """

    problem: str
    episodes: int
    sound: bool
    theorem1: Bound
    theorem2: Bound
    corollary2: Bound
    trivial: float
    informative_from_episode: int | None
    document: dict[str, Any]
    _cells: Cells

    def _note(self) -> str:
        """Return the restriction of the bounds on this problem, if any."""
        if self.document["uncovered"]:
            return "No theorem covers this problem: continuation actions with the same gain and different futures."
        return (
            "" if self.sound else "The width is not sound here: Lemma 1, on which all bounds rest, needs a larger one."
        )

    def __repr__(self) -> str:
        """Show it as ``emab bounds`` does."""
        return "\n".join(filter(None, [text_table(*self._cells), self._note()]))

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return html_table(*self._cells, note=self._note())


def bounds(
    problem: ProblemLike,
    *,
    episodes: float = 10_000,
    delta: float | str | None = None,
    sigma2: float | None = None,
    width: str | None = None,
    feedback_spread: float | None = None,
    stop_bias: float | None = None,
) -> Bounds:
    """Evaluate the paper's regret bounds for FeedBAL on a problem.

    >>> bounds = emab.bounds("resource", episodes=10_000)
    >>> bounds.theorem1.tight > bounds.trivial  # not informative yet: above the trivial bound
    True
    """
    found = load(problem)
    parameters = {
        "delta": delta,
        "sigma2": sigma2,
        "width": width,
        "feedback_spread": feedback_spread,
        "stop_bias": stop_bias,
    }
    text, cells = _emab.bounds(found, learner_text("feedbal", parameters), episodes)
    document: dict[str, Any] = json.loads(text)
    return Bounds(
        problem=document["problem"],
        episodes=document["episodes"],
        sound=document["sound"],
        theorem1=Bound.parse(document["theorem1"]),
        theorem2=Bound.parse(document["theorem2"]),
        corollary2=Bound.parse(document["corollary2"]),
        trivial=_finite(document["trivial"]),
        informative_from_episode=document["informative_from_episode"],
        document=document,
        _cells=cells,
    )


@dataclass(frozen=True)
class LowerTriplet:
    """A step-state-action triplet that every consistent learner chooses again and again."""

    t: int
    x: int
    state: str
    a: str
    visits: float
    """The probability that the target passes the step and state in an episode."""
    loss: float
    """What choosing it costs: ``V - Q``."""
    information: float
    """The smallest divergence, per choice, to a model in which it should be chosen; infinite if there is none."""
    constant: float
    """What it adds to the constant."""
    benchmark_is_optimal: bool
    """Whether the benchmark is an optimal policy of that model."""


@dataclass(frozen=True)
class LowerBound:
    """What no learner's regret can be less than on a problem.

    ``constant`` is the factor of ``log n`` in the limit, for consistent learners, and ``at_n`` the bound after the
    number of episodes: every learner loses as much, on the problem or on an alternative of it. Both are None where
    another policy earns more than the benchmark.
    """

    target: str
    constant: float | None
    constant_of_optimal: float | None
    at_n: float | None
    triplets: tuple[LowerTriplet, ...]
    better_than_benchmark: tuple[dict[str, Any], ...]


def lower_bound(
    problem: ProblemLike,
    *,
    episodes: float = 10_000,
    target: Literal["benchmark", "optimal"] = "benchmark",
    least_cost: float | None = None,
) -> LowerBound:
    """Evaluate the lower bound on the regret of every learner, against the benchmark or the optimal policy.

    No alternative model has an expected cost below ``least_cost`` (default: any).

    >>> bound = emab.lower_bound("resource", episodes=20_000)
    >>> round(bound.constant, 1), round(bound.at_n, 1), len(bound.triplets)
    (146.0, 15.9, 6)
    >>> emab.lower_bound("screening").constant is None  # the benchmark is not optimal there
    True
    """
    document = json.loads(_emab.lower_bound(load(problem), episodes, target, least_cost))
    triplets = (triplet | {"information": _finite(triplet["information"])} for triplet in document["triplets"])
    return LowerBound(
        **document
        | {
            "triplets": tuple(LowerTriplet(**triplet) for triplet in triplets),
            "better_than_benchmark": tuple(document["better_than_benchmark"]),
        }
    )
