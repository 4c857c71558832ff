"""Problems defined in Python by functions, arrays and expressions. Each has the form of a problem file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from emab._emab import Problem, Spec
from emab._problem import load
from emab._quantities import FeedbackTable, FunctionTable, TransitionTable, spread_out

Quantity: TypeAlias = "float | str | Sequence[Any] | Callable[..., Any] | Any"
"""A number, an expression as in problem files, an array-like, or a function of some of ``t``, ``x``, ``a``, ``f``."""

Noise: TypeAlias = "str | tuple[str, float] | Mapping[str, Any] | None"
"""For example ``("normal", variance)``, ``("uniform", half_width)`` or ``"bernoulli"``; None is no noise."""

CHECKED_PAIRS = 20_000
"""The number of pairs that are checked at once, as before a run."""


def problem(
    name: str,
    *,
    horizon: int,
    states: int | Sequence[str],
    actions: int | Sequence[str],
    feedbacks: int | Sequence[str],
    transition: Quantity,
    feedback: Quantity,
    reward: Quantity,
    cost: Quantity = 0,
    allowed: Quantity | None = None,
    start: int | str | Sequence[int | str] = 0,
    start_probabilities: Sequence[float | str] | None = None,
    cost_noise: Noise = None,
    reward_noise: Noise = None,
    parameters: Mapping[str, float] | None = None,
    conditions: Mapping[str, Any] | None = None,
    delta: float | None = None,
    sigma2: float | None = None,
    sigma2_cost: float | None = None,
    sigma2_reward: float | None = None,
    feedback_spread: float | None = None,
    reward_range: tuple[float, float] | None = None,
    outcome_range: Mapping[str, tuple[float, float]] | None = None,
    description: str = "",
) -> Problem:
    """Return a problem that is defined by functions, arrays and expressions.

    ``transition`` (the next state), ``feedback`` (the probability of each), ``cost``, ``reward`` and ``allowed`` are
    each a number, an expression as in a problem file, an array-like, or a function. A function takes its arguments by
    name: the step ``t`` (from 1), the state ``x``, the action ``a``, the feedback ``f``, or ``step``, ``state``,
    ``action``, ``feedback``; all are integers. A function for ``feedback`` without ``f`` returns the probabilities of
    all feedbacks. A function for ``transition`` may return the name of a state.

    ``start`` is the state at step 1, or a list if an episode may begin in one of several states; then
    ``start_probabilities`` lists their probabilities.

    Functions are called once for each reachable argument, during this call. The result is an ordinary problem: it runs
    at full speed and can be pickled, saved to a file and sent to the decision service. The parameters from ``delta`` on
    are ``[learning]`` of a problem file: defaults for learners, and ``outcome_range``, such as ``{"reward": (0, 1)}``,
    outside of which the decision service rejects observed values.

    >>> coins = emab.problem(
    ...     "coins", horizon=4, states=4, actions=["toss"], feedbacks=["tails", "heads"],
    ...     transition=lambda x, f: x + f,
    ...     feedback=[0.5, 0.5],
    ...     cost=0.02,
    ...     reward=lambda t, x: x / t,
    ...     reward_noise=("normal", 0.01), sigma2=0.05,
    ... )
    >>> round(emab.solve(coins).benchmark.value, 6)
    0.335
    >>> groups = emab.problem(
    ...     "groups", horizon=1, states=["low", "high"], actions=1, feedbacks=1, transition="x", feedback=1,
    ...     reward=lambda x: [1, 5][x], start=["low", "high"], start_probabilities=[0.75, 0.25],
    ... )
    >>> emab.solve(groups).benchmark.value
    2.0
    """
    model = {"feedback": feedback, "cost": cost, "reward": reward}
    if start_probabilities is not None:
        model["start"] = [p if isinstance(p, str) else float(p) for p in start_probabilities]
    document = _document(
        name,
        description,
        sizes=(horizon, states, actions, feedbacks),
        start=start,
        known={"transition": transition, "allowed": allowed},
        parameters=parameters,
        learning=_learning(delta, sigma2, sigma2_cost, sigma2_reward, feedback_spread, reward_range, outcome_range),
    )
    document["model"] = {
        key: value
        for key, value in {**model, "cost_noise": _noise(cost_noise), "reward_noise": _noise(reward_noise)}.items()
        if value is not None
    }
    if conditions:
        document["conditions"] = conditions
    return _build(document)


def spec(
    name: str,
    *,
    horizon: int,
    states: int | Sequence[str],
    actions: int | Sequence[str],
    feedbacks: int | Sequence[str],
    transition: Quantity,
    allowed: Quantity | None = None,
    start: int | str | Sequence[int | str] = 0,
    parameters: Mapping[str, float] | None = None,
    delta: float | None = None,
    sigma2: float | None = None,
    sigma2_cost: float | None = None,
    sigma2_reward: float | None = None,
    feedback_spread: float | None = None,
    reward_range: tuple[float, float] | None = None,
    outcome_range: Mapping[str, tuple[float, float]] | None = None,
    description: str = "",
) -> Spec:
    """Return a specification without a model, for simulators and live studies.

    It is :func:`problem` without the model. Functions are called at every pair that some feedback leads to.

    >>> spec = emab.spec(
    ...     "coins", horizon=4, states=4, actions=["toss"], feedbacks=2, transition=lambda x, f: x + f, sigma2=0.05
    ... )
    >>> spec.next(step=2, state=1, action=0, feedback=1)
    2
    """
    document = _document(
        name,
        description,
        sizes=(horizon, states, actions, feedbacks),
        start=start,
        known={"transition": transition, "allowed": allowed},
        parameters=parameters,
        learning=_learning(delta, sigma2, sigma2_cost, sigma2_reward, feedback_spread, reward_range, outcome_range),
    )
    return _build(document).spec


def _document(
    name: str,
    description: str,
    *,
    sizes: tuple[int, int | Sequence[str], int | Sequence[str], int | Sequence[str]],
    start: int | str | Sequence[int | str],
    known: dict[str, Any],
    parameters: Mapping[str, float] | None,
    learning: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields of a problem file without its model; functions and arrays are not converted yet."""
    fields = zip(("horizon", "states", "actions", "feedbacks"), sizes, strict=True)
    document: dict[str, Any] = {
        "name": name,
        **{field: value if isinstance(value, int) else _as_list(value) for field, value in fields},
        "start": _as_list(start),
        **{quantity: value for quantity, value in known.items() if value is not None},
    }
    for field, value in (("description", description), ("parameters", parameters), ("learning", learning)):
        if value:
            document[field] = value
    return document


