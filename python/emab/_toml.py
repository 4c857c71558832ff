"""Conversion of a sweep from a dictionary to TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any


def write(fields: Mapping[str, Any]) -> str:
    """Return a sweep as TOML: fields, ``grid`` and ``cell``.

    In ``grid`` and ``cell`` a dot in a key separates tables, as in a file: ``{"problem.p": [0.2, 0.4]}`` and
    ``{"problem": {"p": [0.2, 0.4]}}`` are equivalent.
    """
    # An unknown table, such as a misspelt `grid`, is rejected by the reader of sweeps.
    tables = {name: value for name, value in fields.items() if name == "grid" or isinstance(value, Mapping)}
    lines = [
        f"{_key(str(name))} = {_value(str(name), value)}"
        for name, value in fields.items()
        if name != "cell" and name not in tables
    ]
    for name, table in tables.items():
        if name != "cell":
            lines += [f"[{_key(str(name))}]", *_table(name, table)]
    for cell in _cells(fields.get("cell", ())):
        lines += ["[[cell]]", *_table("cell", cell)]
    return "\n".join(lines) + "\n"


def _cells(cells: Any) -> list[Any]:
    """Return the extra cells; a single one need not be in a list."""
    if isinstance(cells, Mapping):
        return [cells]
    if isinstance(cells, (list, tuple)):
        return list(cells)
    raise TypeError(f"`cell` must be a list of dictionaries, got {cells!r}")


def _table(name: str, table: Any) -> Iterator[str]:
    """Return the lines of a table, with inner tables as dotted keys, which keep their order."""
    if not isinstance(table, Mapping):
        raise TypeError(f"`{name}` must be a dictionary such as {{'problem.p': [0.2, 0.4]}}, got {table!r}")
    for key, value in table.items():
        yield from _lines(str(key).split("."), value)


def _lines(path: list[str], value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _lines([*path, str(name)], inner)
    else:
        yield f"{'.'.join(map(_key, path))} = {_value('.'.join(path), value)}"


def _key(name: str) -> str:
    return name if name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name) else _text(name)


def _text(text: str) -> str:
    """Return a quoted string. The escapes of JSON are valid in TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(key: str, value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy numbers and arrays
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # TOML has infinities and NaN; the reader of sweeps rejects them.
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple, range)):
        return f"[{', '.join(_value(key, item) for item in value)}]"
    raise TypeError(f"`{key}` must be made of numbers, texts, lists and dictionaries, got {value!r}")
