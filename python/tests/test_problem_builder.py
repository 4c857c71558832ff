"""Problems defined in Python equal those in files, in every notation, with the same error messages."""

import json
import pickle
import subprocess
import sys
import traceback

import numpy as np
import pytest

import emab

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


def resource(**changes):
    """The problem of Section 5 of the paper, defined by functions."""
    quantities = {
        "transition": lambda x, f: x + f,
        "feedback": lambda t: [1 - 0.8 / t**0.5, 0.8 / t**0.5],
        "reward": lambda t, x: 0.9 ** (t - 1) * x,
    }
    sizes = {"horizon": 10, "states": 10, "actions": ["cont"], "feedbacks": 2}
    noise = {"cost_noise": ("normal", 0.1), "reward_noise": ("normal", 0.1)}
    learning = {"delta": 0.01, "sigma2": 0.2, "feedback_spread": 1, "reward_range": (0, 9)}
    learning["outcome_range"] = {"reward": (-5, 15)}
    return emab.problem("resource collection", **{**sizes, **quantities, **noise, **learning, **changes})


def same(one, other):
    """Check that two problems have the same solution and results."""
    assert emab.solve(one).benchmark.policy == emab.solve(other).benchmark.policy
    learners = ["feedbal", "psrl"]
    first, second = (emab.run(p, learners, runs=5, episodes=300, seed=4) for p in (one, other))
    for ours, theirs in zip(first.curves, second.curves, strict=True):
        np.testing.assert_allclose(ours.regret, theirs.regret, rtol=1e-9)
        assert ours.parameters == theirs.parameters


T, X = np.arange(1, 11)[:, None], np.arange(10)
FEEDBACK = np.stack([1 - 0.8 / np.sqrt(np.arange(1, 10)), 0.8 / np.sqrt(np.arange(1, 10))], axis=-1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"transition": "x + f"},
        {"transition": lambda state, feedback: np.int64(state + feedback)},
        {"transition": lambda *, x, f: float(x + f)},
        {"transition": lambda t, x, a, f: x + f},
        {"feedback": lambda step, f, /: (0.8 / step**0.5) if f else 1 - 0.8 / step**0.5},
        {"feedback": lambda t, x, a: FEEDBACK[t - 1]},
        {"feedback": ["1 - 0.8/sqrt(t)", "0.8/sqrt(t)"]},
        {"feedback": FEEDBACK[:, None, None, :]},
        {"feedback": FEEDBACK[:, None, None, :].tolist()},
        {"reward": "0.9^(t-1) * x"},
        {"reward": "beta^(t-1) * x", "parameters": {"beta": 0.9}},
        {"reward": 0.9 ** (T - 1) * X},
        {"reward": lambda t, x, beta=0.9: beta ** (t - 1) * x},
        {"cost": lambda: 0},
        {"cost": [0.0]},
        {"allowed": lambda t, x: True},
        {"allowed": np.ones((1, 1, 1), dtype=bool)},
        {"states": [f"has {n}" for n in range(10)], "transition": lambda x, f: f"has {x + f}", "start": "has 0"},
        {"reward_noise": {"kind": "normal", "variance": 0.1}},
    ],
    ids=lambda changes: ",".join(f"{k}={type(v).__name__}" for k, v in changes.items()) or "functions",
)
def test_all_notations_define_the_same_problem(changes):
    same(resource(**changes), "resource")


def test_functions_reproduce_built_in_problems():
    """Functions that read a built-in problem at reachable pairs define the same problem."""
    for name in ("treatment", "screening", "coverage", "tutoring", "parity"):
        known = emab.load(name)
        document, spec = json.loads(known.to_json()), known.spec
        again = emab.problem(
            name,
            horizon=spec.horizon,
            states=spec.states,
            actions=spec.actions,
            feedbacks=spec.feedbacks,
            start=spec.states[spec.start],
            transition=lambda t, x, a, f, spec=spec: spec.next(t, x, a, f),
            allowed=lambda t, x, a, spec=spec: a in spec.allowed(t, x),
            feedback=lambda t, x, a, known=known: known.feedback(t, x, a),
            cost=lambda t, x, a, known=known: known.cost(t, x, a),
            reward=lambda t, x, known=known: known.reward(t, x),
            cost_noise=document["model"].get("cost_noise"),
            reward_noise=document["model"].get("reward_noise"),
            **document.get("learning", {}),
        )
        same(again, known)


def test_does_not_evaluate_unreachable_pairs():
    seen = set()

    def reward(t, x):
        assert x < t <= 4, "unreachable: more heads than tosses"
        seen.add((t, x))
        return x / t

    problem = emab.problem(
        "coins",
        horizon=4,
        states=4,
        actions=["toss", "cheat"],
        feedbacks=2,
        transition=lambda x, a, f: x + f if a == 0 else 1 / 0,
        allowed=lambda a: a == 0,
        feedback=lambda a: [0.5, 0.5],
        reward=reward,
    )
    assert seen == {(t, x) for t in range(1, 5) for x in range(t)}
    assert problem.check() == len(seen)
    # Entries that were not evaluated have a valid value.
    assert problem.spec.next(1, 3, 1, 1) in range(4)


