"""Many runs of learners on a simulator of one's own, where there is no table of the truth."""

from __future__ import annotations

import json
import math
import operator
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from emab._emab import Episode, Learner, Spec, __version__
from emab._learner import LearnerLike, OwnLearner, asked
from emab._progress import Watch, watched
from emab._result import Result

CASES, LEARNER = 1, 2
"""Whose randomness it is."""


@runtime_checkable
class Simulator(Protocol):
    """A simulator of one's own: anything with a ``spec`` and these three methods.

    The state of a case is not its business: it follows from the actions and feedbacks by ``spec``.
    """

    spec: Spec
    """What learners may know."""

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new case; ``rng`` is the randomness of this case."""

    def step(self, action: int) -> int:
        """Take a continuation action and return the number of the feedback."""

    def reveal(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return, after ``stop``, the costs of the actions and the terminal rewards of all steps passed, one more.

        NaN is one that is not known.
        """


MakeSimulator: TypeAlias = "Callable[[], Simulator]"
"""A class of simulators, or a function that makes one."""


def simulate(
    make: MakeSimulator,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    runs: int = 100,
    episodes: int = 1000,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    progress: bool | Watch | None = None,
) -> Result:
    """Run learners on a simulator of your own and return what they earned, with its error.

    A simulator is made anew for each learner and run; all learners meet the same cases with the same randomness. There
    is no regret: what could be earned is not known, and ``regret`` is NaN. Where a cost or the last reward of a case is
    not known, nor is its gain, nor the sum of gains from there on.

    >>> class Coins:
    ...     spec = emab.spec("coins", horizon=4, states=4, actions=1, feedbacks=2, transition="x + f", sigma2=0.05)
    ...     def reset(self, rng):
    ...         self.rng, self.heads, self.rewards = rng, 0, [0.0]
    ...     def step(self, action):
    ...         fell = int(self.rng.integers(2))
    ...         self.heads += fell
    ...         self.rewards.append(self.heads / (len(self.rewards) + 1))
    ...         return fell
    ...     def reveal(self):
    ...         return [0.02] * (len(self.rewards) - 1), self.rewards
    >>> result = emab.simulate(Coins, ["feedbal", "random"], runs=10, episodes=200)
    >>> result.curve("feedbal").gain[-1] > result.curve("random").gain[-1]
    np.True_
    """
    if not callable(make):
        raise TypeError(
            f"{type(make).__name__} is one simulator, and every run needs a new one: "
            "give the class, or a function that makes one"
        )
    for what, n, least in (("runs", runs, 1), ("episodes", episodes, 1), ("seed", seed, 0)):
        if not least <= operator.index(n) < 2**64:
            raise ValueError(f"`{what}` must be from {least} to {2**64 - 1}, got {n}")
    at = _checkpoints(checkpoints, episodes)
    spec = _spec_of(make)
    players = [_Player(learner, spec, episodes) for learner in asked(learners)]
    total = len(players) * runs * episodes
    results = []
    with watched(progress, "simulating") as watch:
        told = _Teller(watch, total)
        for player in players:
            began = time.perf_counter()
            played = [_Run(make, player, seed, run).play(at, told) for run in range(runs)]
            results.append(player.document(at, played, time.perf_counter() - began))
        told.end()
    document = {
        "version": __version__,
        "problem": spec.name,
        "problem_hash": None,
        "seed": seed,
        "runs": runs,
        "episodes": episodes,
        "benchmark_value": None,
        "benchmark_stderr": None,
        "optimal_value": None,
        "estimator": "none",
        "learners": results,
    }
    return Result.parse(json.dumps(document, indent=2, allow_nan=False) + "\n")


def is_simulator(candidate: Any) -> bool:
    """Whether something is a simulator or a class of them."""
    return all(callable(getattr(candidate, method, None)) for method in ("reset", "step", "reveal"))


def _spec_of(make: MakeSimulator) -> Spec:
    """The specification of the simulators, and whether they are some."""
    simulator = make()
    for method in ("reset", "step", "reveal"):
        if not callable(getattr(simulator, method, None)):
            name = type(simulator).__name__
            raise TypeError(f"a simulator must have the methods `reset`, `step` and `reveal`; {name} has no `{method}`")
    spec = getattr(simulator, "spec", None)
    if not isinstance(spec, Spec):
        raise TypeError(f"the `spec` of a simulator must be an emab.Spec, as emab.spec(...) makes it, got {spec!r}")
    return spec


