"""Gymnasium environments with a finite table as problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium

from emab._emab import Problem
from emab._problem import load

Outcomes: TypeAlias = dict[int, float]
"""The chance of each state that follows."""


def from_gym(
    env: str | gymnasium.Env[Any, Any],
    horizon: int,
    *,
    name: str | None = None,
    actions: Sequence[str] | None = None,
    sigma2: float | None = None,
    delta: float | None = None,
    stop_reward: float = 0.0,
    start_steps: int = 1,
) -> Problem:
    """Make a problem of an environment with a table ``env.unwrapped.P``: FrozenLake, CliffWalking, Taxi.

    - A state is a state, an action an action. ``stop`` is added, as every problem has it: it earns 0 where the
      environment has terminated, and ``stop_reward`` elsewhere.
    - The feedback is which of the outcomes of a state and an action came; where it leads is known.
    - The cost is minus the expected reward of a state and an action, without noise.
    - Where the environment has terminated, only ``stop`` is allowed.
    - Where the first state is drawn, the problem begins in a state of its own, in which the first action draws it:
      that is one step of the horizon, or ``start_steps`` where so many feedbacks at once are too many.

    ``horizon`` is that of the problem: its last step is for ``stop`` alone, so that without drawn starts
    ``horizon - 1`` actions of the environment fit in. ``sigma2`` and ``delta`` are what learners assume unless told.

    What that means: in these environments what an action is worth shows later, and the benchmark of the paper looks one
    step ahead. On FrozenLake no first step earns anything, and so it stops at once, as FeedBAL does, which learns it.
    The finite-horizon optimum is ``emab.solve(problem).optimal``; learners such as ``psrl`` learn that. And who may
    stop may give up: on CliffWalking, where every step costs 1, that is best unless ``stop_reward`` is, say, -100.

    >>> import emab.gym
    >>> lake = emab.gym.from_gym("FrozenLake-v1", horizon=50)
    >>> solution = emab.solve(lake)
    >>> solution.benchmark.value, round(solution.optimal.value, 4)
    (0.0, 0.5386)
    """
    if isinstance(env, str):
        env = gymnasium.make(env)
    table: Mapping[int, Mapping[int, Iterable[tuple[float, int, float, bool]]]] | None
    table = getattr(env.unwrapped, "P", None)
    if table is None:
        raise ValueError(f"{env} has no table `P` of its transitions: only environments with one can be problems")
    starts = _starts(env.unwrapped)
    n_actions = len(table[0])
    ended = _ended(table, starts)
    over = len(table)
    # A state that can be reached both ways is no place to be when it is over: there is a state for that.
    alive = _alive(table, starts)
    n_states = over + 1 if ended & alive else over

    following: list[list[Outcomes]] = []
    costs: list[list[float]] = []
    for state in range(len(table)):
        following.append([])
        costs.append([])
        for action in range(n_actions):
            outcomes: Outcomes = {}
            cost = 0.0
            for chance, after, reward, terminated in table[state][action]:
                place = over if terminated and after in alive else int(after)
                outcomes[place] = outcomes.get(place, 0.0) + float(chance)
                cost -= float(chance) * float(reward)
            following[state].append(outcomes)
            costs[state].append(cost)
    is_over = [state in ended - alive for state in range(len(table))]
    allowed = [[0] if done else [1] for done in is_over]
    rewards = [0.0 if done else stop_reward for done in is_over]
    if n_states > over:
        following.append([{over: 1.0}])
        costs.append([0.0])
        allowed.append([0])
        rewards.append(0.0)

    first, drawing = _draw(starts, n_states, start_steps)
    for outcomes in drawing:
        following.append([outcomes])
        costs.append([0.0])
        # What is done does not matter there: one action is enough.
        allowed.append([1] + [0] * (n_actions - 1))
        rewards.append(stop_reward)

    n_feedbacks = max(len(outcomes) for row in following for outcomes in row)
    laws = [[_law(outcomes, n_feedbacks) for outcomes in row] for row in following]
    learning = {key: value for key, value in {"sigma2": sigma2, "delta": delta}.items() if value is not None}
    called = name or (env.spec.id if env.spec else type(env.unwrapped).__name__)
    return load(
        {
            "name": called,
            "description": f"{called} of Gymnasium: what an action earns is minus its cost",
            "horizon": horizon,
            "states": len(following),
            "actions": n_actions if actions is None else list(actions),
            "feedbacks": n_feedbacks,
            "start": first,
            "transition": [[[places for places, _ in row] for row in laws]],
            "allowed": [allowed],
            "model": {
                "feedback": [[[chances for _, chances in row] for row in laws]],
                "cost": [costs],
                "reward": [rewards],
            },
            **({"learning": learning} if learning else {}),
        }
    )


def _starts(env: Any) -> Outcomes:
    """The chance of each first state."""
    chances = getattr(env, "initial_state_distrib", None)
    if chances is None:
        raise ValueError(f"{env} has no `initial_state_distrib`: nobody knows where it begins")
    return {state: float(chance) for state, chance in enumerate(chances) if chance > 0}


def _alive(table: Mapping[int, Mapping[int, Iterable[Any]]], starts: Outcomes) -> set[int]:
    """The states from which it can go on."""
    alive, open_ones = set(starts), list(starts)
    while open_ones:
        for outcomes in table[open_ones.pop()].values():
            for chance, after, _, terminated in outcomes:
                if chance > 0 and not terminated and after not in alive:
                    alive.add(int(after))
                    open_ones.append(int(after))
    return alive


def _ended(table: Mapping[int, Mapping[int, Iterable[Any]]], starts: Outcomes) -> set[int]:
    """The states in which it may terminate."""
    return {
        int(after)
        for state in _alive(table, starts)
        for outcomes in table[state].values()
        for chance, after, _, terminated in outcomes
        if chance > 0 and terminated
    }


def _draw(starts: Outcomes, first_new: int, steps: int) -> tuple[int, list[Outcomes]]:
    """The start, and the states that are added to draw the first one in so many steps: a tree of even depth."""
    if steps < 1:
        raise ValueError(f"`start_steps` must be at least 1, got {steps}")
    if len(starts) == 1:
        return next(iter(starts)), []
    width = 1
    while width**steps < len(starts):
        width += 1
    level = list(starts.items())
    added: list[Outcomes] = []
    for _ in range(steps):
        above = []
        for i in range(0, len(level), width):
            group = level[i : i + width]
            mass = sum(chance for _, chance in group)
            above.append((first_new + len(added), mass))
            added.append({state: chance / mass for state, chance in group})
        level = above
    return level[0][0], added


def _law(outcomes: Outcomes, n_feedbacks: int) -> tuple[list[int], list[float | str]]:
    """Where each feedback leads, and its chance; one entry where there is only one outcome, for the file's sake."""
    if len(outcomes) == 1:
        return list(outcomes), ["f == 0" if n_feedbacks > 1 else 1]
    rest = n_feedbacks - len(outcomes)
    places = list(outcomes)
    return places + places[-1:] * rest, [*outcomes.values(), *[0.0] * rest]
