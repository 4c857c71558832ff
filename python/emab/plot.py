"""Plots of results: regret with its bands, its causes, sweeps, and policies.

Each function draws on the given axes, or on a new figure, and returns the axes; ``ax.figure.savefig("figure.pdf")``
writes the figure. Your matplotlib settings are not changed. :func:`style` applies the same style to your own plots.

Plots of several learners take ``learners`` (labels or names, in the order of the plot), ``labels`` (names in the plot
by label or name), ``legend`` (``"auto"`` labels the ends of lines if that fits, ``"ends"``, ``"right"``, ``"below"``,
``"inside"`` or ``"none"``), ``title`` (``""`` for none), ``x_label`` and ``y_label``, ``x_range`` and ``y_range`` (two
ends, None for one that stays), ``size`` (in inches, for a new figure) and ``font_size`` (in points, of ticks and
legend; other text and lines scale with it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from emab._emab import critical_value, format_interval, format_number
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
from emab._result import Array, Curve, Result
from emab._solve import Bounds, Policy, Solution
from emab._sweep_plot import sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["causes", "gain", "label_ends", "policy", "regret", "style", "sweep"]

STOP = "#DDDDDD"
CAUSES = {"early_stop": "stopped too early", "late_stop": "stopped too late", "wrong_action": "took a wrong action"}
MARK = " †"
"""After the name of a learner whose interval is unreliable."""
MOST_NAMED = 40
"""The most states that a map names."""
MARKERS = ("v", "s", "D", "o")
"""Marks on the lines of bounds, which no result has."""


def regret(
    result: Result,
    ax: Axes | None = None,
    *,
    learners: Learners = None,
    labels: Labels = None,
    band: Band = "ci",
    against: Literal["benchmark", "optimal"] = "benchmark",
    bound: Bounds | None = None,
    log_x: bool = False,
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
    """Plot the cumulative regret of learners with bands.

    ``band`` is ``"ci"``, the 95 % interval of the mean, or ``"quantile"``, the median with quartiles and 5 % and 95 %
    quantiles. A dagger marks intervals that are unreliable because the runs form two groups. ``bound`` adds the bound
    of Theorem 1, as printed and at its tightest, and the trivial bound, as thin lines with marks; a log axis
    (``log_y``) shows them best.

    >>> result = emab.run("resource", ["feedbal", "ucb1v"], runs=20, episodes=1000)
    >>> ax = emab.plot.regret(result, learners=["ucb1v", "feedbal"], labels={"feedbal": "FeedBAL"}, log_x=True)
    >>> ax.figure.savefig("regret.pdf")  # doctest: +SKIP
    """
    one_of("against", against, ("benchmark", "optimal"))
    expect(result, Result)
    _must_have_regret(result)
    with style(font_size):
        grow = ax is None and size is None
        ax = axes(ax, size)
        for name, curve in _curves(result, learners, labels, band):
            shift: Array | float = 0.0
            if against == "optimal":
                # The difference of both regrets is the same in every run.
                shift = curve.regret_optimal - curve.regret
                if np.isnan(shift).all():
                    text = "the value of the optimal policy is unknown; use against='benchmark'"
                    raise ValueError(f"{curve.label}: {text}")
            line_with_bands(ax, curve.episode.astype(float), *edges(curve, band, shift), name)
        if bound is not None:
            _draw_bound(ax, bound)
        if log_y:
            ax.set_yscale("log", nonpositive="mask")
        else:
            ax.axhline(0, color=GREY, linewidth=0.8, linestyle="-", zorder=1)
            ax.yaxis.set_major_formatter(lambda value, _: format_number(value))
        ax.set_ylabel(f"regret against the {'benchmark' if against == 'benchmark' else 'optimal policy'}")
        _over_episodes(ax, result, band, log_x=log_x, title=title)
        set_axes(ax, x_label, y_label, x_range, y_range)
        _place_names(ax, legend, grow=grow)
    return ax


def gain(
    result: Result,
    ax: Axes | None = None,
    *,
    learners: Learners = None,
    labels: Labels = None,
    log_x: bool = False,
    legend: Legend = "auto",
    title: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    x_range: Range = None,
    y_range: Range = None,
    size: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Plot the mean gain per episode so far of each learner, with 95 % bands; the grey line is the benchmark.

    >>> ax = emab.plot.gain(emab.run("treatment", ["feedbal", "random"], runs=20, episodes=1000), log_x=True)
    """
    expect(result, Result)
    with style(font_size):
        grow = ax is None and size is None
        ax = axes(ax, size)
        for name, curve in _curves(result, learners, labels):
            n = curve.episode.astype(float)
            mean, half = curve.gain / n, critical_value(curve.runs) * curve.gain_stderr / n
            bands = [(mean - half, mean + half)] if np.isfinite(half).all() else []
            line_with_bands(ax, n, mean, bands, name)
        if result.benchmark_value is not None:
            n = result.curves[0].episode.astype(float)
            _bound_line(ax, n, np.full(len(n), result.benchmark_value), "benchmark earns", 0)
        ax.set_ylabel("gain an episode, so far")
        _over_episodes(ax, result, "ci", log_x=log_x, title=title)
        set_axes(ax, x_label, y_label, x_range, y_range)
        _place_names(ax, legend, grow=grow)
    return ax


