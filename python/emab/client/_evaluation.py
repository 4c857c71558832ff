"""The value of the current policies of a study."""

from __future__ import annotations

from dataclasses import dataclass

from ._decode import Record


@dataclass(frozen=True, slots=True)
class Unsupported(Record):
    """A step and state that the log does not have with an action.

    >>> from emab.client import Unsupported
    >>> Unsupported.of({"t": 1, "x": 0, "state": "new", "a": "scan"}).a
    'scan'
    """

    t: int
    x: int
    state: str
    a: str


@dataclass(frozen=True, slots=True)
class ValueInterval(Record):
    """An estimate and its interval.

    >>> from emab.client import ValueInterval
    >>> ValueInterval.of({"value": 0.5, "lower": 0.2, "upper": 0.8}).lower
    0.2
    """

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class PolicyValue(Record):
    """The expected gain of an episode that follows the current choices of a learner, with its interval.

    >>> from emab.client import PolicyValue
    >>> value = {"learner": "feedbal", "shadow": True, "value": 0.5, "lower": 0.2, "upper": 0.8}
    >>> PolicyValue.of({**value, "supported": True, "unsupported": [], "without_overrides": None}).upper
    0.8
    """

    learner: str
    shadow: bool
    value: float
    lower: float
    upper: float
    supported: bool
    unsupported: tuple[Unsupported, ...]
    without_overrides: ValueInterval | None


@dataclass(frozen=True, slots=True)
class StudyEvaluation(Record):
    """What the current choices of a study's learners are worth, by its log: the learner first, then shadow learners.

    >>> from emab.client import StudyEvaluation
    >>> empty = {"policies": [], "assumed": [], "violations": [], "contradictions": []}
    >>> empty |= {"logged_value": None, "logged_stderr": None}
    >>> counts = {"as_of": 9, "episodes": 4, "overridden": 0, "confidence": 0.95}
    >>> StudyEvaluation.of({"study": "clinic", "hash": "0", **counts, **empty}).episodes
    4
    """

    study: str
    as_of: int
    hash: str
    confidence: float
    episodes: int
    overridden: int
    logged_value: float | None
    logged_stderr: float | None
    policies: tuple[PolicyValue, ...]
    assumed: tuple[str, ...]
    violations: tuple[str, ...]
    contradictions: tuple[str, ...]
