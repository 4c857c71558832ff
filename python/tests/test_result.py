"""Results: tables and files of the command, data frames, and notebook output."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from helpers import command

import emab
from emab._emab import format_number

ARGUMENTS = ["--runs", "20", "--episodes", "500", "--seed", "3"]
SETTINGS = {"runs": 20, "episodes": 500, "seed": 3}
pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


@pytest.fixture(scope="module")
def result():
    return emab.run("coverage", ["feedbal:sigma2=0.2,ties=random", "optimal"], **SETTINGS)


@pytest.mark.parametrize(
    ("problem", "learners", "conditions"),
    [
        ("coverage", ["feedbal", "optimal"], []),
        (
            "resource",
            ["ucbvi:scale=.1,delta=.1", "ucb1v"],
            ["delay=geometric:3", "dropout=0.1", "drift=p:0.5@100", "drift=beta:0.5@9-60"],
        ),
        ("parity", ["feedbal", "random"], ["delay=batches:7", "lost=0.25", "override=0.125"]),
    ],
)
def test_saved_result_is_byte_identical_to_that_of_the_command(problem, learners, conditions, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    result = emab.run(problem, learners, conditions=conditions, **SETTINGS)
    result.save(ours)
    options = [word for learner in learners for word in ("--learner", learner)]
    options += [word for condition in conditions for word in ("--condition", condition)]
    printed = command("run", problem, *options, *ARGUMENTS, "--out", theirs).stdout
    for name in ("curve.csv", "problem.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name

    def without_seconds(path):
        return [line for line in path.read_text(encoding="utf-8").splitlines() if '"seconds"' not in line]

    assert without_seconds(ours / "run.json") == without_seconds(theirs / "run.json")
    assert repr(result) == printed.rstrip("\n")


def test_command_plots_a_saved_result(tmp_path):
    emab.run("parity", **SETTINGS).save(tmp_path / "deep" / "folder")
    folder = str(tmp_path / "deep" / "folder")
    command("plot", folder, "--log-x")
    command("plot", folder, "--bound")
    assert {path.name for path in (tmp_path / "deep" / "folder").glob("*.png")} == {"regret.png", "bound.png"}


def test_reads_a_saved_result(result, tmp_path):
    result.save(tmp_path)
    again = emab.Result.read(tmp_path)
    assert again.text == result.text
    assert again.problem_file == result.problem_file == emab.load("coverage")
    assert again.to_pandas().equals(result.to_pandas())


def test_saving_replaces_another_result_only_on_request(result, tmp_path):
    result.save(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # The same run, which took another time.
    result.save(tmp_path)
    emab.Result.parse(re.sub(r'"seconds": [^,}\s]+', '"seconds": 1.5', result.text), result.problem_file).save(tmp_path)
    other = emab.Result.parse(emab.run("parity", **SETTINGS).text)
    with pytest.raises(FileExistsError, match=r"contains a run of `[^`]+` with .* force=True replaces it"):
        other.save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {**written, "notes.txt": b"mine"}
    other.save(tmp_path, force=True)
    # The problem of the other result would be wrong here.
    assert emab.Result.read(tmp_path).problem_file is None
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "curve.csv", "notes.txt"}


def test_saving_keeps_files_of_other_programs(result, tmp_path):
    (tmp_path / "curve.csv").write_text("mine")
    for force in (False, True):
        with pytest.raises(FileExistsError, match=r"contains curve.csv, not written by emab"):
            result.save(tmp_path, force=force)
    assert (tmp_path / "curve.csv").read_text() == "mine"


def test_data_frames_have_the_rows_of_the_csv(result, tmp_path):
    result.save(tmp_path)
    # Python reads numbers exactly; pandas does not in every version.
    written = pd.read_csv(tmp_path / "curve.csv", converters=dict.fromkeys(emab._result._COLUMNS, float))
    frame = result.to_pandas()
    assert list(frame.columns) == [*written.columns, "lower", "upper"]
    for name in written.columns:
        assert frame[name].tolist() == written[name].tolist(), name
    polars, arrow = result.to_polars(), result.to_arrow()
    for name in frame.columns:
        assert polars[name].to_list() == frame[name].tolist() == arrow[name].to_pylist(), name
    assert frame["episode"].dtype == np.int64
    assert (str(polars.schema["episode"]), str(polars.schema["regret"])) == ("Int64", "Float64")
    assert (str(arrow.schema.field("learner").type), str(arrow.schema.field("regret").type)) == ("string", "double")


def test_unknown_values_are_null(result, tmp_path):
    unknown = emab.Result.parse(
        '{"version": "0.1.0", "problem": "p", "problem_hash": "", "estimator": "exact", "seed": 1,'
        ' "runs": 2, "episodes": 1, "benchmark_value": 1.5, "benchmark_stderr": 0.25,'
        '"optimal_value": null, "learners": [{"learner": "l", "label": "l", "parameters": {}, "curve": [{"episode": 1,'
        '"regret": 1e-7, "stderr": 0.0, "gain": 1e17, "gain_stderr": 0.5, "regret_optimal": null}],'
        '"causes": {"early_stop": 1e-7, "late_stop": 0.0, "wrong_action": 0.0}, "steps": 1, "seconds": 0.1}]}'
    )
    assert unknown.to_pandas()["regret_optimal"].isna().all()
    assert unknown.to_polars()["regret_optimal"].to_list() == [None]
    assert unknown.to_arrow()["regret_optimal"].to_pylist() == [None]
    unknown.save(tmp_path)
    assert (tmp_path / "curve.csv").read_text().splitlines()[1] == '"l",1,0.0000001,0,100000000000000000,0.5,,,,,,'
    assert "the benchmark earns 1.50 ± 0.49 an episode" in repr(unknown)


@pytest.mark.parametrize(("package", "extra"), [("pandas", "pandas"), ("polars", "polars"), ("pyarrow", "arrow")])
def test_names_the_extra_of_a_missing_package(result, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"this needs {package}: pip install emab\[{extra}\]"):
        getattr(result, f"to_{extra}")()


@pytest.mark.parametrize("problem", ["parity", "treatment", "resource", "feedback-gap"])
def test_solutions_and_bounds_print_as_the_command_does(problem):
    assert repr(emab.solve(problem)) == command("solve", problem).stdout.rstrip("\n")
    summary = command("bounds", problem, "--episodes", "2000").stdout.split("\n\n")[0].rstrip("\n")
    assert repr(emab.bounds(problem, episodes=2000)).startswith(summary)


def test_large_policies_are_not_printed():
    states = 5000
    problem = emab.load(
        {
            "name": "wide",
            "horizon": 2,
            "states": states,
            "actions": 1,
            "feedbacks": states,
            "transition": "f",
            "model": {"feedback": f"1 / {states}", "reward": "x"},
        }
    )
    solution = emab.solve(problem)
    assert "5,001 pairs, too many to show" in repr(solution)
    assert "5,001 pairs, too many to show" in solution._repr_html_()
    assert solution.benchmark._repr_html_().count("<td") == 0


def test_html_tables_escape_names():
    names = ["<b>start</b>", "a & b"]
    problem = emab.load(
        {
            "name": "<script>x</script>",
            "horizon": 2,
            "states": names,
            "actions": ["<i>go</i>"],
            "feedbacks": 1,
            "transition": "1",
            "model": {"feedback": [1], "reward": "x"},
        }
    )
    solution, result = emab.solve(problem), emab.run(problem, **SETTINGS)
    shown = [solution, solution.optimal, result, result.curves[0], emab.bounds(problem)]
    for item in shown:
        html = item._repr_html_()
        assert "<table" in html
        for raw in ("<script>", "<b>", "<i>", "a & b"):
            assert raw not in html
    assert "&lt;b&gt;start&lt;/b&gt;" in solution._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


def test_one_run_has_no_interval():
    assert "(one run)" in repr(emab.run("resource", runs=1, episodes=100))


@pytest.mark.parametrize("value", [0.0, -0.0004, 1e-9, 12345.6, 99.995, 1e12, -7.25])
def test_numbers_keep_their_size(value):
    assert float(format_number(value).replace(",", "")) == pytest.approx(value, rel=0.01)
