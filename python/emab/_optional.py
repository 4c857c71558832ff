"""Optional dependencies."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import a package; raise `ImportError` with the install command if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module.partition('.')[0]}: pip install emab[{extra}]") from error
