"""Results of many runs: arrays, data frames, tables for people, and folders."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from emab._emab import Problem
from emab._extra import need
from emab._show import NORMAL_95, confidence, decimals, fixed, html_table, number, text_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

_NUMBERS = ("regret", "stderr", "gain", "gain_stderr", "regret_optimal")
"""The columns of numbers in ``curve.csv``, in their order."""


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """How one learner fared: cumulative regret and gain at each recorded episode, averaged over the runs.

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
    """Regret against the optimal policy, with the same error; NaN where that is not known."""
    causes: dict[str, float]
    """Where the regret at the last episode came from: ``early_stop``, ``late_stop``, ``wrong_action``."""
    steps: int
    seconds: float

    @property
    def lower(self) -> Array:
        """The lower end of the 95 % interval of the regret."""
        return self.regret - NORMAL_95 * self.stderr

    @property
    def upper(self) -> Array:
        """The upper end of the 95 % interval of the regret."""
        return self.regret + NORMAL_95 * self.stderr

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Curve:
        """Read one learner of a result document."""
        points = document["curve"]

        def column(name: str) -> Array:
            values = [point.get(name) for point in points]
            return np.array([np.nan if v is None else v for v in values], dtype=np.float64)

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
            causes=document["causes"],
            steps=document["steps"],
            seconds=document["seconds"],
        )

    def has_regret(self) -> bool:
        """Whether regret is known; on a simulator of one's own there is only the gain."""
        return not bool(np.isnan(self.regret).all())

    def _main(self) -> tuple[str, Array, Array]:
        """What matters most, with its standard error: the regret or, where that is not known, the gain."""
        return ("regret", self.regret, self.stderr) if self.has_regret() else ("gain", self.gain, self.gain_stderr)

    def __repr__(self) -> str:
        """Say how it ended."""
        what, mean, stderr = self._main()
        ended = confidence(float(mean[-1]), float(stderr[-1]))
        return f"Curve({self.label!r}, {what} {ended} at episode {self.episode[-1]})"

    def _repr_html_(self) -> str:
        """Show it in a notebook, at a few episodes."""
        what, mean, stderr = self._main()
        shown = np.unique(np.linspace(0, len(self.episode) - 1, 8).round().astype(int))
        rows = [
            [
                number(float(self.episode[i])),
                confidence(float(mean[i]), float(stderr[i])),
                number(float(self.gain[i] / self.episode[i])),
            ]
            for i in shown
        ]
        return html_table(["episode", f"{what} (95 %)", "gain/episode"], rows, title=self.label)


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What all learners did on one problem.

    >>> result = emab.run("parity", ["feedbal", "random"], runs=20, episodes=1000)
    >>> result
    parity: 20 runs of 1000 episodes, seed 1; the benchmark earns 7 an episode
     learner   regret (95 %)   by early stop   late stop   wrong action   gain/episode
    ───────────────────────────────────────────────────────────────────────────────────
     feedbal          28 ± 0              19           0              9         6.9720
     random       5,697 ± 49           3,651           0          2,046         1.3027
    >>> result.curve("feedbal").regret.shape == result.curve("feedbal").episode.shape
    True
    """

    problem: str
    seed: int
    runs: int
    episodes: int
    conditions: str
    """What it was played under, as ``emab run --condition`` takes it; empty where there was nothing."""
    benchmark_value: float | None
    """What the benchmark earns in an episode; not known on a simulator of one's own."""
    benchmark_stderr: float | None
    """Its standard error; 0 where the value was computed."""
    optimal_value: float | None
    curves: list[Curve]
    text: str = field(repr=False)
    """The document that ``emab run --json`` prints."""
    problem_file: Problem | None = field(default=None, repr=False)
    """The problem itself, where it is known."""

    @classmethod
    def parse(cls, text: str, problem: Problem | None = None) -> Result:
        """Read the document that ``emab run --json`` prints; ``problem`` is what it is about, where that is known."""
        document = json.loads(text)
        return cls(
            problem=document["problem"],
            seed=document["seed"],
            runs=document["runs"],
            episodes=document["episodes"],
            conditions=_words(document.get("conditions", {})),
            benchmark_value=document["benchmark_value"],
            benchmark_stderr=document["benchmark_stderr"],
            optimal_value=document["optimal_value"],
            curves=[Curve.parse(learner) for learner in document["learners"]],
            text=text,
            problem_file=problem,
        )

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Result:
        """Read what :meth:`save` or ``emab run --out`` left in a folder."""
        problem = Path(folder) / "problem.json"
        found = None
        if problem.exists():
            found = Problem.from_json(problem.read_text(encoding="utf-8"), str(problem))
        return cls.parse((Path(folder) / "run.json").read_text(encoding="utf-8"), found)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the files of ``emab run --out`` into a folder: ``emab plot`` draws it, and :meth:`read` reads it.

        These are ``run.json``, ``curve.csv`` and, where the problem is known, ``problem.json``.

        >>> import tempfile
        >>> result = emab.run("parity", runs=20, episodes=100)
        >>> folder = tempfile.mkdtemp()
        >>> result.save(folder)
        >>> emab.Result.read(folder).text == result.text
        True
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        files = {"run.json": self.text, "curve.csv": self._csv()}
        if self.problem_file is not None:
            files["problem.json"] = self.problem_file.to_json()
        else:
            # That of another result must not pass for this one's.
            (path / "problem.json").unlink(missing_ok=True)
        for name, content in files.items():
            # The same bytes on every system.
            (path / name).write_bytes(content.encode())

    @property
    def labels(self) -> list[str]:
        """What the learners are called."""
        return [curve.label for curve in self.curves]

    def curve(self, label: str) -> Curve:
        """Return the curve of a learner, by what it was asked for as, or by its name where that is enough."""
        for called in ("label", "learner"):
            found = [curve for curve in self.curves if getattr(curve, called) == label]
            if len(found) == 1:
                return found[0]
            if found:
                raise KeyError(f"there are {len(found)} learners `{label}`: {', '.join(c.label for c in found)}")
        raise KeyError(f"there is no learner `{label}`; there are {', '.join(self.labels)}")

    def _columns(self) -> dict[str, Any]:
        """The columns of the long table: those of ``curve.csv``, and the band."""
        labels = [curve.label for curve in self.curves for _ in curve.episode]
        columns: dict[str, Any] = {"learner": labels}
        for name in ("episode", *_NUMBERS, "lower", "upper"):
            columns[name] = np.concatenate([getattr(curve, name) for curve in self.curves])
        if self.conditions:
            columns["conditions"] = [self.conditions] * len(labels)
        return columns

    def _csv(self) -> str:
        """The very bytes of the command's ``curve.csv``."""
        under = f',"{self.conditions}"' if self.conditions else ""
        lines = ["learner,episode," + ",".join(_NUMBERS) + (",conditions" if under else "")]
        for curve in self.curves:
            label = '"' + curve.label.replace('"', '""') + '"'
            numbers = zip(*(getattr(curve, name) for name in _NUMBERS), strict=True)
            for episode, row in zip(curve.episode, numbers, strict=True):
                lines.append(f"{label},{episode}," + ",".join(_plain(value) for value in row) + under)
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> pd.DataFrame:
        """Return a long table: the rows of ``curve.csv``, and ``lower`` and ``upper``, the band of 95 %.

        >>> emab.run("parity", runs=2, episodes=10).to_pandas().columns.tolist()[:4]
        ['learner', 'episode', 'regret', 'stderr']
        """
        frame: pd.DataFrame = need("pandas", "pandas").DataFrame(self._columns())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the same table as :meth:`to_pandas`; what is not known is null.

        >>> emab.run("parity", runs=2, episodes=10).to_polars().schema["episode"]
        Int64
        """
        frame: pl.DataFrame = need("polars", "polars").DataFrame(self._columns(), nan_to_null=True)
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the same table as :meth:`to_pandas`; what is not known is null.

        >>> emab.run("parity", runs=2, episodes=10).to_arrow().schema.field("regret").type
        DataType(double)
        """
        arrow = need("pyarrow", "arrow")
        # `from_pandas` is Arrow's word for taking NaN as null.
        table: pa.Table = arrow.table({k: arrow.array(v, from_pandas=True) for k, v in self._columns().items()})
        return table

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the regret of all learners with 95 % bands; see :func:`emab.plot.regret`.

        On a simulator of one's own, where there is no regret, the gain; see :func:`emab.plot.gain`.
        """
        from emab import plot

        draw = plot.gain if self.benchmark_value is None else plot.regret
        return draw(self, ax, **options)

    def _heading(self) -> str:
        """What was run, as the command says it."""
        text = f"{self.problem}: {self.runs} runs of {self.episodes} episodes, seed {self.seed}"
        if self.benchmark_value is None:
            return text
        value = number(self.benchmark_value)
        if self.benchmark_stderr:
            value = confidence(self.benchmark_value, self.benchmark_stderr)
        text += f"; the benchmark earns {value} an episode"
        if self._optimum_is_another() and self.optimal_value is not None:
            text += f", the optimal policy {number(self.optimal_value)}: regret may be negative"
        return text

    def _optimum_is_another(self) -> bool:
        """Whether regret against the optimal policy is another number."""
        pairs = ((curve.regret_optimal[-1], curve.regret[-1]) for curve in self.curves)
        return any(not np.isnan(optimal) and optimal != regret for optimal, regret in pairs)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows of the command's table; where regret is not known, the gain alone."""
        two = self._optimum_is_another()

        def shown(mean: float, stderr: float) -> str:
            if np.isnan(mean):
                return ""
            return confidence(mean, stderr) if self.runs > 1 else f"{number(mean)} (one run)"

        if self.benchmark_value is None:
            ends = [(c, float(c.gain[-1]), float(c.gain_stderr[-1])) for c in self.curves]
            rows = [[c.label, shown(gain, stderr), number(gain / c.episode[-1])] for c, gain, stderr in ends]
            return ["learner", "gain (95 %)", "gain/episode"], rows
        rows = []
        for curve in self.curves:
            stderr = float(curve.stderr[-1])
            places = decimals(stderr)
            row = [curve.label, shown(float(curve.regret[-1]), stderr)]
            if two:
                row.append(shown(float(curve.regret_optimal[-1]), stderr))
            for cause in ("early_stop", "late_stop", "wrong_action"):
                share = curve.causes[cause]
                row.append(number(share) if places is None else fixed(share, places))
            rows.append([*row, number(float(curve.gain[-1] / curve.episode[-1]))])
        against = ["vs optimum"] if two else []
        return [
            "learner",
            "regret (95 %)",
            *against,
            "by early stop",
            "late stop",
            "wrong action",
            "gain/episode",
        ], rows

    def __repr__(self) -> str:
        """Say how everybody ended, as the command does."""
        under = f"conditions: {self.conditions}\n" if self.conditions else ""
        return f"{self._heading()}\n{under}{text_table(*self._cells())}"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        header, rows = self._cells()
        note = f"conditions: {self.conditions}" if self.conditions else ""
        return html_table(header, rows, title=self._heading(), note=note)


def _plain(value: float) -> str:
    """A number as the command writes it to CSV: the shortest that reads back, never with an exponent."""
    return "" if np.isnan(value) else np.format_float_positional(value, trim="-")


def _words(conditions: dict[str, Any]) -> str:
    """Conditions in the words of the command line."""
    words = []
    for name, told in conditions.items():
        if name == "drift":
            for drift in told:
                when = drift["at"] if "at" in drift else f"{drift['from']}-{drift['until']}"
                words.append(f"drift={drift['parameter']}:{_plain(drift['to'])}@{when}")
        elif isinstance(told, dict):
            kind, value = told.values()
            words.append(f"{name}={kind}:{_plain(value)}")
        else:
            words.append(f"{name}={_plain(told)}")
    return " ".join(words)
