"""A sweep as TOML: the text of a dictionary."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any


def write(fields: Mapping[str, Any]) -> str:
    """The text of a sweep: fields, ``grid`` and ``cell``.

    In the last two a dot in a key leads inside, as it does in a file: ``{"problem.p": [0.2, 0.4]}`` and
    ``{"problem": {"p": [0.2, 0.4]}}`` are the same.
    """
    lines = [
        f"{_key(str(name))} = {_value(str(name), value)}"
        for name, value in fields.items()
        if name not in ("grid", "cell")
    ]
    if "grid" in fields:
        lines += ["[grid]", *_inside("grid", fields["grid"])]
    for cell in _cells(fields.get("cell", ())):
        lines += ["[[cell]]", *_inside("cell", cell)]
    return "\n".join(lines) + "\n"


def _cells(cells: Any) -> list[Any]:
    """The cells beside the grid; one may stand without its list."""
    if isinstance(cells, Mapping):
        return [cells]
    if isinstance(cells, (list, tuple)):
        return list(cells)
    raise TypeError(f"`cell` must be a list of dictionaries, got {cells!r}")


def _inside(place: str, table: Any) -> Iterator[str]:
    """The lines of a table, tables in it as dotted keys, which may be mixed and keep their order."""
    if not isinstance(table, Mapping):
        raise TypeError(f"`{place}` must be a dictionary such as {{'problem.p': [0.2, 0.4]}}, got {table!r}")
    for name, value in table.items():
        yield from _lines(str(name).split("."), value)


def _lines(path: list[str], value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _lines([*path, str(name)], inner)
    else:
        yield f"{'.'.join(map(_key, path))} = {_value('.'.join(path), value)}"


def _key(name: str) -> str:
    return name if name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name) else _text(name)


def _text(text: str) -> str:
    """A string in quotes. JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(place: str, value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy's numbers and arrays
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # Infinities and NaN are TOML too; whoever reads it says that they cannot be.
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple, range)):
        return f"[{', '.join(_value(place, item) for item in value)}]"
    raise TypeError(f"`{place}` must be made of numbers, texts, lists and dictionaries, got {value!r}")
