"""Registration of problems for ``gymnasium.make``.

Gymnasium has no plugins since 1.0: names are registered by importing :mod:`emab.gym`, which
``gymnasium.make("emab.gym:emab/Resource-v0")`` does itself.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from emab._emab import builtin
from emab._problem import ProblemLike, load


def register() -> None:
    """Register ``emab/Problem-v0``, and one name per built-in problem, such as ``emab/FeedbackGap-v0``.

    >>> import gymnasium, emab.gym
    >>> [name for name in gymnasium.registry if name.startswith("emab/")]
    ['emab/Problem-v0', 'emab/Resource-v0', 'emab/Parity-v0', 'emab/Coverage-v0', ...]
    """
    known = {name.title().replace("-", ""): {"problem": name} for name, _ in builtin()}
    for name, arguments in {"Problem": {}, **known}.items():
        gymnasium.register(
            f"emab/{name}-v0",
            entry_point="emab.gym:Env",
            vector_entry_point="emab.gym:VectorEnv",
            kwargs=arguments,
        )


def make(problem: ProblemLike, **settings: Any) -> gymnasium.Env[npt.NDArray[np.int64], int]:
    """Create an environment of a problem as ``gymnasium.make`` does, with its wrappers.

    >>> import emab.gym
    >>> env = emab.gym.make({"horizon": 2, "states": 2, "actions": ["wait"], "feedbacks": 2, "transition": "f",
    ...                      "model": {"feedback": [0.5, 0.5], "reward": "x"}})
    >>> env.reset(seed=1)[0]
    array([1, 0])
    """
    return gymnasium.make("emab/Problem-v0", problem=load(problem), **settings)


def make_vec(problem: ProblemLike, num_envs: int = 1, **settings: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Create vectorised environments of a problem as ``gymnasium.make_vec`` does.

    >>> import emab.gym
    >>> emab.gym.make_vec("treatment", num_envs=100).reset(seed=1)[0].shape
    (100, 2)
    """
    return gymnasium.make_vec("emab/Problem-v0", num_envs=num_envs, problem=load(problem), **settings)
