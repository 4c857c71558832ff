"""The notebooks run, including their assertions, and their saved outputs are complete."""

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
    """Outputs that a reader should not see: errors, stderr and local paths."""
    for output in shown(notebook):
        if output.output_type == "error" or output.get("name") == "stderr":
            yield output
        text = str(output.get("text", "")) + str(output.get("data", {}).get("text/plain", ""))
        if str(PYTHON) in text or "/tmp" in text:
            yield output


def test_finds_the_notebooks():
    names = ["from_data_to_a_policy", "reproduce_the_paper", "would_another_policy_be_better", "your_own_problem"]
    assert [path.stem for path in NOTEBOOKS] == names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_with_the_saved_kinds_of_output(path):
    saved = nbformat.read(path, as_version=4)
    ran = tool().execute(path)
    assert list(problems(ran)) == []
    kinds = [[output.output_type for output in shown(notebook)] for notebook in (saved, ran)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saved_outputs_are_complete_and_small(path):
    saved = nbformat.read(path, as_version=4)
    assert saved.metadata.kernelspec.name == "python3"
    code = [cell for cell in saved.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert list(problems(saved)) == []
    pictures = [output.data["image/png"] for output in shown(saved) if "image/png" in output.get("data", {})]
    assert len(pictures) >= 2
    assert all(len(base64.b64decode(picture)) <= 100_000 for picture in pictures)
