"""Results of runs: arrays, data frames, tables and result folders."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from emab._emab import (
    Experiment,
    Problem,
    critical_value,
    did_you_mean,
    distribution_cells,
    format_conditions,
    format_interval,
    format_number,
    group_notes,
    regret_cells,
    report_page,
    runs_table,
    save_result,
    text_table,
)
from emab._optional import require
from emab._single_runs import SingleRuns, of_experiment, read
from emab._tables import Cells, html_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

_QUANTILES = ("q05", "q25", "q50", "q75", "q95")
_COLUMNS = ("regret", "stderr", "gain", "gain_stderr", "regret_optimal", *_QUANTILES)
"""The numeric columns of ``curve.csv``, in order."""


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """The result of one learner: cumulative regret and gain at each checkpoint, averaged over the runs.

    >>> curve = emab.run("parity", runs=20, episodes=100).curve("feedbal")
    >>> curve
    Curve('feedbal', regret 28 ± 0 at episode 100)
    >>> bool(curve.lower[-1] <= curve.regret[-1] <= curve.upper[-1])
    True
    """

    learner: str
    label: str
    parameters: dict[str, float | str]
    episode: npt.NDArray[np.int64]
    regret: Array
    stderr: Array
    gain: Array
    gain_stderr: Array
    regret_optimal: Array
    """Regret against the optimal policy, with the same standard error; NaN if unknown."""
    q05: Array
    """The 5 % quantile of the regret over the runs; NaN if unknown, as in results of earlier versions."""
    q25: Array
    """The lower quartile."""
    q50: Array
    """The median."""
    q75: Array
    """The upper quartile."""
    q95: Array
    """The 95 % quantile."""
    causes: dict[str, float]
    """The final regret by cause: ``early_stop``, ``late_stop``, ``wrong_action``."""
    stuck: float | None
    """The share of stuck runs (docs/results.md); None if unknown."""
    groups: dict[str, float] | None
    """Two groups of runs by final regret (``lower``, ``upper``, ``upper_share``); None if there is one group."""
    runs: int
    steps: int
    seconds: float

    @property
    def lower(self) -> Array:
        """The lower end of the 95 % interval of the regret."""
        return self.regret - critical_value(self.runs) * self.stderr

    @property
    def upper(self) -> Array:
        """The upper end of the 95 % interval of the regret."""
        return self.regret + critical_value(self.runs) * self.stderr

    @classmethod
    def parse(cls, document: dict[str, Any], runs: int) -> Curve:
        """Read one learner from a result document."""
        points = document["curve"]

        def column(name: str) -> Array:
            values = [point.get(name) for point in points]
            return np.array([np.nan if v is None else v for v in values], dtype=np.float64)

        def quantile(name: str) -> Array:
            values = [(point.get("quantiles") or {}).get(name, np.nan) for point in points]
            return np.array(values, dtype=np.float64)

        return cls(
            learner=document["learner"],
            label=document["label"],
            parameters=document["parameters"],
            episode=np.array([point["episode"] for point in points], dtype=np.int64),
            regret=column("regret"),
            stderr=column("stderr"),
            gain=column("gain"),
            gain_stderr=column("gain_stderr"),
            regret_optimal=column("regret_optimal"),
            **{name: quantile(name) for name in _QUANTILES},
            causes=document["causes"],
            stuck=document.get("stuck"),
            groups=document.get("groups"),
            runs=runs,
            steps=document["steps"],
            seconds=document["seconds"],
        )

    def has_regret(self) -> bool:
        """Return whether regret is known. On a simulator only the gain is."""
        return not bool(np.isnan(self.regret).all())

    def _main(self) -> tuple[str, Array, Array]:
        """Return name, mean and standard error of the main quantity: the regret or, if unknown, the gain."""
        return ("regret", self.regret, self.stderr) if self.has_regret() else ("gain", self.gain, self.gain_stderr)

    def __repr__(self) -> str:
        """Show the final value."""
        name, mean, stderr = self._main()
        end = format_interval(float(mean[-1]), float(stderr[-1]), self.runs)
        return f"Curve({self.label!r}, {name} {end} at episode {self.episode[-1]})"

    def _repr_html_(self) -> str:
        """Show some checkpoints in a notebook."""
        name, mean, stderr = self._main()
        shown = np.unique(np.linspace(0, len(self.episode) - 1, 8).round().astype(int))
        rows = [
            [
                format_number(float(self.episode[i])),
                format_interval(float(mean[i]), float(stderr[i]), self.runs),
                format_number(float(self.gain[i] / self.episode[i])),
            ]
            for i in shown
        ]
        return html_table(["episode", f"{name} (95 %)", "gain/episode"], rows, title=self.label)


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The results of all learners on one problem.

    >>> result = emab.run("parity", ["feedbal", "random"], runs=20, episodes=1000)
    >>> result
    parity: 20 runs of 1000 episodes, seed 1; the benchmark earns 7 an episode
     learner   regret (95 %)   by early stop   late stop   wrong action   gain/episode
    ───────────────────────────────────────────────────────────────────────────────────
     feedbal          28 ± 0              19           0              9         6.9720
     random       5,697 ± 52           3,651           0          2,046         1.3027
    Quantiles of the final regret over the 20 runs:
     learner       5 %      25 %    median      75 %      95 %   stuck runs (95 %)
    ─────────────────────────────────────────────────────────────────────────────────
     feedbal        28        28        28        28        28   0.0 % (0.0 to 16.8)
     random    5,535.6   5,644.5   5,688.5   5,751.5   5,907.3   0.0 % (0.0 to 16.8)
    >>> result.curve("feedbal").regret.shape == result.curve("feedbal").episode.shape
    True
    """

    problem: str
    seed: int
    runs: int
    episodes: int
    conditions: str
    """The conditions of the runs, as ``emab run --condition`` takes them; may be empty."""
    benchmark_value: float | None
    """The expected gain of the benchmark per episode; None on a simulator."""
    benchmark_stderr: float | None
    """Its standard error; 0 if the value is exact."""
    optimal_value: float | None
    curves: list[Curve]
    text: str = field(repr=False)
    """The document of ``emab run --json``."""
    problem_file: Problem | None = field(default=None, repr=False)
    """The problem, if known."""
    _single_runs: list[SingleRuns] | Path | None = field(default=None, repr=False)
    """The single runs, or the file that has them."""

    @classmethod
    def of_experiment(cls, experiment: Experiment, problem: Problem) -> Result:
        """Return the result of a finished experiment."""
        result = cls.parse(experiment.document(), problem)
        return replace(result, _single_runs=of_experiment(experiment, result.labels))

    @classmethod
    def parse(cls, text: str, problem: Problem | None = None) -> Result:
        """Read the document of ``emab run --json``; ``problem`` is its problem, if known."""
        document = json.loads(text)
        return cls(
            problem=document["problem"],
            seed=document["seed"],
            runs=document["runs"],
            episodes=document["episodes"],
            conditions=format_conditions(json.dumps(document.get("conditions", {}))),
            benchmark_value=document["benchmark_value"],
            benchmark_stderr=document["benchmark_stderr"],
            optimal_value=document["optimal_value"],
            curves=[Curve.parse(learner, document["runs"]) for learner in document["learners"]],
            text=text,
            problem_file=problem,
        )

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Result:
        """Read a result folder, written by :meth:`save` or ``emab run --out``."""
        problem = Path(folder) / "problem.json"
        found = None
        if problem.exists():
            found = Problem.from_json(problem.read_text(encoding="utf-8"), str(problem))
        result = cls.parse((Path(folder) / "run.json").read_text(encoding="utf-8"), found)
        runs = Path(folder) / "runs.csv"
        return replace(result, _single_runs=runs) if runs.exists() else result

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write a result folder as ``emab run --out`` does, for :meth:`read` and ``emab plot``.

        It contains ``run.json``, ``curve.csv`` and, where they are known, ``runs.csv``, ``runs.parquet`` and
        ``problem.json``. Nothing is written if the folder contains the same result. Another result of emab there is a
        ``FileExistsError``, and ``force`` replaces it.

        >>> import tempfile
        >>> result = emab.run("parity", runs=20, episodes=100)
        >>> folder = tempfile.mkdtemp()
        >>> result.save(folder)
        >>> emab.Result.read(folder).text == result.text
        True
        """
        # Bytes, so that line ends are the same on every system.
        files = {"run.json": self.text.encode(), "curve.csv": self._csv().encode()}
        if self.problem_file is not None:
            files["problem.json"] = self.problem_file.to_json().encode()
        if (runs := self._all_single_runs()) is not None:
            arrays = [(r.run, r.regret, r.gain, r.stuck) for r in runs]
            for ending in ("csv", "parquet"):
                files[f"runs.{ending}"] = runs_table(ending, self.labels, runs[0].episode.tolist(), arrays)
        save_result(folder, "run", list(files.items()), force)

    def _all_single_runs(self) -> list[SingleRuns] | None:
        return read(self._single_runs) if isinstance(self._single_runs, Path) else self._single_runs

    def single_runs(self, label: str) -> SingleRuns:
        """Return regret and gain of every run of a learner, by its label or its name.

        >>> result = emab.run("feedback-gap", emab.FeedBAL(sigma2=0.0025, delta=0.01), runs=20, episodes=1000)
        >>> result.single_runs("feedbal").final_regret.shape
        (20,)
        """
        if (runs := self._all_single_runs()) is None:
            raise ValueError("this result has no single runs: it comes from a simulator or an earlier version")
        return runs[self.curves.index(self.curve(label))]

    def report(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write one HTML page as ``emab report`` does; ``force`` replaces a file with another content.

        The page has no regret by step and state, which only ``emab run --out`` records.

        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/parity.html"
        >>> emab.run("parity", runs=20, episodes=100).report(path)
        """
        target = Path(path)
        if target.suffix != ".html":
            raise ValueError(f"the file of a report must end in .html, got {target}")
        if self.benchmark_value is None:
            raise ValueError("a report needs the regret, which is unknown on a simulator; `Result.plot` draws the gain")
        runs = self._all_single_runs()
        recorded = [] if runs is None else runs[0].episode.tolist()
        page = report_page(self.text, self.problem_file, recorded).encode()
        if target.exists() and not force and target.read_bytes() != page:
            raise FileExistsError(f"{target} exists, and is not this report; force=True replaces it")
        target.write_bytes(page)

    @property
    def labels(self) -> list[str]:
        """The labels of the learners."""
        return [curve.label for curve in self.curves]

    def curve(self, label: str) -> Curve:
        """Return the curve of a learner by its label, or by its name if that is unique."""
        if not isinstance(label, str):
            raise TypeError(f"`label` must be the label of a learner, one of {', '.join(self.labels)}; got {label!r}")
        for attribute in ("label", "learner"):
            found = [curve for curve in self.curves if getattr(curve, attribute) == label]
            if len(found) == 1:
                return found[0]
            if found:
                raise KeyError(f"there are {len(found)} learners `{label}`: {', '.join(c.label for c in found)}")
        near = did_you_mean(label, self.labels)
        raise KeyError(f"there is no learner `{label}`{near}; there are {', '.join(self.labels)}")

    def _columns(self) -> dict[str, Any]:
        """Return the columns of ``curve.csv``, and the interval."""
        labels = [curve.label for curve in self.curves for _ in curve.episode]
        columns: dict[str, Any] = {"learner": labels}
        for name in ("episode", *_COLUMNS, "lower", "upper"):
            columns[name] = np.concatenate([getattr(curve, name) for curve in self.curves])
        if self.conditions:
            columns["conditions"] = [self.conditions] * len(labels)
        return columns

    def _csv(self) -> str:
        """Return ``curve.csv``, byte-identical to that of the command."""
        conditions = f',"{self.conditions}"' if self.conditions else ""
        lines = ["learner,episode," + ",".join(_COLUMNS) + (",conditions" if conditions else "")]
        for curve in self.curves:
            label = '"' + curve.label.replace('"', '""') + '"'
            numbers = zip(*(getattr(curve, name) for name in _COLUMNS), strict=True)
            for episode, row in zip(curve.episode, numbers, strict=True):
                lines.append(f"{label},{episode}," + ",".join(_plain(value) for value in row) + conditions)
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> pd.DataFrame:
        """Return a long table: the rows of ``curve.csv``, with the 95 % interval in ``lower`` and ``upper``.

        >>> emab.run("parity", runs=2, episodes=10).to_pandas().columns.tolist()[:4]
        ['learner', 'episode', 'regret', 'stderr']
        """
        frame: pd.DataFrame = require("pandas", "pandas").DataFrame(self._columns())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the same table as :meth:`to_pandas`; unknown values are null.

        >>> emab.run("parity", runs=2, episodes=10).to_polars().schema["episode"]
        Int64
        """
        frame: pl.DataFrame = require("polars", "polars").DataFrame(self._columns(), nan_to_null=True)
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the same table as :meth:`to_pandas`; unknown values are null.

        >>> emab.run("parity", runs=2, episodes=10).to_arrow().schema.field("regret").type
        DataType(double)
        """
        arrow = require("pyarrow", "arrow")
        # `from_pandas` makes NaN null.
        table: pa.Table = arrow.table({k: arrow.array(v, from_pandas=True) for k, v in self._columns().items()})
        return table

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the regret of all learners with 95 % bands; see :func:`emab.plot.regret`.

        Without regret, on a simulator, plot the gain; see :func:`emab.plot.gain`.
        """
        from emab import plot

        draw = plot.gain if self.benchmark_value is None else plot.regret
        return draw(self, ax, **options)

    def _heading(self) -> str:
        """Return the heading that the command prints."""
        text = f"{self.problem}: {self.runs} runs of {self.episodes} episodes, seed {self.seed}"
        if self.benchmark_value is None:
            return text
        value = format_number(self.benchmark_value)
        if self.benchmark_stderr:
            value = format_interval(self.benchmark_value, self.benchmark_stderr, 20_000)
        text += f"; the benchmark earns {value} an episode"
        if self._optimum_differs() and self.optimal_value is not None:
            text += f", the optimal policy {format_number(self.optimal_value)}: regret may be negative"
        return text

    def _optimum_differs(self) -> bool:
        """Return whether regret against the optimal policy differs from that against the benchmark."""
        pairs = ((curve.regret_optimal[-1], curve.regret[-1]) for curve in self.curves)
        return any(not np.isnan(optimal) and optimal != regret for optimal, regret in pairs)

    def _cells(self) -> Cells:
        """Return the table that the command prints; without regret, the gain only."""
        if self.benchmark_value is not None:
            return regret_cells(self.text)
        rows = []
        for curve in self.curves:
            gain, stderr = float(curve.gain[-1]), float(curve.gain_stderr[-1])
            total = format_interval(gain, stderr, self.runs)
            each = format_number(gain / curve.episode[-1])
            rows.append([curve.label, *(["", ""] if np.isnan(gain) else [total, each])])
        return ["learner", "gain (95 %)", "gain/episode"], rows

    def __repr__(self) -> str:
        """Show the table that the command prints."""
        conditions = f"conditions: {self.conditions}\n" if self.conditions else ""
        parts = [self._heading(), conditions + text_table(*self._cells())]
        if self.benchmark_value is not None:
            parts += group_notes(self.text)
            if (cells := distribution_cells(self.text)) is not None:
                parts += [f"Quantiles of the final regret over the {self.runs} runs:", text_table(*cells)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        header, rows = self._cells()
        note = f"conditions: {self.conditions}" if self.conditions else ""
        return html_table(header, rows, title=self._heading(), note=note)


def _plain(value: float) -> str:
    """Return a number as the command writes it to CSV: the shortest exact one, without an exponent."""
    return "" if np.isnan(value) else np.format_float_positional(value, trim="-")
