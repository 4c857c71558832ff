"""Plots, checked through the matplotlib objects that they draw."""

import re
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import emab
import emab.plot

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    return emab.run("coverage", ["feedbal", "optimal", "random"], runs=20, episodes=500)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


@pytest.mark.parametrize("against", ["benchmark", "optimal"])
def test_regret_draws_means_and_intervals(result, against):
    ax = result.plot(against=against)
    drawn = lines(ax)
    assert list(drawn) == result.labels
    bands = ax.collections
    for curve, band in zip(result.curves, bands, strict=True):
        mean = curve.regret if against == "benchmark" else curve.regret_optimal
        x, y = drawn[curve.label].get_data()
        np.testing.assert_array_equal(x, curve.episode)
        np.testing.assert_array_equal(y, mean)
        corners = band.get_paths()[0].vertices
        half = curve.upper - curve.regret
        assert corners[:, 1].max() == pytest.approx((mean + half).max())
        assert corners[:, 1].min() == pytest.approx((mean - half).min())
    assert against in ax.get_ylabel()


def test_labels_are_at_the_ends_of_lines_and_do_not_overlap(result):
    ax = result.plot()
    ax.figure.draw_without_rendering()
    labels = {text.get_text(): text for text in ax.texts if text.get_text() in result.labels}
    assert set(labels) == set(result.labels)
    boxes = sorted((text.get_window_extent() for text in labels.values()), key=lambda box: box.y0)
    for below, above in pairwise(boxes):
        assert above.y0 >= below.y1 - 1
    assert ax.get_legend() is None
    for label, line in lines(ax).items():
        assert labels[label].get_color() == line.get_color()


def test_colliding_labels_become_a_legend():
    with emab.plot.style():
        _, ax = plt.subplots()
        for i in range(9):
            ax.plot([0, 1], [0, 1 + i / 1e4], label=f"line {i}")
        emab.plot.label_ends(ax)
    assert len(ax.get_legend().get_texts()) == 9
    assert not ax.texts


def test_draws_the_bounds():
    result, bounds = emab.run("resource", runs=5, episodes=500), emab.bounds("resource", episodes=500)
    drawn = lines(result.plot(log_x=True, log_y=True, bound=bounds))
    last = {label.split(":")[0]: line.get_ydata()[-1] for label, line in drawn.items()}
    assert last["Theorem 1, printed"] == bounds.theorem1.printed
    assert last["Theorem 1, tight"] == bounds.theorem1.tight
    assert last["no theorem"] == pytest.approx(bounds.trivial)


def test_causes_sum_to_the_regret(result):
    ax = emab.plot.causes(result)
    widths = {}
    for bar in ax.patches:
        row = round(bar.get_y() + bar.get_height() / 2)
        widths[row] = widths.get(row, 0) + bar.get_width()
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    for row, name in enumerate(names):
        assert widths[row] == pytest.approx(result.curve(name).regret[-1])


def test_policy_map_has_the_colour_of_each_action():
    solution = emab.solve("screening")
    ax = solution.plot()
    cells = ax.images[0].get_array()
    colours = {patch.get_label(): patch.get_facecolor()[:3] for patch in ax.get_legend().get_patches()}
    differing = 0
    for t, row in enumerate(solution.benchmark.policy):
        for x, choice in enumerate(row):
            expected = (1, 1, 1) if choice is None else colours[choice]
            np.testing.assert_allclose(cells[x, t], expected)
            differing += choice != solution.optimal.policy[t][x]
    assert colours["stop"] == to_rgb(emab.plot.STOP)
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert len(dots) == differing > 0
    other = emab.plot.policy(solution, which="optimal")
    assert "28.72" in other.texts[0].get_text()


def test_draws_on_given_axes_and_keeps_matplotlib_settings(result, tmp_path):
    before = dict(mpl.rcParams)
    _, (one, two, three) = plt.subplots(3)
    assert emab.plot.regret(result, one) is one
    assert emab.plot.causes(result, two) is two
    assert emab.plot.policy(emab.solve("parity").optimal, three) is three
    assert plt.get_fignums() == [1]
    result.plot().figure.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


