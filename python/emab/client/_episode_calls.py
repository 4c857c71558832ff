"""The calls about episodes, as data."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsFloat, SupportsIndex

from ._call import Call, call
from ._decision import Decision, Replay
from ._names import checked, episode_path, study_path
from ._read import reader
from ._views import EpisodeView

Name = str | SupportsIndex
Values = Iterable[SupportsFloat | None]


def open_(study: str, episode: str) -> Call[Decision]:
    """Open an episode. Its name is always given: a request without one could not be sent again."""
    given = {"id": checked("an episode", episode)}
    return call("POST", f"{study_path(study)}/episodes", reader(Decision.of), given)


def read(study: str, episode: str) -> Call[EpisodeView]:
    """Read an episode, steps and all."""
    return call("GET", episode_path(study, episode), reader(EpisodeView.of))


def ask(study: str, episode: str) -> Call[Decision]:
    """The decision of the current step."""
    return call("POST", f"{episode_path(study, episode)}:ask", reader(Decision.of))


def tell(study: str, episode: str, step: int, action: Name, feedback: Name, reason: str | None) -> Call[Decision]:
    """What was done and seen."""
    given = {"step": step, "action": _name(action), "feedback": _name(feedback), "reason": reason}
    return call("POST", f"{episode_path(study, episode)}:tell", reader(Decision.of), given)


def stop(study: str, episode: str, step: int, reason: str | None) -> Call[EpisodeView]:
    """The end."""
    given = {"step": step, "reason": reason}
    return call("POST", f"{episode_path(study, episode)}:stop", reader(EpisodeView.of), given)


def abandon(study: str, episode: str, reason: str) -> Call[EpisodeView]:
    """Give it up."""
    return call("POST", f"{episode_path(study, episode)}:abandon", reader(EpisodeView.of), {"reason": reason})


def outcome(study: str, episode: str, costs: Values | None, rewards: Values | None, final: bool) -> Call[EpisodeView]:
    """The outcome, or a part of it."""
    given = {"costs": _values("costs", costs), "rewards": _values("rewards", rewards), "final": final}
    return call("PUT", f"{episode_path(study, episode)}/outcome", reader(EpisodeView.of), given)


def amend(study: str, episode: str, costs: Values | None, rewards: Values | None, reason: str) -> Call[EpisodeView]:
    """Correct an outcome."""
    given = {"costs": _values("costs", costs), "rewards": _values("rewards", rewards), "reason": reason}
    return call("POST", f"{episode_path(study, episode)}/outcome:amend", reader(EpisodeView.of), given)


def replay(study: str, episode: str, step: int) -> Call[Replay]:
    """Make a decision again from the log."""
    path = f"{episode_path(study, episode)}/decisions/{operator.index(step)}:replay"
    return call("GET", path, reader(Replay.of))


def _name(name: Name) -> str | int:
    return name if isinstance(name, str) else operator.index(name)


def _values(field: str, values: Values | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if value is None else _number(f"/{field}/{i}", value) for i, value in enumerate(values)]


def _number(place: str, value: SupportsFloat) -> float:
    try:
        # Text would pass `float`, and is no number all the same.
        return value.__float__()
    except AttributeError:
        raise ValueError(f"{place} is {value!r}, and must be a number, or None where it is not known") from None
