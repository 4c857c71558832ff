"""Encoding of requests as JSON, with the place of a value that JSON cannot represent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def encode(value: Any, place: str = "") -> bytes:
    """Return JSON in UTF-8; raise `ValueError`, with the place, for NaN, infinities and other types."""
    return json.dumps(_plain(value, place), ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any, place: str) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _finite(value, place)
    if isinstance(value, Mapping):
        return {_key(key, place): _plain(item, f"{place}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}/{i}") for i, item in enumerate(value)]
    # Arrays and numbers of NumPy and similar libraries.
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), place)
    raise ValueError(
        f"{place or 'the body'} is {value!r}, which JSON cannot represent: use text, numbers, lists, dicts or None"
    )


def _key(key: Any, place: str) -> str:
    if isinstance(key, str):
        return key
    raise ValueError(f"{place or 'the body'} has the key {key!r}; the keys of JSON objects are text")


def _finite(value: float, place: str) -> float:
    if math.isfinite(value):
        return value
    raise ValueError(f"{place or 'the body'} is {value}, and must be a finite number; use None for an unknown value")
