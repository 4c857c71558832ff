"""Plots of results: regret with its intervals, its causes, and policies.

Each function draws on the given axes, or on a new figure, and returns the axes. Your matplotlib settings are not
changed. :func:`style` applies the same style to your own plots.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from emab._emab import critical_value, format_interval, format_number
from emab._optional import require
from emab._result import Array, Result
from emab._solve import Bounds, Policy, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

__all__ = ["causes", "gain", "label_ends", "policy", "regret", "style"]

STYLE = Path(__file__).with_name("emab.mplstyle")
GREY = "#6B6B6B"
STOP = "#DDDDDD"
CAUSES = {"early_stop": "stopped too early", "late_stop": "stopped too late", "wrong_action": "took a wrong action"}


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


def regret(
    result: Result,
    ax: Axes | None = None,
    *,
    log_x: bool = False,
    log_y: bool = False,
    bound: Bounds | None = None,
    against: Literal["benchmark", "optimal"] = "benchmark",
) -> Axes:
    """Plot the cumulative regret of all learners, with 95 % bands.

    ``bound`` adds the bound of Theorem 1, as printed and at its tightest, and the trivial bound; a log axis (``log_y``)
    shows them best.

    >>> result = emab.run("resource", ["feedbal", "ucb1v"], runs=20, episodes=1000)
    >>> ax = emab.plot.regret(result, log_x=True)
    >>> ax.figure.savefig("regret.png")  # doctest: +SKIP
    """
    if against not in ("benchmark", "optimal"):
        raise ValueError(f"`against` must be 'benchmark' or 'optimal', got {against!r}")
    _must_have_regret(result)
    with style():
        ax = _axes(ax)
        for curve in result.curves:
            mean = curve.regret if against == "benchmark" else curve.regret_optimal
            if np.isnan(mean).all():
                raise ValueError(f"{curve.label}: the value of the optimal policy is unknown; use against='benchmark'")
            _line_with_band(ax, curve.episode.astype(float), mean, critical_value(curve.runs) * curve.stderr, curve.label)
        if bound is not None:
            _draw_bound(ax, bound)
        if log_y:
            ax.set_yscale("log", nonpositive="mask")
        else:
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
            ax.yaxis.set_major_formatter(lambda value, _: format_number(value))
        ax.set_ylabel(f"regret against the {'benchmark' if against == 'benchmark' else 'optimal policy'}")
        _by_episode(ax, result, log_x)
    return ax


def gain(result: Result, ax: Axes | None = None, *, log_x: bool = False) -> Axes:
    """Plot the mean gain per episode so far of each learner, with 95 % bands; the dashed line is the benchmark.

    >>> ax = emab.plot.gain(emab.run("treatment", ["feedbal", "random"], runs=20, episodes=1000), log_x=True)
    """
    with style():
        ax = _axes(ax)
        for curve in result.curves:
            n = curve.episode.astype(float)
            _line_with_band(ax, n, curve.gain / n, critical_value(curve.runs) * curve.gain_stderr / n, curve.label)
        if result.benchmark_value is not None:
            n = result.curves[0].episode
            ax.plot(
                n, np.full(len(n), result.benchmark_value), "--", color=GREY, linewidth=1.2, label="benchmark earns"
            )
        ax.set_ylabel("gain an episode, so far")
        _by_episode(ax, result, log_x)
    return ax


def causes(result: Result, ax: Axes | None = None) -> Axes:
    """Plot the regret of each learner by cause: early stop, late stop, wrong action.

    >>> result = emab.run("treatment", ["feedbal", "best-fixed"], runs=20, episodes=1000)
    >>> ax = emab.plot.causes(result)
    """
    _must_have_regret(result)
    with style():
        ax = _axes(ax)
        curves = result.curves[::-1]
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
                text, (right[row], row), (6, 0), textcoords="offset points", va="center", color=GREY, fontsize=9
            )
        ax.set_yticks(rows, [curve.label for curve in curves])
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.spines["left"].set_visible(False)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.margins(x=0.12)
        ax.set_ylim(-0.6, len(curves) - 0.4)
        ax.set_xlabel(f"regret at episode {format_number(result.episodes)}")
        ax.xaxis.set_major_formatter(lambda value, _: format_number(value))
        _title(ax, f"{result.problem}: where the regret comes from", _description(result))
        _legend_below(ax, len(CAUSES))
    return ax


def policy(
    solution: Solution | Policy, ax: Axes | None = None, *, which: Literal["benchmark", "optimal"] = "benchmark"
) -> Axes:
    """Plot the action of a policy at each reachable step and state; a dot marks where the other policy differs.

    ``which`` selects the policy of a solution.

    >>> ax = emab.plot.policy(emab.solve("screening"))
    """
    if which not in ("benchmark", "optimal"):
        raise ValueError(f"`which` must be 'benchmark' or 'optimal', got {which!r}")
    other: Policy | None = None
    if isinstance(solution, Policy):
        shown, name = solution, "policy"
    else:
        both = (solution.benchmark, solution.optimal)
        shown, other = both if which == "benchmark" else both[::-1]
        name = f"{solution.problem}: what the {'benchmark' if which == 'benchmark' else 'optimal policy'} does"
    choices = shown.policy
    reached = [x for x in range(len(shown.states)) if any(row[x] is not None for row in choices)]
    taken = sorted({c for row in choices for c in row if c is not None and c != "stop"})
    with style():
        ax = _axes(ax)
        import matplotlib as mpl
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

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
        ax.imshow(cells, aspect="auto", extent=(0.5, len(choices) + 0.5, len(reached) - 0.5, -0.5))
        ax.grid(visible=False)
        # White lines between the cells.
        if len(reached) <= 40:
            ax.hlines(np.arange(len(reached) + 1) - 0.5, 0.5, len(choices) + 0.5, color="white", linewidth=1.5)
            ax.set_yticks(range(len(reached)), [shown.states[x] for x in reached])
        ax.vlines(np.arange(len(choices) + 1) + 0.5, -0.5, len(reached) - 0.5, color="white", linewidth=1.5)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
        ax.set_xlabel("step")
        ax.set_ylabel("state")
        dot = "; a dot: the other policy does otherwise" if other is not None and other.policy != choices else ""
        _title(ax, name, f"earns {format_number(shown.value)} an episode{dot}")
        names = [action for action in [*taken, "stop"] if any(action in row for row in choices)]
        _legend_below(ax, 4, [Patch(color=colours[name], label=name) for name in names])
    return ax


def label_ends(ax: Axes) -> None:
    """Label each line at its end, in its colour; use a legend if the labels would be too far from their lines.

    Lines without a label are skipped.

    >>> with emab.plot.style():
    ...     import matplotlib.pyplot as plt
    ...     figure, ax = plt.subplots()
    ...     _ = ax.plot([1, 2], [1, 4], label="steep")
    ...     emab.plot.label_ends(ax)
    >>> [text.get_text() for text in ax.texts]
    ['steep']
    """
    ax.autoscale_view()
    points_a_pixel = 72 / ax.figure.dpi
    height = 12.5
    ends = []
    for line in ax.get_lines():
        label = str(line.get_label())
        if label.startswith("_"):
            continue
        data = np.asarray(line.get_xydata())
        data = data[np.isfinite(data).all(axis=1)]
        if ax.get_yscale() == "log":
            data = data[data[:, 1] > 0]
        if len(data):
            x, y = data[-1]
            ends.append((float(ax.transData.transform((x, y))[1]) * points_a_pixel, float(x), float(y), label, line))
    ends.sort(key=lambda end: end[0])
    wanted = np.array([end[0] for end in ends])
    places = _apart(wanted, height)
    if np.abs(places - wanted).max(initial=0) > 2.2 * height:
        ax.legend(handles=[end[4] for end in reversed(ends)])
        return
    for place, (at, x, y, label, line) in zip(places, ends, strict=True):
        ax.annotate(
            label,
            (x, y),
            (6, place - at),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            fontsize=9,
            annotation_clip=False,
        )


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


def _axes(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is None:
        _, ax = require("matplotlib.pyplot", "plot").subplots()
    assert ax is not None
    return ax


def _line_with_band(ax: Axes, x: Array, mean: Array, half: Array, label: str) -> None:
    (line,) = ax.plot(x, mean, label=label)
    ax.fill_between(x, mean - half, mean + half, color=line.get_color(), alpha=0.18, linewidth=0)


def _draw_bound(ax: Axes, bound: Bounds) -> None:
    first, last = ax.dataLim.intervalx
    x = np.geomspace(max(first, 1), last, 200)
    readings = [
        (f"Theorem 1, printed: {format_number(bound.theorem1.printed)}", np.full_like(x, bound.theorem1.printed), ":"),
        (f"Theorem 1, tight: {format_number(bound.theorem1.tight)}", np.full_like(x, bound.theorem1.tight), "--"),
        ("no theorem: n Ω_max", x * bound.document["omega_max"], "-."),
    ]
    for label, y, dash in readings:
        if np.isfinite(y).all():
            ax.plot(x, y, dash, color=GREY, linewidth=1.2, label=label)


def _must_have_regret(result: Result) -> None:
    if result.benchmark_value is None:
        raise ValueError(f"{result.problem}: the regret on a simulator is unknown; use emab.plot.gain")


def _by_episode(ax: Axes, result: Result, log_x: bool) -> None:
    """Set the axes of a plot over episodes."""
    if log_x:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_formatter(lambda value, _: format_number(value))
    ax.margins(x=0, y=0.06)
    ax.set_xlabel("episode")
    _title(ax, result.problem, _description(result))
    label_ends(ax)


def _description(result: Result) -> str:
    """Return runs, seed and conditions of a result, in one line."""
    runs = "one run" if result.runs == 1 else f"mean of {format_number(result.runs)} runs, with 95 % intervals"
    return f"{runs}, seed {result.seed}" + (f", {result.conditions}" if result.conditions else "")


def _title(ax: Axes, title: str, below: str) -> None:
    """Set a title and a line below it."""
    ax.set_title(title, loc="left", pad=20, fontsize=12, fontweight="bold")
    ax.annotate(below, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=GREY, fontsize=9)


def _legend_below(ax: Axes, columns: int, handles: list[Patch] | None = None) -> None:
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=columns, handlelength=1, borderaxespad=0
    )
