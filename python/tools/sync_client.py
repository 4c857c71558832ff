"""Writes the synchronous client from the asynchronous one: `python python/tools/sync_client.py`.

The source is `emab/client/_async`, the result `emab/client/_sync`. `--check` writes nothing and fails if they differ.
"""

from __future__ import annotations

import re
from pathlib import Path

from generate import PYTHON, ruff, update

ASYNC, SYNC = (PYTHON / "emab" / "client" / name for name in ("_async", "_sync"))
COMMAND = "python python/tools/sync_client.py"

REPLACEMENTS = [
    (r"import anyio\n", "import time\n"),
    (r"anyio\.sleep", "time.sleep"),
    (r"anyio\.Path", "Path"),
    (r"Iterable\[Line\] \| AsyncIterable\[Line\]", "Iterable[Line]"),
    (r"tasks may share it", "threads may share it"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\ba(close|read|iter_raw|iter_bytes)\b", r"\1"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
]


def synchronous(text: str) -> str:
    """Return the synchronous version of a module."""
    text = unwrapped(text)
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    return text


def unwrapped(text: str) -> str:
    """Drop the parentheses of `(await call()).attribute`."""
    while (start := text.find("(await ")) >= 0:
        depth, end = 1, start
        while depth:
            end += 1
            depth += {"(": 1, ")": -1}.get(text[end], 0)
        inner = text[start + len("(await ") : end]
        is_call = text[start - 1].isidentifier()
        text = text[:start] + (f"({inner})" if is_call else inner) + text[end + 1 :]
    return text


def modules() -> dict[Path, str]:
    """Return the text of each synchronous module."""
    written = {}
    for source in sorted(ASYNC.glob("*.py")):
        text = synchronous(source.read_text(encoding="utf-8"))
        if source.name == "__init__.py":
            text = f'"""The synchronous client, written by `{COMMAND}` from `_async`."""\n'
        else:
            text = f"# Written by `{COMMAND}` from ../_async/{source.name}.\n{text}"
        target = SYNC / source.name
        # `yield from` instead of a loop, and no unused imports.
        fixes = ("--quiet", "--fix", "--unsafe-fixes", "--select=F401,I,UP028")
        text = ruff("check", *fixes, text=text, path=target)
        written[target] = ruff("format", text=text, path=target)
    return written


if __name__ == "__main__":
    update(modules(), COMMAND)
