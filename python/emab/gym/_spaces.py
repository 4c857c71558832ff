"""What is seen and what can be done, as Gymnasium's spaces; and the words for what is not allowed."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from emab._emab import Spec

OnForbidden: TypeAlias = Literal["stop", "raise"]


def spaces_of(spec: Spec) -> tuple[spaces.MultiDiscrete, spaces.Space[Any]]:
    """Steps from 1 and states from 0; the continuation actions, and ``stop`` last."""
    observed = spaces.MultiDiscrete(np.array([spec.horizon, spec.n_states]), start=np.array([1, 0]))
    return observed, spaces.Discrete(spec.n_actions + 1)


def is_strict(on_forbidden: str) -> bool:
    """Whether an action that is not allowed raises."""
    if on_forbidden not in ("stop", "raise"):
        raise ValueError(f"`on_forbidden` must be 'stop' or 'raise', got {on_forbidden!r}")
    return on_forbidden == "raise"


def word(seed: int) -> int:
    """The 64 bits of a seed that the engine takes: its last ones."""
    return seed & (2**64 - 1)
