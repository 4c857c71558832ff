"""User-defined simulators: gains, random numbers, and valid return values."""

import functools
import math
import traceback

import numpy as np
import pytest
from helpers import RandomLearner, timeless

import emab


class Table:
    """A simulator of a built-in problem, whose value is known."""

    def __init__(self, problem="resource", noise=0.0):
        self.problem, self.noise = emab.load(problem), noise
        self.spec = self.problem.spec

    def reset(self, rng):
        self.rng, self.t, self.x = rng, 1, self.spec.start
        self.costs, self.rewards = [], [self.reward()]

    def reward(self):
        return self.problem.reward(self.t, self.x) + self.noise * self.rng.normal()

    def step(self, action):
        probabilities = self.problem.feedback(self.t, self.x, action)
        feedback = self.rng.choice(len(probabilities), p=probabilities)
        self.costs.append(self.problem.cost(self.t, self.x, action))
        self.x = self.spec.next(self.t, self.x, action, int(feedback))
        self.t += 1
        self.rewards.append(self.reward())
        return feedback

    def reveal(self):
        return self.costs, np.array(self.rewards)


class Policy:
    """Follows the benchmark."""

    def __init__(self, spec, problem="resource"):
        self.policy = emab.solve(problem).benchmark

    def choose(self, step, state):
        return self.policy.choice(step, state)

    def learn(self, episode):
        assert episode.steps == len(episode.rewards) == len(episode.states)


@pytest.mark.parametrize("problem", ["resource", "treatment"])
def test_gain_of_the_benchmark_matches_the_oracle(problem):
    simulator = functools.partial(Table, problem)
    learners = functools.partial(Policy, problem=problem)
    result = emab.simulate(simulator, learners, runs=40, episodes=50, seed=5)
    (curve,) = result.curves
    expected = emab.solve(problem).benchmark.value * curve.episode
    assert curve.label == "Policy"
    assert np.all(np.abs(curve.gain - expected) <= 5 * curve.gain_stderr + 1e-9)
    assert 0 < curve.gain_stderr[-1] < expected[-1] / 5


def test_regret_is_nan():
    result = emab.run(Table, ["random", "feedbal"], runs=3, episodes=10)
    assert (result.benchmark_value, result.optimal_value) == (None, None)
    for curve in result.curves:
        for column in ("regret", "stderr", "regret_optimal", "lower", "upper"):
            assert np.isnan(getattr(curve, column)).all()
        assert np.isfinite(curve.gain).all()
    assert "gain" in repr(result)
    assert "gain" in repr(result.curves[0])
    assert emab.Result.parse(result.text).text == result.text
    assert len(result.to_pandas()) == 2 * len(result.curves[0].episode)


def test_the_same_seed_gives_the_same_bytes():
    options = {"runs": 4, "episodes": 60}
    one, again, other = (emab.run(Table, ["random", "psrl", RandomLearner], **options, seed=seed) for seed in (1, 1, 2))
    assert timeless(one.text) == timeless(again.text)
    assert timeless(one.text) != timeless(other.text)


def test_all_learners_see_the_same_episodes():
    cases = {}

    class Recorded(Table):
        made = 0

        def __init__(self):
            super().__init__()
            type(self).made += 1

        def reset(self, rng):
            cases.setdefault(self.made, []).append(rng.random())
            super().reset(rng)

    emab.simulate(Recorded, ["random", "feedbal", RandomLearner], runs=2, episodes=20)
    # The first is created to read its spec, the others for each learner and run.
    of_runs = [cases[made] for made in range(2, Recorded.made + 1)]
    assert len(of_runs) == 6
    assert of_runs[0] == of_runs[2] == of_runs[4]
    assert of_runs[1] == of_runs[3] == of_runs[5]
    assert len({draw for run in of_runs[:2] for draw in run}) == 40


def test_runs_have_different_random_streams():
    result = emab.simulate(lambda: Table(), RandomLearner, runs=20, episodes=1)
    assert 20 < result.curves[0].steps < 200


def test_built_in_learners_learn():
    result = emab.simulate(functools.partial(Table, noise=0.1), ["feedbal", "random"], runs=5, episodes=400)
    good, bad = result.curves
    assert good.gain[-1] > bad.gain[-1] + 3 * good.gain_stderr[-1]
    assert good.parameters["sigma2"] == 0.2
    n = emab.simulate(Table, "feedbal:delta=1/n,sigma2=0.1", runs=1, episodes=40).curves[0]
    assert (n.label, n.parameters["delta"]) == ("feedbal:delta=1/n,sigma2=0.1", 1 / 40)
    assert n.gain_stderr.tolist() == [0] * len(n.gain)


def test_checkpoints_are_those_of_the_engine():
    for episodes in (1, 9, 10, 11, 100, 1234):
        stop = emab.simulate(Table, StopAtOnce, runs=1, episodes=episodes).curves[0]
        engine = emab.run("resource", StopAtOnce, runs=1, episodes=episodes).curves[0]
        assert stop.episode.tolist() == engine.episode.tolist()
    assert emab.simulate(Table, StopAtOnce, runs=1, episodes=9, checkpoints=[4, 2, 4]).curves[0].episode.tolist() == [
        2, 4, 9,
    ]  # fmt: skip


class StopAtOnce:
    """Stops at step 1."""

    def __init__(self, spec):
        self.spec = spec

    def choose(self, step, state):
        return "stop"

    def learn(self, episode):
        pass


