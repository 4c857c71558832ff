"""An episode, by its name, for the client that is awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _episode_calls as calls
from ._decision import Decision, Replay
from ._episode_calls import Name, Values
from ._names import checked
from ._steps import step_of
from ._views import EpisodeView

if TYPE_CHECKING:
    from ._async_client import AsyncClient


class AsyncEpisode:
    """An episode of a study: `AsyncStudy.open` and `AsyncStudy.episode` give it.

    `decision` is the one that came last (by `open`, `ask` or `tell`): what is told next is about its step.

    >>> episode = await client.study("clinic").open("patient-1")
    >>> decision = await episode.tell("blood", "positive", reason="protocol: the first ten are tested")
    >>> view = await episode.stop()
    >>> (await episode.outcome(costs=[0.05], rewards=[0, 1])).status
    'learned'
    """

    def __init__(self, client: AsyncClient, study: str, name: str, decision: Decision | None = None) -> None:
        """Of a client, by name; nothing is sent."""
        self._client = client
        self.study = checked("a study", study)
        self.name = checked("an episode", name)
        self.decision = decision

    def __repr__(self) -> str:
        """By name."""
        return f"AsyncEpisode({self.study!r}, {self.name!r})"

    async def ask(self) -> Decision:
        """The decision of the current step; the same however often it is asked.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.ask()).action
        'stop'
        """
        self.decision = await self._client._send(calls.ask(self.study, self.name))
        return self.decision

    async def tell(
        self, action: Name, feedback: Name, reason: str | None = None, *, step: int | None = None
    ) -> Decision:
        """Tells what was done and seen at `step` (that of `decision`), and gives the next decision.

        Both go by name or index. What was done may differ from what was recommended; a `reason` is needed
        then.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.tell("blood", "positive", reason="protocol")).state
        'suspect'
        """
        step = step_of(self.decision, step)
        self.decision = await self._client._send(calls.tell(self.study, self.name, step, action, feedback, reason))
        return self.decision

    async def stop(self, reason: str | None = None, *, step: int | None = None) -> EpisodeView:
        """Ends it at `step` (that of `decision`). Where going on was recommended, a `reason` is needed.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.stop()).status
        'stopped'
        """
        return await self._client._send(calls.stop(self.study, self.name, step_of(self.decision, step), reason))

    async def abandon(self, reason: str) -> EpisodeView:
        """Gives it up where it is. Its outcome may still come; until then it counts as missing.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.abandon("moved away")).status
        'abandoned'
        """
        return await self._client._send(calls.abandon(self.study, self.name, reason))

    async def outcome(
        self, *, costs: Values | None = None, rewards: Values | None = None, final: bool = False
    ) -> EpisodeView:
        """Gives the outcome: the cost of every step but the last, the terminal reward of every step.

        It may come in parts: None is what is not known yet. It is learned from once every value is known, or
        once it is said to be `final`.

        >>> episode = await client.study("clinic").open("p1")
        >>> view = await episode.stop()
        >>> (await episode.outcome(rewards=[0.5])).status
        'learned'
        """
        return await self._client._send(calls.outcome(self.study, self.name, costs, rewards, final))

    async def amend(self, *, costs: Values | None = None, rewards: Values | None = None, reason: str) -> EpisodeView:
        """Corrects an outcome: None is what stays as it was. What was learned is taken back and learned anew.

        >>> episode = await client.study("clinic").open("p1")
        >>> view = await episode.stop()
        >>> view = await episode.outcome(rewards=[0.5])
        >>> (await episode.amend(rewards=[1], reason="mistyped")).outcome.rewards
        (1.0,)
        """
        return await self._client._send(calls.amend(self.study, self.name, costs, rewards, reason))

    async def read(self) -> EpisodeView:
        """All of it, with its steps and their decisions.

        >>> episode = await client.study("clinic").open("p1")
        >>> len((await episode.read()).steps)
        1
        """
        return await self._client._send(calls.read(self.study, self.name))

    async def replay(self, step: int) -> Replay:
        """Makes the decision of a step again from the log, and compares.

        >>> episode = await client.study("clinic").open("p1")
        >>> (await episode.replay(1)).equal
        True
        """
        return await self._client._send(calls.replay(self.study, self.name, step))
