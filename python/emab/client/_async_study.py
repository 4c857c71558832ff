"""A study, by its name, for the client that is awaited."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from . import _episode_calls, _study_calls
from ._async_episode import AsyncEpisode
from ._async_lines import AsyncFileUpload, AsyncUpload
from ._files import part_of
from ._knowledge import Estimates
from ._lines import Line
from ._log import Event, ImportReport
from ._names import checked
from ._views import EpisodeView, StudyView

if TYPE_CHECKING:
    from ._async_client import AsyncClient


class AsyncStudy:
    """A study of a service: `AsyncClient.study` and `AsyncClient.create_study` give it.

    >>> study = client.study("clinic")
    >>> episode = await study.open("patient-1")
    >>> (await study.read()).open
    1
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        """Of a client, by its name; nothing is sent."""
        self._client = client
        self.name = checked("a study", name)

    def __repr__(self) -> str:
        """By name."""
        return f"AsyncStudy({self.name!r})"

    async def read(self) -> StudyView:
        """The study as it is.

        >>> (await client.study("clinic").read()).learned
        0
        """
        return await self._client._send(_study_calls.read(self.name))

    async def close(self) -> StudyView:
        """Takes no new episodes from now on; those that are open go on, and outcomes are taken.

        >>> (await client.study("clinic").close()).closed
        True
        """
        return await self._client._send(_study_calls.close(self.name))

    async def open(self, episode: str | None = None) -> AsyncEpisode:
        """Opens an episode; its first decision is at `.decision`. One that is there is gone on with.

        Give a name of your own, if you have one: a program that was interrupted can then just run again.
        Without one, a name is made up here, so that even then a lost answer opens no second episode.

        >>> (await client.study("clinic").open("patient-1")).decision.action
        'stop'
        """
        name = uuid.uuid4().hex if episode is None else episode
        decision = await self._client._send(_episode_calls.open_(self.name, name))
        return AsyncEpisode(self._client, self.name, name, decision)

    def episode(self, name: str) -> AsyncEpisode:
        """The episode of this name; nothing is sent, and whether it is there is not looked up.

        >>> client.study("clinic").episode("patient-1")
        AsyncEpisode('clinic', 'patient-1')
        """
        return AsyncEpisode(self._client, self.name, name)

    def episodes(self, *, only_open: bool = False, page: int = 100) -> AsyncIterator[EpisodeView]:
        """The episodes by name, without their steps; asked for `page` at a time (up to 1000).

        >>> study = client.study("clinic")
        >>> one, other = await study.open("p1"), await study.open("p2")
        >>> view = await one.stop()
        >>> [episode.name async for episode in study.episodes()]
        ['p1', 'p2']
        >>> [episode.name async for episode in study.episodes(only_open=True)]
        ['p2']
        """
        return self._client._pages(lambda after: _study_calls.episodes(self.name, only_open, after, page))

    async def estimates(self, *, as_of: int | None = None) -> Estimates:
        """What the study knows; or knew after the event `as_of` of its log.

        >>> study = client.study("clinic")
        >>> episode = await study.open("p1")
        >>> view = await episode.stop()
        >>> (await study.estimates()).as_of, (await study.estimates(as_of=1)).as_of
        (3, 1)
        """
        return await self._client._send(_study_calls.estimates(self.name, as_of))

    async def events(self, *, after: int = 0, page: int = 1000) -> AsyncIterator[Event]:
        """The log after the event `after`, up to its end; asked for `page` at a time (up to 10000).

        >>> study = client.study("clinic")
        >>> episode = await study.open("p1")
        >>> view = await episode.stop()
        >>> [event.kind async for event in study.events(after=1)]
        ['opened', 'stopped']
        """
        while events := await self._client._send(_study_calls.events(self.name, after, page)):
            for event in events:
                yield event
            after = events[-1].seq

    async def export_lines(self) -> AsyncIterator[str]:
        """The whole log, one event a line, as `emab audit` and `import_lines` take it.

        It is asked for in pages, so that a connection that breaks costs no more than one of them.

        >>> len([line async for line in client.study("clinic").export_lines()])
        1
        """
        after = 0
        while lines := await self._client._send(_study_calls.lines(self.name, after)):
            for line in lines:
                yield line
            after = _study_calls.seq_of(lines[-1])

    async def export_file(self, path: str | os.PathLike[str]) -> int:
        """Writes the whole log into a file, which appears once it is whole; says how many events it has.

        >>> await client.study("clinic").export_file(folder / "clinic.ndjson")
        1
        """
        count = 0
        part = part_of(path)
        try:
            async with await anyio.open_file(part, "w", encoding="utf-8", newline="\n") as file:
                async for line in self.export_lines():
                    await file.write(line + "\n")
                    count += 1
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return count

    async def import_lines(self, lines: Iterable[Line] | AsyncIterable[Line], *, dry_run: bool = False) -> ImportReport:
        """Takes past episodes in, from which the learner learns at once, or the events of an exported study.

        A line is a dict or its JSON. What was taken before a mistake stays, and to give everything again is
        harmless. Lines from a list are sent again where the connection breaks; those from a generator are
        gone then.

        >>> study = client.study("clinic")
        >>> past = {"id": "p0", "actions": [0], "feedbacks": [1], "costs": [0.2], "rewards": [0, 1]}
        >>> await study.import_lines([past])
        ImportReport(taken=1, repeated=0, dry_run=False, mistakes=())
        >>> await study.import_lines([past], dry_run=True)
        ImportReport(taken=0, repeated=1, dry_run=True, mistakes=())
        """
        return await self._client._send(_study_calls.import_(self.name, dry_run), AsyncUpload(lines))

    async def import_file(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> ImportReport:
        """Takes a file in, as `import_lines` does: newline-delimited JSON, never all of it in memory.

        >>> count = await client.study("clinic").export_file(folder / "clinic.ndjson")
        >>> (await client.study("clinic").import_file(folder / "clinic.ndjson")).repeated
        1
        """
        return await self._client._send(_study_calls.import_(self.name, dry_run), AsyncFileUpload(Path(path)))
