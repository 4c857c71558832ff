"""Single runs of a learner, as arrays."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from emab._emab import Experiment
from emab._optional import require

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class SingleRuns:
    """Regret and gain of every run of a learner, at the recorded episodes.

    >>> result = emab.run("resource", runs=20, episodes=1000, record_at=[100])
    >>> runs = result.single_runs("feedbal")
    >>> runs
    SingleRuns('feedbal', 20 runs, episodes 100, 1000)
    >>> runs.regret.shape
    (20, 2)
    >>> bool(np.median(runs.final_regret) == result.curve("feedbal").q50[-1])
    True
    """

    label: str
    run: npt.NDArray[np.uint64]
    """The number of each run, from 0."""
    episode: npt.NDArray[np.uint64]
    """The recorded episodes; the last one is the end of a run."""
    regret: npt.NDArray[np.float64]
    """Cumulative regret, by run and recorded episode."""
    gain: npt.NDArray[np.float64]
    """Cumulative realised gain, by run and recorded episode."""
    stuck: npt.NDArray[np.bool_] | None
    """Whether each run is stuck; None if that is unknown."""

    @property
    def final_regret(self) -> npt.NDArray[np.float64]:
        """The regret of each run at its end."""
        return self.regret[:, -1]

    @property
    def final_gain(self) -> npt.NDArray[np.float64]:
        """The gain of each run at its end."""
        return self.gain[:, -1]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of ``runs.csv``: one per run and recorded episode."""
        runs, episodes = self.regret.shape
        frame: pd.DataFrame = require("pandas", "pandas").DataFrame(
            {
                "learner": self.label,
                "run": np.repeat(self.run, episodes),
                "episode": np.tile(self.episode, runs),
                "regret": self.regret.ravel(),
                "gain": self.gain.ravel(),
            }
        )
        return frame

    def __repr__(self) -> str:
        """Show the size."""
        return f"SingleRuns({self.label!r}, {len(self.run)} runs, episodes {', '.join(map(str, self.episode))})"


def of_experiment(experiment: Experiment, labels: list[str]) -> list[SingleRuns]:
    """Return the runs of all learners."""
    episode = np.array(experiment.recorded_episodes, dtype=np.uint64)
    found = zip(labels, experiment.runs(), strict=True)
    return [SingleRuns(label, run, episode, regret, gain, stuck) for label, (run, regret, gain, stuck) in found]


def read(path: Path) -> list[SingleRuns]:
    """Read ``runs.csv``."""
    rows: dict[str, dict[int, dict[int, tuple[float, float, str]]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = (float(row["regret"]), float(row["gain"]), row["stuck"])
            rows.setdefault(row["learner"], {}).setdefault(int(row["run"]), {})[int(row["episode"])] = values
    return [_of_rows(label, runs) for label, runs in rows.items()]


def _of_rows(label: str, runs: dict[int, dict[int, tuple[float, float, str]]]) -> SingleRuns:
    episode = sorted(next(iter(runs.values())))
    table = [[runs[run][n] for n in episode] for run in runs]
    stuck = [row[-1][2] for row in table]
    return SingleRuns(
        label,
        np.array(list(runs), dtype=np.uint64),
        np.array(episode, dtype=np.uint64),
        np.array([[regret for regret, _, _ in row] for row in table]),
        np.array([[gain for _, gain, _ in row] for row in table]),
        None if "" in stuck else np.array([text == "true" for text in stuck]),
    )