def _checkpoints(asked_for: Sequence[int] | None, episodes: int) -> list[int]:
    """The episodes at which gains are recorded, as the engine has them: some twenty a decade, or those asked for."""
    if asked_for is None:
        r20 = (100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900)
        decades = range(len(str(episodes)))
        asked_for = [n for d in decades for r in r20 if (n := -(-r * 10**d // 100)) < episodes]
    for n in asked_for:
        if not 1 <= n <= episodes:
            words = f"a checkpoint must be from 1 to the number of episodes, {episodes}, got {n}"
            raise ValueError(f"`checkpoints`: {words}")
    return sorted({*map(int, asked_for), episodes})


class _Teller:
    """Says how far it is, a few times a second."""

    def __init__(self, watch: Watch | None, total: int) -> None:
        self.watch, self.total, self.done, self.next = watch, total, 0, 0.0

    def one(self) -> None:
        """Tell that an episode is over."""
        self.done += 1
        if self.watch is not None and time.monotonic() >= self.next:
            self.watch(self.done, self.total)
            self.next = time.monotonic() + 0.2

    def end(self) -> None:
        """Tell that all is done."""
        if self.watch is not None:
            self.watch(self.done, self.total)


class _Player:
    """A learner as it was asked for: what it is called, and how it is made for a run."""

    def __init__(self, learner: str | tuple[str, Callable[..., OwnLearner]], spec: Spec, episodes: int) -> None:
        self.spec = spec
        self.own: Callable[..., OwnLearner] | None = None
        if isinstance(learner, tuple):
            self.label, self.own = learner
            self.name, self.parameters = self.label, {}
            return
        self.label = learner
        self.name = learner.split(":", 1)[0].strip()
        # `1/n` is one over the episodes of the run, as in the engine.
        self.text = re.sub(r"=\s*1/n\s*(?=,|$)", f"={1 / episodes!r}", learner)
        self.parameters = Learner(self.text, spec).parameters

    def make(self, seed: int, run: int) -> OwnLearner:
        """A learner that has seen nothing, with randomness of its own for each run."""
        words = np.random.SeedSequence([seed, run, LEARNER]).generate_state(2, np.uint64).tolist()
        if self.own is not None:
            return self.own(self.spec, (words[0], words[1]))
        return Learner(self.text, self.spec, seed=words[0], remember=False)

    def document(self, at: Sequence[int], played: Sequence[tuple[list[float], int]], seconds: float) -> dict[str, Any]:
        """What it did in all runs, as a result document has it."""
        by_checkpoint = zip(*(gains for gains, _ in played), strict=True)
        return {
            "learner": self.name,
            "label": self.label,
            "parameters": self.parameters,
            "curve": [_point(episode, gains) for episode, gains in zip(at, by_checkpoint, strict=True)],
            "causes": {},
            "steps": sum(steps for _, steps in played),
            "seconds": seconds,
        }


def _point(episode: int, gains: Sequence[float]) -> dict[str, Any]:
    """The average of the runs and its standard error; the sums are exact, whatever the order of the runs."""
    point: dict[str, Any] = dict.fromkeys(("episode", "regret", "stderr", "gain", "gain_stderr", "regret_optimal"))
    point["episode"] = episode
    if not any(map(math.isnan, gains)):
        point["gain"] = mean = math.fsum(gains) / len(gains)
        squares = math.fsum((gain - mean) ** 2 for gain in gains)
        point["gain_stderr"] = math.sqrt(squares / (len(gains) - 1) / len(gains)) if len(gains) > 1 else 0.0
    return point


class _Run:
    """One learner and one simulator, for all episodes of a run."""

    def __init__(self, make: MakeSimulator, player: _Player, seed: int, run: int) -> None:
        self.spec, self.number, self.episode = player.spec, run, 0
        self.simulator = make()
        self.learner = player.make(seed, run)
        self.takes_names = player.own is not None
        self.philox = np.random.Philox(np.random.SeedSequence([seed, run, CASES]))
        self.state: Any = self.philox.state
        self.rng = np.random.Generator(self.philox)
        self.stop, self.horizon = player.spec.stop, player.spec.horizon

    def play(self, at: Sequence[int], told: _Teller) -> tuple[list[float], int]:
        """Return the gain up to each of these episodes, and the number of steps."""
        gain, steps, gains = 0.0, 0, []
        for checkpoint in at:
            while self.episode < checkpoint:
                self.episode += 1
                episode = self.case()
                for cost in episode.costs:
                    gain -= cost
                gain += episode.rewards[-1]
                steps += episode.steps
                told.one()
            gains.append(gain)
        return gains, steps

    def case(self) -> Episode:
        """Play one case."""
        # Each has a counter of its own: it is the same case for every learner, however much randomness others drew.
        self.state["state"]["counter"][3] = self.episode
        self.philox.state = self.state
        self.simulator.reset(self.rng)
        states, actions, feedbacks = [self.spec.start], [], []
        for step in range(1, self.horizon):
            action = self.choose(step, states[-1])
            if action == self.stop:
                break
            feedback = self.feedback(self.simulator.step(action), step)
            actions.append(action)
            feedbacks.append(feedback)
            states.append(self.spec.next(step, states[-1], action, feedback))
        costs, rewards = self.revealed(self.simulator.reveal(), len(actions))
        episode = Episode(states=states, actions=actions, feedbacks=feedbacks, costs=costs, rewards=rewards)
        self.learner.learn(episode)
        return episode

    def choose(self, step: int, state: int) -> int:
        """What the learner chooses, if it may."""
        chosen = self.learner.choose(step, state)
        if not self.takes_names:
            return int(chosen)
        where = f"at t = {step}, x = {state}"
        if isinstance(chosen, str):
            names = [*self.spec.actions, "stop"]
            if chosen not in names:
                raise ValueError(f"there is no action `{chosen}`, chosen {where}")
            chosen = names.index(chosen)
        number = _integer(chosen)
        if number is None:
            raise TypeError(f"`choose` must return the number or the name of an action, got {chosen!r} {where}")
        if not 0 <= number <= self.stop:
            raise ValueError(
                f"there is no action {number}, chosen {where}: they are 0 to {self.stop}, the last being stop"
            )
        if number not in self.spec.allowed(step, state):
            raise ValueError(f"action {number} ({self.spec.action_name(number)}) is not allowed {where}")
        return number

    def feedback(self, returned: Any, step: int) -> int:
        """The feedback that a simulator returned, if it is one."""
        number, last = _integer(returned), self.spec.n_feedbacks - 1
        if number is None or not 0 <= number <= last:
            raise ValueError(
                f"`step` must return a feedback, an integer from 0 to {last}, got {returned!r} {self.where(step)}"
            )
        return number

    def revealed(self, returned: Any, actions: int) -> tuple[list[float], list[float]]:
        """The costs and rewards that a simulator revealed, if they are some."""
        try:
            costs, rewards = ([float(value) for value in values] for values in returned)
        except (TypeError, ValueError):
            raise ValueError(
                f"`reveal` must return the costs and the rewards, two lists of numbers, got {returned!r} {self.where()}"
            ) from None
        for what, values, expected in (("costs", costs, actions), ("rewards", rewards, actions + 1)):
            if len(values) != expected:
                raise ValueError(
                    f"`reveal` returned {len(values)} {what}, expected {expected} as {actions} actions were taken "
                    f"{self.where()}"
                )
            for step, value in enumerate(values, start=1):
                if abs(value) > 1e100:
                    raise ValueError(
                        f"`reveal` has {value} among the {what}, expected finite numbers of at most 1e100 in size, "
                        f"or NaN where one is not known {self.where(step)}"
                    )
        return costs, rewards

    def where(self, step: int | None = None) -> str:
        """Where it is, in words; runs count from 0, episodes and steps from 1."""
        return f"(run {self.number}, episode {self.episode}{'' if step is None else f', step {step}'})"


def _integer(value: Any) -> int | None:
    """A value as an integer, if it is one: NumPy's are, and floats are not."""
    try:
        return operator.index(value)
    except TypeError:
        return None
