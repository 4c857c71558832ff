"""Every public item has an example, which runs against a service."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest
from live_server import LiveServer

import emab.client
from emab.client import AsyncClient, Client, Study

_FOUND = [
    test
    for test in doctest.DocTestFinder(exclude_empty=False).find(emab.client, module=False)
    if not test.name.rpartition(".")[2].startswith("_")
]


def test_every_public_item_has_an_example() -> None:
    """`of`, the same in each result, is the only exception."""
    without = [test.name for test in _FOUND if not test.examples and not test.name.endswith(".of")]
    assert without == []
    assert {f"emab.client.{name}" for name in emab.client.__all__} < {test.name for test in _FOUND}


@pytest.mark.parametrize("test", [test for test in _FOUND if test.examples], ids=lambda test: test.name)
def test_example(test: doctest.DocTest, server: LiveServer, study: Study, tmp_path: Path) -> None:
    """The output is that of the docstring."""
    kind = AsyncClient if ".Async" in test.name else Client
    client = kind(server.url, server.token)
    names: dict[str, Any] = {
        **vars(emab.client),
        "client": client,
        "client_token": server.token,
        "folder": tmp_path,
    }
    loop = asyncio.new_event_loop()
    names["awaited"] = lambda source: _awaited(source, names, loop)
    if isinstance(client, AsyncClient):
        for example in test.examples:
            example.source = f"awaited({example.source!r})\n"
    test.globs = names
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    closed = client.close()
    if closed is not None:
        loop.run_until_complete(closed)
    loop.close()
    assert failed == 0, "".join(said)


def _awaited(source: str, names: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
    """Run a line as `python -m asyncio` does."""
    code = compile(source, "<example>", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)
    if inspect.iscoroutine(done):
        loop.run_until_complete(done)
