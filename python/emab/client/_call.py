"""A request as data, and how its answer is read: what both clients send, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ._json import encode

T = TypeVar("T")

JSON = "application/json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of the service."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: bytes | None = None

    def __str__(self) -> str:
        """For people: what is asked for."""
        return f"{self.method} {self.path}"


def call(method: str, path: str, read: Callable[[bytes], T], given: Mapping[str, Any] | None = None) -> Call[T]:
    """A call with a JSON body, or none. Fields that are None are left out."""
    if given is None:
        return Call(method, path, read)
    body = {key: value for key, value in given.items() if value is not None}
    return Call(method, path, read, body=encode(body))
