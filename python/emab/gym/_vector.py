"""Vectorised environments; ``step`` and ``reset`` are native."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from emab._emab import VectorCore
from emab._problem import ProblemLike, load
from emab.gym._spaces import OnForbidden, is_strict, low_bits, spaces_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class VectorEnv(VectorCore, gymnasium.vector.VectorEnv[Ints, Ints, npt.NDArray[Any]]):
    """A vector of environments of one problem.

    Each behaves as an :class:`Env` with the same seed, bit for bit. After the end of an episode the next step resets
    the environment and ignores its action (``AutoresetMode.NEXT_STEP``). When episodes end, ``infos["costs"]`` and
    ``infos["rewards"]`` have one row per environment, padded with NaN, and ``infos["_costs"]`` marks the environments
    that ended; :meth:`revealed` returns their episodes, until the next step. ``options["start"]`` is one start state
    for all environments or a list with one each, and holds for the episodes that ``reset`` begins.

    >>> import emab.gym
    >>> envs = emab.gym.VectorEnv("resource", num_envs=3)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, infos = envs.step([0, 1, 0])
    >>> terminated, infos["rewards"].shape, list(envs.revealed())
    (array([False,  True, False]), (3, 1), [1])
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 as Gymnasium has it

    def __new__(cls, problem: ProblemLike, num_envs: int = 1, *, on_forbidden: OnForbidden = "stop") -> VectorEnv:
        """Create environments of a problem: a name, a path, a dictionary, or a :class:`emab.Problem`."""
        return VectorCore.__new__(cls, load(problem), num_envs, is_strict(on_forbidden))

    def __init__(self, problem: ProblemLike, num_envs: int = 1, *, on_forbidden: OnForbidden = "stop") -> None:
        """Set the spaces."""
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = spaces_of(self.problem.spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _seed(
        self, seed: int | Sequence[int | None] | None, options: Mapping[str, Any] | None
    ) -> tuple[list[int | None], int]:
        first = self._np_random_seed is None
        run = (options or {}).get("run", 0)
        if seed is None or isinstance(seed, int):
            gymnasium.vector.VectorEnv.reset(self, seed=seed)
            base = self.np_random_seed or 0
            return [low_bits(base + i) for i in range(self.num_envs)], run
        if len(seed) != self.num_envs:
            raise ValueError(f"`seed` must be one integer or {self.num_envs} of them; got {len(seed)}")
        gymnasium.vector.VectorEnv.reset(self, seed=seed[0])
        # Without a seed an environment continues; the first time it starts from a random seed.
        new = secrets.randbits(64) if first else None
        return [
            (None if new is None else low_bits(new + i)) if s is None else low_bits(s) for i, s in enumerate(seed)
        ], run

    def step(self, actions: npt.ArrayLike) -> tuple[Ints, Floats, Flags, Flags, dict[str, Any]]:
        """Take an action in each environment."""
        whole = np.asarray(actions).astype(np.int64, casting="same_kind", copy=False)
        return VectorCore.step(self, np.ascontiguousarray(whole))
