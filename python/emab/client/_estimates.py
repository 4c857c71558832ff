"""Estimates of a study."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._decode import Record, key


@dataclass(frozen=True, slots=True)
class EstimateRow(Record):
    """The estimate of one action at one step and state. None is an infinite value, or one that is not given.

    >>> study = client.study("clinic")
    >>> past = {"id": "p0", "actions": [0], "feedbacks": [1], "costs": [0.25], "rewards": [0, 1]}
    >>> report = study.import_lines([past])
    >>> row = study.estimates().rows[0]
    >>> row.step, row.state, row.action, row.count, row.mean
    (1, 'unknown', 'blood', 1, 0.75)
    """

    step: int
    state: str
    action: str
    count: int
    mean: float
    width: float | None
    index: float | None


@dataclass(frozen=True, slots=True)
class Estimates(Record):
    """The estimates after the event `as_of`: one row for every observed step, state and action.

    >>> known = client.study("clinic").estimates()
    >>> known.learner, known.as_of, known.learned, known.rows
    ('feedbal:width=sound', 1, 0, ())
    """

    study: str
    learner: str
    as_of: int
    at: str | None
    hash: str
    learned: int
    rows: tuple[EstimateRow, ...] = field(metadata=key("estimates"))
