"""Plots of sweeps: lines of the final regret over one parameter, or maps over two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emab._emab import format_number
from emab._figure import (
    GREY,
    Band,
    Labels,
    Learners,
    Legend,
    Range,
    axes,
    choose,
    describe_band,
    edges,
    expect,
    line_with_bands,
    one_of,
    place_legend,
    scaled,
    set_axes,
    set_title,
    style,
)
from emab._optional import require
from emab._sweep import SweepCell, SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value: TypeAlias = "float | str"
MOST = 12
"""The most lines or maps of a plot."""
MANY = 25
"""Lines of more points have bands instead of error bars."""
SPAN = 30
"""A parameter that spans a larger factor has a log axis."""


def sweep(
    result: SweepResult,
    ax: Axes | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    where: Mapping[str, Value] | None = None,
    lines: bool = False,
    learners: Learners = None,
    labels: Labels = None,
    band: Band = "ci",
    log_x: bool | None = None,
    log_y: bool = False,
    legend: Legend = "auto",
    title: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    x_range: Range = None,
    y_range: Range = None,
    size: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Plot the final regret of a sweep: lines over one varied parameter, or a map over two.

    ``x`` and ``y`` are varied parameters, the first two if not given; ``p`` stands for ``problem.p``. With ``lines``,
    or with one varied parameter, there is one line with its band for each learner and each combination of the other
    values; otherwise one map. Points over a parameter with texts are not connected. ``where`` selects cells, such as
    ``{"p": 0.8}``. Of several maps the axes of the first are returned.

    >>> result = emab.sweep({
    ...     "problem": "resource", "learners": ["feedbal", "ucb1v"], "runs": 10, "episodes": 100,
    ...     "grid": {"problem.p": [0.2, 0.5, 0.8], "learner.sigma2": [0.1, 0.2]},
    ... })
    >>> ax = emab.plot.sweep(result, learners="feedbal", lines=True)
    >>> [line.get_label() for line in ax.get_lines() if not line.get_label().startswith("_")]
    ['learner.sigma2 = 0.1', 'learner.sigma2 = 0.2']
    """
    one_of("band", band, ("ci", "quantile"))
    expect(result, SweepResult)
    if not result.varied:
        raise ValueError("this sweep varies no parameter: a plot needs a `grid` or `cell`; `to_pandas` has the results")
    names = choose([(cell.learner, cell.curve.learner) for cell in result.cells], learners, labels)
    cells = [cell for name in names for cell in result.cells if cell.learner == name]
    for name, value in (where or {}).items():
        full = _varied(result, name)
        # A cell without the parameter has the same result for every value.
        cells = [cell for cell in cells if cell.values.get(full, value) == value]
    if not cells:
        raise ValueError(f"the sweep has no cell with these values: {dict(where or {})}")
    across = None if x is None else _varied(result, x)
    up = None if y is None else _varied(result, y)
    if across is not None and across == up:
        raise ValueError(f"`x` and `y` are both {across!r}; a map needs two parameters")
    varied = [name for name in result.varied if len(_values(cells, name)) > 1]
    across = across or next((name for name in varied if name != up), None) or result.varied[0]
    if not lines:
        up = up or next((name for name in varied if name != across), None)
    plot = _SweepPlot(result, cells, names, band, title)
    is_map = not lines and up is not None
    if is_map and (x_range or y_range):
        raise ValueError("`x_range` and `y_range` are for lines; `where` selects cells of a map")
    with style(font_size):
        if up is not None and is_map:
            return plot.maps(across, up, ax, size, x_label, y_label)
        ax = plot.lines(across, axes(ax, size), log_x, log_y, legend)
        set_axes(ax, x_label, y_label, x_range, y_range)
        return ax


def _varied(result: SweepResult, name: str) -> str:
    """Return the full name of a varied parameter."""
    for full in result.varied:
        if name in (full, full.partition(".")[2]):
            return full
    raise ValueError(f"{name!r} does not vary in this sweep; the varied parameters are {', '.join(result.varied)}")


def _values(cells: list[SweepCell], name: str) -> list[Value]:
    """Return the distinct values of a parameter, numbers in increasing order."""
    found = list(dict.fromkeys(cell.values[name] for cell in cells if name in cell.values))
    if all(isinstance(value, (int, float)) for value in found):
        found.sort(key=float)
    return found


