# Written by `python python/tools/sync_client.py` from ../_async/study.py.
"""A handle for one study of the service."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _episode_calls, _study_calls
from .._episode_calls import Name
from .._errors import Unavailable
from .._estimates import Estimates
from .._evaluation import StudyEvaluation
from .._events import Checkpoint, Event, ImportReport
from .._follow import Follower
from .._health import Health
from .._names import valid_name
from .._policy import OfflineEpisode, PolicyTable, check_table, reference
from .._tables import Table, event_number, format_of, new_file
from .._uploads import FileUpload, Line, LineUpload
from .._views import EpisodeView, StudyView
from .episode import Episode

if TYPE_CHECKING:
    from .client import Client


class Study:
    """A study of a service, as returned by `Client.study` and `Client.create_study`.

    >>> study = client.study("clinic")
    >>> episode = study.open("patient-1")
    >>> study.read().open
    1
    """

    def __init__(self, client: Client, name: str) -> None:
        """Send nothing."""
        self._client = client
        self.name = valid_name("a study", name)

    def __repr__(self) -> str:
        """Show the name."""
        return f"Study({self.name!r})"

    def read(self) -> StudyView:
        """Return the study: what it was created from, and its counts of episodes.

        >>> client.study("clinic").read().learned
        0
        """
        return self._client._send(_study_calls.read(self.name))

    def close(self, reason: str | None = None) -> StudyView:
        """Accept no new episodes from now on. Open episodes continue, and outcomes are accepted.

        >>> client.study("clinic").close("the last patient was seen").closed
        True
        """
        return self._client._send(_study_calls.close(self.name, reason))

    def reopen(self, reason: str, *, request: str | None = None) -> StudyView:
        """Accept new episodes again after `close`.

        >>> view = client.study("clinic").close()
        >>> client.study("clinic").reopen("the second year is funded").closed
        False
        """
        return self._client._send(_study_calls.change(self.name, "reopen", reason, request))

    def pause(self, reason: str, *, request: str | None = None) -> StudyView:
        """Open no new episodes for a time. Open episodes continue, and outcomes are accepted.

        >>> client.study("clinic").pause("the device is being repaired").paused
        True
        """
        return self._client._send(_study_calls.change(self.name, "pause", reason, request))

    def resume(self, reason: str, *, request: str | None = None) -> StudyView:
        """Open new episodes again after `pause`.

        >>> view = client.study("clinic").pause("the device is being repaired")
        >>> client.study("clinic").resume("it is repaired").paused
        False
        """
        return self._client._send(_study_calls.change(self.name, "resume", reason, request))

    def discard(self) -> int:
        """Remove a study whose restoration from an export was begun and not finished; return its number of events.

        For an import that was begun with a wrong file: the name is free again. Any other study raises `Conflict`: it is
        never deleted. If an answer is lost, the repeated request finds no study and raises `NotFound`.

        >>> client.study("clinic").discard()
        Traceback (most recent call last):
        emab.client.Conflict: ...a study is never deleted...
        """
        return self._client._send(_study_calls.discard(self.name))

    def open(self, episode: str | None = None, *, start: Name | None = None) -> Episode:
        """Open an episode, or continue the one of this name. Its decision is at `.decision`.

        `start` is the state at intake, by name or index; it is required where the study has several.
        Use a name from your own data, if there is one: an interrupted program can then run again. Without a name
        the client generates one, so that a lost answer never opens a second episode.

        >>> client.study("clinic").open("patient-1").decision.action
        'stop'
        """
        name = uuid.uuid4().hex if episode is None else episode
        decision = self._client._send(_episode_calls.open_(self.name, name, start))
        return Episode(self._client, self.name, name, decision)

    def episode(self, name: str) -> Episode:
        """Return a handle for the episode of this name. No request is sent, and the episode need not exist.

        >>> client.study("clinic").episode("patient-1")
        Episode('clinic', 'patient-1')
        """
        return Episode(self._client, self.name, name)

    def episodes(self, *, only_open: bool = False, page: int = 100) -> Iterator[EpisodeView]:
        """Iterate over the episodes by name, without their steps, in pages of up to 1000.

        >>> study = client.study("clinic")
        >>> one, other = study.open("p1"), study.open("p2")
        >>> view = one.stop()
        >>> [episode.name for episode in study.episodes()]
        ['p1', 'p2']
        >>> [episode.name for episode in study.episodes(only_open=True)]
        ['p2']
        """
        return self._client._pages(lambda after: _study_calls.episodes(self.name, only_open, after, page))

    def policy(self) -> PolicyTable:
        """Return what is recommended in every step and state, to keep for times when the service cannot be reached.

        >>> client.study("clinic").policy().action(1, "unknown")
        'stop'
        """
        return self._client._send(_study_calls.policy(self.name))

    def open_with_fallback(
        self, name: str, table: PolicyTable, *, start: str | None = None
    ) -> Episode | OfflineEpisode:
        """Open an episode, or begin one that follows the table if the service cannot be reached.

        A client with `retries` tries for up to a minute before; `Client(url, retries=None)` decides at once.

        >>> study = client.study("clinic")
        >>> table = study.policy()
        >>> study.open_with_fallback("p1", table)
        Episode('clinic', 'p1')
        """
        check_table(self.name, table)
        try:
            return self.open(name, start=start)
        except Unavailable:
            return table.episode(name, start=start)

    def report(self, offline: OfflineEpisode) -> Episode:
        """Report an episode that followed a table; reporting it again, or after more steps, is harmless.

        >>> study = client.study("clinic")
        >>> offline = study.policy().episode("p1")
        >>> offline.stop()
        >>> study.report(offline).read().steps[0].decided_by
        'fallback'
        """
        check_table(self.name, offline.table)
        rest = reference(offline.table)
        episode = self.open(offline.name, start=offline.start)
        for step, (action, feedback) in enumerate(offline.steps, start=1):
            tell = _episode_calls.tell(self.name, offline.name, step, action, feedback, None, **rest)
            episode.decision = self._client._send(tell)
        if offline.is_over:
            self._client._send(_episode_calls.stop(self.name, offline.name, offline.step, None, **rest))
        return episode

    def health(self) -> Health:
        """Return the health: overdue and missing outcomes, overrides, corrections, drift and certificates.

        >>> client.study("clinic").health().status
        'green'
        """
        return self._client._send(_study_calls.health(self.name))

    def evaluation(self, *, confidence: float = 0.95) -> StudyEvaluation:
        """Return what the current choices of the learner and of shadow learners are worth, by the log of the study.

        >>> client.study("clinic").evaluation()
        Traceback (most recent call last):
        emab.client.Invalid: ...
        """
        return self._client._send(_study_calls.evaluation(self.name, confidence))

    def estimates(self, *, as_of: int | None = None) -> Estimates:
        """Return the estimates of the study, now or after the event `as_of` of its log.

        >>> study = client.study("clinic")
        >>> episode = study.open("p1")
        >>> view = episode.stop()
        >>> study.estimates().as_of, study.estimates(as_of=1).as_of
        (3, 1)
        """
        return self._client._send(_study_calls.estimates(self.name, as_of))

    def events(self, *, after: int = 0, page: int = 1000) -> Iterator[Event]:
        """Iterate over the log after the event `after`, in pages of up to 10000.

        >>> study = client.study("clinic")
        >>> episode = study.open("p1")
        >>> view = episode.stop()
        >>> [event.kind for event in study.events(after=1)]
        ['opened', 'stopped']
        """
        while events := self._client._send(_study_calls.events(self.name, after, page)):
            yield from events
            after = events[-1].seq

    def follow(self, *, after: int = 0, timeout: float | None = None) -> Iterator[Event]:
        """Iterate over the log after the event `after`, and over events as they are recorded, without an end.

        After an interruption the client connects again and continues after the last event, as its `retries` allow.
        The iteration ends once no event has come for `timeout` seconds; for more than 10, up to 10 seconds later. Every
        event is checked: its number, its hash, and the hash of the event before it. A changed log raises `Unexpected`.

        >>> study = client.study("clinic")
        >>> episode = study.open("p1")
        >>> for event in study.follow():
        ...     print(event.seq, event.kind)
        ...     if event.seq == 2:
        ...         break
        1 created
        2 opened
        """
        return self._client._follow(self.name, Follower(self.name, after, timeout))

    def table(self, name: str, *, format: str = "parquet") -> Table:
        """Return the table `episodes`, `decisions` or `estimates`, as of one event.

        `to_pandas` and `to_arrow` of the result convert it; `format="csv"` gives text. Large tables: `table_file`.

        >>> study = client.study("clinic")
        >>> episode = study.open("p1")
        >>> study.table("decisions", format="csv").data[:18]
        b'episode,step,state'
        """
        answer = self._client._answer(_study_calls.table(self.name, name, format))
        return Table(name, format, event_number(answer.headers), answer.content)

    def table_file(
        self, name: str, path: str | os.PathLike[str], *, format: str | None = None, force: bool = False
    ) -> int:
        """Write a table to a file, and return the number of the last event that it includes.

        The format is that of the ending, `.csv` or `.parquet`, unless given. The file appears once it is complete.
        A file that exists is a `FileExistsError`, and `force` replaces it.

        >>> client.study("clinic").table_file("episodes", folder / "episodes.csv")
        1
        """
        path = new_file(path, force)
        call = _study_calls.table(self.name, name, format_of(path, format))
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            seq = self._client._download(call, part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return seq

    def checkpoint(self) -> Checkpoint:
        """Return the latest signed statement about the end of the log. An event is covered within a second.

        Keep its `text` in another place, one per line, for `emab audit --checkpoint`. A study that has no checkpoint
        yet raises `NotFound`.

        >>> client.study("clinic").checkpoint().seq  # doctest: +SKIP
        1
        """
        return self._client._send(_study_calls.checkpoint(self.name))

    def export_lines(self) -> Iterator[str]:
        """Iterate over an export, in the format of `emab audit` and `import_lines`: a header, then one event per line.

        The log is read in pages: after a lost connection only the current page is requested again.

        >>> len([line for line in client.study("clinic").export_lines()])
        2
        """
        view = self.read()
        yield _study_calls.export_header(view)
        after = 0
        while after < view.seq and (
            lines := self._client._send(_study_calls.lines(self.name, after, view.seq - after))
        ):
            yield from lines
            after += len(lines)

    def export_file(self, path: str | os.PathLike[str], *, force: bool = False) -> int:
        """Write the whole log to a file and return the number of events. The file appears once it is complete.

        A file that exists is a `FileExistsError`, and `force` replaces it.

        >>> client.study("clinic").export_file(folder / "clinic.ndjson")
        1
        """
        path = new_file(path, force)
        count = -1  # the header is not an event
        # In the same folder, so that the replacement is atomic.
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            with Path(part).open("w", encoding="utf-8", newline="\n") as file:
                for line in self.export_lines():
                    file.write(line + "\n")
                    count += 1
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return count

    def import_lines(self, lines: Iterable[Line], *, dry_run: bool = False) -> ImportReport:
        """Import past episodes, which the learner learns from at once, or the events of an exported study.

        A line is a dict or its JSON. Lines before a faulty one stay imported, and importing a line again has no
        effect. After a lost connection, lines from a list are sent again; those from a generator cannot be.

        >>> study = client.study("clinic")
        >>> past = {"id": "p0", "actions": [0], "feedbacks": [1], "costs": [0.2], "rewards": [0, 1]}
        >>> study.import_lines([past])
        ImportReport(taken=1, repeated=0, dry_run=False, mistakes=())
        >>> study.import_lines([past], dry_run=True)
        ImportReport(taken=0, repeated=1, dry_run=True, mistakes=())
        """
        return self._client._send(_study_calls.import_(self.name, dry_run), LineUpload(lines))

    def import_file(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> ImportReport:
        """Import a file of newline-delimited JSON, as `import_lines` does. The file is streamed.

        >>> count = client.study("clinic").export_file(folder / "clinic.ndjson")
        >>> client.study("clinic").import_file(folder / "clinic.ndjson").repeated
        1
        """
        return self._client._send(_study_calls.import_(self.name, dry_run), FileUpload(Path(path)))
