"""What could be earned if the truth were known, and what the paper's theorems say."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from emab import _emab
from emab._learner import line
from emab._problem import ProblemLike, load
from emab._show import html_table, number, shorten, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Choices = list[list["str | None"]]
"""By step and state."""

LONGEST = 60
"""The most lines of a table that anybody reads."""


@dataclass(frozen=True, repr=False)
class Policy:
    """A policy and what it earns in an episode.

    ``policy[step - 1][state]`` is an action's name, ``"stop"``, or ``None`` where one cannot come.

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

    def choice(self, step: int, state: int) -> str | None:
        """Return what it does at a step in a state."""
        for what, least, most, got in (
            ("step", 1, len(self.policy), step),
            ("state", 0, len(self.policy[0]) - 1, state),
        ):
            if not least <= got <= most:
                raise IndexError(f"`{what}` must be from {least} to {most}, got {got}")
        return self.policy[step - 1][state]

    def __repr__(self) -> str:
        """Show what it does where."""
        head = f"Policy(value={number(self.value)})"
        cells = _choices(self.states, self.policy)
        return f"{head}\n{text_table(*cells)}" if cells else head

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        title = f"earns {number(self.value)} an episode"
        cells = _choices(self.states, self.policy)
        return html_table(*cells, title=title) if cells else f"<p>Policy: {escape(title)}</p>"


@dataclass(frozen=True)
class Sequence:
    """A fixed sequence of actions and what it earns in an episode."""

    value: float
    sequence: list[str]


@dataclass(frozen=True, repr=False)
class Solution:
    """A problem solved: the benchmark, the optimal policy, and the best sequences that look at nothing.

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

    def _values(self) -> tuple[list[str], list[list[str]]]:
        """What could be earned, as ``emab solve`` prints it."""
        fixed = self.best_fixed
        best = ["?", "too many sequences to look at"]
        if fixed is not None:
            best = [number(fixed.value), shorten(fixed.sequence)]
        rows = [
            ["benchmark", number(self.benchmark.value), "best next step, by state"],
            ["optimal", number(self.optimal.value), "best of all policies"],
            ["best fixed", *best],
            ["best repeated", number(self.best_repeated.value), shorten(self.best_repeated.sequence)],
        ]
        return [self.problem, "value", ""], rows

    def _both(self) -> tuple[str, Choices]:
        """Both policies in one table, and its title."""
        pairs = [
            [b if b == o else f"{b} | {o}" for b, o in zip(*row, strict=True)]
            for row in zip(self.benchmark.policy, self.optimal.policy, strict=True)
        ]
        if self.benchmark.policy == self.optimal.policy:
            return "The benchmark's choice by step and state, optimal everywhere (· cannot be reached)", pairs
        another = "after a bar the optimal policy's where it differs"
        return f"The benchmark's choice by step and state; {another} (· cannot be reached)", pairs

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the policy as a map; see :func:`emab.plot.policy`."""
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
    return f"The policies cover {number(pairs)} pairs, too many to show here; .benchmark.policy has them."


def _choices(states: list[str], policy: Choices) -> tuple[list[str], list[list[str]]] | None:
    """A table of choices, a row a step or, where that is too wide, a row a state; none if too large."""
    reached = [x for x in range(len(states)) if any(row[x] is not None for row in policy)]
    if len(policy) > LONGEST or len(reached) > LONGEST:
        return None
    cells = [[row[x] or "·" for x in reached] for row in policy]
    steps = [str(t) for t in range(1, len(policy) + 1)]
    names = [states[x] for x in reached]
    # As wide as a page of text; names of states are then better as rows.
    if sum(max(map(len, column)) + 3 for column in zip(names, *cells, strict=True)) <= 112:
        return ["step", *names], [[t, *row] for t, row in zip(steps, cells, strict=True)]
    return ["state \\ step", *steps], [[name, *column] for name, *column in zip(names, *cells, strict=True)]


def solve(problem: ProblemLike) -> Solution:
    """Solve a problem.

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
    """One promise in three readings: as printed, as the paper proves it, and as tight as its argument allows."""

    printed: float
    derived: float
    tight: float

    @classmethod
    def parse(cls, document: dict[str, float | None]) -> Bound:
        """Read one bound of a document."""
        return cls(**{reading: _finite(value) for reading, value in document.items()})


def _finite(value: float | None) -> float:
    """A number of a document, where one too large to be written is null."""
    return math.inf if value is None else value


@dataclass(frozen=True, repr=False)
class Bounds:
    """What the paper's theorems promise FeedBAL on a problem.

    ``document`` has all that ``emab bounds --json`` prints.

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

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The bounds as ``emab bounds`` prints them."""
        n, onsets = number(self.episodes), self.document["informative_from"]

        def row(name: str, key: str, bound: Bound) -> list[str]:
            readings = [number(value) for value in (bound.printed, bound.derived, bound.tight)]
            since = [onsets[key][reading] for reading in ("derived", "tight")]
            return [name, *readings, *("never" if at is None else number(at) for at in since)]

        trivial = number(self.trivial)
        return [self.problem, "as printed", "as derived", "tight", "informative from", "tight from"], [
            row(f"Theorem 1, delta = {self.document['delta']:g}", "theorem1", self.theorem1),
            row(f"Theorem 2, delta = 1/{n}", "theorem2", self.theorem2),
            row(f"Corollary 2, delta = 1/{n}", "corollary2", self.corollary2),
            ["no theorem, n * Omega_max", trivial, trivial, trivial, "1", "1"],
        ]

    def _note(self) -> str:
        """What a reader of the table is owed."""
        if self.document["uncovered"]:
            return "No theorem covers this problem: continuation actions with the same gain and different futures."
        return (
            "" if self.sound else "The width is not sound here: Lemma 1, on which all bounds rest, needs a larger one."
        )

    def __repr__(self) -> str:
        """Show it as ``emab bounds`` does."""
        return "\n".join(filter(None, [text_table(*self._cells()), self._note()]))

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return html_table(*self._cells(), note=self._note())


def bounds(
    problem: ProblemLike,
    *,
    episodes: int = 10_000,
    delta: float | str | None = None,
    sigma2: float | None = None,
    width: str | None = None,
    feedback_spread: float | None = None,
    stop_bias: float | None = None,
) -> Bounds:
    """Evaluate the paper's theorems on a problem: how much regret FeedBAL may have, and whether that says anything.

    >>> bounds = emab.bounds("resource", episodes=10_000)
    >>> bounds.theorem1.tight > bounds.trivial  # it says nothing yet: always losing everything costs less
    True
    """
    found = load(problem)
    told = {
        "delta": delta,
        "sigma2": sigma2,
        "width": width,
        "feedback_spread": feedback_spread,
        "stop_bias": stop_bias,
    }
    document: dict[str, Any] = json.loads(_emab.bounds(found, line("feedbal", told), episodes))
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
    )
