"""Problems written in Python: functions, arrays and expressions become a problem that could be a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from emab._emab import Problem, Spec
from emab._problem import load
from emab._table import Law, Table, Transition, spread_out

Quantity: TypeAlias = "float | str | Sequence[Any] | Callable[..., Any] | Any"
"""A number, an expression as in problem files, an array-like, or a function of some of ``t``, ``x``, ``a``, ``f``."""

Noise: TypeAlias = "str | tuple[str, float] | Mapping[str, Any] | None"
"""Such as ``("normal", variance)``, ``("uniform", half_width)`` or ``"bernoulli"``; none when left out."""

CHECKED = 20_000
"""Pairs that are checked at once, as before a run."""


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
    start: int | str = 0,
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
    description: str = "",
) -> Problem:
    """Make a problem of functions, arrays and expressions.

    ``transition`` (the next state), ``feedback`` (the chance of each), ``cost``, ``reward`` and ``allowed`` are each a
    number, an expression as in a problem file, an array-like, or a function. A function takes what it depends on, by
    name: the step ``t`` (from 1), the state ``x``, the action ``a``, the feedback ``f``, or ``step``, ``state``,
    ``action``, ``feedback``; all are integers. One for ``feedback`` that takes no ``f`` returns the chances of all. One
    for ``transition`` may return a state's name.

    Functions are called once for everything that can be reached, here and now. What comes of it is a plain problem: it
    runs at full speed, pickles, saves to a file, and goes to the decision service. From ``delta`` on these are the
    defaults for learners, ``[learning]`` in a problem file.

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
    """
    model = {"feedback": feedback, "cost": cost, "reward": reward}
    document = _document(
        name,
        description,
        sizes=(horizon, states, actions, feedbacks),
        start=start,
        known={"transition": transition, "allowed": allowed},
        parameters=parameters,
        learning=_learning(delta, sigma2, sigma2_cost, sigma2_reward, feedback_spread, reward_range),
    )
    document["model"] = {
        key: value
        for key, value in {**model, "cost_noise": _noise(cost_noise), "reward_noise": _noise(reward_noise)}.items()
        if value is not None
    }
    if conditions:
        document["conditions"] = conditions
    return _finished(document)


def spec(
    name: str,
    *,
    horizon: int,
    states: int | Sequence[str],
    actions: int | Sequence[str],
    feedbacks: int | Sequence[str],
    transition: Quantity,
    allowed: Quantity | None = None,
    start: int | str = 0,
    parameters: Mapping[str, float] | None = None,
    delta: float | None = None,
    sigma2: float | None = None,
    sigma2_cost: float | None = None,
    sigma2_reward: float | None = None,
    feedback_spread: float | None = None,
    reward_range: tuple[float, float] | None = None,
    description: str = "",
) -> Spec:
    """Make what a learner may know of a problem, where the truth is a simulator's or the world's.

    As :func:`problem` without the model. Functions are called at all that any feedback may lead to.

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
        learning=_learning(delta, sigma2, sigma2_cost, sigma2_reward, feedback_spread, reward_range),
    )
    return _finished(document).spec


def _document(
    name: str,
    description: str,
    *,
    sizes: tuple[int, int | Sequence[str], int | Sequence[str], int | Sequence[str]],
    start: int | str,
    known: dict[str, Any],
    parameters: Mapping[str, float] | None,
    learning: dict[str, Any],
) -> dict[str, Any]:
    """The fields of a problem file, less its model; functions and arrays are still as they were given."""
    fields = zip(("horizon", "states", "actions", "feedbacks"), sizes, strict=True)
    document: dict[str, Any] = {
        "name": name,
        **{field: value if isinstance(value, int) else _listed(value) for field, value in fields},
        "start": start,
        **{quantity: value for quantity, value in known.items() if value is not None},
    }
    for field, value in (("description", description), ("parameters", parameters), ("learning", learning)):
        if value:
            document[field] = value
    return document


