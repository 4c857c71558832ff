"""An API call as data: the request, and how to read its answer. Both clients send these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ._encode import encode

T = TypeVar("T")

JSON = "application/json"
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One API call."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: bytes | None = None
    accept: str | None = None

    def __str__(self) -> str:
        """Return the method and the path, for messages."""
        return f"{self.method} {self.path}"


def call(method: str, path: str, read: Callable[[bytes], T], fields: Mapping[str, Any] | None = None) -> Call[T]:
    """Return a call with a JSON body of these fields, or without a body. Fields that are None are left out."""
    if fields is None:
        return Call(method, path, read)
    body = {key: value for key, value in fields.items() if value is not None}
    return Call(method, path, read, body=encode(body))


LIVENESS: Call[None] = Call("GET", "/livez", lambda _: None)
READINESS: Call[None] = Call("GET", "/readyz", lambda _: None)
