"""The code of the page about the client."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from live_server import LiveServer

PAGE = Path(__file__).parents[3] / "docs" / "python-client.md"


def test_code_of_the_client_page_runs_twice(
    server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It runs, and prints the text in the comments beside `print`."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    code = "".join(blocks)
    monkeypatch.setenv("EMAB_TOKEN", server.token)
    monkeypatch.chdir(tmp_path)
    ran: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:8420", server.url), ran)
    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"print\(.*\) +# (.*)", code)
    assert len(blocks) == 4
    assert len(said) == 5
    assert [line for line in printed if line in said] == said
    assert (tmp_path / "clinic.ndjson").read_text().count("\n") == 10
    # An interrupted program can run again.
    log = list(ran["study"].events())
    exec(code.replace("http://127.0.0.1:8420", server.url), {})
    assert list(ran["study"].events()) == log
    assert capsys.readouterr().out.splitlines() == printed
    ran["client"].close()
