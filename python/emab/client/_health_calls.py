"""The health checks, as data."""

from __future__ import annotations

from ._call import Call

ALIVE: Call[None] = Call("GET", "/livez", lambda _: None)
READY: Call[None] = Call("GET", "/readyz", lambda _: None)