def _listed(value: Any) -> Any:
    """Names as a list; what is none is left to the reader of problem files, who says so."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _learning(
    delta: float | None,
    sigma2: float | None,
    sigma2_cost: float | None,
    sigma2_reward: float | None,
    feedback_spread: float | None,
    reward_range: tuple[float, float] | None,
) -> dict[str, Any]:
    """The fields of ``[learning]`` that are given."""
    fields = {
        "delta": delta,
        "sigma2": sigma2,
        "sigma2_cost": sigma2_cost,
        "sigma2_reward": sigma2_reward,
        "feedback_spread": feedback_spread,
        "reward_range": reward_range,
    }
    return {field: value for field, value in fields.items() if value is not None}


def _noise(noise: Noise) -> Mapping[str, Any] | None:
    """A noise as a problem file has it."""
    if isinstance(noise, str):
        return {"kind": noise}
    if isinstance(noise, tuple):
        kind, size = noise
        return {"kind": kind, {"uniform": "half_width"}.get(kind, "variance"): size}
    return noise


AXES = {"transition": 4, "allowed": 3, "feedback": 4, "cost": 3, "reward": 2}
"""How many of t, x, a, f a quantity is of."""

HARMLESS: dict[str, Any] = {"transition": 0, "allowed": 1, "feedback": "f == 0", "cost": 0, "reward": 0}
"""What stands for a function until it is evaluated."""


def _finished(document: dict[str, Any]) -> Problem:
    """Return the problem, with functions evaluated and everything checked."""
    functions: dict[str, Callable[..., Any]] = {}
    model: dict[str, Any] = document.get("model", {})
    for part in (document, model):
        for quantity in AXES.keys() & part.keys():
            value = part[quantity]
            if callable(value):
                functions[quantity] = value
                part[quantity] = HARMLESS[quantity]
            else:
                part[quantity] = spread_out(quantity, value, AXES[quantity])
    made = load(document)
    if functions:
        named = document["states"] if isinstance(document["states"], list) else []
        tables = _tables(made.spec, functions, named)
        _walk(made, tables)
        for quantity, table in tables.items():
            part = model if quantity in model else document
            part[quantity] = table.entries()
        made = load(document)
    made.check(CHECKED)
    return made


def _tables(spec: Spec, functions: Mapping[str, Callable[..., Any]], states: Sequence[str]) -> dict[str, Table]:
    """A table for each function."""
    lengths = (max(spec.horizon - 1, 1), spec.n_states, spec.n_actions, spec.n_feedbacks)
    tables: dict[str, Table] = {}
    for quantity, function in functions.items():
        if quantity == "transition":
            tables[quantity] = Transition(function, lengths, states)
        elif quantity == "feedback":
            tables[quantity] = Law(function, lengths)
        elif quantity == "reward":
            tables[quantity] = Table(quantity, function, (spec.horizon, spec.n_states), filler=0)
        else:
            tables[quantity] = Table(quantity, function, lengths[:3], filler=HARMLESS[quantity])
    return tables


def _walk(made: Problem, tables: Mapping[str, Table]) -> None:
    """Look at the tables wherever one can come, step by step from the start; without a model, by any feedback.

    Learners are not told which feedbacks never come, but what they would lead to is known to them: there, what the
    functions say counts where they have something to say.
    """
    spec = made.spec
    transition, allowed, law, cost, reward = (tables.get(quantity) for quantity in AXES)
    always = [1.0] * spec.n_feedbacks

    def may(t: int, x: int) -> list[int]:
        if allowed is None:
            return spec.allowed(t, x)[:-1]
        return [a for a in range(spec.n_actions) if allowed.at(t, x, a) != 0]

    def chances(t: int, x: int, a: int) -> list[float]:
        if isinstance(law, Law):
            return law.law(t, x, a)
        return made.feedback(t, x, a) if made.has_model else always

    def following(t: int, x: int, a: int, f: int) -> list[int]:
        return [spec.next(t, x, a, f) if transition is None else int(transition.at(t, x, a, f))]

    known = transition is not None or allowed is not None
    level, beyond = {spec.start}, set[int]()
    for t in range(1, spec.horizon + 1):
        reached, supposed = set[int](), set[int]()
        for x in sorted(level):
            if reward is not None:
                reward.at(t, x)
            for a in may(t, x) if t < spec.horizon else ():
                if cost is not None:
                    cost.at(t, x, a)
                for f, chance in enumerate(chances(t, x, a)):
                    if chance > 0:
                        reached.update(following(t, x, a, f))
                    elif known:
                        supposed.update(_if_any(following, t, x, a, f))
        for x in sorted(beyond) if t < spec.horizon else ():
            for a in _if_any(may, t, x):
                for f in range(spec.n_feedbacks):
                    supposed.update(_if_any(following, t, x, a, f))
        level, beyond = reached, supposed - reached
        if not level:
            break


def _if_any(look: Callable[..., list[int]], *point: int) -> list[int]:
    """What there is at a point where nobody comes: nothing if it cannot be said."""
    try:
        return look(*point)
    except Exception:
        return []
