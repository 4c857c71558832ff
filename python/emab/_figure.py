"""What the plots share: style, choice of learners, bands, legends and titles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from emab._emab import critical_value, did_you_mean
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
Range: TypeAlias = "tuple[float | None, float | None] | None"
"""The ends of an axis; None leaves an end as it is."""

SCALED = (
    "font.size",
    "axes.labelsize",
    "axes.titlesize",
    "axes.linewidth",
    "grid.linewidth",
    "legend.fontsize",
    "lines.linewidth",
    "xtick.labelsize",
    "ytick.labelsize",
)
"""Settings that scale with the font size."""
DRAWN_BY = {
    "Result": "; emab.plot.regret draws it",
    "SweepResult": "; emab.plot.sweep draws it",
    "Solution": "; emab.plot.policy draws it",
    "Policy": "; emab.plot.policy draws it",
    "Problem": "; emab.plot.policy(emab.solve(problem)) draws its policy",
}
"""What to call for another type, for messages."""
LEGENDS = ("auto", "ends", "right", "below", "inside", "none")


def style(font_size: float | None = None) -> AbstractContextManager[None]:
    """Return a context in which plots have the style of this module.

    ``font_size`` is the size of the text at ticks and in legends, in points, 9 if not given; other text and lines
    scale with it.

    >>> import matplotlib
    >>> with emab.plot.style():
    ...     matplotlib.rcParams["axes.titlelocation"]
    'left'
    >>> matplotlib.rcParams["axes.titlelocation"]
    'center'
    """
    styles = require("matplotlib.style", "plot")
    sizes: dict[str, float] = {}
    if font_size is not None:
        if not 0 < font_size < math.inf:
            raise ValueError(f"`font_size` must be a positive number of points, got {font_size}")
        parameters = require("matplotlib", "plot").rc_params_from_file(STYLE, use_default_template=False)
        sizes = {name: parameters[name] * font_size / parameters["legend.fontsize"] for name in SCALED}
    manager: AbstractContextManager[None] = styles.context([STYLE, sizes])
    return manager


def scaled(points: float) -> float:
    """Return a size that is stated for the default font size, for the present one."""
    size: float = require("matplotlib", "plot").rcParams["font.size"]
    return points * size / 10


def axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is None:
        _, ax = require("matplotlib.pyplot", "plot").subplots(figsize=size)
    elif size is not None:
        raise ValueError("`size` is for a new figure; set the size of the figure of `ax` instead")
    assert ax is not None
    return ax


def set_axes(ax: Axes, x_label: str | None, y_label: str | None, x_range: Range, y_range: Range) -> None:
    """Set the labels and the ends of the axes that are given."""
    if x_label is not None:
        ax.set_xlabel(x_label)
    if y_label is not None:
        ax.set_ylabel(y_label)
    for name, ends, log, set_ends in (
        ("x_range", x_range, ax.get_xscale() == "log", ax.set_xlim),
        ("y_range", y_range, ax.get_yscale() == "log", ax.set_ylim),
    ):
        if ends is None:
            continue
        low, high = ends
        if low is not None and high is not None and not low < high:
            raise ValueError(f"`{name}` must be two increasing numbers, got {low} and {high}")
        if log and any(end is not None and end <= 0 for end in ends):
            raise ValueError(f"`{name}` must be positive on a log axis, got {low} and {high}")
        set_ends(low, high)


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Check an argument that has a few values."""
    known = list(known)
    if value not in known:
        near = did_you_mean(str(value), known)
        raise ValueError(f"`{name}` must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got {value!r}{near}")


def expect(value: object, *kinds: type) -> None:
    """Check the type of the first argument of a plot."""
    if not isinstance(value, kinds):
        expected, got = " or ".join(kind.__name__ for kind in kinds), type(value).__name__
        raise TypeError(f"the first argument must be a {expected}, not a {got}{DRAWN_BY.get(got, '')}")


def choose(known: Iterable[tuple[str, str]], learners: Learners, labels: Labels) -> dict[str, str]:
    """Return the names in the plot by label, in the order of the plot, of learners with these labels and names."""
    pairs = list(dict.fromkeys(known))
    everything = [label for label, _ in pairs]

    def find(argument: str, asked: str) -> list[str]:
        found = [asked] if asked in everything else [label for label, name in pairs if name == asked]
        if not found:
            near = did_you_mean(str(asked), [name for pair in pairs for name in pair])
            raise ValueError(f"`{argument}`: there is no learner {asked!r}{near}; there are {', '.join(everything)}")
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


def place_legend(
    ax: Axes, place: Legend, *, title: str | None = None, handles: list[Artist] | None = None, grow: bool = False
) -> None:
    """Draw a legend in a place; ``grow`` makes the figure higher for one below."""
    one_of("legend", place, LEGENDS)
    if place == "none":
        return
    shown = ax.get_legend_handles_labels()[0] if handles is None else handles
    # Long enough for dashes and dots to be told apart.
    options: dict[str, Any] = {"handlelength": 2.8, "alignment": "left"}
    if title is not None:
        options["title"] = title
    if place == "right":
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    elif place == "below":
        figure = ax.figure.canvas.figure
        # The width of the axes is known after the layout.
        figure.draw_without_rendering()
        longest = max((len(str(one.get_label())) for one in shown), default=1)
        width = ax.get_window_extent().width * 72 / figure.dpi
        # A character of nine points is about five and a half wide; a line and its space take forty-five.
        columns = max(1, min(len(shown), int(width / scaled(5.5 * longest + 45))))
        # Ticks and their label are between.
        below = require("matplotlib.transforms", "plot").ScaledTranslation(0, -scaled(41) / 72, figure.dpi_scale_trans)
        options |= {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": ax.transAxes + below}
        options |= {"borderaxespad": 0, "borderpad": 0, "ncols": columns}
        if grow:
            figure.set_figheight(figure.get_figheight() + scaled(0.19) * -(-len(shown) // columns))
    else:
        options |= {"loc": "best", "frameon": True, "framealpha": 0.85, "edgecolor": "none"}
    ax.legend(handles=shown, **options)


def set_title(ax: Axes, title: str, below: str) -> None:
    """Set a title and a line below it; nothing if the title is empty."""
    if not title:
        return
    ax.set_title(title, loc="left", pad=scaled(20), fontsize=scaled(12), fontweight="bold")
    options: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    ax.annotate(below, (0, 1), (0, scaled(6)), color=GREY, fontsize=scaled(9), **options)
