"""What could be earned if the truth were known, and what the paper's theorems say."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from emab import _emab
from emab._learner import line
from emab._problem import ProblemLike, load


@dataclass(frozen=True)
class Policy:
    """A policy and what it earns in an episode.

    ``policy[step - 1][state]`` is an action's name, ``"stop"``, or ``None`` where one cannot come.
    """

    value: float
    policy: list[list[str | None]] = field(repr=False)

    def choice(self, step: int, state: int) -> str | None:
        """Return what it does at a step in a state."""
        return self.policy[step - 1][state]


@dataclass(frozen=True)
class Sequence:
    """A fixed sequence of actions and what it earns in an episode."""

    value: float
    sequence: list[str]


@dataclass(frozen=True)
class Solution:
    """A problem solved: the benchmark, the optimal policy, and the best sequences that look at nothing."""

    problem: str
    reachable_pairs: int
    benchmark: Policy
    optimal: Policy
    best_fixed: Sequence | None
    best_repeated: Sequence


def solve(problem: ProblemLike) -> Solution:
    """Solve a problem.

    >>> solution = emab.solve("treatment")
    >>> round(solution.benchmark.value, 4), solution.benchmark.choice(step=1, state=2)
    (0.6265, 'chemotherapy')
    """
    found = load(problem)
    document: dict[str, Any] = json.loads(_emab.solve(found))
    fixed = document["best_fixed"]
    return Solution(
        problem=found.name,
        reachable_pairs=document["reachable_pairs"],
        benchmark=Policy(**document["benchmark"]),
        optimal=Policy(**document["optimal"]),
        best_fixed=None if fixed is None else Sequence(**fixed),
        best_repeated=Sequence(**document["best_repeated"]),
    )


@dataclass(frozen=True)
class Bound:
    """One promise in three readings: as printed, as the paper proves it, and as tight as its argument allows."""

    printed: float
    derived: float
    tight: float


@dataclass(frozen=True)
class Bounds:
    """What the paper's theorems promise FeedBAL on a problem.

    ``document`` has all that ``emab bounds --json`` prints.
    """

    problem: str
    episodes: int
    sound: bool
    theorem1: Bound
    theorem2: Bound
    corollary2: Bound
    trivial: float
    informative_from_episode: int | None
    document: dict[str, Any] = field(repr=False)


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
        theorem1=Bound(**document["theorem1"]),
        theorem2=Bound(**document["theorem2"]),
        corollary2=Bound(**document["corollary2"]),
        trivial=document["trivial"],
        informative_from_episode=document["informative_from_episode"],
        document=document,
    )
