"""Request bodies that are streamed: lines and files, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio

from ._encode import encode

Line = Mapping[str, Any] | str | bytes
CHUNK = 1 << 16

Lines = TypeVar("Lines", bound=Iterable[Line] | AsyncIterable[Line])


class _LineUpload(Generic[Lines]):
    """Lines, packed into chunks: one line per chunk would be slow."""

    def __init__(self, lines: Lines) -> None:
        """Read nothing yet."""
        self._lines = lines
        self._begun = False

    @property
    def repeatable(self) -> bool:
        """Whether the whole body can be sent (again). An iterator yields its lines only once."""
        return not (self._begun and isinstance(self._lines, Iterator | AsyncIterator))

    def _packer(self) -> _Packer:
        self._begun = True
        return _Packer()


class LineUpload(_LineUpload[Iterable[Line]]):
    """Lines from an iterable."""

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the chunks."""
        packer = self._packer()
        for line in self._lines:
            if chunk := packer.add(line):
                yield chunk
        yield packer.rest()


class AsyncLineUpload(_LineUpload[Iterable[Line] | AsyncIterable[Line]]):
    """Lines from an iterable or an asynchronous iterable."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the chunks."""
        packer = self._packer()
        if isinstance(self._lines, AsyncIterable):
            async for line in self._lines:
                if chunk := packer.add(line):
                    yield chunk
        else:
            for line in self._lines:
                if chunk := packer.add(line):
                    yield chunk
        yield packer.rest()


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file, which can always be sent again."""

    path: Path
    repeatable = True

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the chunks."""
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


@dataclass(frozen=True, slots=True)
class AsyncFileUpload:
    """A file, which can always be sent again."""

    path: Path
    repeatable = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the chunks."""
        async with await anyio.Path(self.path).open("rb") as file:
            while chunk := await file.read(CHUNK):
                yield chunk


class _Packer:
    """Collects encoded lines until they fill a chunk."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._number = 0
        self._bytes = 0

    def add(self, line: Line) -> bytes | None:
        """Add a line; return the chunk once it is full."""
        self._number += 1
        self._lines.append(_encoded(line, self._number))
        self._bytes += len(self._lines[-1])
        return self.rest() if self._bytes >= CHUNK else None

    def rest(self) -> bytes:
        """Return the lines added since the last chunk."""
        chunk = b"".join(line + b"\n" for line in self._lines)
        self._lines.clear()
        self._bytes = 0
        return chunk


def _encoded(line: Line, number: int) -> bytes:
    if isinstance(line, str):
        return line.encode()
    if isinstance(line, bytes):
        return line
    return encode(line, f"line {number}: ")
