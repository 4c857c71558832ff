# Written by `python python/tools/sync_client.py` from ../_async/episode.py.
"""A handle for one episode of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _episode_calls as calls
from .._decision import Decision, Replay
from .._episode_calls import Name, Values
from .._names import valid_name
from .._views import EpisodeView

if TYPE_CHECKING:
    from .client import Client


class Episode:
    """An episode of a study, as returned by `Study.open` and `Study.episode`.

    `decision` is the last decision that this object received (from `open`, `ask` or `tell`). The next `tell` or
    `stop` refers to its step.

    >>> episode = client.study("clinic").open("patient-1")
    >>> decision = episode.tell("blood", "positive", reason="protocol: the first ten are tested")
    >>> view = episode.stop()
    >>> episode.outcome(costs=[0.05], rewards=[0, 1]).status
    'learned'
    """

    def __init__(self, client: Client, study: str, name: str, decision: Decision | None = None) -> None:
        """Send nothing."""
        self._client = client
        self.study = valid_name("a study", study)
        self.name = valid_name("an episode", name)
        self.decision = decision

    def __repr__(self) -> str:
        """Show the names."""
        return f"Episode({self.study!r}, {self.name!r})"

    def ask(self) -> Decision:
        """Return the decision of the current step. Asking again returns the same decision.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.ask().action
        'stop'
        """
        self.decision = self._client._send(calls.ask(self.study, self.name))
        return self.decision

    def tell(self, action: Name, feedback: Name, reason: str | None = None, *, step: int | None = None) -> Decision:
        """Record the action taken and the feedback seen at `step`, and return the next decision.

        `step` defaults to that of `decision`. Actions and feedbacks go by name or index. An action other than the
        recommended one needs a `reason`.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.tell("blood", "positive", reason="protocol").state
        'suspect'
        """
        at = calls.step_of(self.decision, step)
        self.decision = self._client._send(calls.tell(self.study, self.name, at, action, feedback, reason))
        return self.decision

    def stop(self, reason: str | None = None, *, step: int | None = None) -> EpisodeView:
        """End the episode at `step` (default: that of `decision`). An override of the recommendation needs a `reason`.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.stop().status
        'stopped'
        """
        at = calls.step_of(self.decision, step)
        return self._client._send(calls.stop(self.study, self.name, at, reason))

    def abandon(self, reason: str) -> EpisodeView:
        """End the episode without `stop`. It counts as missing until its outcome is given.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.abandon("moved away").status
        'abandoned'
        """
        return self._client._send(calls.abandon(self.study, self.name, reason))

    def outcome(
        self,
        *,
        costs: Values | None = None,
        rewards: Values | None = None,
        final: bool = False,
        outlier: bool = False,
        reason: str | None = None,
        request: str | None = None,
    ) -> EpisodeView:
        """Give the outcome: the cost of every step but the last, and the terminal reward of every step.

        It may come in parts; None is a value that is not known yet. The learner learns from the episode once every
        value is known, or once the outcome is `final`. A value outside the study's `outcome_range` needs `outlier=True`
        and a `reason`. A request with the same content, or with the same `request` id, is a repetition of the first.

        >>> episode = client.study("clinic").open("p1")
        >>> view = episode.stop()
        >>> episode.outcome(rewards=[0.5]).status
        'learned'
        """
        rest = {"final": final, "outlier": outlier, "reason": reason, "request": request}
        return self._client._send(calls.outcome(self.study, self.name, costs, rewards, **rest))

    def amend(
        self,
        *,
        costs: Values | None = None,
        rewards: Values | None = None,
        reason: str,
        outlier: bool = False,
        request: str | None = None,
    ) -> EpisodeView:
        """Correct an outcome; None leaves a value unchanged. The learner is rebuilt from the corrected values.

        The same correction again has no effect, also after another one. To mean it anew, give it a new `request` id.

        >>> episode = client.study("clinic").open("p1")
        >>> view = episode.stop()
        >>> view = episode.outcome(rewards=[0.5])
        >>> episode.amend(rewards=[1], reason="mistyped").outcome.rewards
        (1.0,)
        """
        rest = {"reason": reason, "outlier": outlier, "request": request}
        return self._client._send(calls.amend(self.study, self.name, costs, rewards, **rest))

    def amend_step(
        self,
        step: int,
        *,
        action: Name | None = None,
        feedback: Name | None = None,
        reason: str,
        request: str | None = None,
    ) -> EpisodeView:
        """Correct the action or the feedback of a recorded step; what is left out is unchanged.

        Later steps are kept; a correction after which one of them would not be possible raises `Invalid`, and `void`
        remains. The recommendation of an open episode is made anew, and `decision` is the new one.

        >>> episode = client.study("clinic").open("p1")
        >>> decision = episode.tell("blood", "positive", reason="protocol")
        >>> episode.amend_step(1, feedback="negative", reason="read wrongly").state
        'clear'
        >>> episode.decision.state
        'clear'
        """
        rest = {"reason": reason, "request": request}
        amend = calls.amend_step(self.study, self.name, step, action, feedback, **rest)
        view = self._client._send(amend)
        if view.status == "open":
            self.ask()
        return view

    def void(self, reason: str, *, request: str | None = None) -> EpisodeView:
        """Mark the episode as entered in error: it counts for nothing, and stays in the log.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.void("entered twice").status
        'voided'
        """
        return self._client._send(calls.void(self.study, self.name, reason, request))

    def read(self) -> EpisodeView:
        """Return the whole episode, with its steps and their decisions.

        >>> episode = client.study("clinic").open("p1")
        >>> len(episode.read().steps)
        1
        """
        return self._client._send(calls.read(self.study, self.name))

    def replay(self, step: int) -> Replay:
        """Recompute the decision of a step from the log and compare it with the recorded one.

        >>> episode = client.study("clinic").open("p1")
        >>> episode.replay(1).equal
        True
        """
        return self._client._send(calls.replay(self.study, self.name, step))