class _SweepPlot:
    """The cells of a plot, and how they are named."""

    def __init__(
        self, result: SweepResult, cells: list[SweepCell], names: dict[str, str], band: Band, title: str | None
    ) -> None:
        self.result, self.cells, self.names, self.band = result, cells, names, band
        self.own_title = title

    def groups(self, but: list[str]) -> dict[tuple[str, ...], list[SweepCell]]:
        """Return cells that differ only in these parameters, by the parts of their names."""
        others = [n for n in self.result.varied if n not in but and len(_values(self.cells, n)) > 1]
        groups: dict[tuple[str, ...], list[SweepCell]] = {}
        for cell in self.cells:
            parts = [f"{other} = {_text(cell.values[other])}" for other in others if other in cell.values]
            groups.setdefault((self.names[cell.learner], *parts), []).append(cell)
        if len(groups) > MOST:
            raise ValueError(
                f"there are {len(groups)} lines or maps, and at most {MOST} can be told apart; "
                "`learners` and `where` select some"
            )
        return groups

    def final(self, group: list[SweepCell], values: dict[str, Value]) -> tuple[float, list[tuple[float, float]]] | None:
        """Return the final regret of the cell of a group with these values, and its bands."""
        for cell in group:
            if all(cell.values.get(name, value) == value for name, value in values.items()):
                line, bands = edges(cell.curve, self.band)
                return float(line[-1]), [(float(low[-1]), float(high[-1])) for low, high in bands]
        return None

    def label(self) -> str:
        what = "" if self.band == "ci" else "median "
        return f"{what}regret after {format_number(self.result.episodes)} episodes"

    def heading(self, *names: str) -> tuple[str, str]:
        """Return the title of a plot over these parameters, and the line below it."""
        title = f"Sweep of {' and '.join(names)}" if self.own_title is None else self.own_title
        return title, f"{describe_band(self.band, self.result.runs)}, seed {self.result.seed}"

    def lines(self, x: str, ax: Axes, log_x: bool | None, log_y: bool, legend: Legend) -> Axes:
        """Draw one line for each group."""
        import matplotlib as mpl

        values = _values(self.cells, x)
        groups = self.groups([x])
        numeric = all(isinstance(value, (int, float)) for value in values)
        if log_x and not numeric:
            raise ValueError(f"`log_x` needs a numeric parameter, and {x!r} has texts")
        places = [float(value) if numeric else i for i, value in enumerate(values)]
        # Points over texts have no line, and those of several groups are beside each other.
        options: dict[str, Any] = {} if numeric else {"linestyle": "none"}
        apart = 0 if numeric else min(0.1, 0.6 / len(groups))
        ordered = len(self.names) == 1 and len(groups) > 1
        if ordered:
            # The lines differ by values, which have an order: from light to dark.
            ramp = mpl.colormaps["viridis_r"](np.linspace(0.27, 1, len(groups)))
            ax.set_prop_cycle(color=[mpl.colors.to_hex(colour) for colour in ramp])
        for number, (parts, group) in enumerate(groups.items()):
            shift = apart * (number - (len(groups) - 1) / 2)
            found = [
                (place + shift, self.final(group, {x: value})) for place, value in zip(places, values, strict=True)
            ]
            known = [(place, final) for place, final in found if final is not None]
            label = ", ".join(parts[1:] if ordered else parts)
            at = np.array([place for place, _ in known])
            centre = np.array([final[0] for _, final in known])
            pairs = zip(*(final[1] for _, final in known), strict=True)
            bands = [(np.array([low for low, _ in band]), np.array([high for _, high in band])) for band in pairs]
            if numeric and len(at) > MANY:
                line_with_bands(ax, at, centre, bands, label)
                continue
            (line,) = ax.plot(at, centre, marker="o", markersize=scaled(5), label=label, **options)
            for (low, high), width in zip(
                bands, (scaled(1.2),) if len(bands) < 2 else (scaled(1.0), scaled(3.0)), strict=False
            ):
                ax.vlines(at, low, high, color=line.get_color(), linewidth=width)
        span = min(places) > 0 and max(places) / min(places) > SPAN
        if not numeric:
            ax.set_xticks(places, [_text(value) for value in values])
            ax.set_xlim(-0.5, len(places) - 0.5)
        elif log_x or (log_x is None and span):
            ax.set_xscale("log")
        if log_y:
            ax.set_yscale("log", nonpositive="mask")
        else:
            ax.yaxis.set_major_formatter(lambda value, _: format_number(value))
        ax.set_xlabel(x)
        ax.set_ylabel(self.label())
        set_title(ax, *self.heading(x))
        if len(groups) > 1 or legend != "auto":
            place: Legend = "right" if legend in ("auto", "ends") else legend
            place_legend(ax, place, title=next(iter(self.names.values())) if ordered else None)
        return ax

    def maps(
        self,
        x: str,
        y: str,
        ax: Axes | None,
        size: tuple[float, float] | None,
        x_label: str | None,
        y_label: str | None,
    ) -> Axes:
        """Draw one map for each group, on one scale of colours."""
        groups = self.groups([x, y])
        columns, rows = _values(self.cells, x), _values(self.cells, y)
        if ax is not None and len(groups) > 1:
            raise ValueError(f"there are {len(groups)} maps, which need a new figure: leave out `ax`, or select one")
        data = []
        for group in groups.values():
            cells = [[self.final(group, {x: column, y: row}) for column in columns] for row in rows]
            data.append(np.array([[np.nan if cell is None else cell[0] for cell in row] for row in cells]))
        if ax is None:
            across = min(len(groups), 3)
            down = math.ceil(len(groups) / across)
            natural = (max(4.2, 3.4 * across + 1.2), 3.2 * down + 0.6)
            plots = require("matplotlib.pyplot", "plot")
            _, grid = plots.subplots(down, across, figsize=size or natural, squeeze=False, sharex=True, sharey=True)
            panels = list(grid.flat)
        else:
            panels = [axes(ax, size)]
        import matplotlib as mpl

        known = np.concatenate([values[np.isfinite(values)] for values in data])
        low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
        wide = low > 0 and high / low > SPAN
        scale = mpl.colors.LogNorm(low, high) if wide else mpl.colors.Normalize(low, high)
        image = None
        for panel, (parts, values) in zip(panels, zip(groups, data, strict=True), strict=False):
            image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis_r", norm=scale)
            panel.set_facecolor("#F2F2F2")
            panel.grid(visible=False)
            panel.tick_params(length=0)
            panel.spines[:].set_visible(False)
            panel.set_xticks(range(len(columns)), [_text(value) for value in columns])
            panel.set_yticks(range(len(rows)), [_text(value) for value in rows])
            if values.size <= 64:
                for (row, column), value in np.ndenumerate(values):
                    if np.isfinite(value):
                        dark = scale(value) > 0.45
                        text = format_number(float(f"{value:.3g}"))
                        panel.text(
                            column,
                            row,
                            text,
                            ha="center",
                            va="center",
                            fontsize=scaled(8),
                            color="white" if dark else "black",
                        )
            if len(groups) > 1:
                panel.set_title(", ".join(parts), fontsize=scaled(10), fontweight="normal")
        for panel in panels[len(groups) :]:
            panel.set_visible(False)
        first: Axes = panels[0]
        figure = first.figure
        if image is not None:
            figure.colorbar(image, ax=panels, label=self.label() + (", log scale" if wide else ""), pad=0.02)
        for i, panel in enumerate(panels[: len(groups)]):
            subplot = panel.get_subplotspec()
            if subplot is None or subplot.is_first_col():
                panel.set_ylabel(y if y_label is None else y_label)
            # The last panel of a column has the name of the axis, also where the last row is not full.
            if subplot is None or i + subplot.get_gridspec().ncols >= len(groups):
                panel.set_xlabel(x if x_label is None else x_label)
                panel.tick_params(labelbottom=True)
        if len(groups) == 1:
            set_title(first, *self.heading(x, y))
        elif self.own_title != "":
            figure.suptitle("\n".join(self.heading(x, y)), fontsize=scaled(10), color=GREY, x=0.01, ha="left")
        return first


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
