"""Reading answers: known fields must have their type, unknown fields are ignored."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from ._errors import Unexpected

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
Raw = Mapping[str, Any]

_KINDS: Mapping[Any, tuple[Any, str]] = {
    str: (str, "text"),
    int: (int, "a whole number"),
    bool: (bool, "true or false"),
    float: ((int, float), "a number"),
    list: (list, "a list"),
    Raw: (dict, "an object"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A result of the service. Its annotations say what its JSON must contain; `raw` has all of it."""

    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Self:
        """Read the service's JSON; raise `Unexpected` where a field is missing or of another type."""
        return cls(**{name: read(raw, key) for name, key, read in _readers(cls)}, raw=raw)  # type: ignore[arg-type]


def key(name: str) -> dict[str, Any]:
    """Return the metadata of a field that has another name in JSON."""
    return {"key": name}


def read_by(read: Callable[[Raw], Any]) -> dict[str, Any]:
    """Return the metadata of a field that is read by a function of the whole object."""
    return {"read": lambda raw, _: read(raw)}


@cache
def _readers(cls: type[Record]) -> list[tuple[str, str, Callable[[Raw, str], Any]]]:
    """Return attribute, JSON key and reader of each field of a record."""
    # The public classes pretend to be of `emab.client`, where `Raw` is not defined.
    hints = get_type_hints(cls, localns={"Raw": Raw})
    return [
        (item.name, item.metadata.get("key", item.name), item.metadata.get("read") or _reader(hints[item.name]))
        for item in fields(cls)
        if item.name != "raw"
    ]


def _reader(hint: Any) -> Callable[[Raw, str], Any]:
    """Return the reader of a field with this annotation."""
    if get_origin(hint) is types.UnionType:  # `X | None`: null, or not there
        inner = _reader(get_args(hint)[0])
        return lambda raw, key: None if raw.get(key) is None else inner(raw, key)
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        return lambda raw, key: tuple(_item(item, value) for value in typed(raw, key, list))
    if isinstance(hint, type) and issubclass(hint, Record):
        return lambda raw, key: hint.of(typed(raw, key, Raw))
    return lambda raw, key: typed(raw, key, hint)


def _item(hint: Any, value: Any) -> Any:
    """Return one entry of a list."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.of(as_object(value))
    if hint is str:
        return str(value)
    return None if value is None else float(value)


def typed(raw: Raw, key: str, kind: Any) -> Any:
    """Return a field of this type, or raise `Unexpected`."""
    accepted, wanted = _KINDS[kind]
    value = raw.get(key)
    if not isinstance(value, accepted):
        raise _unexpected(f"{value!r} as `{key}`", wanted)
    return float(value) if kind is float else value


def reader(of: Callable[[Raw], T]) -> Callable[[bytes], T]:
    """Return a function that reads a JSON object from the body of an answer."""

    def read(body: bytes) -> T:
        try:
            raw = json.loads(body)
        except ValueError:
            raise _unexpected(body[:100].decode("utf-8", "replace"), "JSON") from None
        return of(as_object(raw))

    return read


def as_object(value: Any) -> Raw:
    """Return a JSON object, or raise `Unexpected`."""
    if isinstance(value, dict):
        return value
    raise _unexpected(value, "a JSON object")


def _unexpected(found: object, wanted: str) -> Unexpected:
    return Unexpected(
        f"an answer that emab does not give: found {str(found)[:200]} where {wanted} was expected; "
        "is it an `emab serve` that listens at this address?"
    )
