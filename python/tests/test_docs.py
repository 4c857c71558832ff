"""The Python code blocks of the docs run, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "python" / "README.md", *(ROOT / "docs").glob("*.md")])
# tests/client runs the first against a service, test_ray.py the second as scripts.
ELSEWHERE = {"python-client.md", "ray.md"}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def with_python():
    return [page for page in PAGES if page.name not in ELSEWHERE and blocks(page)]


def test_finds_the_pages():
    assert {"README.md", "python.md", "python-user-defined.md", "gym.md"} <= {page.name for page in with_python()}


@pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")
@pytest.mark.parametrize("page", with_python(), ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)
