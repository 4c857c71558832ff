"""Calls on episodes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsFloat, SupportsIndex

from ._call import Call, call
from ._decision import Decision, Replay
from ._decode import reader
from ._names import episode_path, study_path, valid_name
from ._views import EpisodeView

Name = str | SupportsIndex
Values = Iterable[SupportsFloat | None]


def open_(study: str, episode: str, start: Name | None) -> Call[Decision]:
    """Open an episode. The name is required: a request without one could not be repeated."""
    fields: dict[str, Any] = {"id": valid_name("an episode", episode)}
    if start is not None:
        fields["start"] = _name(start)
    return call("POST", f"{study_path(study)}/episodes", reader(Decision.of), fields)


def read(study: str, episode: str) -> Call[EpisodeView]:
    """Read an episode with its steps."""
    return call("GET", episode_path(study, episode), reader(EpisodeView.of))


def ask(study: str, episode: str) -> Call[Decision]:
    """Read the decision of the current step."""
    return call("POST", f"{episode_path(study, episode)}:ask", reader(Decision.of))


def tell(
    study: str, episode: str, step: int, action: Name, feedback: Name, reason: str | None, **rest: Any
) -> Call[Decision]:
    """Record an action and its feedback."""
    fields = {"step": step, "action": _name(action), "feedback": _name(feedback), "reason": reason, **rest}
    return call("POST", f"{episode_path(study, episode)}:tell", reader(Decision.of), fields)


def stop(study: str, episode: str, step: int, reason: str | None, **rest: Any) -> Call[EpisodeView]:
    """End an episode."""
    fields = {"step": step, "reason": reason, **rest}
    return call("POST", f"{episode_path(study, episode)}:stop", reader(EpisodeView.of), fields)


def abandon(study: str, episode: str, reason: str) -> Call[EpisodeView]:
    """Abandon an episode."""
    return call("POST", f"{episode_path(study, episode)}:abandon", reader(EpisodeView.of), {"reason": reason})


def outcome(study: str, episode: str, costs: Values | None, rewards: Values | None, **rest: Any) -> Call[EpisodeView]:
    """Give an outcome, or a part of it."""
    return call("PUT", f"{episode_path(study, episode)}/outcome", reader(EpisodeView.of), _given(costs, rewards, rest))


def amend(study: str, episode: str, costs: Values | None, rewards: Values | None, **rest: Any) -> Call[EpisodeView]:
    """Correct an outcome."""
    path = f"{episode_path(study, episode)}/outcome:amend"
    return call("POST", path, reader(EpisodeView.of), _given(costs, rewards, rest))


def amend_step(
    study: str, episode: str, step: int, action: Name | None, feedback: Name | None, **rest: Any
) -> Call[EpisodeView]:
    """Correct a recorded step."""
    given = {"action": action, "feedback": feedback}
    fields = {field: _name(name) for field, name in given.items() if name is not None}
    path = f"{episode_path(study, episode)}/steps/{operator.index(step)}:amend"
    return call("POST", path, reader(EpisodeView.of), {**fields, **rest})


def void(study: str, episode: str, reason: str, request: str | None) -> Call[EpisodeView]:
    """Void an episode."""
    fields = {"reason": reason, "request": request}
    return call("POST", f"{episode_path(study, episode)}:void", reader(EpisodeView.of), fields)


def _given(costs: Values | None, rewards: Values | None, rest: dict[str, Any]) -> dict[str, Any]:
    return {"costs": _values("costs", costs), "rewards": _values("rewards", rewards), **rest}


def replay(study: str, episode: str, step: int) -> Call[Replay]:
    """Recompute a decision from the log."""
    path = f"{episode_path(study, episode)}/decisions/{operator.index(step)}:replay"
    return call("GET", path, reader(Replay.of))


def step_of(decision: Decision | None, step: int | None) -> int:
    """Return the step given, or that of the last decision.

    The service is not asked for it: a repeated `tell` after a lost answer would then apply to the next step.
    """
    if step is not None:
        return step
    if decision is not None:
        return decision.step
    raise ValueError("no step: call `ask()` first, which shows the recommendation there, or give `step=`")


def _name(name: Name) -> str | int:
    return name if isinstance(name, str) else operator.index(name)


def _values(field: str, values: Values | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if value is None else _number(f"/{field}/{i}", value) for i, value in enumerate(values)]


def _number(place: str, value: SupportsFloat) -> float:
    try:
        # `float` would accept text.
        return value.__float__()
    except AttributeError:
        raise ValueError(f"{place} is {value!r}, and must be a number, or None for an unknown value") from None
