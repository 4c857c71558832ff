"""Learners that an earlier version saved (tests/fixtures) choose and estimate the same."""

import json
from pathlib import Path

import pytest

import emab

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"


@pytest.mark.parametrize("name", ["feedbal", "psrl"])
def test_a_learner_of_an_earlier_version_goes_on(name, tmp_path):
    learner = emab.load_learner(FIXTURES / f"learner-{name}.jsonl")
    assert learner.learned == 12
    learner.save(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (FIXTURES / f"learner-{name}.jsonl").read_bytes()
    expected = json.loads((FIXTURES / f"learner-{name}.expected.json").read_text())
    assert len(expected) > 10
    for step, state, choice, estimates in expected:
        known = [learner.estimate(step, state, action) for action in learner.spec.allowed(step, state)]
        assert [k and [k.count, k.mean] for k in known] == estimates
        assert learner.choose(step, state) == choice
