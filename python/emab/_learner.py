"""Learner arguments, user-defined learners, and saved learners."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np

from emab._emab import Episode, Learner, Spec

L = TypeVar("L", bound=Learner)


@runtime_checkable
class UserLearner(Protocol):
    """A user-defined learner: an object with these two methods.

    ``choose`` returns the number of an action (``spec.stop`` is stop) or its name. ``learn`` takes a finished episode.

    A learner that also has ``announce(episode, step, state, action)`` and ``settle(episode)`` is told of choices whose
    outcome is delayed, as :meth:`Learner.announce` describes.
    """

    def choose(self, step: int, state: int) -> int | str:
        """Return the action to take."""

    def learn(self, episode: Episode) -> None:
        """Learn from a finished episode."""


LearnerLike: TypeAlias = "str | Learner | Callable[..., UserLearner]"
"""A learner argument of :func:`emab.run`: a text such as ``"feedbal:sigma2=0.2"``, a :class:`Learner` (its parameters
are used, not what it has learned), or a class or function that creates a user-defined learner."""

OwnLearner = UserLearner
"""The former name of :class:`UserLearner`."""

EngineLearner: TypeAlias = "str | tuple[str, Callable[..., UserLearner]]"
"""A learner argument of the engine: a text, or a label and a factory."""


def load_learner(path: str | PathLike[str]) -> Learner:
    """Read a learner that :meth:`Learner.save` wrote, by a replay of its episodes. It is identical to the saved one.

    >>> import tempfile, pathlib
    >>> learner = emab.FeedBAL(emab.load("resource").spec)
    >>> learner.learn(emab.Episode(actions=[0], feedbacks=[1], costs=[0.0], rewards=[0.0, 0.9]))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "learner.jsonl"
    >>> learner.save(path)
    >>> emab.load_learner(path)
    FeedBAL('feedbal', 'resource collection', learned=1)
    """
    data = Path(path).read_bytes()
    return _trained(_class_of(data), data, fspath(path))


def _class_of(data: bytes) -> type[Learner]:
    """Return the class of the learner in a file; the base class for an invalid file, which then fails to load."""
    from emab import learners

    try:
        text = json.loads(data.split(b"\n", 1)[0])["learner"]
        name = text.split(":", 1)[0].strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        return Learner
    return learners.BY_NAME.get(name, Learner)


def _trained(cls: type[L], data: bytes, file: str = "learner") -> L:
    """Restore a saved learner."""
    return Learner.__new__(cls, file, trained=data)


def _setting(cls: type[L], text: str) -> L:
    """Restore a learner without a problem."""
    return Learner.__new__(cls, text)


def learner_text(name: str, parameters: dict[str, float | int | str | bool | None]) -> str:
    """Return a learner as on the command line."""
    words = []
    for key, value in parameters.items():
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if "," in text or "=" in text:
            raise ValueError(f"learner `{name}`: `{key}` takes one value, got {value!r}")
        words.append(f"{key}={text}")
    return f"{name}:{','.join(words)}" if words else name


class _LearnerFactory:
    """Creates a user-defined learner before every run. It can be pickled if the function it calls can."""

    def __init__(self, create: Callable[..., UserLearner]) -> None:
        self.create = create
        self.rng = _rng_of(create)

    def __call__(self, spec: Spec, seed: tuple[int, int]) -> UserLearner:
        learner = self.create(spec, **{self.rng: np.random.default_rng(seed)}) if self.rng else self.create(spec)
        for method in ("choose", "learn"):
            if not callable(getattr(learner, method, None)):
                raise TypeError(
                    f"a learner must have the methods `choose` and `learn`; {type(learner).__name__} has no `{method}`"
                )
        return learner


def _rng_of(make: Callable[..., Any]) -> str | None:
    """Return the parameter that takes a random generator: `rng`, or a second one without a default."""
    try:
        parameters = inspect.signature(make).parameters
    except (TypeError, ValueError):
        return None
    if "rng" in parameters:
        return "rng"
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD
    needed = [p.name for p in parameters.values() if p.kind is named and p.default is p.empty]
    return needed[1] if len(needed) > 1 else None


def _label(make: Callable[..., Any], taken: set[str]) -> str:
    """Return the label of a user-defined learner: its `label` or its name, with a number if that is taken."""
    inner = make
    while isinstance(inner, partial):
        inner = inner.func
    label = str(getattr(inner, "label", None) or getattr(inner, "__name__", type(inner).__name__))
    names = (label if n == 1 else f"{label} ({n})" for n in count(1))
    return next(name for name in names if name not in taken)


def engine_learners(learners: LearnerLike | Iterable[LearnerLike]) -> list[EngineLearner]:
    """Return the learners as the engine takes them: built-in ones once, user-defined ones with a unique label."""
    given = text_or_factories(learners)
    if not given:
        raise ValueError("there must be at least one learner")
    taken = {learner for learner in given if isinstance(learner, str)}
    labelled: list[EngineLearner] = []
    for learner in given:
        if isinstance(learner, str):
            if learner not in labelled:
                labelled.append(learner)
        else:
            label = _label(learner, taken)
            taken.add(label)
            labelled.append((label, _LearnerFactory(learner)))
    return labelled


def text_or_factories(learners: LearnerLike | Iterable[LearnerLike]) -> list[str | Callable[..., UserLearner]]:
    """Return one or several learner arguments as a list: built-in learners as text, others as a factory."""
    if isinstance(learners, Iterable) and not isinstance(learners, (str, Learner)) and not callable(learners):
        return [_text_or_factory(learner) for learner in learners]
    return [_text_or_factory(cast("LearnerLike", learners))]


def _text_or_factory(learner: LearnerLike) -> str | Callable[..., UserLearner]:
    if isinstance(learner, str):
        return learner
    if isinstance(learner, Learner) and not _overrides(type(learner)):
        return learner.text
    if isinstance(learner, type) and issubclass(learner, Learner) and not _overrides(learner):
        return learner().text  # type: ignore[call-arg]
    if callable(learner):
        return learner
    if isinstance(learner, UserLearner):
        raise TypeError(
            f"{type(learner).__name__} is one learner, and every run needs a new one: "
            "pass the class, or a function of the spec that creates one"
        )
    raise TypeError(f"a learner is a text, a Learner, or a class with `choose` and `learn`, got {learner!r}")


def _overrides(cls: type[Learner]) -> bool:
    """Return whether a class overrides a built-in learner, so that the engine must call it."""
    return cls.choose is not Learner.choose or cls.learn is not Learner.learn
