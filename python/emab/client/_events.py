"""Events of a study's log, its checkpoint, and the report of an import."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._decode import Raw, Record


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One event of a study's log: time (`at`), person, id of the token (`by`), content (`kind`, `data`).

    `person` is None in studies of earlier versions. `hash` covers the event and `previous`, the hash of the event
    before it.

    >>> for event in client.study("clinic").events():
    ...     print(event.seq, event.kind)
    1 created
    """

    seq: int
    at: str
    by: str
    person: str | None
    kind: str
    data: Raw = field(hash=False)
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Checkpoint(Record):
    """A signed statement that the log of a study had an event `seq` with this hash, with the public `key`.

    `text` is the statement byte for byte, as a line for `emab audit --checkpoint`.

    >>> checkpoint = client.study("clinic").checkpoint()  # doctest: +SKIP
    >>> pathlib.Path("checkpoints").open("a").write(checkpoint.text + "\\n")  # doctest: +SKIP
    """

    study: str
    seq: int
    hash: str
    at: str
    key: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ImportReport(Record):
    """The result of an import: lines imported (or importable), lines already there, and errors of a dry run.

    >>> study = client.study("clinic")
    >>> report = study.import_lines([{"id": "past", "actions": ["biopsy"]}], dry_run=True)
    >>> report.taken, report.dry_run, report.mistakes
    (0, True, ('line 1: the JSON object has no `feedbacks`; add it',))
    """

    taken: int
    repeated: int
    dry_run: bool
    mistakes: tuple[str, ...]