def test_rejects_invalid_arguments(result, monkeypatch):
    for options, words in [
        ({"against": "best"}, "`against` must be 'benchmark' or 'optimal', got 'best'"),
        ({"band": "quantil"}, "got 'quantil' (did you mean `quantile`?)"),
        ({"legend": "insde"}, "got 'insde' (did you mean `inside`?)"),
        ({"learners": ["feedbl"]}, "there is no learner 'feedbl' (did you mean `feedbal`?); there are"),
        ({"band": "sd"}, "`band` must be 'ci' or 'quantile', got 'sd'"),
        ({"legend": "left"}, "`legend` must be 'auto', 'ends', 'right', 'below', 'inside' or 'none', got 'left'"),
        ({"learners": "psrl"}, "`learners`: there is no learner 'psrl'; there are feedbal, optimal, random"),
        ({"learners": []}, "`learners` must name at least one learner"),
        ({"labels": {"psrl": "PSRL"}}, "`labels`: there is no learner 'psrl'"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            result.plot(**options)
    with pytest.raises(ValueError, match="`size` is for a new figure"):
        result.plot(plt.gca(), size=(3, 2))
    with pytest.raises(ValueError, match="`which` must be"):
        emab.plot.policy(emab.solve("parity"), which="best")
    unknown = emab.Result.parse(result.text)
    for curve in unknown.curves:
        curve.regret_optimal[:] = np.nan
    with pytest.raises(ValueError, match="the value of the optimal policy is unknown"):
        unknown.plot(against="optimal")
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(ImportError, match=r"this needs matplotlib: pip install emab\[plot\]"):
        result.plot()


def test_chooses_and_names_learners(result, tmp_path):
    ax = result.plot(learners=["random", "feedbal"], labels={"feedbal": "FeedBAL"}, title="", size=(3.5, 2.6))
    assert list(lines(ax)) == ["random", "FeedBAL"]
    assert ax.get_title(loc="left") == ""
    assert tuple(ax.figure.get_size_inches()) == (3.5, 2.6)
    assert [tick.get_text() for tick in emab.plot.causes(result, learners="random").get_yticklabels()] == ["random"]
    assert list(lines(emab.plot.gain(result, learners="optimal", title="Gain"))) == ["optimal", "benchmark earns"]
    ax.figure.savefig(tmp_path / "regret.pdf")
    assert (tmp_path / "regret.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("against", ["benchmark", "optimal"])
def test_quantiles_are_two_bands(result, against):
    ax = result.plot(learners="random", band="quantile", against=against)
    curve = result.curve("random")
    shift = 0 if against == "benchmark" else curve.regret_optimal - curve.regret
    np.testing.assert_array_equal(lines(ax)["random"].get_ydata(), curve.q50 + shift)
    edges = [(curve.q05 + shift, curve.q95 + shift), (curve.q25 + shift, curve.q75 + shift)]
    for band, (low, high) in zip(ax.collections, edges, strict=True):
        corners = band.get_paths()[0].vertices[:, 1]
        assert (corners.min(), corners.max()) == (pytest.approx(low.min()), pytest.approx(high.max()))
    assert "median of 20 runs" in "".join(text.get_text() for text in ax.texts)
    old = emab.Result.parse(result.text.replace('"quantiles"', '"other"'))
    with pytest.raises(ValueError, match="feedbal: the result has no quantiles, because an earlier version"):
        old.plot(band="quantile")


def test_legends(result):
    for place in ("right", "below", "inside"):
        legend = result.plot(legend=place).get_legend()
        assert [text.get_text() for text in legend.get_texts()] == result.labels
    assert result.plot(legend="none").get_legend() is None
    long = {label: f"{label} with a very long name that does not fit beside the axes" for label in result.labels}
    ax = result.plot(labels=long)
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    figure = ax.figure.bbox
    assert box.x0 >= figure.x0
    assert box.x1 <= figure.x1
    assert box.y0 >= figure.y0


def test_twelve_lines_have_twelve_looks():
    with emab.plot.style():
        _, ax = plt.subplots()
        drawn = [ax.plot([0, i])[0] for i in range(12)]
    assert len({line.get_color() for line in drawn}) == 12
    assert [line.get_linestyle() for line in drawn[::3]] == ["-", "--", ":", "-."]


@pytest.fixture(scope="module")
def swept():
    grid = {"problem.p": [0.2, 0.5, 0.8], "learner.sigma2": [0.1, 0.2]}
    fields = {"problem": "resource", "learners": ["feedbal", "ucb1v"], "runs": 5, "episodes": 60, "grid": grid}
    return emab.sweep(fields)


def test_sweep_over_one_parameter_is_lines(swept):
    ax = swept.plot(x="p", lines=True)
    assert list(lines(ax)) == ["feedbal, learner.sigma2 = 0.1", "feedbal, learner.sigma2 = 0.2", "ucb1v"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("problem.p", "regret after 60 episodes")
    # The last point of each cell, with its interval.
    cells = [cell for cell in swept.cells if cell.learner == "ucb1v"]
    np.testing.assert_array_equal(lines(ax)["ucb1v"].get_ydata(), [cell.curve.regret[-1] for cell in cells])
    ends = ax.collections[-1].get_segments()[0][:, 1]
    np.testing.assert_allclose(ends, [cells[0].curve.lower[-1], cells[0].curve.upper[-1]])
    one = swept.plot(x="p", lines=True, learners="feedbal", labels={"feedbal": "FeedBAL"}, band="quantile")
    assert list(lines(one)) == ["learner.sigma2 = 0.1", "learner.sigma2 = 0.2"]
    assert one.get_legend().get_title().get_text() == "FeedBAL"
    assert one.get_ylabel() == "median regret after 60 episodes"
    assert list(lines(swept.plot(where={"p": 0.8}))) == ["feedbal", "ucb1v"]


def test_sweep_over_two_parameters_is_a_map(swept, tmp_path):
    ax = swept.plot()
    maps = [panel for panel in ax.figure.axes if panel.images]
    assert [panel.get_title(loc="left") for panel in maps] == ["feedbal", "ucb1v"]
    values = {
        (cell.values["problem.p"], cell.values["learner.sigma2"]): cell.curve.regret[-1] for cell in swept.cells[:6]
    }
    drawn = maps[0].images[0].get_array()
    assert drawn[1, 2] == values[0.8, 0.2]
    assert drawn[0, 1] == values[0.5, 0.1]
    ax.figure.savefig(tmp_path / "map.pdf")
    _, own = plt.subplots()
    assert swept.plot(own, learners="ucb1v", where={"sigma2": 0.1}, lines=True) is own
    for options, words in [
        ({"x": "q"}, "'q' does not vary in this sweep; the varied parameters are problem.p, learner.sigma2"),
        ({"x": "p", "y": "problem.p"}, "`x` and `y` are both 'problem.p'"),
        ({"where": {"p": 0.3}}, "no cell with these values"),
        ({"ax": own}, "there are 2 maps, which need a new figure"),
        ({"learners": "psrl"}, "there is no learner 'psrl'; there are feedbal, ucb1v"),
    ]:
        with pytest.raises(ValueError, match=words):
            swept.plot(**options)


class Coins:
    spec = emab.spec("coins", horizon=4, states=4, actions=1, feedbacks=2, transition="x + f", sigma2=0.05)

    def reset(self, rng):
        self.rng, self.heads, self.rewards = rng, 0, [0.0]

    def step(self, action):
        fell = int(self.rng.integers(2))
        self.heads += fell
        self.rewards.append(self.heads / (len(self.rewards) + 1))
        return fell

    def reveal(self):
        return [0.02] * (len(self.rewards) - 1), self.rewards


def test_draws_the_gain_where_there_is_no_regret():
    result = emab.simulate(Coins, ["feedbal", "random"], runs=5, episodes=50)
    drawn = lines(result.plot())
    for curve in result.curves:
        np.testing.assert_array_equal(drawn[curve.label].get_ydata(), curve.gain / curve.episode)
    for draw in (emab.plot.regret, emab.plot.causes):
        with pytest.raises(ValueError, match="the regret on a simulator is unknown"):
            draw(result)
    assert "gain (95 %)" in repr(result)
    for item in (result, result.curves[0]):
        assert "gain (95 %)" in item._repr_html_()
    known = lines(emab.plot.gain(emab.run("parity", runs=5, episodes=50)))
    assert known["benchmark earns"].get_ydata()[-1] == 7


def test_marks_intervals_of_two_groups_of_runs():
    result = emab.run("feedback-gap", ["feedbal", "thompson"], runs=100, episodes=2000)
    ax = result.plot(legend="right")
    assert list(lines(ax)) == ["feedbal †", "thompson"]
    assert any("† unreliable" in text.get_text() for text in ax.texts)
    assert list(lines(result.plot(legend="right", band="quantile"))) == ["feedbal", "thompson"]


def test_labels_and_ends_of_axes(result):
    ax = result.plot(x_label="patients", y_label="loss", x_range=(None, 200), y_range=(0, None))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("patients", "loss")
    assert ax.get_xlim()[1] == 200
    assert ax.get_ylim()[0] == 0
    # Names of lines stay beside the axes that are shown.
    ends = [text.xy[0] for text in ax.texts if text.get_text() in result.labels]
    assert ends
    assert max(ends) <= 200
    ax = emab.plot.gain(result, x_label="patients", y_range=(-1, 2), log_x=True)
    assert (ax.get_xlabel(), ax.get_ylim()) == ("patients", (-1, 2))
    ax = emab.plot.causes(result, x_label="loss", x_range=(-5, 300))
    assert (ax.get_xlabel(), ax.get_xlim()) == ("loss", (-5, 300))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"x_range": (5, 1)}, "`x_range` must be two increasing numbers, got 5 and 1"),
        ({"x_range": (0, None), "log_x": True}, "`x_range` must be positive on a log axis, got 0 and None"),
        ({"font_size": 0}, "`font_size` must be a positive number of points, got 0"),
    ],
)
def test_wrong_axes_are_errors(result, options, expected):
    with pytest.raises(ValueError, match=expected):
        result.plot(**options)


