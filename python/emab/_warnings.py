"""Warnings about the premises of a learner, and about the device of a run."""

from __future__ import annotations


class AssumptionWarning(UserWarning):
    """A result rests on an assumption: a default parameter, or a premise that was not checked.

    >>> issubclass(emab.AssumptionWarning, emab.SoundnessWarning)
    False
    """


class DeviceWarning(UserWarning):
    """The processor played what ``device`` asked a GPU to play, or a part of it; the result is the same.

    >>> issubclass(emab.DeviceWarning, emab.SoundnessWarning)
    False
    """


class SoundnessWarning(UserWarning):
    """A guarantee of a learner does not hold on this problem: its confidence width does not cover the variation.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = emab.run("feedback-gap", runs=2, episodes=10)
    >>> [warning.category.__name__ for warning in caught]
    ['SoundnessWarning']
    """


def category(note: str) -> tuple[type[UserWarning], str]:
    """Return the category and the message of a note of the engine."""
    if note.startswith("warning: "):
        return SoundnessWarning, note.removeprefix("warning: ")
    return AssumptionWarning, note.removeprefix("note: ")
