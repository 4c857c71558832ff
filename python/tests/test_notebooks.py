"""The notebooks run, to their own last asserts, and what is kept of them is fit to be shown."""

import base64
import importlib.util
from pathlib import Path

import nbformat
import pytest

PYTHON = Path(__file__).parents[1]
NOTEBOOKS = sorted((PYTHON / "notebooks").glob("*.ipynb"))


def tool():
    spec = importlib.util.spec_from_file_location("notebooks", PYTHON / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def problems(notebook):
    """What a reader should not meet."""
    for output in shown(notebook):
        if output.output_type == "error" or output.get("name") == "stderr":
            yield output
        text = str(output.get("text", "")) + str(output.get("data", {}).get("text/plain", ""))
        if str(PYTHON) in text or "/tmp" in text:
            yield output


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["from_data_to_a_policy", "reproduce_the_paper", "your_own_problem"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_is_kept(path):
    kept = nbformat.read(path, as_version=4)
    ran = tool().execute(path)
    assert list(problems(ran)) == []
    kinds = [[output.output_type for output in shown(notebook)] for notebook in (kept, ran)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_whole_and_small(path):
    kept = nbformat.read(path, as_version=4)
    assert kept.metadata.kernelspec.name == "python3"
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert list(problems(kept)) == []
    pictures = [output.data["image/png"] for output in shown(kept) if "image/png" in output.get("data", {})]
    assert len(pictures) >= 2
    assert all(len(base64.b64decode(picture)) <= 100_000 for picture in pictures)