def test_the_font_size_scales_text_and_lines(result):
    small, large = result.plot(font_size=6), result.plot(font_size=12)
    for ax, size in ((small, 6), (large, 12)):
        ax.figure.draw_without_rendering()
        assert {tick.get_fontsize() for tick in ax.get_xticklabels()} == {size}
        assert {text.get_fontsize() for text in ax.texts if text.get_text() in result.labels} == {size}
        assert ax.xaxis.label.get_fontsize() == pytest.approx(size * 10 / 9)
    widths = [next(iter(lines(ax).values())).get_linewidth() for ax in (small, large)]
    assert widths[1] == pytest.approx(2 * widths[0])
    # Settings of others are not changed.
    assert mpl.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]


def test_sweeps_have_labels_and_ends_of_axes():
    swept = emab.sweep(
        {
            "problem": "resource",
            "learners": ["feedbal"],
            "runs": 3,
            "episodes": 50,
            "grid": {"problem.p": [0.2, 0.5], "learner.sigma2": [0.1, 0.2]},
        }
    )
    ax = swept.plot(lines=True, x_label="chance of success", y_range=(0, 50), font_size=7)
    assert (ax.get_xlabel(), ax.get_ylim()) == ("chance of success", (0, 50))
    ax = swept.plot(x_label="chance of success", y_label="variance")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("chance of success", "variance")
    with pytest.raises(ValueError, match="`where` selects cells of a map"):
        swept.plot(x_range=(0.1, 0.3))


