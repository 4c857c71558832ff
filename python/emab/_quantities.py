"""Quantities of a problem as tables, from functions and arrays."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from emab._emab import ProblemError, did_you_mean

MAX_ENTRIES = 20_000_000
"""The largest table: its conversion takes about 4 GB and a minute."""

LARGEST = 1e100
"""The largest reward or cost, as in a problem file."""

VARIABLES = (("t", "step"), ("x", "state"), ("a", "action"), ("f", "feedback"))
"""The arguments of a function, by axis: the short name, as in expressions, and the long name."""


class FunctionTable:
    """A user-defined function as a table, which is filled on access.

    Only the axes that the function takes have more than one entry. Entries that were never accessed are unreachable and
    get the filler.
    """

    def __init__(self, quantity: str, function: Callable[..., Any], lengths: Sequence[int], *, filler: float) -> None:
        self.quantity = quantity
        self.filler = filler
        self.call, self.takes = _by_name(quantity, function, len(lengths))
        shape = [length if takes else 1 for length, takes in zip(lengths, self.takes, strict=True)]
        _check_size(quantity, shape)
        self.values: npt.NDArray[np.float64] = np.full(shape, np.nan)

    def index(self, point: Sequence[int]) -> tuple[int, ...]:
        """Return the index of a point: steps count from 1, all else from 0."""
        return tuple(i - (axis == 0) if self.takes[axis] else 0 for axis, i in enumerate(point))

    def at(self, *point: int) -> float:
        """Return the value at a point (t, x, …)."""
        index = self.index(point)
        value = float(self.values[index])
        if math.isnan(value):
            value = self.values[index] = self.checked(self.evaluate(point), point)
        return value

    def evaluate(self, point: Sequence[int]) -> Any:
        """Call the function; an exception gets a note with the point."""
        try:
            return self.call(point)
        except Exception as error:
            where = f"in `{self.quantity}` at {point_text(point)}"
            if sys.version_info >= (3, 11):
                error.add_note(where)
                raise
            raise error from ProblemError(where)

    def checked(self, value: Any, point: Sequence[int]) -> float:
        """Return a valid number; raise `ProblemError` otherwise."""
        number = self.number(value, point)
        if not abs(number) <= LARGEST:
            raise self.wrong(point, f"got {_plain(number)}, expected a finite number of at most 1e100 in size")
        return number

    def number(self, value: Any, point: Sequence[int]) -> float:
        """Return a value as a number; raise `TypeError` otherwise."""
        try:
            if isinstance(value, str):
                raise TypeError
            return float(value)
        except (TypeError, ValueError):
            message = f"the function for `{self.quantity}` must return a number, got {value!r} at {point_text(point)}"
            raise TypeError(message) from None

    def wrong(self, point: Sequence[int], message: str) -> ProblemError:
        """Return an error at a point, with the message of a problem file."""
        return ProblemError(f"`{self.quantity}` is wrong at {point_text(point)}: {message}")

    def entries(self) -> Any:
        """Return the table as in a problem file, without axes along which the accessed values are constant."""
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


class TransitionTable(FunctionTable):
    """A function whose values are states, by number or name."""

    def __init__(self, function: Callable[..., Any], lengths: Sequence[int], names: Sequence[str]) -> None:
        super().__init__("transition", function, lengths, filler=0)
        self.last = lengths[1] - 1
        self.numbers = {name: number for number, name in enumerate(names)}

    def checked(self, value: Any, point: Sequence[int]) -> float:
        """Return the number of the state."""
        if isinstance(value, str):
            if value not in self.numbers:
                near = did_you_mean(value, list(self.numbers))
                raise self.wrong(point, f"no state is called `{value}`{near}")
            return self.numbers[value]
        number = self.number(value, point)
        if not (0 <= number <= self.last and number.is_integer()):
            raise self.wrong(point, f"got {_plain(number)}, expected a state, an integer from 0 to {self.last}")
        return number


class FeedbackTable(FunctionTable):
    """A function whose values are probabilities of feedbacks: of one, or of all if it takes no feedback."""

    def __init__(self, function: Callable[..., Any], lengths: Sequence[int]) -> None:
        super().__init__("feedback", function, lengths, filler=1 / lengths[3])
        self.returns_all = not self.takes[3]
        if self.returns_all:
            shape = [*self.values.shape[:3], lengths[3]]
            _check_size(self.quantity, shape)
            self.values = np.full(shape, np.nan)
        self.feedbacks = lengths[3]

    def probabilities(self, t: int, x: int, a: int) -> list[float]:
        """Return the probabilities of all feedbacks."""
        row = self.index((t, x, a, 0))[:3]
        probabilities: list[float] = self.values[row].tolist()
        if math.isnan(probabilities[0]):
            self.values[row] = probabilities = self._evaluated(t, x, a)
        return probabilities

    def _evaluated(self, t: int, x: int, a: int) -> list[float]:
        point = (t, x, a)
        returned: Any
        if self.returns_all:
            returned = self.evaluate(point)
            try:
                returned = list(returned)
            except TypeError:
                message = f"got {returned!r}, expected the probabilities of all feedbacks, as it takes no feedback `f`"
                raise self.wrong(point, message) from None
        else:
            returned = [self.evaluate((*point, f)) for f in range(self.feedbacks)]
        if len(returned) != self.feedbacks:
            message = (
                f"it lists {len(returned)} probabilities, expected {self.feedbacks}, one for each of the feedbacks"
            )
            raise self.wrong(point, message)
        probabilities = [self.number(value, (*point, f)) for f, value in enumerate(returned)]
        for f, probability in enumerate(probabilities):
            if not 0 <= probability <= 1:
                raise self.wrong((*point, f), f"got {_plain(probability)}, expected a probability from 0 to 1")
        if abs(sum(probabilities) - 1) > 1e-9:
            raise self.wrong(point, f"the probabilities sum to {_plain(sum(probabilities))}, expected 1")
        return probabilities


def spread_out(quantity: str, value: Any, axes: int) -> Any:
    """Return a number, an expression or an array-like as in a problem file.

    Missing axes are the first ones, as in NumPy: one cost per action holds at every step and state.
    """
    if hasattr(value, "__array__") and np.ndim(value) > 0:
        array = np.asarray(value)
        _check_size(quantity, array.shape)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            index = np.argwhere(~np.isfinite(array))[0].tolist()
            raise _not_finite(quantity, array[tuple(index)], index)
        value = array.tolist()
    else:
        _check_finite(quantity, value, [])
    depth, inner = 0, value
    while isinstance(inner, (list, tuple)):
        depth, inner = depth + 1, inner[0] if inner else None
    # A flat list of probabilities has one entry per feedback, in files too.
    if depth and not (quantity == "feedback" and depth == 1):
        for _ in range(axes - depth):
            value = [value]
    return value


def _check_finite(quantity: str, value: Any, index: list[int]) -> None:
    """Raise `ProblemError` for NaN and infinities, which problem files cannot contain."""
    if isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            _check_finite(quantity, inner, [*index, i])
    elif isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise _not_finite(quantity, float(value), index)


def _not_finite(quantity: str, value: float, index: Sequence[int]) -> ProblemError:
    where = "".join(f"[{i}]" for i in index)
    return ProblemError(
        f"`{quantity}{where}` is {value}: expected finite numbers; at unreachable places use any, such as 0"
    )


def _check_size(quantity: str, shape: Sequence[int]) -> None:
    entries = math.prod(shape)
    if entries > MAX_ENTRIES:
        size = " × ".join(f"{length:,}" for length in shape)
        raise ValueError(
            f"the table of `{quantity}` would have {size} = {entries:,} entries; the limit is {MAX_ENTRIES:,}: write "
            "an expression, a function of fewer of t, x, a, f, or a simulator (emab.simulate)"
        )


def _by_name(
    quantity: str, function: Callable[..., Any], axes: int
) -> tuple[Callable[[Sequence[int]], Any], tuple[bool, ...]]:
    """Return a function of a point, and the axes that it takes."""
    axis_of = {name: axis for axis, names in enumerate(VARIABLES[:axes]) for name in names}
    expected = ", ".join(f"`{short}` ({long})" for short, long in VARIABLES[:axes])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        message = f"the function for `{quantity}` has no signature: wrap it in a lambda of some of {expected}"
        raise TypeError(message) from None
    positional: list[int] = []
    named: dict[str, int] = {}
    for parameter in parameters:
        axis = axis_of.get(parameter.name)
        if axis is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and not variadic:
                raise TypeError(f"the function for `{quantity}` takes `{parameter.name}`; it can take {expected}")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(axis)
        else:
            named[parameter.name] = axis
    taken = [*positional, *named.values()]
    if len(set(taken)) < len(taken):
        raise TypeError(f"the function for `{quantity}` takes an argument twice, by its short and its long name")

    def call(point: Sequence[int]) -> Any:
        return function(*[point[axis] for axis in positional], **{name: point[axis] for name, axis in named.items()})

    return call, tuple(axis in taken for axis in range(axes))


def point_text(point: Sequence[int]) -> str:
    """Return a point as text."""
    return ", ".join(f"{short} = {i}" for (short, _), i in zip(VARIABLES, point, strict=False))


def _plain(value: float) -> str:
    """Return a number as in the messages of problem files."""
    return repr(value).removesuffix(".0").replace("e+", "e")
