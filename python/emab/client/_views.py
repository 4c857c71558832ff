"""Studies and episodes as the service shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._decision import Decision
from ._decode import Raw, Record, key


@dataclass(frozen=True, slots=True)
class Stamp(Record):
    """When something was recorded, and by which person.

    >>> client.study("clinic").open("p1").read().opened_by.by
    'admin'
    """

    at: str
    by: str


@dataclass(frozen=True, slots=True)
class StudyChange(Record):
    """A change of the status of a study: `kind` is `created`, `paused`, `resumed`, `closed` or `reopened`.

    >>> client.study("clinic").pause("the device is being repaired").change.reason
    'the device is being repaired'
    """

    kind: str
    at: str
    by: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class StudyView(Record):
    """A study: what it was created from, and its counts of episodes.

    `spec` is None in a list of studies. A `blinded` token is not shown `spec_hash` and `hash`. `restoring` is True
    while an export is imported into the study. `change` says when, by whom and why it was last created, paused,
    resumed, closed or reopened; `at` is the time of its last event, `seq`.

    >>> view = client.study("clinic").read()
    >>> view.name, view.learner, view.episodes, view.closed
    ('clinic', 'feedbal:width=sound', 0, False)
    """

    name: str = field(metadata=key("study"))
    learner: str
    spec: Raw | None = field(hash=False)
    spec_hash: str | None
    rules: int
    closed: bool
    paused: bool
    restoring: bool
    episodes: int
    open: int
    learned: int
    missing: int
    withheld: str | None
    change: StudyChange | None
    seq: int
    at: str | None
    hash: str | None


@dataclass(frozen=True, slots=True)
class StepView(Record):
    """One step of an episode: the decision, the action taken (None: none yet), its feedback and any reason.

    `decided_by` is `fallback` for a choice from a table; `corrected` is the reason of its last correction.

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
    overridden: bool = field(metadata=key("override"))
    reason: str | None
    decided_by: str | None
    corrected: str | None
    reported: Stamp | None
    corrected_by: Stamp | None


@dataclass(frozen=True, slots=True)
class OutcomeView(Record):
    """The outcome of an episode so far: None is an unknown value; `final` means that none will follow.

    >>> episode = client.study("clinic").open("p1")
    >>> episode.stop().outcome
    OutcomeView(costs=(), rewards=(None,), final=False)
    """

    costs: tuple[float | None, ...]
    rewards: tuple[float | None, ...]
    final: bool


@dataclass(frozen=True, slots=True)
class EpisodeView(Record):
    """An episode: `status` is `open`, `stopped`, `abandoned`, `learned` or `voided`.

    `steps` is None except in the result of `Episode.read`. `learned` is the position in the order of learning,
    `voided` the reason of an episode that was entered in error, `start` the state in which it began. The stamps say
    when and by whom it was opened, ended and last changed; they are None in studies of earlier versions.

    >>> client.study("clinic").open("p1").stop().status
    'stopped'
    """

    study: str
    name: str = field(metadata=key("episode"))
    status: str
    step: int
    state: str
    start: str | None
    steps: tuple[StepView, ...] | None
    outcome: OutcomeView | None
    learned: int | None
    voided: str | None
    imported: bool
    opened: int
    touched: int
    opened_by: Stamp | None
    ended_by: Stamp | None
    outcome_by: Stamp | None
    voided_by: Stamp | None
    touched_by: Stamp | None
