"""Many environments at once; their ``reset`` and the whole of a step are native."""

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
from emab.gym._spaces import OnForbidden, is_strict, spaces_of, word

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class VectorEnv(VectorCore, gymnasium.vector.VectorEnv[Ints, Ints, npt.NDArray[Any]]):
    """Many environments of one problem, stepped at once.

    Each is an :class:`Env` of its own, and with the same seeds meets the same to the bit. One that is over begins anew
    in the next step, whatever its action there (``AutoresetMode.NEXT_STEP``). When episodes end, ``infos["costs"]`` and
    ``infos["rewards"]`` have one row an environment with what theirs revealed, NaN where there is nothing, and
    ``infos["_costs"]`` says whose ended; :meth:`revealed` has them as episodes, until the next step.

    >>> import emab.gym
    >>> envs = emab.gym.VectorEnv("resource", num_envs=3)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, infos = envs.step([0, 1, 0])
    >>> terminated, infos["rewards"].shape, list(envs.revealed())
    (array([False,  True, False]), (3, 1), [1])
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 as Gymnasium has it

    def __new__(cls, problem: ProblemLike, num_envs: int = 1, *, on_forbidden: OnForbidden = "stop") -> VectorEnv:
        """Make so many environments of a problem: a name, a path, a dictionary, or a :class:`emab.Problem`."""
        return VectorCore.__new__(cls, load(problem), num_envs, is_strict(on_forbidden))

    def __init__(self, problem: ProblemLike, num_envs: int = 1, *, on_forbidden: OnForbidden = "stop") -> None:
        """Give them what Gymnasium asks of them."""
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
            return [word(base + i) for i in range(self.num_envs)], run
        if len(seed) != self.num_envs:
            raise ValueError(f"`seed` must be one for all or {self.num_envs}, one each; got {len(seed)}")
        gymnasium.vector.VectorEnv.reset(self, seed=seed[0])
        # One without a seed goes on, and the first time begins somewhere new.
        new = secrets.randbits(64) if first else None
        return [(None if new is None else word(new + i)) if s is None else word(s) for i, s in enumerate(seed)], run

    def step(self, actions: npt.ArrayLike) -> tuple[Ints, Floats, Flags, Flags, dict[str, Any]]:
        """Take an action in each."""
        whole = np.asarray(actions).astype(np.int64, casting="same_kind", copy=False)
        return VectorCore.step(self, np.ascontiguousarray(whole))
