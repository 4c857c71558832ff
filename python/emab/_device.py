"""The device that plays the runs: processor or GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from emab._warnings import DeviceWarning

DEVICES = ("cpu", "gpu", "auto")


def check_device(device: str) -> str:
    """Return the device, or raise ``ValueError`` before anything runs."""
    if device not in DEVICES:
        raise ValueError(f"`device` must be 'cpu', 'gpu' or 'auto', got {device!r}")
    return device


def warn_of_device(notices: Iterable[str], stacklevel: int = 2) -> None:
    """Warn once with each notice of the engine about the device."""
    for notice in dict.fromkeys(notices):
        warnings.warn(notice, DeviceWarning, stacklevel=stacklevel + 1)
