"""Intake, persons and the health of a study."""

from __future__ import annotations

from typing import Any

import pytest

from emab.client import Client, Conflict, Invalid

PROBLEM: dict[str, Any] = {
    "horizon": 3,
    "states": ["low", "high", "clear", "suspect"],
    "start": ["low", "high"],
    "transition": "2 + f",
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "learning": {"delta": 0.05, "sigma2": 0.25, "reward_range": [0, 1]},
    "learner": "feedbal:width=sound",
}


def test_an_episode_begins_in_the_state_at_intake(client: Client) -> None:
    study = client.create_study("intake", PROBLEM)
    intakes: list[tuple[str, str | int, str]] = [("p1", "high", "high"), ("p2", 0, "low")]
    for name, start, state in intakes:
        decision = study.open(name, start=start).decision
        assert decision is not None
        assert decision.state == state
    with pytest.raises(Conflict, match="`high`"):
        study.open("p1", start="low")
    with pytest.raises(Invalid, match="`low`, `high`"):
        study.open("p3")
    assert [view.start for view in study.episodes()] == ["high", "low"]


def test_a_table_begins_in_a_start_state(client: Client) -> None:
    study = client.create_study("intake", PROBLEM, protocol={"first": 9, "sequence": ["blood"]})
    table = study.policy()
    with pytest.raises(ValueError, match="low, high"):
        table.episode("p1")
    with pytest.raises(ValueError, match="'clear'"):
        table.episode("p1", start="clear")
    offline = table.episode("p1", start="high")
    offline.tell("positive")
    offline.stop()
    episode = study.report(offline)
    view = episode.read()
    assert (view.start, view.status) == ("high", "stopped")
    assert view.steps is not None
    assert [step.decided_by for step in view.steps] == ["fallback", "fallback"]


def test_views_have_times_and_persons(client: Client) -> None:
    study = client.create_study("intake", PROBLEM)
    episode = study.open("p1", start="low")
    episode.tell("blood", "negative", reason="protocol")
    episode.amend_step(1, feedback="positive", reason="mistyped")
    episode.stop()
    view = episode.outcome(costs=[0.1], rewards=[0, 1])
    steps = episode.read().steps
    assert steps is not None
    events = list(study.events())
    assert {event.person for event in events} == {"admin"}
    stamps = [view.opened_by, steps[0].reported, steps[0].corrected_by, view.ended_by, view.outcome_by]
    assert [stamp and stamp.at for stamp in stamps] == [event.at for event in events[1:]]
    closed = study.close("the last patient was seen")
    assert closed.change is not None
    assert (closed.change.kind, closed.change.by) == ("closed", "admin")
    assert closed.change.reason == "the last patient was seen"


def test_the_value_of_the_policies_of_a_study(client: Client) -> None:
    study = client.create_study("intake", {**PROBLEM, "shadow": ["feedbal-pooled"]})
    with pytest.raises(Invalid, match="no episode with an outcome"):
        study.evaluation()
    for i in range(4):
        episode = study.open(f"p{i}", start="low")
        episode.tell("blood", "negative", reason="protocol")
        episode.stop(reason="protocol")
        episode.outcome(costs=[0.1], rewards=[0, 1])
    evaluation = study.evaluation(confidence=0.9)
    assert (evaluation.episodes, evaluation.confidence, evaluation.logged_value) == (4, 0.9, 0.9)
    assert [(it.learner, it.shadow) for it in evaluation.policies] == [
        ("feedbal:width=sound", False),
        ("feedbal-pooled", True),
    ]
    assert all(it.lower <= it.value <= it.upper for it in evaluation.policies)


def test_the_health_of_a_study(client: Client) -> None:
    limits = {"overrides": {"yellow": 0.5, "red": 0.9}}
    study = client.create_study("intake", PROBLEM, expected_delay="30d", thresholds=limits)
    for i in range(20):
        study.open(f"p{i}", start="low").tell("blood", "negative", reason="protocol")
    health = study.health()
    overrides = health.check("overrides")
    assert (health.status, overrides.status, overrides.value) == ("red", "red", 1.0)
    assert overrides.threshold is not None
    assert overrides.threshold.yellow == 0.5
    assert "30 days" in health.check("overdue").detail
    with pytest.raises(KeyError, match="overdue"):
        health.check("overdu")