def test_transition_may_fail_for_impossible_feedbacks():
    """Learners see the transition of impossible feedbacks, where the function has a value."""
    problem = resource(feedback=lambda f: 1 - f, transition=lambda x, f: x + f if x < 3 else 1 / (1 - f) - 1)
    assert problem.check() == 10
    assert [problem.spec.next(x + 1, x, 0, 1) for x in range(4)] == [1, 2, 3, 0]


def test_evaluates_each_argument_once():
    calls = []

    def feedback(x):
        calls.append(x)
        return [0.5, 0.5]

    resource(feedback=feedback)
    # No action is possible at the last step, so that state 9 is not evaluated.
    assert sorted(calls) == list(range(9))


def table(problem, quantity):
    document = json.loads(problem.to_json())
    return document.get(quantity, document["model"].get(quantity))


def test_tables_drop_constant_axes():
    problem = resource(
        transition=lambda t, x, a, f: x + f,
        feedback=lambda t, x, a, f: 0.5,
        cost=lambda t, x, a: 0.25,
        reward=lambda t, x: x,
        allowed=lambda t, x, a: True,
    )
    assert np.shape(table(problem, "transition")) == (1, 10, 1, 2)
    assert table(problem, "reward") == [list(range(10))]
    assert [table(problem, quantity) for quantity in ("feedback", "cost", "allowed")] == [0.5, 0.25, 1]


def test_can_be_pickled_saved_and_solved_by_the_command(tmp_path):
    problem = resource()
    assert pickle.loads(pickle.dumps(problem)) == problem
    problem.save(tmp_path / "mine.json")
    assert emab.load(tmp_path / "mine.json") == problem
    solved = subprocess.run(
        [sys.executable, "-m", "emab", "solve", tmp_path / "mine.json", "--json"], capture_output=True, check=True
    )
    value = json.loads(solved.stdout)["benchmark"]["value"]
    assert value == emab.solve(problem).benchmark.value == pytest.approx(1.605674, abs=1e-6)


def test_takes_conditions_and_a_description():
    problem = resource(
        description="one line",
        feedback=["1 - p/sqrt(t)", "p/sqrt(t)"],
        parameters={"p": 0.8},
        conditions={"delay": 3, "drift": [{"parameter": "p", "at": 50, "to": 0.4}]},
    )
    assert problem.description == "one line"
    assert "delay" in problem.conditions
    same(problem, problem)


def test_horizon_of_one():
    problem = resource(horizon=1, reward=lambda t, x: t + x, feedback=lambda t, x, a, f: 1 / 0)
    assert emab.solve(problem).benchmark.value == 1


