"""Lines to send, in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from ._json import encode

Line = Mapping[str, Any] | str | bytes
CHUNK = 1 << 16


class Packer:
    """Packs lines into chunks: one line a chunk would be slow."""

    def __init__(self) -> None:
        """Empty."""
        self._lines: list[bytes] = []
        self._number = 0
        self._bytes = 0

    def add(self, line: Line) -> bytes | None:
        """Takes one more line; a chunk, once it is full."""
        self._number += 1
        self._lines.append(_encoded(line, self._number))
        self._bytes += len(self._lines[-1])
        return self.rest() if self._bytes >= CHUNK else None

    def rest(self) -> bytes:
        """What is left."""
        chunk = b"".join(line + b"\n" for line in self._lines)
        self._lines.clear()
        self._bytes = 0
        return chunk


class Chunks(Protocol):
    """A body that is streamed in chunks."""

    @property
    def repeatable(self) -> bool:
        """Whether all of it can (still) be sent."""

    def __iter__(self) -> Iterator[bytes]:
        """The chunks."""


class Upload:
    """Lines to send; those of something that can be gone through once only cannot be sent again."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """Nothing is taken yet."""
        self._lines = lines
        self._begun = False

    @property
    def repeatable(self) -> bool:
        """Whether all of it can (still) be sent."""
        return not (self._begun and isinstance(self._lines, Iterator))

    def __iter__(self) -> Iterator[bytes]:
        """The chunks."""
        self._begun = True
        packer = Packer()
        for line in self._lines:
            if chunk := packer.add(line):
                yield chunk
        yield packer.rest()


def _encoded(line: Line, number: int) -> bytes:
    if isinstance(line, str):
        return line.encode()
    if isinstance(line, bytes):
        return line
    return encode(line, f"line {number}: ")
