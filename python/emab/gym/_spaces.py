"""Observation and action spaces, and arguments that both environments share."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from emab._emab import Spec

OnForbidden: TypeAlias = Literal["stop", "raise"]


def spaces_of(spec: Spec) -> tuple[spaces.MultiDiscrete, spaces.Space[Any]]:
    """Return the observations (steps from 1, states from 0) and the actions, with ``stop`` last."""
    observed = spaces.MultiDiscrete(np.array([spec.horizon, spec.n_states]), start=np.array([1, 0]))
    return observed, spaces.Discrete(spec.n_actions + 1)


def is_strict(on_forbidden: str) -> bool:
    """Return whether an action that is not allowed raises an error."""
    if on_forbidden not in ("stop", "raise"):
        raise ValueError(f"`on_forbidden` must be 'stop' or 'raise', got {on_forbidden!r}")
    return on_forbidden == "raise"


def low_bits(seed: int) -> int:
    """Return the lowest 64 bits of a seed, which the engine uses."""
    return seed & (2**64 - 1)