def _as_list(value: Any) -> Any:
    """Return names as a list. Other values are passed on, and rejected by the reader of problem files."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _learning(
    delta: float | None,
    sigma2: float | None,
    sigma2_cost: float | None,
    sigma2_reward: float | None,
    feedback_spread: float | None,
    reward_range: tuple[float, float] | None,
    outcome_range: Mapping[str, tuple[float, float]] | None,
) -> dict[str, Any]:
    """Return the fields of ``[learning]`` that are set."""
    fields = {
        "delta": delta,
        "sigma2": sigma2,
        "sigma2_cost": sigma2_cost,
        "sigma2_reward": sigma2_reward,
        "feedback_spread": feedback_spread,
        "reward_range": reward_range,
        "outcome_range": outcome_range,
    }
    return {field: value for field, value in fields.items() if value is not None}


def _noise(noise: Noise) -> Mapping[str, Any] | None:
    """Return a noise as in a problem file."""
    if isinstance(noise, str):
        return {"kind": noise}
    if isinstance(noise, tuple):
        kind, size = noise
        return {"kind": kind, {"uniform": "half_width"}.get(kind, "variance"): size}
    return noise


AXES = {"transition": 4, "allowed": 3, "feedback": 4, "cost": 3, "reward": 2}
"""The number of arguments of each quantity: the first of t, x, a, f, or (t, x) for the reward."""

PLACEHOLDERS: dict[str, Any] = {"transition": 0, "allowed": 1, "feedback": "f == 0", "cost": 0, "reward": 0}
"""Values that stand for a function until it is evaluated."""


def _build(document: dict[str, Any]) -> Problem:
    """Return the problem, with functions evaluated and all values checked."""
    functions: dict[str, Callable[..., Any]] = {}
    model: dict[str, Any] = document.get("model", {})
    for part in (document, model):
        for quantity in AXES.keys() & part.keys():
            value = part[quantity]
            if callable(value):
                functions[quantity] = value
                part[quantity] = PLACEHOLDERS[quantity]
            else:
                part[quantity] = spread_out(quantity, value, AXES[quantity])
    built = load(document)
    if functions:
        named = document["states"] if isinstance(document["states"], list) else []
        tables = _tables(built.spec, functions, named)
        _evaluate(built, tables)
        for quantity, table in tables.items():
            part = model if quantity in model else document
            part[quantity] = table.entries()
        built = load(document)
    built.check(CHECKED_PAIRS)
    return built


def _tables(spec: Spec, functions: Mapping[str, Callable[..., Any]], states: Sequence[str]) -> dict[str, FunctionTable]:
    """Return a table for each function."""
    lengths = (max(spec.horizon - 1, 1), spec.n_states, spec.n_actions, spec.n_feedbacks)
    tables: dict[str, FunctionTable] = {}
    for quantity, function in functions.items():
        if quantity == "transition":
            tables[quantity] = TransitionTable(function, lengths, states)
        elif quantity == "feedback":
            tables[quantity] = FeedbackTable(function, lengths)
        elif quantity == "reward":
            tables[quantity] = FunctionTable(quantity, function, (spec.horizon, spec.n_states), filler=0)
        else:
            tables[quantity] = FunctionTable(quantity, function, lengths[:3], filler=PLACEHOLDERS[quantity])
    return tables


def _evaluate(problem: Problem, tables: Mapping[str, FunctionTable]) -> None:
    """Evaluate the tables at all reachable pairs, step by step from the starts; without a model, by every feedback.

    Learners see the transition of feedbacks with probability 0, too. Pairs that only such feedbacks lead to are
    evaluated as well, and skipped where the functions fail.
    """
    spec = problem.spec
    transition, allowed, feedback, cost, reward = (tables.get(quantity) for quantity in AXES)
    every = [1.0] * spec.n_feedbacks

    def actions(t: int, x: int) -> list[int]:
        if allowed is None:
            return spec.allowed(t, x)[:-1]
        return [a for a in range(spec.n_actions) if allowed.at(t, x, a) != 0]

    def probabilities(t: int, x: int, a: int) -> list[float]:
        if isinstance(feedback, FeedbackTable):
            return feedback.probabilities(t, x, a)
        return problem.feedback(t, x, a) if problem.has_model else every

    def next_states(t: int, x: int, a: int, f: int) -> list[int]:
        return [spec.next(t, x, a, f) if transition is None else int(transition.at(t, x, a, f))]

    known = transition is not None or allowed is not None
    level, unlikely = set(spec.starts), set[int]()
    for t in range(1, spec.horizon + 1):
        reached, other = set[int](), set[int]()
        for x in sorted(level):
            if reward is not None:
                reward.at(t, x)
            for a in actions(t, x) if t < spec.horizon else ():
                if cost is not None:
                    cost.at(t, x, a)
                for f, probability in enumerate(probabilities(t, x, a)):
                    if probability > 0:
                        reached.update(next_states(t, x, a, f))
                    elif known:
                        other.update(_or_empty(next_states, t, x, a, f))
        for x in sorted(unlikely) if t < spec.horizon else ():
            for a in _or_empty(actions, t, x):
                for f in range(spec.n_feedbacks):
                    other.update(_or_empty(next_states, t, x, a, f))
        level, unlikely = reached, other - reached
        if not level:
            break


def _or_empty(function: Callable[..., list[int]], *point: int) -> list[int]:
    """Return the value at a point with probability 0; an empty list if the function fails there."""
    try:
        return function(*point)
    except Exception:
        return []
