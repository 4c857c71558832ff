"""Services to test against, and clients of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_server import CLINIC, LiveServer

from emab.client import Client, Study


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A fresh service."""
    with LiveServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    """Its admin."""
    with Client(server.url, server.token) as client:
        yield client


@pytest.fixture
def study(client: Client) -> Study:
    """A study of it, new."""
    return client.create_study("clinic", CLINIC)
