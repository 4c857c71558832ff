"""Packages that are not always there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str, extra: str) -> Any:
    """Import a package, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module.partition('.')[0]}: pip install emab[{extra}]") from error