def causes(
    result: Result,
    ax: Axes | None = None,
    *,
    learners: Learners = None,
    labels: Labels = None,
    title: str | None = None,
    x_label: str | None = None,
    x_range: Range = None,
    size: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Plot the regret of each learner by cause: early stop, late stop, wrong action.

    >>> result = emab.run("treatment", ["feedbal", "best-fixed"], runs=20, episodes=1000)
    >>> ax = emab.plot.causes(result)
    """
    expect(result, Result)
    _must_have_regret(result)
    with style(font_size):
        grow = ax is None and size is None
        ax = axes(ax, size)
        named = _curves(result, learners, labels)[::-1]
        curves = [curve for _, curve in named]
        rows = np.arange(len(curves))
        # Negative parts are drawn to the left of 0, positive ones to the right.
        right, left = np.zeros(len(curves)), np.zeros(len(curves))
        for cause, description in CAUSES.items():
            parts = np.array([curve.causes[cause] for curve in curves])
            start = np.where(parts >= 0, right, left)
            ax.barh(rows, parts, left=start, height=0.55, label=description)
            right += np.maximum(parts, 0)
            left += np.minimum(parts, 0)
        for row, curve in enumerate(curves):
            text = format_interval(float(curve.regret[-1]), float(curve.stderr[-1]), curve.runs)
            ax.annotate(
                text, (right[row], row), (6, 0), textcoords="offset points", va="center", color=GREY, fontsize=scaled(9)
            )
        ax.set_yticks(rows, [name for name, _ in named])
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.spines["left"].set_visible(False)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.margins(x=0.12)
        ax.set_ylim(-0.6, len(curves) - 0.4)
        ax.set_xlabel(f"regret at episode {format_number(result.episodes)}")
        ax.xaxis.set_major_formatter(lambda value, _: format_number(value))
        set_axes(ax, x_label, None, x_range, None)
        default = f"{result.problem}: causes of regret"
        set_title(
            ax,
            default if title is None else title,
            _description(result, "ci", marked=any(curve.groups for curve in curves)),
        )
        place_legend(ax, "below", grow=grow)
    return ax


def policy(
    solution: Solution | Policy, ax: Axes | None = None, *, which: Literal["benchmark", "optimal"] = "benchmark"
) -> Axes:
    """Plot the action of a policy at each reachable step and state; a dot marks where the other policy differs.

    ``which`` selects the policy of a solution.

    >>> ax = emab.plot.policy(emab.solve("screening"))
    """
    one_of("which", which, ("benchmark", "optimal"))
    expect(solution, Solution, Policy)
    other: Policy | None = None
    title, other_name = "policy", ""
    if isinstance(solution, Policy):
        shown = solution
    else:
        both = [("benchmark", solution.benchmark), ("optimal policy", solution.optimal)]
        (name, shown), (other_name, other) = both if which == "benchmark" else both[::-1]
        title = f"{solution.problem}: what the {name} does"
    choices = shown.policy
    reached = [x for x in range(len(shown.states)) if any(row[x] is not None for row in choices)]
    taken = sorted({c for row in choices for c in row if c is not None and c != "stop"})
    with style():
        import matplotlib as mpl
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        grow = ax is None
        width, height = mpl.rcParams["figure.figsize"]
        # A label is about a sixth of an inch high; more than MOST_NAMED states have none.
        rows = len(reached) if len(reached) <= MOST_NAMED else 0
        ax = axes(ax, (width, max(height, 1.3 + rows / 5)) if grow else None)
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        colours = {action: to_rgb(cycle[i % len(cycle)]) for i, action in enumerate(taken)} | {"stop": to_rgb(STOP)}
        cells = np.ones((len(reached), len(choices), 3))
        for i, x in enumerate(reached):
            for t, row in enumerate(choices):
                choice = row[x]
                if choice is None:
                    continue
                cells[i, t] = colours[choice]
                if other is not None and other.policy[t][x] != choice:
                    ax.plot(t + 1, i, "o", color="white", markersize=4, markeredgecolor="#222222", markeredgewidth=0.6)
        # Other interpolations blend the colours of many states.
        ax.imshow(
            cells, aspect="auto", interpolation="nearest", extent=(0.5, len(choices) + 0.5, len(reached) - 0.5, -0.5)
        )
        ax.grid(visible=False)
        # White lines between the cells.
        if rows:
            ax.hlines(np.arange(len(reached) + 1) - 0.5, 0.5, len(choices) + 0.5, color="white", linewidth=1.5)
            ax.set_yticks(range(len(reached)), [shown.states[x] for x in reached])
        ax.vlines(np.arange(len(choices) + 1) + 0.5, -0.5, len(reached) - 0.5, color="white", linewidth=1.5)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
        ax.set_xlabel("step")
        ax.set_ylabel("state")
        dot = f"; a dot: the {other_name} does otherwise" if other is not None and other.policy != choices else ""
        set_title(ax, title, f"earns {format_number(shown.value)} an episode{dot}")
        names = [action for action in [*taken, "stop"] if any(action in row for row in choices)]
        place_legend(ax, "below", handles=[Patch(color=colours[name], label=name) for name in names], grow=grow)
    return ax


def label_ends(ax: Axes, *, always: bool = False) -> None:
    """Label each line at its end, in its colour; use a legend if the labels would be too far away or too long.

    Lines without a label are skipped. With ``always`` there is no legend.

    >>> with emab.plot.style():
    ...     import matplotlib.pyplot as plt
    ...     figure, ax = plt.subplots()
    ...     _ = ax.plot([1, 2], [1, 4], label="steep")
    ...     emab.plot.label_ends(ax)
    >>> [text.get_text() for text in ax.texts]
    ['steep']
    """
    _label_ends(ax, always=always, grow=False)


def _label_ends(ax: Axes, *, always: bool, grow: bool) -> None:
    ax.autoscale_view()
    points_a_pixel = 72 / ax.figure.dpi
    height = scaled(12.5)
    right, to_axes = ax.get_xlim()[1], ax.transData - ax.transAxes
    ends = []
    for line in ax.get_lines():
        label = str(line.get_label())
        if label.startswith("_"):
            continue
        data = np.asarray(line.get_xydata())
        data = data[np.isfinite(data).all(axis=1)]
        if ax.get_yscale() == "log":
            data = data[data[:, 1] > 0]
        if len(data) and data[-1, 0] > right:
            at_edge = [right, np.interp(right, *data.T)]
            data = np.vstack([data[data[:, 0] < right], at_edge])
        # A line ends where it leaves the axes, which are from 0 to 1 in both directions.
        data = data[(np.abs(to_axes.transform(data) - 0.5) < 0.5 + 1e-6).all(axis=1)]
        if len(data):
            x, y = data[-1]
            ends.append((float(ax.transData.transform((x, y))[1]) * points_a_pixel, float(x), float(y), label, line))
    ends.sort(key=lambda end: end[0])
    wanted = np.array([end[0] for end in ends])
    places = _apart(wanted, height)
    too_far = np.abs(places - wanted).max(initial=0) > 2.2 * height
    # A label of nine points is about five and a half points wide per character.
    longest = max((scaled(5.5) * len(end[3]) for end in ends), default=0)
    too_long = longest > 0.35 * points_a_pixel * ax.figure.bbox.width
    if (too_far or too_long) and not always:
        handles: list[Any] = [end[4] for end in reversed(ends)]
        place_legend(ax, "below" if too_long else "right", handles=handles, grow=grow)
        return
    for place, (at, x, y, label, line) in zip(places, ends, strict=True):
        ax.annotate(
            label,
            (x, y),
            (scaled(6), place - at),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            fontsize=scaled(9),
            annotation_clip=False,
        )


def _curves(result: Result, learners: Learners, labels: Labels, band: Band = "ci") -> list[tuple[str, Curve]]:
    """Return the chosen curves with their names in the plot; a dagger marks unreliable intervals."""
    names = choose([(curve.label, curve.learner) for curve in result.curves], learners, labels)
    by_label = {curve.label: curve for curve in result.curves}
    named = [(name, by_label[label]) for label, name in names.items()]
    return [(name + MARK if band == "ci" and curve.groups else name, curve) for name, curve in named]


def _draw_bound(ax: Axes, bound: Bounds) -> None:
    first, last = ax.dataLim.intervalx
    x = np.geomspace(max(first, 1), last, 200)
    readings = [
        (f"Theorem 1, printed: {format_number(bound.theorem1.printed)}", np.full_like(x, bound.theorem1.printed)),
        (f"Theorem 1, tight: {format_number(bound.theorem1.tight)}", np.full_like(x, bound.theorem1.tight)),
        ("no theorem: n Ω_max", x * bound.document["omega_max"]),
    ]
    for i, (label, y) in enumerate(readings):
        if np.isfinite(y).all():
            _bound_line(ax, x, y, label, i)


def _bound_line(ax: Axes, x: Array, y: Array, label: str, number: int) -> None:
    """Draw a bound: a thin grey line with some marks, unlike any result."""
    marks: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "markevery": 0.18, "markersize": scaled(5)}
    ax.plot(x, y, "-", color=GREY, linewidth=scaled(1.0), label=label, markerfacecolor="white", **marks)


def _must_have_regret(result: Result) -> None:
    if result.benchmark_value is None:
        raise ValueError(f"{result.problem}: the regret on a simulator is unknown; use emab.plot.gain")


def _over_episodes(ax: Axes, result: Result, band: Band, *, log_x: bool, title: str | None) -> None:
    """Set the horizontal axis and the title of a plot over episodes."""
    if log_x:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_formatter(lambda value, _: format_number(value))
    ax.margins(x=0, y=0.06)
    ax.set_xlabel("episode")
    marked = any(str(line.get_label()).endswith(MARK) for line in ax.get_lines())
    set_title(ax, result.problem if title is None else title, _description(result, band, marked=marked))


def _place_names(ax: Axes, legend: Legend, *, grow: bool) -> None:
    """Label the ends of lines, or draw a legend."""
    if legend in ("auto", "ends"):
        _label_ends(ax, always=legend == "ends", grow=grow)
    else:
        place_legend(ax, legend, grow=grow)


def _description(result: Result, band: Band, *, marked: bool) -> str:
    """Return runs, seed and conditions of a result, in one line."""
    conditions = f", {result.conditions}" if result.conditions else ""
    mark = " († unreliable: two groups of runs)" if marked else ""
    return f"{describe_band(band, result.runs)}{mark}, seed {result.seed}{conditions}"


def _apart(wanted: Array, least: float) -> Array:
    """Return increasing positions near the wanted ones, at least so far apart (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for place in wanted - least * np.arange(len(wanted)):
        blocks.append((float(place), 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [((a * n + b * m) / (n + m), n + m)]
    flat = np.concatenate([np.full(n, place) for place, n in blocks]) if blocks else np.zeros(0)
    return flat + least * np.arange(len(wanted))
