"""What a study has learned."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._read import Raw, as_object, listed, maybe, number, text, whole


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """What is known of one action in one step and state; None is what is infinite or not said.

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
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> EstimateRow:
        """From the service's JSON."""
        return cls(
            step=whole(raw, "step"),
            state=text(raw, "state"),
            action=text(raw, "action"),
            count=whole(raw, "count"),
            mean=number(raw, "mean"),
            width=maybe(number, raw, "width"),
            index=maybe(number, raw, "index"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a study knew after the event `as_of`: a row for every step, state and action that was observed.

    >>> known = client.study("clinic").estimates()
    >>> known.learner, known.as_of, known.learned, known.rows
    ('feedbal:width=sound', 1, 0, ())
    """

    study: str
    learner: str
    as_of: int
    hash: str
    learned: int
    rows: tuple[EstimateRow, ...]
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Estimates:
        """From the service's JSON."""
        return cls(
            study=text(raw, "study"),
            learner=text(raw, "learner"),
            as_of=whole(raw, "as_of"),
            hash=text(raw, "hash"),
            learned=whole(raw, "learned"),
            rows=tuple(EstimateRow.of(as_object(row)) for row in listed(raw, "estimates")),
            raw=raw,
        )
