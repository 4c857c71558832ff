"""A study, by its name."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from . import _episode_calls, _study_calls
from ._episode import Episode
from ._files import FileUpload, part_of
from ._knowledge import Estimates
from ._lines import Line, Upload
from ._log import Event, ImportReport
from ._names import checked
from ._views import EpisodeView, StudyView

if TYPE_CHECKING:
    from ._client import Client


class Study:
    """A study of a service: `Client.study` and `Client.create_study` give it.

    >>> study = client.study("clinic")
    >>> episode = study.open("patient-1")
    >>> study.read().open
    1
    """

    def __init__(self, client: Client, name: str) -> None:
        """Of a client, by its name; nothing is sent."""
        self._client = client
        self.name = checked("a study", name)

    def __repr__(self) -> str:
        """By name."""
        return f"Study({self.name!r})"

    def read(self) -> StudyView:
        """The study as it is.

        >>> client.study("clinic").read().learned
        0
        """
        return self._client._send(_study_calls.read(self.name))

    def close(self) -> StudyView:
        """Takes no new episodes from now on; those that are open go on, and outcomes are taken.

        >>> client.study("clinic").close().closed
        True
        """
        return self._client._send(_study_calls.close(self.name))

    def open(self, episode: str | None = None) -> Episode:
        """Opens an episode; its first decision is at `.decision`. One that is there is gone on with.

        Give a name of your own, if you have one: a program that was interrupted can then just run again.
        Without one, a name is made up here, so that even then a lost answer opens no second episode.

        >>> client.study("clinic").open("patient-1").decision.action
        'stop'
        """
        name = uuid.uuid4().hex if episode is None else episode
        decision = self._client._send(_episode_calls.open_(self.name, name))
        return Episode(self._client, self.name, name, decision)

    def episode(self, name: str) -> Episode:
        """The episode of this name; nothing is sent, and whether it is there is not looked up.

        >>> client.study("clinic").episode("patient-1")
        Episode('clinic', 'patient-1')
        """
        return Episode(self._client, self.name, name)

    def episodes(self, *, only_open: bool = False, page: int = 100) -> Iterator[EpisodeView]:
        """The episodes by name, without their steps; asked for `page` at a time (up to 1000).

        >>> study = client.study("clinic")
        >>> one, other = study.open("p1"), study.open("p2")
        >>> view = one.stop()
        >>> [episode.name for episode in study.episodes()]
        ['p1', 'p2']
        >>> [episode.name for episode in study.episodes(only_open=True)]
        ['p2']
        """
        return self._client._pages(lambda after: _study_calls.episodes(self.name, only_open, after, page))

    def estimates(self, *, as_of: int | None = None) -> Estimates:
        """What the study knows; or knew after the event `as_of` of its log.

        >>> study = client.study("clinic")
        >>> view = study.open("p1").stop()
        >>> study.estimates().as_of, study.estimates(as_of=1).as_of
        (3, 1)
        """
        return self._client._send(_study_calls.estimates(self.name, as_of))

    def events(self, *, after: int = 0, page: int = 1000) -> Iterator[Event]:
        """The log after the event `after`, up to its end; asked for `page` at a time (up to 10000).

        >>> study = client.study("clinic")
        >>> view = study.open("p1").stop()
        >>> [event.kind for event in study.events(after=1)]
        ['opened', 'stopped']
        """
        while events := self._client._send(_study_calls.events(self.name, after, page)):
            yield from events
            after = events[-1].seq

    def export_lines(self) -> Iterator[str]:
        """The whole log, one event a line, as `emab audit` and `import_lines` take it.

        It is asked for in pages, so that a connection that breaks costs no more than one of them.

        >>> len(list(client.study("clinic").export_lines()))
        1
        """
        after = 0
        while lines := self._client._send(_study_calls.lines(self.name, after)):
            yield from lines
            after = _study_calls.seq_of(lines[-1])

    def export_file(self, path: str | os.PathLike[str]) -> int:
        """Writes the whole log into a file, which appears once it is whole; says how many events it has.

        >>> client.study("clinic").export_file(folder / "clinic.ndjson")
        1
        """
        count = 0
        part = part_of(path)
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                for line in self.export_lines():
                    file.write(line + "\n")
                    count += 1
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return count

    def import_lines(self, lines: Iterable[Line], *, dry_run: bool = False) -> ImportReport:
        """Takes past episodes in, from which the learner learns at once, or the events of an exported study.

        A line is a dict or its JSON. What was taken before a mistake stays, and to give everything again is
        harmless. Lines from a list are sent again where the connection breaks; those from a generator are
        gone then.

        >>> study = client.study("clinic")
        >>> past = {"id": "p0", "actions": [0], "feedbacks": [1], "costs": [0.2], "rewards": [0, 1]}
        >>> study.import_lines([past])
        ImportReport(taken=1, repeated=0, dry_run=False, mistakes=())
        >>> study.import_lines([past], dry_run=True)
        ImportReport(taken=0, repeated=1, dry_run=True, mistakes=())
        """
        return self._client._send(_study_calls.import_(self.name, dry_run), Upload(lines))

    def import_file(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> ImportReport:
        """Takes a file in, as `import_lines` does: newline-delimited JSON, never all of it in memory.

        >>> count = client.study("clinic").export_file(folder / "clinic.ndjson")
        >>> client.study("clinic").import_file(folder / "clinic.ndjson").repeated
        1
        """
        return self._client._send(_study_calls.import_(self.name, dry_run), FileUpload(Path(path)))
