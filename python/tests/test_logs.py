"""Logs of decisions: replay, evaluation and fitted models, on tables and files."""

import dataclasses
import functools
import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import PurePython, RandomLearner, command

import emab

PROBLEM = {
    "horizon": 3,
    "states": ["new", "clear", "suspect"],
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "transition": "1 + f",
    "learning": {"sigma2": 0.25, "reward_range": [0, 1], "outcome_range": {"cost": [0, 1]}},
}


def rows(count=60):
    """One row per decision, as `emab export --table decisions` writes them."""
    rng = np.random.default_rng(3)
    table = []
    for i in range(count):
        state = "new"
        for step in (1, 2):
            action = ["blood", "scan"][rng.integers(2)]
            feedback = ["negative", "positive"][rng.integers(2)]
            row = {"episode": f"p{i}", "step": step, "state": state, "action": action, "feedback": feedback}
            table.append(row | {"recommended": "blood", "cost": 0.1, "reward": float(rng.random() < 0.4)})
            state = "suspect" if feedback == "positive" else "clear"
        end = {"episode": f"p{i}", "step": 3, "state": state, "action": "stop", "feedback": None, "cost": None}
        table.append(end | {"recommended": "stop", "reward": float(state == "suspect")})
    return table


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(rows())


def test_tables_of_all_kinds_are_the_same_log(frame, tmp_path):
    csv, parquet, problem = tmp_path / "log.csv", tmp_path / "log.parquet", tmp_path / "problem.json"
    zstandard = tmp_path / "zstandard.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)  # compressed with Snappy
    pl.DataFrame(rows()).write_parquet(zstandard)
    problem.write_text(json.dumps(PROBLEM))
    tables = [frame, pl.DataFrame(rows()), pa.Table.from_pylist(rows()), csv, parquet, zstandard]
    found = [emab.evaluate(table, "optimal", problem=PROBLEM) for table in tables]
    assert len({str(it.pairs) for it in found}) == 1
    assert len({repr(it) for it in found}) == 1
    printed = json.loads(
        command("evaluate", str(csv), "--problem", str(problem), "--policy", "optimal", "--json").stdout
    )
    assert (printed["value"], printed["lower"], printed["upper"]) == (found[0].value, found[0].lower, found[0].upper)
    replayed = json.loads(
        command("replay", str(parquet), "--problem", str(problem), "--learner", "feedbal", "--json").stdout
    )
    assert replayed["learners"][0]["agreed"] == emab.replay(frame, "feedbal", problem=PROBLEM)["feedbal"].agreed


def test_estimates_equal_those_by_hand(frame):
    policy = [["scan", None, None], [None, "stop", "stop"]]
    it = emab.evaluate(frame, policy, problem=PROBLEM)
    first = frame[(frame.step == 1) & (frame.action == "scan")]
    second = frame[frame.step == 2]
    share = (first.feedback == "positive").mean()
    reward = second.groupby("state").reward.mean()
    expected = share * reward["suspect"] + (1 - share) * reward["clear"] - 0.1
    assert it.value == pytest.approx(expected, abs=1e-12)
    assert it.lower <= it.value <= it.upper
    assert not it.from_log
    assert it.supported
    assert it.to_pandas()["count"].tolist()[0] == len(first)
    assert it.without_overrides is not None


def test_policies_of_all_kinds(frame, tmp_path):
    def scan_first(step, state):
        return "scan" if step == 1 else "stop"

    table = [["scan", None, None], [None, "stop", "stop"], [None, "stop", "stop"]]
    fitted = emab.fit(frame, problem=PROBLEM).problem
    learner = emab.Learner("feedbal", fitted.spec)
    values = [emab.evaluate(frame, policy, problem=PROBLEM).value for policy in (scan_first, table, {"policy": table})]
    assert values[0] == values[1] == values[2]
    assert emab.evaluate(frame, learner, problem=PROBLEM).from_log
    solved = emab.evaluate(frame, emab.solve(fitted).optimal, problem=PROBLEM)
    named = emab.evaluate(frame, "optimal", problem=PROBLEM)
    assert solved.value == named.value
    assert solved.upper - solved.lower < named.upper - named.lower  # the name says that it depends on the log
    document, saved = tmp_path / "policy.json", tmp_path / "learner.jsonl"
    document.write_text(json.dumps({"policy": table}))
    learner.save(saved)
    assert emab.evaluate(frame, document, problem=PROBLEM).value == values[0]
    of_file = emab.evaluate(frame, str(saved), problem=PROBLEM)
    assert (of_file.value, of_file.from_log) == (emab.evaluate(frame, learner, problem=PROBLEM).value, True)
    logged = emab.evaluate(frame, "logged", problem=PROBLEM)
    gains = frame.groupby("episode").apply(lambda it: it.reward.iloc[-1] - it.cost.sum(), include_groups=False)
    assert logged.value == pytest.approx(gains.mean())


