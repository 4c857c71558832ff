"""A service for each test, and its client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_server import CLINIC, LiveServer

from emab.client import Client, Study


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A new service."""
    with LiveServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    """A client with the admin token."""
    with Client(server.url, server.token) as client:
        yield client


@pytest.fixture
def study(client: Client) -> Study:
    """A new study."""
    return client.create_study("clinic", CLINIC)
