"""Loading of problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, TypeAlias

from emab._emab import Problem

ProblemLike: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Problem"
"""A problem argument: a name, a path, a dictionary with the fields of a problem file, or a problem."""


def load(problem: ProblemLike) -> Problem:
    """Return a built-in problem by name, a problem from a file, or one from a dictionary.

    >>> emab.load("treatment").spec.actions
    ['surveillance', 'surgery', 'chemotherapy', 'radiotherapy']
    >>> emab.load("resorce")
    Traceback (most recent call last):
    FileNotFoundError: unknown problem `resorce` (did you mean `resource`?): it is neither a file nor one of ...
    """
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, Mapping):
        return Problem.from_json(json.dumps(problem, allow_nan=False, default=_plain))
    if not isinstance(problem, (str, PathLike)):
        raise TypeError(f"a problem is a name, a path, a dictionary or a Problem, got {problem!r}")
    return Problem.find(fspath(problem))


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a problem is made of numbers, texts, lists and dictionaries, got {value!r}")