def test_replay_of_episodes():
    episodes = [emab.Episode(actions=[0], feedbacks=[1], costs=[0.5], rewards=[0.0, 0.25]) for _ in range(30)]
    replayed = emab.replay(episodes, ["feedbal", emab.UCB1V()], problem="resource")
    assert [it.learner for it in replayed.learners] == ["feedbal", "ucb1v"]
    stops = replayed["feedbal"].earlier_stops
    assert stops["gain_difference"] == pytest.approx(0.25, abs=1e-12)
    assert stops["count"] > 20
    assert replayed.to_pandas().groupby("learner").decisions.sum().tolist() == [60, 60]
    with pytest.raises(KeyError, match="random was not replayed"):
        replayed["random"]


def test_replay_of_user_defined_learners(frame):
    given = ["feedbal:sigma2=0.2", functools.partial(PurePython, sigma2=0.2), RandomLearner]
    built_in, ours, random = emab.replay(frame, given, problem=PROBLEM, seed=4).learners
    assert (ours.learner, random.learner) == ("PurePython", "RandomLearner")
    assert dataclasses.replace(ours, learner=built_in.learner) == built_in
    assert 0 < random.agreed < random.decisions
    assert emab.replay(frame, RandomLearner, problem=PROBLEM, seed=4).learners == [random]
    assert emab.replay(frame, RandomLearner, problem=PROBLEM, seed=5).learners != [random]


def test_an_exception_of_a_replayed_learner_is_raised(frame):
    class Wrong(RandomLearner):
        def choose(self, step, state):
            return "blod"

    with pytest.raises(ValueError, match="there is no action `blod`"):
        emab.replay(frame, ["feedbal", lambda spec: Wrong(spec, None)], problem=PROBLEM)
    with pytest.raises(ValueError, match="at least one learner"):
        emab.replay(frame, [], problem=PROBLEM)


def test_ctrl_c_ends_a_replay():
    code = """
import emab, time
asked = 0
class Slow:
    def __init__(self, spec):
        self.stop = spec.stop
    def choose(self, step, state):
        global asked
        asked += 1
        print("asked", flush=True)
        time.sleep(0.1)
        return self.stop
    def learn(self, episode):
        pass
episodes = [emab.Episode(actions=[], feedbacks=[], costs=[], rewards=[0.0])] * 1000
try:
    emab.replay(episodes, Slow, problem="resource")
except KeyboardInterrupt:
    before = asked
    time.sleep(1)
    print("more:", asked - before, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "asked\n"
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")
    # A call that had begun may be counted after the interrupt.
    assert output.splitlines()[-1] in ("more: 0", "more: 1")


def test_fit_draws_models_that_can_be_solved(frame):
    fitted = emab.fit(frame, problem=PROBLEM, draws=4, seed=2)
    again = emab.fit(frame, problem=PROBLEM, draws=4, seed=2)
    assert fitted.draws == again.draws
    assert len(set(fitted.draws)) == 4
    assert "n = " in fitted.text
    # Rewards spread around the estimates.
    rewards = [model.reward(step=1, state=0) for model in emab.fit(frame, problem=PROBLEM, draws=40).draws]
    assert min(rewards) < fitted.problem.reward(step=1, state=0) < max(rewards)
    assert all(emab.solve(model).optimal.value >= 0 for model in fitted.draws)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": "blod"}, "there is no action `blod` .did you mean `blood`"),
        ({"cost": "cheap"}, "column `cost`: `cheap` is not a finite number"),
        ({"step": 7}, "row 2 has step 2, expected 1"),
    ],
)
def test_wrong_rows_are_named(change, message):
    table = rows(2)
    table[0].update(change)
    with pytest.raises(ValueError, match=message):
        emab.replay(pd.DataFrame(table), "feedbal", problem=PROBLEM)


def test_wrong_calls_are_named(frame):
    with pytest.raises(ValueError, match="pass `problem`"):
        emab.replay(frame, "feedbal")
    with pytest.raises(TypeError, match="a log is a path"):
        emab.replay(7, "feedbal", problem=PROBLEM)
    with pytest.raises(ValueError, match="did you mean `optimal`"):
        emab.evaluate(frame, "optimum", problem=PROBLEM)
    other = emab.load({**PROBLEM, "transition": "2 - f"})
    with pytest.raises(ValueError, match="the learner is of another problem: `transition` at t = 1"):
        emab.evaluate(frame, emab.FeedBAL(other.spec), problem=PROBLEM)
    with pytest.raises(ValueError, match="`by` must be"):
        emab.evaluate(frame, "optimal", problem=PROBLEM, by="pair")
    with pytest.raises(ValueError, match="more than 0 and less than 1"):
        emab.evaluate(frame, "optimal", problem=PROBLEM, confidence=1)
    with pytest.raises(ValueError, match="no column `reward`"):
        emab.evaluate(frame.drop(columns="reward"), "optimal", problem=PROBLEM)
    with pytest.raises(ValueError, match=r"cannot read missing\.csv"):
        emab.fit("missing.csv", problem=PROBLEM)