def test_progress_reaches_the_total():
    seen = []
    emab.simulate(
        Table, ["feedbal", "random"], runs=2, episodes=3, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (12, 12)


def test_gain_is_nan_after_an_unknown_reward():
    class Forgets(Table):
        """Has an unknown reward in its fifth episode."""

        cases = 0

        def reveal(self):
            self.cases += 1
            costs, rewards = super().reveal()
            return costs, rewards * (math.nan if self.cases == 5 else 1)

    curve = emab.simulate(Forgets, "feedbal", runs=2, episodes=8).curves[0]
    assert np.isnan(curve.gain).tolist() == [episode >= 5 for episode in curve.episode]


def second(feedback):
    """A simulator that returns this feedback at the second step."""

    class Returns(Table):
        def step(self, action):
            first = super().step(action)
            return first if self.t == 2 else feedback

    return Returns


def reveals(reveal):
    """A simulator that changes its costs and rewards."""

    class Reveals(Table):
        def reveal(self):
            return reveal(*super().reveal())

    return Reveals


class TwoActions:
    """Stops at step 3."""

    def __init__(self, spec):
        self.spec = spec

    def choose(self, step, state):
        return 0 if step < 3 else self.spec.stop

    def learn(self, episode):
        pass


@pytest.mark.parametrize("feedback", [2, -1, None, 0.0, "1", np.array([1]), 10**30], ids=repr)
def test_rejects_an_invalid_feedback(feedback):
    message = r"`step` must return a feedback, an integer from 0 to 1, got .* \(run 0, episode 1, step 2\)"
    with pytest.raises(ValueError, match=message):
        emab.simulate(second(feedback), TwoActions, runs=2, episodes=2)


@pytest.mark.parametrize("feedback", [1, True, np.int8(1), np.array(1)], ids=repr)
def test_accepts_integer_feedbacks(feedback):
    assert emab.simulate(second(feedback), TwoActions, runs=2, episodes=2).curves[0].steps == 12


@pytest.mark.parametrize(
    ("reveal", "message"),
    [
        (lambda c, r: None, r"`reveal` must return the costs and the rewards, two lists of numbers, got None \(run 0,"),
        (lambda c, r: c, r"`reveal` must return the costs and the rewards"),
        (lambda c, r: (c, r, r), r"`reveal` must return the costs and the rewards"),
        (lambda c, r: (c, 3.0), r"`reveal` must return the costs and the rewards"),
        (lambda c, r: (c, ["a"]), r"`reveal` must return the costs and the rewards"),
        (lambda c, r: (c[:-1], r), r"returned 1 costs, expected 2 as 2 actions were taken \(run 0, episode 1\)"),
        (lambda c, r: (c, r[:-1]), r"returned 2 rewards, expected 3 as 2 actions were taken"),
        (lambda c, r: (c, [0, math.inf, 0]), r"has inf among the rewards, .* \(run 0, episode 1, step 2\)"),
        (lambda c, r: ([0, -1e101], r), r"has -1e\+101 among the costs, expected finite numbers of at most 1e100"),
    ],
)
def test_rejects_invalid_costs_and_rewards(reveal, message):
    with pytest.raises(ValueError, match=message):
        emab.simulate(reveals(reveal), TwoActions, runs=2, episodes=2)


@pytest.mark.parametrize("method", ["__init__", "reset", "step", "reveal"])
def test_exceptions_keep_their_traceback(method):
    def fails(self, *arguments):
        return {}["mine"]

    simulator = type("Fails", (Table,), {method: fails})
    with pytest.raises(KeyError, match="mine") as caught:
        emab.run(simulator, TwoActions, runs=2, episodes=2)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        (2, ValueError, r"there is no action 2, chosen at t = 1, x = 0: they are 0 to 1, the last being stop"),
        (-1, ValueError, r"there is no action -1, chosen"),
        ("go", ValueError, r"there is no action `go`, chosen at t = 1, x = 0"),
        (None, TypeError, r"`choose` must return the number or the name of an action, got None at t = 1, x = 0"),
        (1.0, TypeError, r"must return the number or the name of an action, got 1.0"),
    ],
    ids=repr,
)
def test_rejects_an_invalid_action(choice, error, message):
    class Chooses(TwoActions):
        def choose(self, step, state):
            return choice

    with pytest.raises(error, match=message):
        emab.simulate(Table, Chooses, runs=2, episodes=2)


def test_rejects_an_action_that_is_not_allowed():
    with pytest.raises(ValueError, match=r"action 0 \(.*\) is not allowed at t = 2, x = \d+"):
        emab.simulate(functools.partial(Table, "coverage"), TwoActions, runs=2, episodes=2)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: emab.run(Table(), "feedbal"), "Table is one simulator, and every run needs a new one"),
        (lambda: emab.simulate(lambda: Policy(None), "feedbal"), "Policy has no `reset`"),
        (
            lambda: emab.run(type("Bare", (Table,), {"__init__": lambda self: setattr(self, "spec", 3)})),
            r"the `spec` of a simulator must be an emab.Spec, .* got 3",
        ),
    ],
)
def test_rejects_an_object_that_is_no_simulator(run, message):
    with pytest.raises(TypeError, match=message):
        run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "`runs` must be a whole number from 1 to .*, got 0"),
        ({"episodes": 0}, "`episodes` must be a whole number from 1 to .*, got 0"),
        ({"seed": -1}, "`seed` must be a whole number from 0 to .*, got -1"),
        ({"checkpoints": [0]}, "`checkpoints`: a checkpoint must be from 1 to the number of episodes, 10000, got 0"),
        ({"conditions": ["delay=3"]}, "`conditions` apply to problems only"),
        ({"learners": "nope"}, "unknown learner `nope`"),
        ({"learners": "benchmark"}, "needs the model of the problem"),
        ({"learners": []}, "there must be at least one learner"),
    ],
)
def test_rejects_invalid_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        emab.run(Table, **options)
