"""The calls about studies, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ._call import Call, call
from ._json import encode
from ._knowledge import Estimates
from ._log import Event, ImportReport
from ._names import study_path
from ._read import Raw, as_object, listed, maybe, reader, text
from ._views import EpisodeView, StudyView

T = TypeVar("T")


class HasDict(Protocol):
    """Anything that can say itself as a dict, such as a problem."""

    def to_dict(self) -> Mapping[str, Any]:
        """Itself as a dict."""


Spec = Mapping[str, Any] | HasDict


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list, and what to ask for next, if there is more."""

    items: tuple[T, ...]
    next: str | None


def create(
    study: str, spec: Spec, learner: str | None, shadow: Sequence[str] | None, missing_at_random: bool | None
) -> Call[StudyView]:
    """Create a study."""
    body = dict(spec if isinstance(spec, Mapping) else spec.to_dict())
    extra = {"learner": learner, "shadow": shadow, "missing_at_random": missing_at_random}
    body.update((key, value) for key, value in extra.items() if value is not None)
    return Call("PUT", study_path(study), reader(StudyView.of), body=encode(body))


def read(study: str) -> Call[StudyView]:
    """Read a study."""
    return call("GET", study_path(study), reader(StudyView.of))


def close(study: str) -> Call[StudyView]:
    """Take no new episodes."""
    return call("POST", f"{study_path(study)}:close", reader(StudyView.of))


def studies(after: str, limit: int) -> Call[Page[StudyView]]:
    """A page of the studies."""

    def page(raw: Raw) -> Page[StudyView]:
        items = tuple(StudyView.of(as_object(item)) for item in listed(raw, "studies"))
        return Page(items, maybe(text, raw, "next"))

    return Call("GET", "/v1/studies", reader(page), {"after": after, "limit": limit})


def episodes(study: str, only_open: bool, after: str, limit: int) -> Call[Page[EpisodeView]]:
    """A page of the episodes of a study."""

    def page(raw: Raw) -> Page[EpisodeView]:
        items = tuple(EpisodeView.of(as_object(item)) for item in listed(raw, "episodes"))
        return Page(items, maybe(text, raw, "next"))

    query: dict[str, str | int] = {"open": "true" if only_open else "false", "after": after, "limit": limit}
    return Call("GET", f"{study_path(study)}/episodes", reader(page), query)


def estimates(study: str, as_of: int | None) -> Call[Estimates]:
    """What a study knows, or knew."""
    query = {} if as_of is None else {"as_of": as_of}
    return Call("GET", f"{study_path(study)}/estimates", reader(Estimates.of), query)


def events(study: str, after: int, limit: int) -> Call[tuple[Event, ...]]:
    """A page of the log; an empty one is its end."""
    return _log(study, after, limit, reader(Event.of))


def lines(study: str, after: int) -> Call[tuple[str, ...]]:
    """A page of the log as it is written, to be kept to the byte.

    An export in one answer would have to begin anew where the connection breaks; a page is asked for again.
    """
    return _log(study, after, 10_000, bytes.decode)


def seq_of(line: str) -> int:
    """The number of the event in a line."""
    return reader(Event.of)(line.encode()).seq


def _log(study: str, after: int, limit: int, read_line: Callable[[bytes], T]) -> Call[tuple[T, ...]]:
    def page(body: bytes) -> tuple[T, ...]:
        # Not `splitlines`, which knows more ends of lines than JSON escapes.
        return tuple(read_line(line) for line in body.split(b"\n") if line)

    return Call("GET", f"{study_path(study)}/events", page, {"after": after, "limit": limit})


def import_(study: str, dry_run: bool) -> Call[ImportReport]:
    """Take lines in; they are sent besides."""
    query = {"dry_run": "true"} if dry_run else {}
    return Call("POST", f"{study_path(study)}:import", reader(ImportReport.of), query)
