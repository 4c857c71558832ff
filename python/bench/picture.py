"""Draws docs/python.png, an example of a plot: ``python python/bench/picture.py``."""

import warnings
from pathlib import Path

import matplotlib

import emab

matplotlib.use("Agg")
# FeedBAL's printed width is not sound on this problem; the docs explain it elsewhere.
warnings.simplefilter("ignore", emab.SoundnessWarning)

learners = [emab.FeedBAL(), emab.FeedBALModel(), emab.PSRL(reveal=True), emab.UCB1(), emab.UCB1V()]
result = emab.run("resource", learners, runs=200, episodes=20_000, seed=1)
print(result)
path = Path(__file__).parents[2] / "docs" / "python.png"
result.plot().figure.savefig(path, dpi=160)
print(f"wrote {path}")
