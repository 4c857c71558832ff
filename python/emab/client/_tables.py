"""Tables of a study as files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .._emab import did_you_mean
from .._optional import require
from ._errors import Unexpected

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TABLES = ("episodes", "decisions", "estimates")
FORMATS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def media_type(name: str, format_: str) -> str:
    """Return the media type of a format; raise an error if there is no such table or format."""
    for what, given, known in (("table", name, TABLES), ("format", format_, tuple(FORMATS))):
        if given not in known:
            near = did_you_mean(str(given), known)
            raise ValueError(f"there is no {what} {given!r}{near}; there are {', '.join(known)}")
    return FORMATS[format_]


def event_number(headers: Mapping[str, str]) -> int:
    """Return the number of the last event that an answer includes."""
    number = headers.get("emab-seq", "")
    if not number.isdigit():
        raise Unexpected("the answer has no header `emab-seq`; does a service of this version listen there?")
    return int(number)


def new_file(path: str | PathLike[str], force: bool) -> Path:
    """Return the path of a file to be written; raise `FileExistsError` if there is one, unless it may be replaced."""
    if Path(path).exists() and not force:
        raise FileExistsError(f"{path} exists; force=True replaces it")
    return Path(path)


def format_of(path: Path, format_: str | None) -> str:
    """Return the format that is named, or that of the file's ending."""
    return path.suffix.removeprefix(".") if format_ is None else format_


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study: the bytes of the file, and the number of the last event that it includes.

    >>> study = client.study("clinic")
    >>> episode = study.open("p1")
    >>> table = study.table("decisions")
    >>> table
    Table(name='decisions', format='parquet', seq=2)
    """

    name: str
    format: str
    seq: int
    data: bytes = field(repr=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a data frame; needs pandas, pyarrow, and the format Parquet.

        >>> study = client.study("clinic")
        >>> episode = study.open("p1")
        >>> study.table("decisions").to_pandas()[["episode", "step", "recommended"]].values.tolist()
        [['p1', 1, 'stop']]
        """
        require("pandas", "pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table; needs pyarrow, and the format Parquet.

        >>> study = client.study("clinic")
        >>> study.table("episodes").to_arrow().num_rows
        0
        """
        if self.format != "parquet":
            raise ValueError(f"the format is {self.format!r}; read the table with format='parquet'")
        return require("pyarrow.parquet", "arrow").read_table(io.BytesIO(self.data))
