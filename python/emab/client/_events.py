"""Events of a study's log, and the report of an import."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._decode import Raw, Record


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One event of a study's log: time (`at`), id of the token (`by`), and content (`kind`, `data`).

    `hash` covers the event and `previous`, the hash of the event before it.

    >>> for event in client.study("clinic").events():
    ...     print(event.seq, event.kind)
    1 created
    """

    seq: int
    at: str
    by: str
    kind: str
    data: Raw = field(hash=False)
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class ImportReport(Record):
    """The result of an import: lines imported (or importable), lines already there, and errors of a dry run.

    >>> study = client.study("clinic")
    >>> report = study.import_lines([{"id": "past", "actions": ["biopsy"]}], dry_run=True)
    >>> report.taken, report.dry_run, report.mistakes
    (0, True, ('line 1: missing field `feedbacks` at line 1 column 34',))
    """

    taken: int
    repeated: int
    dry_run: bool
    mistakes: tuple[str, ...]
