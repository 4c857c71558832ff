"""Lines and files to send, for the client that is awaited."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from pathlib import Path

import anyio

from ._lines import CHUNK, Line, Packer


class AsyncUpload:
    """Lines to send, from anything that can be gone through, awaited or not; see `Upload`."""

    def __init__(self, lines: Iterable[Line] | AsyncIterable[Line]) -> None:
        """Nothing is taken yet."""
        self._lines = lines
        self._begun = False

    @property
    def repeatable(self) -> bool:
        """Whether all of it can (still) be sent."""
        return not (self._begun and isinstance(self._lines, Iterator | AsyncIterator))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks."""
        self._begun = True
        packer = Packer()
        if isinstance(self._lines, AsyncIterable):
            async for line in self._lines:
                if chunk := packer.add(line):
                    yield chunk
        else:
            for line in self._lines:
                if chunk := packer.add(line):
                    yield chunk
        yield packer.rest()


class AsyncFileUpload:
    """A file to send: it can always be sent again."""

    repeatable = True

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet."""
        self._path = path

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Its chunks."""
        async with await anyio.open_file(self._path, "rb") as file:
            while chunk := await file.read(CHUNK):
                yield chunk
