"""Grids of settings: every combination of learner and problem parameters, and one table of them all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emab import _toml
from emab._emab import Sweep
from emab._extra import need
from emab._learner import asked
from emab._problem import ProblemLike, load
from emab._progress import Watch, watched
from emab._result import Curve
from emab._show import NORMAL_95

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SweepLike: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"
"""What stands for a sweep in a call: the path of a sweep file, or a dictionary with its fields."""

COUNTS = ("cell", "runs", "seed", "episode")
TEXTS = ("learner", "label", "estimator")
SHOWN = 20
"""Cells in a repr."""


@dataclass(frozen=True, repr=False, eq=False)
class SweepCell:
    """One learner on one problem of a sweep, and how it fared."""

    number: int
    learner: str
    """The learner as the sweep names it; ``curve.label`` has the parameters of this cell."""
    values: dict[str, float | str]
    """What was varied, and the value here, such as ``{"problem.p": 0.2}``."""
    seed: int
    """The cell's own: :func:`emab.run` with it, this problem and this learner gives the same numbers."""
    benchmark_value: float
    optimal_value: float | None
    curve: Curve

    @classmethod
    def parse(cls, document: dict[str, Any]) -> SweepCell:
        """Read one cell of a sweep's document."""
        return cls(
            number=document["number"],
            learner=document["base"],
            values=dict(document["values"]),
            seed=document["seed"],
            benchmark_value=document["benchmark_value"],
            optimal_value=document["optimal_value"],
            curve=Curve.parse(document["result"]),
        )

    def __repr__(self) -> str:
        """Say which it is and how it ended."""
        values = "".join(f", {name} = {value}" for name, value in self.values.items())
        end = f"regret {self.curve.regret[-1]:.4g} ± {NORMAL_95 * self.curve.stderr[-1]:.2g}"
        return f"SweepCell({self.number}, {self.learner!r}{values}, {end})"


@dataclass(frozen=True, repr=False, eq=False)
class SweepResult:
    """What became of all cells of a sweep.

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
    """The names of all that varies."""
    cells: list[SweepCell]
    text: str
    """The document that ``emab sweep --json`` prints."""
    csv: str
    """The table that ``emab sweep --out`` leaves as ``sweep.csv``."""
    parquet: bytes = field(repr=False)
    """The table that ``emab sweep --out`` leaves as ``sweep.parquet``."""

    @classmethod
    def of(cls, sweep: Sweep, cells: list[str]) -> SweepResult:
        """Put together all cells of a sweep, in any order."""
        text = sweep.document(cells)
        document = json.loads(text)
        return cls(
            seed=document["seed"],
            runs=document["runs"],
            episodes=document["episodes"],
            varied=document["varied"],
            cells=[SweepCell.parse(cell) for cell in document["cells"]],
            text=text,
            csv=sweep.csv(cells),
            parquet=bytes(sweep.parquet(cells)),
        )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write ``sweep.csv`` and ``sweep.parquet`` into a folder, which is made if need be."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "sweep.csv").write_bytes(self.csv.encode())
        (place / "sweep.parquet").write_bytes(self.parquet)

    def _columns(self) -> dict[str, Any]:
        """The columns of the table, with its types: a row for each cell and checkpoint."""
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
        """Return the table: a row for each cell and checkpoint, as in ``sweep.csv``."""
        frame: pd.DataFrame = need("pandas", "pandas").DataFrame(self._columns())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the table: a row for each cell and checkpoint, as in ``sweep.parquet``."""
        frame: pl.DataFrame = need("polars", "polars").read_parquet(io.BytesIO(self.parquet))
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the table: a row for each cell and checkpoint, as in ``sweep.parquet``."""
        table: pa.Table = need("pyarrow.parquet", "arrow").read_table(io.BytesIO(self.parquet))
        return table

    def __repr__(self) -> str:
        """Say how the first cells ended."""
        many = f"{len(self.cells)} cells of {self.runs} runs of {self.episodes} episodes, seed {self.seed}"
        lines = [many, *(f"  {cell!r}" for cell in self.cells[:SHOWN])]
        if len(self.cells) > SHOWN:
            lines.append(f"  … and {len(self.cells) - SHOWN} more; to_pandas() has them")
        return "\n".join(lines)


def sweep(
    sweep: SweepLike,
    *,
    problem: ProblemLike | None = None,
    threads: int = 0,
    progress: bool | Watch | None = None,
) -> SweepResult:
    """Run every cell of a sweep: a file as ``emab sweep`` takes it, or a dictionary with its fields.

    The numbers are those of ``emab sweep``, bit for bit. In a dictionary ``problem`` may also be a :class:`Problem` or
    a dictionary, and ``learners`` may have settings such as ``emab.UCB1V()``. ``problem`` beside it takes the place of
    the one that the sweep names.

    >>> result = emab.sweep({
    ...     "problem": "resource", "learners": ["feedbal", emab.UCB1V()], "runs": 10, "episodes": 100,
    ...     "grid": {"problem.p": [0.2, 0.8], "learner.sigma2": {"from": 0.1, "to": 0.4, "steps": 3, "scale": "log"}},
    ... })
    >>> len(result.cells)  # ucb1v has no sigma2
    8
    """
    stated = state(sweep, problem)
    with watched(progress, "sweeping") as watch:
        cells = stated.sweep.run("1/1", threads, watch)
    return SweepResult.of(stated.sweep, cells)


@dataclass(frozen=True)
class Stated:
    """A sweep, and the text that states it on another machine, where its problem is sent along."""

    sweep: Sweep
    text: str
    file: str


def state(sweep: SweepLike, problem: ProblemLike | None) -> Stated:
    """Read a sweep, and check all its cells."""
    found = None if problem is None else load(problem)
    if isinstance(sweep, Mapping):
        if found is None:
            if "problem" not in sweep:
                raise ValueError("a sweep must have a `problem`: a name, a path, a dictionary, or a Problem")
            found = load(sweep["problem"])
        said = {**sweep, "problem": found.name}
        if "learners" in sweep:
            said["learners"] = _lines(sweep["learners"])
        text, file = _toml.write(said), "<sweep>"
    else:
        text, file = Path(sweep).read_text(encoding="utf-8"), fspath(sweep)
    return Stated(Sweep(text, file, found), text, file)


def _lines(learners: Any) -> list[str]:
    """The learners of a sweep as a file has them."""
    lines = []
    for learner in asked(learners):
        if not isinstance(learner, str):
            raise TypeError(
                f"`learners`: {learner[0]} is code, and a sweep varies what can be written in a file: "
                "give lines or settings such as emab.UCB1V(), or use emab.run for each"
            )
        lines.append(learner)
    return lines
