"""The health of a study."""

from __future__ import annotations

from dataclasses import dataclass

from ._decode import Record


@dataclass(frozen=True, slots=True)
class Limits(Record):
    """The values at which a check becomes yellow and red.

    >>> client.study("clinic").health().check("overrides").threshold
    Limits(yellow=0.2, red=0.5)
    """

    yellow: float
    red: float


@dataclass(frozen=True, slots=True)
class Check(Record):
    """One check of a study: `status` is `green`, `yellow` or `red`, and `detail` is one sentence.

    >>> check = client.study("clinic").health().check("missing")
    >>> check.status, check.detail
    ('green', '0 of 0 ended episodes lack a part of their outcome for good')
    """

    name: str
    status: str
    value: float | None
    threshold: Limits | None
    detail: str


@dataclass(frozen=True, slots=True)
class Health(Record):
    """The health of a study after the event `as_of`: the worst status of its checks, and the checks.

    >>> health = client.study("clinic").health()
    >>> health.status, [check.name for check in health.checks]
    ('green', ['overdue', 'overrides', 'corrections', 'missing', 'drift', 'certificate'])
    """

    study: str
    status: str
    checks: tuple[Check, ...]
    as_of: int
    at: str | None

    def check(self, name: str) -> Check:
        """Return a check by its name; raise `KeyError` if there is none.

        >>> client.study("clinic").health().check("drift").status
        'green'
        """
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"there is no check {name!r}; there are {', '.join(check.name for check in self.checks)}")
