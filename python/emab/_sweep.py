"""Sweeps: a grid of learner and problem parameters, and the results in one table."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emab import _toml
from emab._device import check_device, warn_of_device
from emab._emab import Sweep, format_interval, save_result
from emab._learner import engine_learners
from emab._optional import require
from emab._problem import ProblemLike, load
from emab._progress import Progress, progress_bar
from emab._result import Curve
from emab._warnings import category

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

SweepLike: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"
"""A sweep argument: the path of a sweep file, or a dictionary with its fields."""

COUNTS = ("cell", "runs", "seed", "episode")
TEXTS = ("learner", "label", "estimator")
SHOWN = 20
"""The number of cells in a repr."""


@dataclass(frozen=True, repr=False, eq=False)
class SweepCell:
    """The result of one learner on one problem of a sweep."""

    number: int
    learner: str
    """The learner as in the sweep; ``curve.label`` has the parameters of this cell."""
    values: dict[str, float | str]
    """The varied parameters and their values, such as ``{"problem.p": 0.2}``."""
    seed: int
    """The seed of the cell: :func:`emab.run` with this seed, problem and learner gives the same numbers."""
    benchmark_value: float
    optimal_value: float | None
    curve: Curve

    @classmethod
    def parse(cls, document: dict[str, Any], runs: int) -> SweepCell:
        """Read one cell from the document of a sweep."""
        return cls(
            number=document["number"],
            learner=document["base"],
            values=dict(document["values"]),
            seed=document["seed"],
            benchmark_value=document["benchmark_value"],
            optimal_value=document["optimal_value"],
            curve=Curve.parse(document["result"], runs),
        )

    def __repr__(self) -> str:
        """Show the cell and its final regret."""
        values = "".join(f", {name} = {value}" for name, value in self.values.items())
        end = format_interval(float(self.curve.regret[-1]), float(self.curve.stderr[-1]), self.curve.runs)
        return f"SweepCell({self.number}, {self.learner!r}{values}, regret {end})"


@dataclass(frozen=True, repr=False, eq=False)
class SweepResult:
    """The results of all cells of a sweep.

    >>> result = emab.sweep({"problem": "resource", "runs": 10, "episodes": 100, "grid": {"problem.p": [0.2, 0.8]}})
    >>> [cell.values for cell in result.cells]
    [{'problem.p': 0.2}, {'problem.p': 0.8}]
    >>> result.to_pandas().groupby("problem.p").regret.max().shape
    (2,)
    """

    seed: int
    runs: int
    episodes: int
    varied: list[str]
    """The names of the varied parameters."""
    cells: list[SweepCell]
    text: str
    """The document of ``emab sweep --json``."""
    csv: str
    """The table of ``emab sweep --out`` as ``sweep.csv``."""
    parquet: bytes = field(repr=False)
    """The table of ``emab sweep --out`` as ``sweep.parquet``."""

    @classmethod
    def of(cls, sweep: Sweep, cells: list[str]) -> SweepResult:
        """Combine all cells of a sweep, in any order."""
        text = sweep.document(cells)
        document = json.loads(text)
        return cls(
            seed=document["seed"],
            runs=document["runs"],
            episodes=document["episodes"],
            varied=document["varied"],
            cells=[SweepCell.parse(cell, document["runs"]) for cell in document["cells"]],
            text=text,
            csv=sweep.csv(cells),
            parquet=bytes(sweep.parquet(cells)),
        )

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write ``sweep.csv`` and ``sweep.parquet`` into a folder, which is created if needed.

        Nothing is written if the folder contains the same tables. Another result of emab there is a
        ``FileExistsError``, and ``force`` replaces it.
        """
        files = [("sweep.csv", self.csv.encode()), ("sweep.parquet", self.parquet)]
        save_result(folder, "sweep", files, force)

    def _columns(self) -> dict[str, Any]:
        """Return the typed columns of the table: one row per cell and checkpoint."""
        rows = list(csv.reader(io.StringIO(self.csv)))
        texts = {name for cell in self.cells for name, value in cell.values.items() if isinstance(value, str)}
        columns: dict[str, Any] = {}
        for name, *values in zip(*rows, strict=True):
            if name in COUNTS:
                columns[name] = np.array([int(value) for value in values], dtype=np.uint64)
            elif name in TEXTS or name in texts:
                columns[name] = np.array([value or None for value in values], dtype=object)
            else:
                columns[name] = np.array([float(value or "nan") for value in values])
        return columns

    def to_pandas(self) -> pd.DataFrame:
        """Return the table: one row per cell and checkpoint, as in ``sweep.csv``."""
        frame: pd.DataFrame = require("pandas", "pandas").DataFrame(self._columns())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the table: one row per cell and checkpoint, as in ``sweep.parquet``."""
        frame: pl.DataFrame = require("polars", "polars").read_parquet(io.BytesIO(self.parquet))
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the table: one row per cell and checkpoint, as in ``sweep.parquet``."""
        table: pa.Table = require("pyarrow.parquet", "arrow").read_table(io.BytesIO(self.parquet))
        return table

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the final regret: lines over one varied parameter, or a map over two; see :func:`emab.plot.sweep`."""
        from emab import plot

        return plot.sweep(self, ax, **options)

    def __repr__(self) -> str:
        """Show the first cells."""
        size = f"{len(self.cells)} cells of {self.runs} runs of {self.episodes} episodes, seed {self.seed}"
        lines = [size, *(f"  {cell!r}" for cell in self.cells[:SHOWN])]
        if len(self.cells) > SHOWN:
            lines.append(f"  … and {len(self.cells) - SHOWN} more; to_pandas() has them")
        return "\n".join(lines)


def sweep(
    sweep: SweepLike,
    *,
    problem: ProblemLike | None = None,
    threads: int = 0,
    device: str = "cpu",
    progress: bool | Progress | None = None,
) -> SweepResult:
    """Run every cell of a sweep: a file of ``emab sweep``, or a dictionary with its fields.

    The numbers are those of ``emab sweep``, bit for bit. In a dictionary ``problem`` may also be a :class:`Problem` or
    a dictionary, and ``learners`` may contain settings such as ``emab.UCB1V()``. The argument ``problem`` replaces the
    problem of the sweep. ``device`` is that of :func:`run`.

    >>> result = emab.sweep({
    ...     "problem": "resource", "learners": ["feedbal", emab.UCB1V()], "runs": 10, "episodes": 100,
    ...     "grid": {"problem.p": [0.2, 0.8], "learner.sigma2": {"from": 0.1, "to": 0.4, "steps": 3, "scale": "log"}},
    ... })
    >>> len(result.cells)  # ucb1v has no sigma2
    8
    """
    check_device(device)
    found = read_sweep(sweep, problem)
    for note in found.sweep.notes:
        kind, message = category(note)
        warnings.warn(message, kind, stacklevel=2)
    with progress_bar(progress, "sweeping") as report:
        cells = found.sweep.run("1/1", threads, report, device=device)
    warn_of_device(found.sweep.device_notices)
    return SweepResult.of(found.sweep, cells)


@dataclass(frozen=True)
class SweepSource:
    """A sweep and its file, which is sent to workers along with the problem."""

    sweep: Sweep
    text: str
    file: str


def read_sweep(sweep: SweepLike, problem: ProblemLike | None) -> SweepSource:
    """Read a sweep and check all its cells."""
    found = None if problem is None else load(problem)
    if isinstance(sweep, Mapping):
        if found is None:
            if "problem" not in sweep:
                raise ValueError("a sweep must have a `problem`: a name, a path, a dictionary, or a Problem")
            found = load(sweep["problem"])
        fields = {**sweep, "problem": found.name}
        if "learners" in sweep:
            fields["learners"] = _texts(sweep["learners"])
        text, file = _toml.write(fields), "<sweep>"
    else:
        text, file = Path(sweep).read_text(encoding="utf-8"), fspath(sweep)
    return SweepSource(Sweep(text, file, found), text, file)


def _texts(learners: Any) -> list[str]:
    """Return the learners as in a sweep file."""
    texts = []
    for learner in engine_learners(learners):
        if not isinstance(learner, str):
            raise TypeError(
                f"`learners`: {learner[0]} is code, and a sweep takes learners that can be written in a file: "
                "pass texts or settings such as emab.UCB1V(), or call emab.run for each problem"
            )
        texts.append(learner)
    return texts
