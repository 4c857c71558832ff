"""The log: what happened in a study, and what became of an import."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._read import Raw, flag, listed, nested, text, whole


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a study's log: when (`at`), by which token (`by`, its id), what (`kind`, `data`).

    `previous` is the hash of the event before it, `hash` its own.

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
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Event:
        """From the service's JSON."""
        return cls(
            seq=whole(raw, "seq"),
            at=text(raw, "at"),
            by=text(raw, "by"),
            kind=text(raw, "kind"),
            data=nested(raw, "data"),
            previous=text(raw, "previous"),
            hash=text(raw, "hash"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of an import: lines taken (or that would be), lines that were there; mistakes of a dry run.

    >>> study = client.study("clinic")
    >>> report = study.import_lines([{"id": "past", "actions": ["biopsy"]}], dry_run=True)
    >>> report.taken, report.dry_run, report.mistakes
    (0, True, ('line 1: missing field `feedbacks` at line 1 column 34',))
    """

    taken: int
    repeated: int
    dry_run: bool
    mistakes: tuple[str, ...]
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> ImportReport:
        """From the service's JSON."""
        return cls(
            taken=whole(raw, "taken"),
            repeated=whole(raw, "repeated"),
            dry_run=flag(raw, "dry_run"),
            mistakes=tuple(map(str, listed(raw, "mistakes"))),
            raw=raw,
        )
