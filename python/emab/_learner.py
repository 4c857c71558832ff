"""Learners in files and pickles, and what can stand for a learner in a call."""

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
class OwnLearner(Protocol):
    """A learner written in Python: anything with these two methods.

    ``choose`` returns the number of an action (``spec.stop`` is stop) or its name; ``learn`` is called once the
    episode is over and shows what it revealed.
    """

    def choose(self, step: int, state: int) -> int | str:
        """Choose the action to take."""

    def learn(self, episode: Episode) -> None:
        """Take in what an episode revealed."""


LearnerLike: TypeAlias = "str | Learner | Callable[..., OwnLearner]"
"""What :func:`emab.run` takes for a learner: a line such as ``"feedbal:sigma2=0.2"``, a :class:`Learner` (its setting
counts, not what it has learned), or a class or function that makes a learner of your own."""


def load_learner(path: str | PathLike[str]) -> Learner:
    """Read a learner that :meth:`Learner.save` wrote, as it was: it learns the same episodes again.

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
    """The class of the learner in a file; the base class where the file is none: reading it will say why."""
    from emab import learners

    try:
        text = json.loads(data.split(b"\n", 1)[0])["learner"]
        name = text.split(":", 1)[0].strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        return Learner
    return learners.BY_NAME.get(name, Learner)


def _trained(cls: type[L], data: bytes, place: str = "learner") -> L:
    """Make a learner anew from its past."""
    return Learner.__new__(cls, place, trained=data)


def _setting(cls: type[L], text: str) -> L:
    """Make a setting anew."""
    return Learner.__new__(cls, text)


def line(name: str, settings: dict[str, float | int | str | bool | None]) -> str:
    """A learner as on the command line."""
    words = []
    for key, value in settings.items():
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if "," in text or "=" in text:
            raise ValueError(f"learner `{name}`: `{key}` takes one value, got {value!r}")
        words.append(f"{key}={text}")
    return f"{name}:{','.join(words)}" if words else name


class _Factory:
    """Makes a learner of somebody's own before every run; pickles if what it calls does."""

    def __init__(self, make: Callable[..., OwnLearner]) -> None:
        self.make = make
        self.rng = _rng_of(make)

    def __call__(self, spec: Spec, seed: tuple[int, int]) -> OwnLearner:
        learner = self.make(spec, **{self.rng: np.random.default_rng(seed)}) if self.rng else self.make(spec)
        for method in ("choose", "learn"):
            if not callable(getattr(learner, method, None)):
                raise TypeError(
                    f"a learner must have the methods `choose` and `learn`; {type(learner).__name__} has no `{method}`"
                )
        return learner


def _rng_of(make: Callable[..., Any]) -> str | None:
    """The parameter of a factory that takes a generator of random numbers: `rng`, or a second one without a default."""
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
    """What a learner of one's own is called: its `label` or its name, and a number if there is another of it."""
    inner = make
    while isinstance(inner, partial):
        inner = inner.func
    label = str(getattr(inner, "label", None) or getattr(inner, "__name__", type(inner).__name__))
    names = (label if n == 1 else f"{label} ({n})" for n in count(1))
    return next(name for name in names if name not in taken)


def asked(learners: LearnerLike | Iterable[LearnerLike]) -> list[str | tuple[str, Callable[..., OwnLearner]]]:
    """What the engine is asked to play; learners of one's own each under a label of its own."""
    lines_and_makers = [line_or_maker(learner) for learner in listed(learners)]
    if not lines_and_makers:
        raise ValueError("there must be at least one learner")
    taken = {learner for learner in lines_and_makers if isinstance(learner, str)}
    all_asked: list[str | tuple[str, Callable[..., OwnLearner]]] = []
    for learner in lines_and_makers:
        if isinstance(learner, str):
            all_asked.append(learner)
        else:
            label = _label(learner, taken)
            taken.add(label)
            all_asked.append((label, _Factory(learner)))
    return all_asked


def listed(learners: LearnerLike | Iterable[LearnerLike]) -> Iterable[LearnerLike]:
    """Learners as a list, where one may stand alone."""
    if isinstance(learners, Iterable) and not isinstance(learners, (str, Learner)) and not callable(learners):
        return learners
    return [cast("LearnerLike", learners)]


def line_or_maker(learner: LearnerLike) -> str | Callable[..., OwnLearner]:
    """A built-in learner by its line, or what makes one of one's own."""
    if isinstance(learner, str):
        return learner
    if isinstance(learner, Learner) and not _overrides(type(learner)):
        return learner.text
    if isinstance(learner, type) and issubclass(learner, Learner) and not _overrides(learner):
        return learner().text  # type: ignore[call-arg]
    if callable(learner):
        return learner
    if isinstance(learner, OwnLearner):
        raise TypeError(
            f"{type(learner).__name__} is one learner, and every run needs a new one: "
            "give the class, or a function of the spec that makes one"
        )
    raise TypeError(f"a learner is a line, a Learner, or a class of your own, got {learner!r}")


def _overrides(cls: type[Learner]) -> bool:
    """Whether a class changes what a built-in learner does: the engine must call it, then."""
    return cls.choose is not Learner.choose or cls.learn is not Learner.learn
