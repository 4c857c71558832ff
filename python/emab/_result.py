"""Results of many runs, as arrays and data frames."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

NORMAL_95 = 1.959963984540054
"""Standard errors to each side of a 95 % interval."""


@dataclass(frozen=True, repr=False)
class Curve:
    """How one learner fared: cumulative regret and gain at each recorded episode, averaged over the runs."""

    learner: str
    label: str
    parameters: dict[str, float | str]
    episode: npt.NDArray[np.int64]
    regret: Array
    stderr: Array
    gain: Array
    gain_stderr: Array
    regret_optimal: Array
    """Regret against the optimal policy; NaN where that is not known."""
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

    def _last(self) -> tuple[str, float, float]:
        """What it ended with: the regret, or, where that is not known, the gain, and half of the 95 % interval."""
        if np.isnan(self.regret[-1]):
            return "gain", self.gain[-1], NORMAL_95 * self.gain_stderr[-1]
        return "regret", self.regret[-1], NORMAL_95 * self.stderr[-1]

    def __repr__(self) -> str:
        """Say how it ended."""
        last = "{} {:.4g} ± {:.2g}".format(*self._last()) if len(self.regret) else "empty"
        return f"Curve({self.label!r}, {last} at episode {self.episode[-1] if len(self.episode) else 0})"


@dataclass(frozen=True, repr=False)
class Result:
    """What all learners did on one problem.

    >>> result = emab.run("resource", runs=20, episodes=1000)
    >>> result.curve("feedbal").regret.shape == result.curve("feedbal").episode.shape
    True
    """

    problem: str
    seed: int
    runs: int
    episodes: int
    benchmark_value: float | None
    """What the benchmark earns in an episode; not known on a simulator of one's own."""
    optimal_value: float | None
    curves: list[Curve]
    text: str = field(repr=False)
    """The document that ``emab run --json`` prints."""

    @classmethod
    def parse(cls, text: str) -> Result:
        """Read the document that ``emab run --json`` prints."""
        document = json.loads(text)
        return cls(
            problem=document["problem"],
            seed=document["seed"],
            runs=document["runs"],
            episodes=document["episodes"],
            benchmark_value=document["benchmark_value"],
            optimal_value=document["optimal_value"],
            curves=[Curve.parse(learner) for learner in document["learners"]],
            text=text,
        )

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Result:
        """Read what ``emab run --out`` left in a folder."""
        return cls.parse((Path(folder) / "run.json").read_text(encoding="utf-8"))

    @property
    def labels(self) -> list[str]:
        """What the learners are called."""
        return [curve.label for curve in self.curves]

    def curve(self, label: str) -> Curve:
        """Return the curve of a learner, by what it was asked for as, or by its name where that is enough."""
        for find in (lambda c: c.label == label, lambda c: c.learner == label):
            found = [curve for curve in self.curves if find(curve)]
            if len(found) == 1:
                return found[0]
            if found:
                raise KeyError(f"there are {len(found)} learners `{label}`: {', '.join(c.label for c in found)}")
        raise KeyError(f"there is no learner `{label}`; there are {', '.join(self.labels)}")

    def _columns(self) -> dict[str, Any]:
        """The columns of the long table: a row for each learner and recorded episode."""
        columns: dict[str, Any] = {
            "learner": np.repeat(self.labels, [len(curve.episode) for curve in self.curves]).astype(object)
        }
        for name in (
            "episode",
            "regret",
            "stderr",
            "lower",
            "upper",
            "gain",
            "gain_stderr",
            "regret_optimal",
        ):
            columns[name] = np.concatenate([getattr(curve, name) for curve in self.curves])
        return columns

    def to_pandas(self) -> pd.DataFrame:
        """Return a long table: a row for each learner and recorded episode."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return a long table: a row for each learner and recorded episode."""
        import polars as pl

        columns = self._columns()
        return pl.DataFrame({**columns, "learner": columns["learner"].tolist()})

    def to_arrow(self) -> pa.Table:
        """Return a long table: a row for each learner and recorded episode."""
        import pyarrow as pa

        columns = self._columns()
        return pa.table({**columns, "learner": columns["learner"].tolist()})

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the regret of all learners with 95 % bands; see :func:`emab.plot.regret`."""
        from emab import plot

        return plot.regret(self, ax, **options)

    def __repr__(self) -> str:
        """Say how everybody ended."""
        lines = [f"{self.problem}: {self.runs} runs of {self.episodes} episodes, seed {self.seed}"]
        width = max((len(label) for label in self.labels), default=0)
        for curve in self.curves:
            what, value, half = curve._last()
            lines.append(f"  {curve.label:{width}}  {what} {value:10.4g} ± {half:.2g}")
        return "\n".join(lines)
