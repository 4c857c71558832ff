"""Tabular Gymnasium environments as problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium

from emab._emab import Problem
from emab._problem import load

Outcomes: TypeAlias = dict[int, float]
"""The probability of each next state."""


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
    """Return a problem from an environment with a table ``env.unwrapped.P``: FrozenLake, CliffWalking, Taxi.

    - States and actions are those of the environment. ``stop`` is added: its reward is 0 after termination, and
      ``stop_reward`` elsewhere.
    - The feedback is the outcome of the action, which determines the next state.
    - The cost is minus the expected reward of a state and an action, without noise.
    - After termination, only ``stop`` is allowed.
    - A random first state is drawn by the first action, in an additional state. This takes one step of the horizon, or
      ``start_steps`` if the number of feedbacks would be too large.

    ``horizon`` is that of the problem. Its last step is for ``stop`` only: with a fixed start, ``horizon - 1`` actions
    of the environment fit in. ``sigma2`` and ``delta`` are defaults for learners.

    In these environments rewards come late, and the benchmark of the paper looks one step ahead. On FrozenLake no first
    step has a reward, so that the benchmark stops at once, and so does FeedBAL, which learns the benchmark. The
    finite-horizon optimum is ``emab.solve(problem).optimal``; learners such as ``psrl`` learn it. Stopping may also be
    optimal: on CliffWalking, where every step costs 1, it is unless ``stop_reward`` is low enough, for example -100.

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
    # A state in which the environment may both continue and terminate gets an extra state for its termination.
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
            for probability, after, reward, terminated in table[state][action]:
                target = over if terminated and after in alive else int(after)
                outcomes[target] = outcomes.get(target, 0.0) + float(probability)
                cost -= float(probability) * float(reward)
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
        # All actions are equivalent there: one is enough.
        allowed.append([1] + [0] * (n_actions - 1))
        rewards.append(stop_reward)

    n_feedbacks = max(len(outcomes) for row in following for outcomes in row)
    feedbacks = [[_feedbacks(outcomes, n_feedbacks) for outcomes in row] for row in following]
    learning = {key: value for key, value in {"sigma2": sigma2, "delta": delta}.items() if value is not None}
    problem_name = name or (env.spec.id if env.spec else type(env.unwrapped).__name__)
    return load(
        {
            "name": problem_name,
            "description": f"{problem_name} of Gymnasium: what an action earns is minus its cost",
            "horizon": horizon,
            "states": len(following),
            "actions": n_actions if actions is None else list(actions),
            "feedbacks": n_feedbacks,
            "start": first,
            "transition": [[[targets for targets, _ in row] for row in feedbacks]],
            "allowed": [allowed],
            "model": {
                "feedback": [[[probabilities for _, probabilities in row] for row in feedbacks]],
                "cost": [costs],
                "reward": [rewards],
            },
            **({"learning": learning} if learning else {}),
        }
    )


def _starts(env: Any) -> Outcomes:
    """Return the probability of each first state."""
    probabilities = getattr(env, "initial_state_distrib", None)
    if probabilities is None:
        raise ValueError(f"{env} has no `initial_state_distrib`: its first state is unknown")
    return {state: float(probability) for state, probability in enumerate(probabilities) if probability > 0}


def _alive(table: Mapping[int, Mapping[int, Iterable[Any]]], starts: Outcomes) -> set[int]:
    """Return the states in which the environment has not terminated."""
    alive, unvisited = set(starts), list(starts)
    while unvisited:
        for outcomes in table[unvisited.pop()].values():
            for probability, after, _, terminated in outcomes:
                if probability > 0 and not terminated and after not in alive:
                    alive.add(int(after))
                    unvisited.append(int(after))
    return alive


def _ended(table: Mapping[int, Mapping[int, Iterable[Any]]], starts: Outcomes) -> set[int]:
    """Return the states in which the environment may terminate."""
    return {
        int(after)
        for state in _alive(table, starts)
        for outcomes in table[state].values()
        for probability, after, _, terminated in outcomes
        if probability > 0 and terminated
    }


def _draw(starts: Outcomes, first_new: int, steps: int) -> tuple[int, list[Outcomes]]:
    """Return the start, and the states that draw the first one in this number of steps: a tree of even depth."""
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
            mass = sum(probability for _, probability in group)
            above.append((first_new + len(added), mass))
            added.append({state: probability / mass for state, probability in group})
        level = above
    return level[0][0], added


def _feedbacks(outcomes: Outcomes, n_feedbacks: int) -> tuple[list[int], list[float | str]]:
    """Return next state and probability of each feedback; one entry for a single outcome keeps the file short."""
    if len(outcomes) == 1:
        return list(outcomes), ["f == 0" if n_feedbacks > 1 else 1]
    rest = n_feedbacks - len(outcomes)
    targets = list(outcomes)
    return targets + targets[-1:] * rest, [*outcomes.values(), *[0.0] * rest]
