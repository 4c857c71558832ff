"""What the generators in this folder share: formatting, and `--check`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PYTHON = Path(__file__).parents[1]


def ruff(*arguments: str, text: str, path: Path) -> str:
    """Return a text as ruff corrects it."""
    options = ["--config", PYTHON / "pyproject.toml", "--stdin-filename", path, "-"]
    command = [sys.executable, "-m", "ruff", *arguments, *options]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8").stdout


def update(files: dict[Path, str], command: str) -> None:
    """Write the files; with `--check`, fail and name the command if they differ."""
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not up to date: run `{command}`")