def test_is_imported_without_matplotlib():
    code = "import sys, emab; emab.plot.regret; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rejects_other_types(result, swept):
    for draw, value, words in [
        (emab.plot.sweep, result, "must be a SweepResult, not a Result; emab.plot.regret draws it"),
        (emab.plot.regret, swept, "must be a Result, not a SweepResult; emab.plot.sweep draws it"),
        (emab.plot.causes, "x", "must be a Result, not a str"),
        (emab.plot.gain, None, "must be a Result, not a NoneType"),
        (
            emab.plot.policy,
            emab.load("parity"),
            "must be a Solution or Policy, not a Problem; emab.plot.policy(",
        ),
    ]:
        with pytest.raises(TypeError, match=re.escape(words)):
            draw(value)


def test_sweep_over_texts_draws_points():
    grid = {"problem": "resource", "learners": ["feedbal", "ucb1v"], "runs": 5, "episodes": 50}
    swept = emab.sweep({**grid, "grid": {"learner.width": ["paper", "sound"]}})
    ax = swept.plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["paper", "sound"]
    drawn = lines(ax)
    assert list(drawn) == ["feedbal", "ucb1v"]
    np.testing.assert_array_equal(drawn["feedbal"].get_ydata(), [cell.curve.regret[-1] for cell in swept.cells[:2]])
    assert drawn["feedbal"].get_linestyle() == "None"
    # Side by side.
    assert (drawn["feedbal"].get_xdata() < drawn["ucb1v"].get_xdata()).all()
    with pytest.raises(ValueError, match="`log_x` needs a numeric parameter"):
        swept.plot(log_x=True)
    with pytest.raises(ValueError, match="varies no parameter: a plot needs a `grid`"):
        emab.sweep(grid).plot()


def test_names_of_many_states_do_not_overlap():
    ax = emab.solve("screening-risk").plot()
    ax.figure.draw_without_rendering()
    boxes = sorted((label.get_window_extent() for label in ax.get_yticklabels()), key=lambda box: box.y0)
    assert len(boxes) == 24
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))
    # The figure of given axes keeps its size.
    figure, own = plt.subplots()
    before = tuple(figure.get_size_inches())
    emab.plot.policy(emab.solve("screening-risk"), own)
    assert tuple(figure.get_size_inches()) == before


def test_map_of_many_states_has_the_colours_of_the_legend():
    ax = emab.solve("coverage").plot()
    assert ax.get_images()[0].get_interpolation() == "nearest"
