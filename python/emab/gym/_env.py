"""A single environment; ``step`` and ``reset`` are native."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from emab._emab import EnvCore
from emab._problem import ProblemLike, load
from emab.gym._spaces import OnForbidden, is_strict, low_bits, spaces_of


class Env(EnvCore, gymnasium.Env[npt.NDArray[np.int64], int]):
    """A problem as a Gymnasium environment.

    An observation is ``[step, state]``. Actions are numbered as in the problem, with ``stop`` last. The reward of a
    continuation action is minus its cost and that of ``stop`` is the terminal reward, so that the return of an episode
    is its gain.

    ``info["action_mask"]`` has the allowed actions. At the end of an episode, ``info["costs"]`` and ``info["rewards"]``
    have the costs and the terminal reward of every step, and ``info["revealed"]`` is the :class:`emab.Episode` for the
    learner.

    An action that is not allowed ends the episode as ``stop`` does, and ``info["not_allowed"]`` is true; with
    ``on_forbidden="raise"`` it raises :class:`ValueError`. Under the condition ``dropout`` the episode may end after
    any action: ``info["left"]`` is true, and the rewards are unknown.

    ``reset(seed=s)`` starts the random streams of seed ``s`` and run ``options["run"]`` (default 0) of
    :func:`emab.run`. Without a seed they continue; the first time they start from a random seed. The lowest 64 bits of
    a seed are used.

    If the problem has several start states, an episode begins in a random one, or in ``options["start"]``, by name or
    number.

    >>> import emab.gym
    >>> env, learner = emab.gym.Env("resource"), emab.FeedBAL(emab.load("resource").spec)
    >>> observation, info = env.reset(seed=1)
    >>> terminated = False
    >>> while not terminated:
    ...     action = learner.choose(*observation)
    ...     observation, reward, terminated, truncated, info = env.step(action)
    >>> learner.learn(info["revealed"])
    >>> learner.learned
    1
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 as Gymnasium has it

    def __new__(
        cls, problem: ProblemLike, *, on_forbidden: OnForbidden = "stop", render_mode: str | None = None
    ) -> Env:
        """Create an environment of a problem: a name, a path, a dictionary, or a :class:`emab.Problem`."""
        return EnvCore.__new__(cls, load(problem), is_strict(on_forbidden))

    def __init__(
        self, problem: ProblemLike, *, on_forbidden: OnForbidden = "stop", render_mode: str | None = None
    ) -> None:
        """Set the spaces."""
        if render_mode not in (None, "ansi"):
            raise ValueError(f"`render_mode` must be 'ansi' or None, got {render_mode!r}")
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces_of(self.problem.spec)

    def _seed(self, seed: int | None, options: Mapping[str, Any] | None) -> tuple[int, int]:
        gymnasium.Env.reset(self, seed=seed)
        return low_bits(self.np_random_seed or 0), (options or {}).get("run", 0)

    def render(self) -> str | None:
        """Return step, state and history of the episode in one line, if ``render_mode`` is ``"ansi"``."""
        if self.render_mode is None:
            gymnasium.logger.warn('there is nothing to render: create it with render_mode="ansi"')
            return None
        spec = self.problem.spec
        (episode, over), states, feedbacks = self._so_far(), spec.states, spec.feedbacks
        seen = zip(episode.actions, episode.feedbacks, strict=True)
        history = [f"{spec.action_name(action)} -> {feedbacks[feedback]}" for action, feedback in seen]
        history += ["over"] if over else []
        position = (
            f"step {episode.steps} of {spec.horizon}, state {states[episode.states[-1]] if episode.states else '-'}"
        )
        return f"{self.problem.name}: {position}" + (f" ({', '.join(history)})" if history else "")
