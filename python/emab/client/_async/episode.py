"""A handle for one episode of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _episode_calls as calls
from .._decision import Decision, Replay
from .._episode_calls import Name, Values
from .._names import valid_name
from .._views import EpisodeView

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncEpisode:
    """An episode of a study, as returned by `AsyncStudy.open` and `AsyncStudy.episode`.

    `decision` is the last decision that this object received (from `open`, `ask` or `tell`). The next `tell` or
    `stop` refers to its step.

    >>> episode = await client.study("clinic").open("patient-1")
    >>> decision = await episode.tell("blood", "positive", reason="protocol: the first ten are tested")
    >>> view = await episode.stop()
    >>> (await episode.outcome(costs=[0.05], rewards=[0, 1])).status
    'learned'
    """

    def __init__(self, client: AsyncClient, study: str, name: str, decision: Decision | None = None) -> None:
        """Send nothing."""
        self._client = client
        self.study = valid_name("a study", study)
        self.name = valid_name("an episode", name)
        self.decision = decision

    def __repr__(self) -> str:
        """Show the names."""
        return f"AsyncEpisode({self.study!r}, {self.name!r})"

    async def ask(self) -> Decision:
        """Return the decision of the current step. Asking again returns the same decision.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.ask()).action
        'stop'
        """
        self.decision = await self._client._send(calls.ask(self.study, self.name))
        return self.decision

    async def tell(
        self, action: Name, feedback: Name, reason: str | None = None, *, step: int | None = None
    ) -> Decision:
        """Record the action taken and the feedback seen at `step`, and return the next decision.

        `step` defaults to that of `decision`. Actions and feedbacks go by name or index. An action other than the
        recommended one needs a `reason`.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.tell("blood", "positive", reason="protocol")).state
        'suspect'
        """
        at = calls.step_of(self.decision, step)
        self.decision = await self._client._send(calls.tell(self.study, self.name, at, action, feedback, reason))
        return self.decision

    async def stop(self, reason: str | None = None, *, step: int | None = None) -> EpisodeView:
        """End the episode at `step` (default: that of `decision`). An override of the recommendation needs a `reason`.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.stop()).status
        'stopped'
        """
        at = calls.step_of(self.decision, step)
        return await self._client._send(calls.stop(self.study, self.name, at, reason))

    async def abandon(self, reason: str) -> EpisodeView:
        """End the episode without `stop`. It counts as missing until its outcome is given.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.abandon("moved away")).status
        'abandoned'
        """
        return await self._client._send(calls.abandon(self.study, self.name, reason))

    async def outcome(
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

        >>> episode = await client.study("clinic").open("p1")
        >>> view = await episode.stop()
        >>> (await episode.outcome(rewards=[0.5])).status
        'learned'
        """
        rest = {"final": final, "outlier": outlier, "reason": reason, "request": request}
        return await self._client._send(calls.outcome(self.study, self.name, costs, rewards, **rest))

    async def amend(
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

        >>> episode = await client.study("clinic").open("p1")
        >>> view = await episode.stop()
        >>> view = await episode.outcome(rewards=[0.5])
        >>> (await episode.amend(rewards=[1], reason="mistyped")).outcome.rewards
        (1.0,)
        """
        rest = {"reason": reason, "outlier": outlier, "request": request}
        return await self._client._send(calls.amend(self.study, self.name, costs, rewards, **rest))

    async def amend_step(
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

        >>> episode = await client.study("clinic").open("p1")
        >>> decision = await episode.tell("blood", "positive", reason="protocol")
        >>> (await episode.amend_step(1, feedback="negative", reason="read wrongly")).state
        'clear'
        >>> episode.decision.state
        'clear'
        """
        rest = {"reason": reason, "request": request}
        amend = calls.amend_step(self.study, self.name, step, action, feedback, **rest)
        view = await self._client._send(amend)
        if view.status == "open":
            await self.ask()
        return view

    async def void(self, reason: str, *, request: str | None = None) -> EpisodeView:
        """Mark the episode as entered in error: it counts for nothing, and stays in the log.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.void("entered twice")).status
        'voided'
        """
        return await self._client._send(calls.void(self.study, self.name, reason, request))

    async def read(self) -> EpisodeView:
        """Return the whole episode, with its steps and their decisions.

        >>> episode = await client.study("clinic").open("p1")
        >>> len((await episode.read()).steps)
        1
        """
        return await self._client._send(calls.read(self.study, self.name))

    async def replay(self, step: int) -> Replay:
        """Recompute the decision of a step from the log and compare it with the recorded one.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.replay(1)).equal
        True
        """
        return await self._client._send(calls.replay(self.study, self.name, step))
