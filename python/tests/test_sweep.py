"""Sweeps from Python equal those of the command."""

import json

import numpy as np
import pytest
from helpers import command, timeless

import emab
from emab import _toml
from emab._sweep import sweep

GRID = """
problem     = "resource"
learners    = ["feedbal:delta=0.05", "ucb1v"]
episodes    = 200
runs        = 6
seed        = 7
checkpoints = [10, 100]

[grid]
problem.p      = { from = 0.2, to = 1, steps = 3 }
learner.width  = ["paper", "sound"]

[[cell]]
learner.sigma2  = 0.3
problem.horizon = 4
"""
FIELDS = {
    "problem": "resource",
    "learners": [emab.FeedBAL(delta=0.05), "ucb1v"],
    "episodes": 200,
    "runs": np.int64(6),
    "seed": 7,
    "checkpoints": (10, 100),
    "grid": {"problem": {"p": {"from": 0.2, "to": 1, "steps": 3}}, "learner.width": ["paper", "sound"]},
    "cell": [{"learner.sigma2": 0.3, "problem.horizon": 4}],
}


@pytest.fixture(scope="module")
def by_command(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    (folder / "grid.toml").write_text(GRID)
    return folder, command("sweep", "grid.toml", "--json", "--out", "out", cwd=folder).stdout


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_file_gives_byte_identical_tables(by_command, tmp_path, threads):
    folder, text = by_command
    result = sweep(folder / "grid.toml", threads=threads)
    result.save(tmp_path / "new" / "folder")
    assert timeless(result.text) == timeless(text)
    for table in ("sweep.csv", "sweep.parquet"):
        assert (tmp_path / "new" / "folder" / table).read_bytes() == (folder / "out" / table).read_bytes()


def test_saving_replaces_another_table_only_on_request(by_command, tmp_path):
    result, other = sweep(FIELDS), sweep({**FIELDS, "seed": 2})
    result.save(tmp_path)
    result.save(tmp_path)
    with pytest.raises(FileExistsError, match=r"contains the table of a sweep; .* force=True replaces it"):
        other.save(tmp_path)
    assert (tmp_path / "sweep.csv").read_text() == result.csv
    other.save(tmp_path, force=True)
    assert (tmp_path / "sweep.csv").read_text() == other.csv
    # The same table is found in the folder of the command, another one does not replace it.
    folder, _ = by_command
    result.save(folder / "out")
    with pytest.raises(FileExistsError, match=r"contains a sweep of grid.toml"):
        other.save(folder / "out")


@pytest.mark.filterwarnings("ignore::emab.DeviceWarning")
def test_any_device_gives_the_same_bytes(by_command):
    assert timeless(sweep(FIELDS, device="auto").text) == timeless(by_command[1])
    with pytest.raises(ValueError, match="`device` must be 'cpu', 'gpu' or 'auto', got 'tpu'"):
        sweep(FIELDS, device="tpu")


def test_dictionary_is_equivalent_to_a_file(by_command):
    folder, text = by_command
    for fields in (FIELDS, {**FIELDS, "problem": emab.load("resource")}):
        result = sweep(fields)
        assert timeless(result.text) == timeless(text)
        assert result.csv == (folder / "out" / "sweep.csv").read_text()


def test_data_frames_have_the_rows_of_the_table(by_command):
    result = sweep(FIELDS)
    polars, arrow, pandas = result.to_polars(), result.to_arrow(), result.to_pandas()
    assert polars.columns == arrow.column_names == list(pandas.columns)
    assert polars.rows() == [tuple(row.values()) for row in arrow.to_pylist()]
    none = pandas.astype(object).where(pandas.notna(), None)
    assert [tuple(row) for row in none.itertuples(index=False)] == polars.rows()
    assert pandas["seed"].dtype == np.uint64
    assert pandas["learner.width"].unique().tolist()[:2] == ["paper", "sound"]


def test_cell_equals_a_run_with_its_seed(by_command):
    cell = next(c for c in sweep(FIELDS).cells if c.values == {"learner.sigma2": 0.3, "problem.horizon": 4})
    problem = json.loads(emab.load("resource").to_json())
    problem["horizon"] = 4
    again = emab.run(problem, cell.curve.label, runs=6, episodes=200, checkpoints=[10, 100], seed=cell.seed).curves[0]
    np.testing.assert_array_equal(again.regret, cell.curve.regret)
    assert f"SweepCell({cell.number}" in repr(cell)


def test_finds_the_problem_in_the_folder_of_the_sweep(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    emab.load("treatment").save(inside / "mine.json")
    (inside / "grid.toml").write_text('problem = "mine.json"\nepisodes = 50\nruns = 3\n')
    text = command("sweep", "inside/grid.toml", "--json", cwd=tmp_path).stdout
    assert timeless(sweep(inside / "grid.toml").text) == timeless(text)
    other = sweep(inside / "grid.toml", problem="resource")
    assert other.csv == sweep({"problem": "resource", "episodes": 50, "runs": 3}).csv


@pytest.mark.parametrize(
    "text",
    [
        'problem = "resource"\nruns = 0\n',
        "runs = 3\n",
        "problem = 3\n",
        'problem = "resource\n',
        'problem = "resource"\nrnus = 3\n',
        'problem = "resource"\n[grid]\nproblem.p = [1.5]\n',
        'problem = "resource"\n[grid]\nlearner.nothing = [1.5]\n',
        'problem = "nowhere.json"\n',
        'problem = "resorce"\n',
    ],
)
def test_error_messages_are_those_of_the_command(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(text)
    errors = command("sweep", "grid.toml", cwd=tmp_path, code=2).stderr
    with pytest.raises((ValueError, OSError)) as caught:
        sweep("grid.toml")
    assert str(caught.value).strip() == errors.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"runs": 3}, "a sweep must have a `problem`"),
        ({"problem": "resource", "rnus": 3}, "rnus"),
        ({"problem": "resource", "grid": [1]}, "`grid` must be a dictionary"),
        ({"problem": "resource", "grid": {"problem.p": object()}}, "`problem.p` must be made of"),
        ({"problem": "resource", "grid": {"problem.p": [float("nan")]}}, "every number must be finite, got NaN"),
        ({"problem": "resource", "cell": 3}, "`cell` must be a list"),
        ({"problem": "resource", "learners": [lambda spec: None]}, "<lambda> is code"),
    ],
)
def test_rejects_invalid_fields(fields, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sweep(fields)


def test_keeps_special_characters():
    """Special characters in texts and keys survive the conversion to TOML."""
    tomllib = pytest.importorskip("tomllib")  # not in Python 3.10
    control = "".join(map(chr, range(0x20))) + "\x7f\x85\u2028"
    fields = {"problem": control, "grid": {"problem": {control: [control, True, 1e-5, 2**53], "": -0.5}}}
    assert tomllib.loads(_toml.write(fields)) == fields
    nasty = 'a"b\\c ü€😀\'\'\'"""#]'
    grid = {"problem": {"name": nasty}}
    result = sweep({"problem": "resource", "runs": 2, "episodes": 10, "grid": grid})
    assert [cell.values["problem.name"] for cell in result.cells] == [nasty]


def test_progress_reaches_the_total():
    reports = []
    result = sweep(FIELDS, progress=lambda done, total: reports.append((done, total)))
    total = len(result.cells) * 6 * 200
    assert reports[-1] == (total, total)
    assert reports == sorted(reports)


def test_a_sweep_warns_once_of_each_kind():
    fields = {"problem": "tutoring", "runs": 2, "episodes": 10, "grid": {"learner.sigma2": [0.1, 0.2]}}
    with pytest.warns(emab.SoundnessWarning, match="1 more cell has the same warning") as caught:
        emab.sweep(fields)
    assert len(caught) == 1


def test_a_misspelt_table_gets_a_suggestion():
    with pytest.raises(ValueError, match="did you mean `grid`"):
        emab.sweep({"problem": "resource", "grd": {"problem.p": [0.2]}})


def test_a_value_that_makes_the_problem_invalid_is_an_error_of_the_problem():
    with pytest.raises(emab.ProblemError, match=r"the problem with problem\.p = 1\.8 is invalid: `feedback`"):
        emab.sweep({"problem": "resource", "grid": {"problem.p": [1.8]}})
