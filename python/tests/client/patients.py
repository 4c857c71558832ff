"""Simulated patients for tests with many episodes."""

from __future__ import annotations

import random

from emab.client import AsyncEpisode, AsyncStudy, Decision, Episode, Study

Seen = list[Decision]


class Patient:
    """A patient, ill or not, and the results of tests."""

    def __init__(self, number: int) -> None:
        """Draw a patient by number."""
        self._draw = random.Random(number)
        self._ill = self._draw.random() < 0.3
        self.name = f"p{number}"
        self.costs: list[float] = []
        self.rewards: list[float] = [float(not self._ill)]

    def act(self, decision: Decision) -> tuple[str, str, str | None]:
        """Return action, feedback and, for an override, the reason."""
        action = decision.action if not decision.is_stop else "blood"
        right = self._draw.random() < {"blood": 0.8, "scan": 0.95}[action]
        positive = self._ill == right
        self.costs.append({"blood": 0.05, "scan": 0.2}[action])
        self.rewards.append(float(positive == self._ill))
        return action, "positive" if positive else "negative", "protocol" if decision.is_stop else None


def treat(study: Study, number: int) -> tuple[Episode, Seen]:
    """Play one patient from the first decision to the outcome: one test, then the recommendations."""
    patient = Patient(number)
    episode = study.open(patient.name)
    assert episode.decision is not None
    seen = [episode.decision]
    while len(seen) == 1 or not seen[-1].is_stop:
        seen.append(episode.tell(*patient.act(seen[-1])))
    episode.stop()
    episode.outcome(costs=patient.costs, rewards=patient.rewards)
    return episode, seen


async def treat_async(study: AsyncStudy, number: int) -> tuple[AsyncEpisode, Seen]:
    """Do the same with the asynchronous client."""
    patient = Patient(number)
    episode = await study.open(patient.name)
    assert episode.decision is not None
    seen = [episode.decision]
    while len(seen) == 1 or not seen[-1].is_stop:
        seen.append(await episode.tell(*patient.act(seen[-1])))
    await episode.stop()
    await episode.outcome(costs=patient.costs, rewards=patient.rewards)
    return episode, seen
