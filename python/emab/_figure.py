"""What the plots share: style, choice of learners, bands, legends and titles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from emab._emab import critical_value
from emab._optional import require
from emab._result import Array, Curve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STYLE = Path(__file__).with_name("emab.mplstyle")
GREY = "#6B6B6B"

Learners: TypeAlias = "str | Sequence[str] | None"
"""The learners of a plot by label or name, in this order; None for all."""
Labels: TypeAlias = "Mapping[str, str] | None"
"""Names of learners in a plot, by label or name."""
Band: TypeAlias = Literal["ci", "quantile"]
Legend: TypeAlias = Literal["auto", "ends", "right", "below", "inside", "none"]

LEGENDS = ("auto", "ends", "right", "below", "inside", "none")


def style() -> AbstractContextManager[None]:
    """Return a context in which plots have the style of this module.

    >>> import matplotlib
    >>> with emab.plot.style():
    ...     matplotlib.rcParams["axes.titlelocation"]
    'left'
    >>> matplotlib.rcParams["axes.titlelocation"]
    'center'
    """
    manager: AbstractContextManager[None] = require("matplotlib.style", "plot").context(STYLE)
    return manager


def axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is None:
        _, ax = require("matplotlib.pyplot", "plot").subplots(figsize=size)
    elif size is not None:
        raise ValueError("`size` is for a new figure; set the size of the figure of `ax` instead")
    assert ax is not None
    return ax


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Check an argument that has a few values."""
    known = list(known)
    if value not in known:
        raise ValueError(f"`{name}` must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got {value!r}")


def choose(known: Iterable[tuple[str, str]], learners: Learners, labels: Labels) -> dict[str, str]:
    """Return the names in the plot by label, in the order of the plot, of learners with these labels and names."""
    pairs = list(dict.fromkeys(known))
    everything = [label for label, _ in pairs]

    def find(argument: str, asked: str) -> list[str]:
        found = [asked] if asked in everything else [label for label, name in pairs if name == asked]
        if not found:
            raise ValueError(f"`{argument}`: there is no learner {asked!r}; there are {', '.join(everything)}")
        return found

    asked = [learners] if isinstance(learners, str) else learners
    chosen = everything if asked is None else [label for one in asked for label in find("learners", one)]
    if not chosen:
        raise ValueError("`learners` must name at least one learner; None is all of them")
    names = {label: label for label in chosen}
    for one, text in (labels or {}).items():
        found = find("labels", one)
        if len(found) > 1:
            raise ValueError(f"`labels`: {one!r} is the name of {len(found)} learners: {', '.join(found)}")
        if found[0] in names:
            names[found[0]] = text
    return names


def edges(curve: Curve, band: Band, shift: Array | float = 0.0) -> tuple[Array, list[tuple[Array, Array]]]:
    """Return the line of a curve and its bands, the widest first, moved up by ``shift``."""
    one_of("band", band, ("ci", "quantile"))
    if band == "ci":
        mean, half = curve.regret + shift, critical_value(curve.runs) * curve.stderr
        # One run has no interval.
        return mean, [(mean - half, mean + half)] if np.isfinite(half).all() else []
    if np.isnan(curve.q50).any():
        raise ValueError(
            f"{curve.label}: the result has no quantiles, because an earlier version of emab wrote it; "
            "run it again, or use band='ci'"
        )
    return curve.q50 + shift, [(curve.q05 + shift, curve.q95 + shift), (curve.q25 + shift, curve.q75 + shift)]


def describe_band(band: Band, runs: int) -> str:
    """Return what line and bands are."""
    if runs == 1:
        return "one run"
    return (
        f"mean of {runs:,} runs, with 95 % intervals"
        if band == "ci"
        else f"median of {runs:,} runs, with quartiles and 5 % to 95 % quantiles"
    )


def line_with_bands(ax: Axes, x: Array, line: Array, bands: list[tuple[Array, Array]], label: str) -> None:
    """Draw a line and its bands."""
    (drawn,) = ax.plot(x, line, label=label)
    for (low, high), alpha in zip(bands, (0.18,) if len(bands) < 2 else (0.13, 0.22), strict=False):
        ax.fill_between(x, low, high, color=drawn.get_color(), alpha=alpha, linewidth=0)


def place_legend(ax: Axes, place: Legend, *, title: str | None = None, handles: list[Artist] | None = None) -> None:
    """Draw a legend; ``ends`` and ``auto`` are for the caller."""
    one_of("legend", place, LEGENDS)
    if place == "none":
        return
    if place == "right":
        where: dict[str, object] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    elif place == "below":
        where = {"loc": "upper left", "bbox_to_anchor": (0, -0.16), "borderaxespad": 0}
        where["ncols"] = columns_below(ax, handles)
    else:
        where = {"loc": "best", "frameon": True, "framealpha": 0.85, "edgecolor": "none"}
    # Long enough for dashes and dots to be told apart.
    ax.legend(handles=handles, title=title, handlelength=2.8, alignment="left", **where)


def columns_below(ax: Axes, handles: list[Artist] | None) -> int:
    """Return how many columns of the legend fit the width of the axes, by the longest label."""
    labels = [str(one.get_label()) for one in handles] if handles else ax.get_legend_handles_labels()[1]
    longest = max((len(label) for label in labels), default=1)
    figure = ax.figure
    width = ax.get_position().width * figure.get_size_inches()[0] * 72
    # A character of nine points is about five and a half wide; a line and its space take forty-five.
    return max(1, min(len(labels), int(width / (5.5 * longest + 45))))


def set_title(ax: Axes, title: str, below: str) -> None:
    """Set a title and a line below it; nothing if the title is empty."""
    if not title:
        return
    ax.set_title(title, loc="left", pad=20, fontsize=12, fontweight="bold")
    ax.annotate(below, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=GREY, fontsize=9)
