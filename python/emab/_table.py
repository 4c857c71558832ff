"""Quantities of a problem as tables: functions evaluated once for each of their arguments, arrays spread out."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from emab._emab import ProblemError

MOST = 20_000_000
"""The most entries of one table: some 4 GB and a minute on the way into a problem."""

LARGEST = 1e100
"""The largest reward or cost, as in a problem file."""

VARIABLES = (("t", "step"), ("x", "state"), ("a", "action"), ("f", "feedback"))
"""What a function can be of, by axis: the name in expressions, and the long one."""


class Table:
    """A function of somebody's own as a table, which fills where it is looked at.

    Only the axes that the function takes are kept; the others have length 1. What was never looked at cannot be
    reached, and any value will do there: the filler.
    """

    def __init__(self, quantity: str, function: Callable[..., Any], lengths: Sequence[int], *, filler: float) -> None:
        self.quantity = quantity
        self.filler = filler
        self.call, self.takes = _by_name(quantity, function, len(lengths))
        shape = [length if takes else 1 for length, takes in zip(lengths, self.takes, strict=True)]
        _refuse_large(quantity, shape)
        self.values: npt.NDArray[np.float64] = np.full(shape, np.nan)

    def index(self, point: Sequence[int]) -> tuple[int, ...]:
        """Where a point lies: steps count from 1, all else from 0."""
        return tuple(i - (axis == 0) if self.takes[axis] else 0 for axis, i in enumerate(point))

    def at(self, *point: int) -> float:
        """Return the value at a point (t, x, …)."""
        index = self.index(point)
        value = float(self.values[index])
        if math.isnan(value):
            value = self.values[index] = self.checked(self.evaluate(point), point)
        return value

    def evaluate(self, point: Sequence[int]) -> Any:
        """Call the function; what it raises also says where."""
        try:
            return self.call(point)
        except Exception as error:
            where = f"in `{self.quantity}` at {place(point)}"
            if sys.version_info >= (3, 11):
                error.add_note(where)
                raise
            raise error from ProblemError(where)

    def checked(self, value: Any, point: Sequence[int]) -> float:
        """Return the number that a function returned, if it keeps the rule."""
        number = self.number(value, point)
        if not abs(number) <= LARGEST:
            raise self.wrong(point, f"got {_plain(number)}, expected a finite number of at most 1e100 in size")
        return number

    def number(self, value: Any, point: Sequence[int]) -> float:
        """Return what a function returned as a number."""
        try:
            if isinstance(value, str):
                raise TypeError
            return float(value)
        except (TypeError, ValueError):
            words = f"the function for `{self.quantity}` must return a number, got {value!r} at {place(point)}"
            raise TypeError(words) from None

    def wrong(self, point: Sequence[int], what: str) -> ProblemError:
        """Say what is wrong at a point, in the words of a problem file."""
        return ProblemError(f"`{self.quantity}` is wrong at {place(point)}: {what}")

    def entries(self) -> Any:
        """Return the table as a problem file has it: as short as what was looked at allows, the rest filled in."""
        values = self.values
        for axis in range(values.ndim):
            least = np.fmin.reduce(values, axis=axis, keepdims=True)
            most = np.fmax.reduce(values, axis=axis, keepdims=True)
            if np.all((least == most) | np.isnan(least)):
                values = least
        values = np.where(np.isnan(values), self.filler, values)
        if np.all((values == np.rint(values)) & (np.abs(values) < 2**53)):
            values = values.astype(np.int64)
        return values.item() if values.size == 1 else values.tolist()


class Transition(Table):
    """A function whose values are states, by number or name."""

    def __init__(self, function: Callable[..., Any], lengths: Sequence[int], names: Sequence[str]) -> None:
        super().__init__("transition", function, lengths, filler=0)
        self.last = lengths[1] - 1
        self.numbers = {name: number for number, name in enumerate(names)}

    def checked(self, value: Any, point: Sequence[int]) -> float:
        """Return the number of the state."""
        if isinstance(value, str):
            if value not in self.numbers:
                raise self.wrong(point, f"no state is called `{value}`")
            return self.numbers[value]
        number = self.number(value, point)
        if not (0 <= number <= self.last and number.is_integer()):
            raise self.wrong(point, f"got {_plain(number)}, expected a state, an integer from 0 to {self.last}")
        return number


class Law(Table):
    """A function whose values are the chances of the feedbacks: one of them, or, if it takes no feedback, all."""

    def __init__(self, function: Callable[..., Any], lengths: Sequence[int]) -> None:
        super().__init__("feedback", function, lengths, filler=1 / lengths[3])
        self.whole = not self.takes[3]
        if self.whole:
            shape = [*self.values.shape[:3], lengths[3]]
            _refuse_large(self.quantity, shape)
            self.values = np.full(shape, np.nan)
        self.feedbacks = lengths[3]

    def law(self, t: int, x: int, a: int) -> list[float]:
        """Return the chances of all feedbacks."""
        row = self.index((t, x, a, 0))[:3]
        law: list[float] = self.values[row].tolist()
        if math.isnan(law[0]):
            self.values[row] = law = self._evaluated(t, x, a)
        return law

    def _evaluated(self, t: int, x: int, a: int) -> list[float]:
        point = (t, x, a)
        returned: Any
        if self.whole:
            returned = self.evaluate(point)
            try:
                returned = list(returned)
            except TypeError:
                words = f"got {returned!r}, expected the chances of all feedbacks, as it takes no feedback `f`"
                raise self.wrong(point, words) from None
        else:
            returned = [self.evaluate((*point, f)) for f in range(self.feedbacks)]
        if len(returned) != self.feedbacks:
            what = f"it lists {len(returned)} probabilities, expected {self.feedbacks}, one for each of the feedbacks"
            raise self.wrong(point, what)
        law = [self.number(value, (*point, f)) for f, value in enumerate(returned)]
        for f, chance in enumerate(law):
            if not 0 <= chance <= 1:
                raise self.wrong((*point, f), f"got {_plain(chance)}, expected a probability from 0 to 1")
        if abs(sum(law) - 1) > 1e-9:
            raise self.wrong(point, f"the probabilities sum to {_plain(sum(law))}, expected 1")
        return law


def spread_out(quantity: str, value: Any, axes: int) -> Any:
    """Return a number, an expression or an array-like as a problem file has it.

    As in NumPy, axes that are not there are the first ones: one cost for each action holds at every step and state.
    """
    if hasattr(value, "__array__") and np.ndim(value) > 0:
        array = np.asarray(value)
        _refuse_large(quantity, array.shape)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            index = np.argwhere(~np.isfinite(array))[0].tolist()
            raise _not_finite(quantity, array[tuple(index)], index)
        value = array.tolist()
    else:
        _refuse_unknown(quantity, value, [])
    depth, inner = 0, value
    while isinstance(inner, (list, tuple)):
        depth, inner = depth + 1, inner[0] if inner else None
    # A flat law is one entry a feedback, in files too.
    if depth and not (quantity == "feedback" and depth == 1):
        for _ in range(axes - depth):
            value = [value]
    return value


def _refuse_unknown(quantity: str, value: Any, index: list[int]) -> None:
    """Files hold no NaN and no infinity."""
    if isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            _refuse_unknown(quantity, inner, [*index, i])
    elif isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise _not_finite(quantity, float(value), index)


def _not_finite(quantity: str, value: float, index: Sequence[int]) -> ProblemError:
    where = "".join(f"[{i}]" for i in index)
    return ProblemError(
        f"`{quantity}{where}` is {value}: expected finite numbers, and where one cannot come any will do, such as 0"
    )


def _refuse_large(quantity: str, shape: Sequence[int]) -> None:
    entries = math.prod(shape)
    if entries > MOST:
        size = " × ".join(f"{length:,}" for length in shape)
        raise ValueError(
            f"the table of `{quantity}` would have {size} = {entries:,} entries, and {MOST:,} are the most: write an "
            "expression, a function of fewer of t, x, a, f, or a simulator (emab.simulate)"
        )


def _by_name(
    quantity: str, function: Callable[..., Any], axes: int
) -> tuple[Callable[[Sequence[int]], Any], tuple[bool, ...]]:
    """Return how to call a function with a point, and which of its axes it takes."""
    axis_of = {name: axis for axis, names in enumerate(VARIABLES[:axes]) for name in names}
    expected = ", ".join(f"`{short}` ({long})" for short, long in VARIABLES[:axes])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        words = f"the function for `{quantity}` does not say what it takes: wrap it in a lambda of some of {expected}"
        raise TypeError(words) from None
    positional: list[int] = []
    named: dict[str, int] = {}
    for parameter in parameters:
        axis = axis_of.get(parameter.name)
        if axis is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and not variadic:
                raise TypeError(f"the function for `{quantity}` takes `{parameter.name}`; it can be of {expected}")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(axis)
        else:
            named[parameter.name] = axis
    taken = [*positional, *named.values()]
    if len(set(taken)) < len(taken):
        raise TypeError(f"the function for `{quantity}` takes the same thing twice, by its short and its long name")

    def call(point: Sequence[int]) -> Any:
        return function(*[point[axis] for axis in positional], **{name: point[axis] for name, axis in named.items()})

    return call, tuple(axis in taken for axis in range(axes))


def place(point: Sequence[int]) -> str:
    """Return a point in words."""
    return ", ".join(f"{short} = {i}" for (short, _), i in zip(VARIABLES, point, strict=False))


def _plain(value: float) -> str:
    """Return a number for a message, as a problem file's messages have it."""
    return repr(value).removesuffix(".0").replace("e+", "e")
