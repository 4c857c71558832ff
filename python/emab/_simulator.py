"""Runs of learners on a user-defined simulator, which has no model."""

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
from emab._learner import EngineLearner, LearnerLike, UserLearner, engine_learners
from emab._progress import Progress, progress_bar
from emab._result import Result

CASES, LEARNER = 1, 2
"""The random streams of a run."""


@runtime_checkable
class Simulator(Protocol):
    """A user-defined simulator: an object with a ``spec`` and these three methods.

    It need not track the state, which follows from the actions and feedbacks by ``spec``.
    """

    spec: Spec
    """The part of the problem that learners may see."""

    def reset(self, rng: np.random.Generator) -> int | str | None:
        """Begin a new episode; ``rng`` is the random generator of this episode.

        Return the state that it begins in, by number or name, if ``spec`` has several start states.
        """

    def step(self, action: int) -> int:
        """Take a continuation action and return the number of the feedback."""

    def reveal(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return, after ``stop``, the cost of each action and the terminal reward of each step, one more.

        NaN is an unknown value.
        """


MakeSimulator: TypeAlias = "Callable[[], Simulator]"
"""A simulator class, or a function that creates a simulator."""


def simulate(
    make: MakeSimulator,
    learners: LearnerLike | Iterable[LearnerLike] = "feedbal",
    *,
    runs: float = 100,
    episodes: float = 1000,
    seed: float = 1,
    checkpoints: Sequence[float] | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Run learners on a user-defined simulator and return their gain, with its standard error.

    Each learner and run has its own simulator; all learners see the same episodes, by common random numbers. Regret is
    NaN, because the best gain is unknown. After an unknown cost or final reward the cumulative gain is unknown.

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
            "pass the class, or a function that creates one"
        )
    runs, episodes, seed = _count("runs", runs, 1), _count("episodes", episodes, 1), _count("seed", seed, 0)
    at = _checkpoints(checkpoints, episodes)
    spec = _spec_of(make)
    entries = [_Entry(learner, spec, episodes) for learner in engine_learners(learners)]
    total = len(entries) * runs * episodes
    results = []
    with progress_bar(progress, "simulating") as callback:
        report = _Report(callback, total)
        for entry in entries:
            began = time.perf_counter()
            played = [_Run(make, entry, seed, run).play(at, report) for run in range(runs)]
            results.append(entry.document(at, played, time.perf_counter() - began))
        report.end()
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
    """Return whether an object is a simulator or a simulator class."""
    return all(callable(getattr(candidate, method, None)) for method in ("reset", "step", "reveal"))


def _spec_of(make: MakeSimulator) -> Spec:
    """Return the specification of the simulators; raise `TypeError` if they are none."""
    simulator = make()
    for method in ("reset", "step", "reveal"):
        if not callable(getattr(simulator, method, None)):
            name = type(simulator).__name__
            raise TypeError(f"a simulator must have the methods `reset`, `step` and `reveal`; {name} has no `{method}`")
    spec = getattr(simulator, "spec", None)
    if not isinstance(spec, Spec):
        raise TypeError(f"the `spec` of a simulator must be an emab.Spec, as emab.spec(...) returns, got {spec!r}")
    return spec


def _count(name: str, n: float, least: int) -> int:
    """Return a count, which may be a float with a whole value."""
    whole = int(n) if isinstance(n, float) and n.is_integer() else n
    if isinstance(whole, float) or not least <= operator.index(whole) < 2**64:
        raise ValueError(f"`{name}` must be a whole number from {least} to 2**64 - 1, got {n}")
    return operator.index(whole)


def _checkpoints(given: Sequence[float] | None, episodes: int) -> list[int]:
    """Return the episodes at which gains are recorded, as in the engine: about twenty per decade, or those given."""
    if given is None:
        r20 = (100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900)
        decades = range(len(str(episodes)))
        given = [n for d in decades for r in r20 if (n := -(-r * 10**d // 100)) < episodes]
    for n in given:
        if not 1 <= n <= episodes:
            message = f"a checkpoint must be from 1 to the number of episodes, {episodes}, got {n}"
            raise ValueError(f"`checkpoints`: {message}")
    return sorted({*map(int, given), episodes})


class _Report:
    """Reports progress a few times per second."""

    def __init__(self, callback: Progress | None, total: int) -> None:
        self.callback, self.total, self.done, self.next = callback, total, 0, 0.0

    def one(self) -> None:
        """Count an episode."""
        self.done += 1
        if self.callback is not None and time.monotonic() >= self.next:
            self.callback(self.done, self.total)
            self.next = time.monotonic() + 0.2

    def end(self) -> None:
        """Report the end."""
        if self.callback is not None:
            self.callback(self.done, self.total)


class _Entry:
    """A learner argument: its label and parameters, and how to create it for a run."""

    def __init__(self, learner: EngineLearner, spec: Spec, episodes: int) -> None:
        self.spec = spec
        self.factory: Callable[..., UserLearner] | None = None
        if isinstance(learner, tuple):
            self.label, self.factory = learner
            self.name, self.parameters = self.label, {}
            return
        self.label = learner
        self.name = learner.split(":", 1)[0].strip()
        # `1/n` is one over the number of episodes, as in the engine.
        self.text = re.sub(r"=\s*1/n\s*(?=,|$)", f"={1 / episodes!r}", learner)
        self.parameters = Learner(self.text, spec).parameters

    def create(self, seed: int, run: int) -> UserLearner:
        """Return a new learner with the random stream of this run."""
        words = np.random.SeedSequence([seed, run, LEARNER]).generate_state(2, np.uint64).tolist()
        if self.factory is not None:
            return self.factory(self.spec, (words[0], words[1]))
        return Learner(self.text, self.spec, seed=words[0], remember=False)

    def document(self, at: Sequence[int], played: Sequence[tuple[list[float], int]], seconds: float) -> dict[str, Any]:
        """Return the results of all runs as in a result document."""
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
    """Return the mean of the runs and its standard error, from exact sums."""
    point: dict[str, Any] = dict.fromkeys(("episode", "regret", "stderr", "gain", "gain_stderr", "regret_optimal"))
    point["episode"] = episode
    if not any(map(math.isnan, gains)):
        point["gain"] = mean = math.fsum(gains) / len(gains)
        squares = math.fsum((gain - mean) ** 2 for gain in gains)
        point["gain_stderr"] = math.sqrt(squares / (len(gains) - 1) / len(gains)) if len(gains) > 1 else 0.0
    return point


class _Run:
    """One learner and one simulator, for all episodes of a run."""

    def __init__(self, make: MakeSimulator, entry: _Entry, seed: int, run: int) -> None:
        self.spec, self.number, self.episode = entry.spec, run, 0
        self.simulator = make()
        self.learner = entry.create(seed, run)
        self.is_user_defined = entry.factory is not None
        self.philox = np.random.Philox(np.random.SeedSequence([seed, run, CASES]))
        self.state: Any = self.philox.state
        self.rng = np.random.Generator(self.philox)
        self.stop, self.horizon = entry.spec.stop, entry.spec.horizon
        self.starts = entry.spec.starts
        self.names = {entry.spec.states[state]: state for state in self.starts} if len(self.starts) > 1 else {}

    def play(self, at: Sequence[int], report: _Report) -> tuple[list[float], int]:
        """Return the gain up to each of these episodes, and the number of steps."""
        gain, steps, gains = 0.0, 0, []
        for checkpoint in at:
            while self.episode < checkpoint:
                self.episode += 1
                episode = self.play_episode()
                for cost in episode.costs:
                    gain -= cost
                gain += episode.rewards[-1]
                steps += episode.steps
                report.one()
            gains.append(gain)
        return gains, steps

    def play_episode(self) -> Episode:
        """Play one episode."""
        # The counter depends on the episode only: every learner sees the same one, however many draws precede it.
        self.state["state"]["counter"][3] = self.episode
        self.philox.state = self.state
        states, actions, feedbacks = [self.start(self.simulator.reset(self.rng))], [], []
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

    def start(self, returned: Any) -> int:
        """Return the state that the episode begins in; raise `ValueError` if there are several and it is not one."""
        if len(self.starts) == 1:
            return self.starts[0]
        number = self.names.get(returned) if isinstance(returned, str) else _integer(returned)
        if number is None or number not in self.starts:
            names = ", ".join(f"{name!r} ({state})" for name, state in self.names.items())
            raise ValueError(
                f"`reset` must return the state that the episode begins in, one of {names}, got {returned!r} "
                f"{self.where()}"
            )
        return number

    def choose(self, step: int, state: int) -> int:
        """Return the action of the learner; raise an error if it does not exist or is not allowed."""
        chosen = self.learner.choose(step, state)
        if not self.is_user_defined:
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
        """Return a feedback of the simulator; raise `ValueError` if it does not exist."""
        number, last = _integer(returned), self.spec.n_feedbacks - 1
        if number is None or not 0 <= number <= last:
            raise ValueError(
                f"`step` must return a feedback, an integer from 0 to {last}, got {returned!r} {self.where(step)}"
            )
        return number

    def revealed(self, returned: Any, actions: int) -> tuple[list[float], list[float]]:
        """Return the costs and rewards of the simulator; raise `ValueError` if they are invalid."""
        try:
            costs, rewards = ([float(value) for value in values] for values in returned)
        except (TypeError, ValueError):
            raise ValueError(
                f"`reveal` must return the costs and the rewards, two lists of numbers, got {returned!r} {self.where()}"
            ) from None
        for name, values, expected in (("costs", costs, actions), ("rewards", rewards, actions + 1)):
            if len(values) != expected:
                raise ValueError(
                    f"`reveal` returned {len(values)} {name}, expected {expected} as {actions} actions were taken "
                    f"{self.where()}"
                )
            for step, value in enumerate(values, start=1):
                if abs(value) > 1e100:
                    raise ValueError(
                        f"`reveal` has {value} among the {name}, expected finite numbers of at most 1e100 in size, "
                        f"or NaN for an unknown value {self.where(step)}"
                    )
        return costs, rewards

    def where(self, step: int | None = None) -> str:
        """Return the place for messages; runs count from 0, episodes and steps from 1."""
        return f"(run {self.number}, episode {self.episode}{'' if step is None else f', step {step}'})"


def _integer(value: Any) -> int | None:
    """Return a value as an integer, or None. NumPy integers count, floats do not."""
    try:
        return operator.index(value)
    except TypeError:
        return None
