"""Reading answers: the fields that this version knows must be of their type; others are let be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ._errors import Unexpected

T = TypeVar("T")
Raw = Mapping[str, Any]


def reader(of: Callable[[Raw], T]) -> Callable[[bytes], T]:
    """Reads a JSON object into a result."""

    def read(body: bytes) -> T:
        try:
            raw = json.loads(body)
        except ValueError:
            raise _unexpected(body[:100].decode("utf-8", "replace"), "JSON") from None
        return of(as_object(raw))

    return read


def as_object(value: Any) -> Raw:
    """A JSON object."""
    if isinstance(value, dict):
        return value
    raise _unexpected(value, "a JSON object")


def text(raw: Raw, key: str) -> str:
    """A field that is text."""
    return _field(raw, key, str, "text")


def whole(raw: Raw, key: str) -> int:
    """A field that is a whole number."""
    return _field(raw, key, int, "a whole number")


def flag(raw: Raw, key: str) -> bool:
    """A field that is true or false."""
    return _field(raw, key, bool, "true or false")


def number(raw: Raw, key: str) -> float:
    """A field that is a number."""
    return float(_field(raw, key, (int, float), "a number"))


def listed(raw: Raw, key: str) -> list[Any]:
    """A field that is a list."""
    return _field(raw, key, list, "a list")


def nested(raw: Raw, key: str) -> Raw:
    """A field that is an object."""
    return _field(raw, key, dict, "an object")


def maybe(read: Callable[[Raw, str], T], raw: Raw, key: str) -> T | None:
    """A field that may be null, or not be there."""
    return None if raw.get(key) is None else read(raw, key)


def inside(of: Callable[[Raw], T], raw: Raw, key: str) -> T | None:
    """A field that is another result, or null, or not there."""
    value = maybe(nested, raw, key)
    return None if value is None else of(value)


def _field(raw: Raw, key: str, kind: type[T] | tuple[type[T], ...], wanted: str) -> T:
    value = raw.get(key)
    if isinstance(value, kind):
        return value
    raise _unexpected(f"{value!r} as `{key}`", wanted)


def _unexpected(found: object, wanted: str) -> Unexpected:
    return Unexpected(
        f"an answer that emab does not give: found {str(found)[:200]} where {wanted} was expected; "
        "is it an `emab serve` that listens at this address?"
    )
