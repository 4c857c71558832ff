"""What the service shows of studies and episodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._decision import Decision
from ._read import Raw, as_object, flag, inside, listed, maybe, nested, text, whole


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study as it is: what it was created from, and how many episodes it has.

    >>> view = client.study("clinic").read()
    >>> view.name, view.learner, view.episodes, view.closed
    ('clinic', 'feedbal:width=sound', 0, False)
    """

    name: str
    learner: str
    spec: Raw = field(hash=False)
    spec_hash: str
    closed: bool
    episodes: int
    open: int
    learned: int
    missing: int
    withheld: str | None
    seq: int
    hash: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> StudyView:
        """From the service's JSON."""
        return cls(
            name=text(raw, "study"),
            learner=text(raw, "learner"),
            spec=nested(raw, "spec"),
            spec_hash=text(raw, "spec_hash"),
            closed=flag(raw, "closed"),
            episodes=whole(raw, "episodes"),
            open=whole(raw, "open"),
            learned=whole(raw, "learned"),
            missing=whole(raw, "missing"),
            withheld=maybe(text, raw, "withheld"),
            seq=whole(raw, "seq"),
            hash=text(raw, "hash"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of an episode: what was recommended, done (None: nothing yet) and seen, and why if otherwise.

    >>> episode = client.study("clinic").open("p1")
    >>> decision = episode.tell("blood", "positive", reason="protocol")
    >>> step = episode.read().steps[0]
    >>> step.decision.action, step.action, step.feedback, step.overridden, step.reason
    ('stop', 'blood', 'positive', True, 'protocol')
    """

    step: int
    state: str
    decision: Decision | None
    action: str | None
    feedback: str | None
    overridden: bool
    reason: str | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> StepView:
        """From the service's JSON."""
        return cls(
            step=whole(raw, "step"),
            state=text(raw, "state"),
            decision=inside(Decision.of, raw, "decision"),
            action=maybe(text, raw, "action"),
            feedback=maybe(text, raw, "feedback"),
            overridden=flag(raw, "override"),
            reason=maybe(text, raw, "reason"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """What is known of an outcome: None is what is not known; `final` says that nothing more will come.

    >>> episode = client.study("clinic").open("p1")
    >>> episode.stop().outcome
    OutcomeView(costs=(), rewards=(None,), final=False)
    """

    costs: tuple[float | None, ...]
    rewards: tuple[float | None, ...]
    final: bool
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> OutcomeView:
        """From the service's JSON."""
        return cls(
            costs=tuple(map(_value, listed(raw, "costs"))),
            rewards=tuple(map(_value, listed(raw, "rewards"))),
            final=flag(raw, "final"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode as it is: `status` is `open`, `stopped`, `abandoned` or `learned`.

    `steps` is None unless the whole episode was asked for (`Episode.read`). `learned` is its place in the
    order of learning.

    >>> client.study("clinic").open("p1").stop().status
    'stopped'
    """

    study: str
    name: str
    status: str
    step: int
    state: str
    steps: tuple[StepView, ...] | None
    outcome: OutcomeView | None
    learned: int | None
    imported: bool
    opened: int
    touched: int
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> EpisodeView:
        """From the service's JSON."""
        steps = maybe(listed, raw, "steps")
        return cls(
            study=text(raw, "study"),
            name=text(raw, "episode"),
            status=text(raw, "status"),
            step=whole(raw, "step"),
            state=text(raw, "state"),
            steps=None if steps is None else tuple(StepView.of(as_object(step)) for step in steps),
            outcome=inside(OutcomeView.of, raw, "outcome"),
            learned=maybe(whole, raw, "learned"),
            imported=flag(raw, "imported"),
            opened=whole(raw, "opened"),
            touched=whole(raw, "touched"),
            raw=raw,
        )


def _value(value: Any) -> float | None:
    return None if value is None else float(value)
