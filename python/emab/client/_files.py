"""Files that are sent, and files that are written."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from ._lines import CHUNK


class FileUpload:
    """A file to send: it can always be sent again."""

    repeatable = True

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet."""
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        """Its chunks."""
        with self._path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


def part_of(path: str | os.PathLike[str]) -> Path:
    """Where a file is written before it is whole: beside it, so that it can be moved at once."""
    path = Path(path)
    return path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
