"""Calls on studies."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ._call import EVENTS, Call, call
from ._decode import Raw, Record, as_object, reader, typed
from ._encode import encode
from ._estimates import Estimates
from ._evaluation import StudyEvaluation
from ._events import Checkpoint, Event, ImportReport
from ._health import Health
from ._names import study_path
from ._policy import PolicyTable
from ._tables import media_type
from ._views import EpisodeView, StudyView

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class HasDict(Protocol):
    """An object that converts to a dict, such as a problem."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return the fields of a problem file."""


Spec = Mapping[str, Any] | HasDict


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, and where the next one starts, if there is one."""

    items: tuple[T, ...]
    next: str | None


def create(
    study: str,
    spec: Spec,
    learner: str | None,
    shadow: Sequence[str] | None,
    missing_at_random: bool | None,
    rest: Mapping[str, Any],
) -> Call[StudyView]:
    """Create a study."""
    if not isinstance(spec, Mapping) and not hasattr(spec, "to_dict"):
        raise TypeError(
            f"`spec` must be a dict, or an object with `to_dict()`, such as emab.load('clinic.json').spec; got {spec!r}"
        )
    body = dict(spec if isinstance(spec, Mapping) else spec.to_dict())
    extra = {"learner": learner, "shadow": shadow, "missing_at_random": missing_at_random, **rest}
    body.update((key, value) for key, value in extra.items() if value is not None)
    return Call("PUT", study_path(study), reader(StudyView.of), body=encode(body))


def read(study: str) -> Call[StudyView]:
    """Read a study."""
    return call("GET", study_path(study), reader(StudyView.of))


def close(study: str, reason: str | None) -> Call[StudyView]:
    """Close a study to new episodes."""
    fields = None if reason is None else {"reason": reason}
    return call("POST", f"{study_path(study)}:close", reader(StudyView.of), fields)


def change(study: str, verb: str, reason: str, request: str | None) -> Call[StudyView]:
    """Pause, resume or reopen a study.

    Every request has an id, so that a repeated one takes effect once.
    """
    fields = {"reason": reason, "request": request or uuid.uuid4().hex}
    return call("POST", f"{study_path(study)}:{verb}", reader(StudyView.of), fields)


def discard(study: str) -> Call[int]:
    """Discard a study that is being restored; read the number of its events."""
    return call("DELETE", study_path(study), reader(lambda raw: int(typed(raw, "events", int))))


def checkpoint(study: str) -> Call[Checkpoint]:
    """Read the checkpoint, with its text byte for byte: the signature is of these bytes."""

    def read(body: bytes) -> Checkpoint:
        return reader(lambda raw: Checkpoint.of({**raw, "text": body.decode()}))(body)

    return call("GET", f"{study_path(study)}/checkpoint", read)


def studies(after: str, limit: int) -> Call[Page[StudyView]]:
    """Read a page of the studies."""
    return _page("/v1/studies", "studies", StudyView, {"after": after, "limit": limit})


def episodes(study: str, only_open: bool, after: str, limit: int) -> Call[Page[EpisodeView]]:
    """Read a page of the episodes of a study."""
    query: dict[str, str | int] = {"open": "true" if only_open else "false", "after": after, "limit": limit}
    return _page(f"{study_path(study)}/episodes", "episodes", EpisodeView, query)


def _page(path: str, key: str, kind: type[R], query: Mapping[str, str | int]) -> Call[Page[R]]:
    def page(raw: Raw) -> Page[R]:
        items = tuple(kind.of(as_object(item)) for item in typed(raw, key, list))
        return Page(items, None if raw.get("next") is None else typed(raw, "next", str))

    return Call("GET", path, reader(page), query)


def policy(study: str) -> Call[PolicyTable]:
    """Read the policy."""
    return call("GET", f"{study_path(study)}/policy", reader(PolicyTable.of))


def health(study: str) -> Call[Health]:
    """Read the health."""
    return call("GET", f"{study_path(study)}/health", reader(Health.of))


def evaluation(study: str, confidence: float) -> Call[StudyEvaluation]:
    """Read the value of the current policies."""
    query = {"confidence": repr(float(confidence))}
    return Call("GET", f"{study_path(study)}/evaluation", reader(StudyEvaluation.of), query)


def estimates(study: str, as_of: int | None) -> Call[Estimates]:
    """Read the estimates, now or after an event."""
    query = {} if as_of is None else {"as_of": as_of}
    return Call("GET", f"{study_path(study)}/estimates", reader(Estimates.of), query)


def events(study: str, after: int, limit: int) -> Call[tuple[Event, ...]]:
    """Read a page of the log; an empty page is its end."""
    return _log(study, after, limit, reader(Event.of))


def lines(study: str, after: int, limit: int) -> Call[tuple[str, ...]]:
    """Read a page of the log as text, byte for byte.

    After a lost connection a page is requested again; an export in one answer would have to start over.
    """
    return _log(study, after, min(limit, 10_000), bytes.decode)


def export_header(view: StudyView) -> str:
    """Return the first line of an export: the version of the format, and the last event."""
    return encode({"emab_export": 2, "study": view.name, "seq": view.seq, "hash": view.hash}).decode()


def _log(study: str, after: int, limit: int, read_line: Callable[[bytes], T]) -> Call[tuple[T, ...]]:
    def page(body: bytes) -> tuple[T, ...]:
        # `splitlines` also splits at characters that JSON does not escape.
        return tuple(read_line(line) for line in body.split(b"\n") if line)

    return Call("GET", f"{study_path(study)}/events", page, {"after": after, "limit": limit})


def follow(study: str, after: int) -> Call[None]:
    """Follow the log; the answer has no end."""
    return Call("GET", f"{study_path(study)}/events", lambda _: None, {"after": after}, accept=EVENTS)


def table(study: str, name: str, format_: str) -> Call[bytes]:
    """Read a table as a file."""
    return Call("GET", f"{study_path(study)}/{name}", bytes, accept=media_type(name, format_))


def import_(study: str, dry_run: bool) -> Call[ImportReport]:
    """Import lines, which are streamed as the body."""
    query = {"dry_run": "true"} if dry_run else {}
    return Call("POST", f"{study_path(study)}:import", reader(ImportReport.of), query)