def test_spec_evaluates_every_feedback():
    spec = emab.spec(
        "mine",
        horizon=3,
        states=["well", "ill"],
        actions=["wait", "treat"],
        feedbacks=2,
        transition=lambda a, f: "ill" if f > a else "well",
        allowed=lambda t, a: t == 1 or a == 0,
        sigma2=0.3,
    )
    assert [spec.next(1, 0, a, f) for a in (0, 1) for f in (0, 1)] == [0, 1, 0, 0]
    assert (spec.allowed(1, 0), spec.allowed(2, 1)) == ([0, 1, 2], [0, 2])
    assert emab.FeedBAL(spec).parameters["sigma2"] == 0.3
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transition": lambda x, f: x + 2 * f}, r"`transition` is wrong at t = 5, x = 8, a = 0, f = 1: got 10"),
        ({"transition": lambda x: x + 0.5}, r"`transition` is wrong at t = 1, x = 0, a = 0, f = 0: got 0.5, expected"),
        ({"transition": lambda x: "nowhere"}, r"at t = 1, x = 0, a = 0, f = 0: no state is called `nowhere`"),
        ({"transition": "x + 2 * f"}, r"`transition` is wrong at t = (?s:.*)expected a state, an integer from 0 to 9"),
        ({"transition": lambda x: -1}, r"got -1, expected a state, an integer from 0 to 9"),
        ({"feedback": lambda t: [0.5, 0.6]}, r"at t = 1, x = 0, a = 0: the probabilities sum to 1.1, expected 1"),
        ({"feedback": lambda f: f - 0.5}, r"f = 0: got -0.5, expected a probability from 0 to 1"),
        ({"feedback": lambda f: float("nan")}, r"f = 0: got nan, expected a probability from 0 to 1"),
        ({"feedback": lambda t: [1.0]}, r"it lists 1 probabilities, expected 2, one for each of the feedbacks"),
        ({"feedback": lambda t: 0.5}, r"got 0.5, expected the probabilities of all .*, as it takes no feedback `f`"),
        ({"feedback": [0.5, 0.25, 0.25]}, r"`feedback` lists 3 probabilities(?s:.*)expected 2"),
        ({"feedback": np.full((9, 10, 1, 3), 1 / 3)}, r"`feedback` has 3 entries here(?s:.*)for each of the feedbacks"),
        ({"reward": lambda x: 1e101 * x}, r"`reward` is wrong at t = 2, x = 1: got 1e101, expected a finite number of"),
        ({"reward": lambda x: float("inf")}, r"`reward` is wrong at t = 1, x = 0: got inf, expected a finite number"),
        ({"reward": np.full((10, 10), np.nan)}, r"`reward\[0\]\[0\]` is nan: expected finite numbers"),
        ({"reward": [[0.0, float("inf")]]}, r"`reward\[0\]\[1\]` is inf: expected finite numbers"),
        ({"reward": [1, 2, 3]}, r"`reward` has 3 entries here(?s:.*)expected 10 or 1, one for each of the states"),
        ({"reward": lambda x: 2 * x, "reward_noise": "bernoulli"}, r"`reward` is wrong(?s:.*)probability from 0 to 1"),
        ({"allowed": lambda a: float("nan")}, r"`allowed` is wrong at t = 1, x = 0, a = 0: got nan"),
        ({"horizon": 0}, r"`horizon` must be from 1 to 1000000, got 0"),
        ({"actions": ["stop"]}, r"`stop` always exists and is never listed"),
        ({"start": 10}, r"`start` must be a state from 0 to 9, got 10"),
        ({"delta": 3}, r"`delta` must lie in \(0, 1\), got 3"),
        ({"cost_noise": ("cauchy", 1)}, r"unknown noise `cauchy`"),
        ({"cost_noise": "normal"}, r"noise `normal` needs a `variance`"),
        ({"reward_noise": ("normal", -1)}, r"`variance` must be a number from 0 to 1e100, got -1"),
    ],
)  # fmt: skip
def test_rejects_invalid_values(changes, message):
    with pytest.raises(emab.ProblemError, match=message):
        resource(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": lambda t, a: 0}, r"the function for `reward` takes `a`; it can take `t` \(step\), `x` \(state\)"),
        ({"reward": lambda t, step: 0}, r"takes an argument twice"),
        ({"reward": max}, r"has no signature: wrap it in a lambda"),
        ({"reward": lambda x: None}, r"the function for `reward` must return a number, got None at t = 1, x = 0"),
        ({"reward": lambda x: "5"}, r"must return a number, got '5' at t = 1, x = 0"),
        ({"reward": lambda x: [1, 2]}, r"must return a number, got \[1, 2\]"),
        ({"feedback": lambda t: ["a", "b"]}, r"`feedback` must return a number, got 'a' at t = 1, x = 0, a = 0, f = 0"),
        ({"reward": {1, 2}}, r"a problem is made of numbers, texts, lists and dictionaries, got \{1, 2\}"),
    ],
)
def test_rejects_values_of_the_wrong_type(changes, message):
    with pytest.raises(TypeError, match=message):
        resource(**changes)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"reward": lambda t, x: deeper(1 / (4 - t))}, "in `reward` at t = 4, x = 0"),
        ({"feedback": lambda t: [deeper(1 / (2 - t)), 0]}, "in `feedback` at t = 2, x = 0, a = 0"),
        ({"feedback": lambda t, f: deeper(1 / (f - 1))}, "in `feedback` at t = 1, x = 0, a = 0, f = 1"),
        ({"transition": lambda x, f: deeper(1 / (1 - f))}, "in `transition` at t = 1, x = 0, a = 0, f = 1"),
        ({"cost": lambda x: deeper(1 / x)}, "in `cost` at t = 1, x = 0, a = 0"),
    ],
)
def test_exceptions_keep_their_traceback_and_name_the_point(changes, place):
    with pytest.raises(ZeroDivisionError) as caught:
        resource(**changes)
    text = "".join(traceback.format_exception(caught.value))
    assert place in text
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "<lambda>"


def deeper(value):
    return value


def test_rejects_a_large_table_before_it_is_created():
    large = {"horizon": 1000, "states": 1_000_000, "transition": "x"}
    message = r"1,000 × 1,000,000 = 1,000,000,000 entries; the limit is 20,000,000: write an expression, a"
    with pytest.raises(ValueError, match=message):
        resource(**large, reward=lambda t, x: x)
    # A function of fewer arguments has a small table.
    assert resource(**large, reward="x", feedback=lambda t: [0.5, 0.5]).spec.n_states == 1_000_000


def test_another_file_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "mine.json"
    emab.load("parity").save(path)
    emab.load("parity").save(path)
    with pytest.raises(FileExistsError, match=r"mine\.json exists, and is not this problem; force=True replaces it"):
        emab.load("resource").save(path)
    assert emab.load(path) == emab.load("parity")
    emab.load("resource").save(path, force=True)
    assert emab.load(path) == emab.load("resource")
