"""Problems whose episodes begin in one of several states: builders, environments, simulators and saved learners."""

import json

import numpy as np
import pytest
from helpers import command

import emab
import emab.gym

RISK = emab.load("screening-risk")
LOW, MEDIUM, HIGH = RISK.spec.starts

GROUPS = {
    "horizon": 2,
    "states": ["low", "high", "clear", "ill"],
    "actions": ["test"],
    "feedbacks": 2,
    "transition": lambda f: 2 + f,
    "feedback": lambda x: [0.9, 0.1] if x == 0 else [0.4, 0.6],
    "reward": lambda x: float(x == 3),
    "cost": 0.3,
    "sigma2": 0.1,
}


def test_specification_lists_the_starts():
    assert [RISK.spec.states[start] for start in RISK.spec.starts] == ["low_3", "medium_3", "high_3"]
    assert RISK.start_probabilities == [0.6, 0.3, 0.1]
    with pytest.raises(ValueError, match="one of 3 states: use `starts`"):
        _ = RISK.spec.start
    one = emab.load("screening")
    assert ([one.spec.start], one.start_probabilities) == (one.spec.starts, [1.0])


@pytest.mark.parametrize("probabilities", [[0.75, 0.25], np.array([0.75, 0.25]), ["1 - p", "p"]])
def test_functions_are_evaluated_from_every_start(probabilities):
    problem = emab.problem(
        "groups", **GROUPS, start=["low", "high"], start_probabilities=probabilities, parameters={"p": 0.25}
    )
    # A test is worth its cost at high risk only.
    assert emab.solve(problem).benchmark.value == pytest.approx(0.25 * (0.6 - 0.3))
    assert emab.load(problem.to_dict()).hash == problem.hash
    assert emab.run(problem, "benchmark", runs=3, episodes=50).curves[0].regret[-1] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": ["low", "high"]}, r"\[model\] has no `start`"),
        ({"start": [0, 1], "start_probabilities": [1.0]}, "a list of 2 probabilities"),
        ({"start": [0, 1], "start_probabilities": [0.5, 0.4]}, "sum to 0.9, expected 1"),
        ({"start": [0, 1], "start_probabilities": [1.5, -0.5]}, "got 1.5, expected a probability"),
        ({"start": [0, 0], "start_probabilities": [0.5, 0.5]}, "each state once, got `low` twice"),
        ({"start": [0, 4], "start_probabilities": [0.5, 0.5]}, "a state from 0 to 3, got 4"),
        ({"start": []}, "at least one state"),
        ({"start": 0, "start_probabilities": [1.0]}, "there is no such list"),
        ({"start": ["low", "hihg"], "start_probabilities": [0.5, 0.5]}, "no state is called `hihg`"),
    ],
)
def test_rejects_invalid_starts(arguments, message):
    with pytest.raises(emab.ProblemError, match=message):
        emab.problem("groups", **GROUPS, **arguments)


def begun(env, count, **begin):
    """Return the first states of some episodes."""
    states = []
    for number in range(count):
        (step, state), _ = env.reset(**(begin if number == 0 else {}))
        assert step == 1
        env.step(RISK.spec.stop)
        states.append(int(state))
    return states


def test_environment_draws_the_starts_of_the_engine():
    drawn = begun(emab.gym.Env(RISK), 2000, seed=5)
    for start, probability in zip(RISK.spec.starts, RISK.start_probabilities, strict=True):
        deviation = 4 * np.sqrt(2000 * probability * (1 - probability))
        assert abs(drawn.count(start) - 2000 * probability) < deviation
    # A learner that always stops gains the reward at the start: both have the same starts.
    gain = sum(RISK.reward(1, start) for start in drawn)
    learner = emab.run(quiet(RISK), Stops, runs=1, episodes=2000, seed=5).curves[0]
    assert learner.gain[-1] == pytest.approx(gain)


def quiet(problem):
    """Return the problem without noise."""
    document = problem.to_dict()
    del document["model"]["cost_noise"], document["model"]["reward_noise"]
    return emab.load(document)


class Stops:
    """Stops at once."""

    def __init__(self, spec):
        self.stop = spec.stop

    def choose(self, step, state):
        return self.stop

    def learn(self, episode):
        assert episode.states[0] in RISK.spec.starts


def test_option_fixes_the_start():
    env = emab.gym.Env(RISK)
    drawn = begun(env, 20, seed=3)
    assert begun(env, 20, seed=3, options={"start": "high_3"}) == [HIGH, *drawn[1:]]
    assert begun(env, 20, seed=3, options={"start": MEDIUM}) == [MEDIUM, *drawn[1:]]
    assert begun(env, 20, seed=3, options={"start": np.int64(LOW)}) == [LOW, *drawn[1:]]
    assert begun(env, 20, seed=3, options={"start": None}) == drawn
    for wrong in ("low_4", 0, "nowhere"):
        with pytest.raises(ValueError, match=r"must be a start state, one of `low_3` \(3\), .*got"):
            env.reset(options={"start": wrong})
    with pytest.raises(TypeError):
        env.reset(options={"start": 1.5})
    (_, state), _ = emab.gym.Env("screening").reset(seed=1, options={"start": "low"})
    assert state == 2


def test_vector_environment_takes_one_start_or_one_each():
    envs = emab.gym.VectorEnv(RISK, num_envs=3)
    observations, _ = envs.reset(seed=3, options={"start": "high_3"})
    assert observations[:, 1].tolist() == [HIGH] * 3
    observations, _ = envs.reset(seed=3, options={"start": ["low_3", None, MEDIUM]})
    alone = [begun(emab.gym.Env(RISK), 2, seed=3 + i) for i in range(3)]
    assert observations[:, 1].tolist() == [LOW, alone[1][0], MEDIUM]
    envs.step([RISK.spec.stop] * 3)
    observations, *_ = envs.step([0] * 3)
    assert observations[:, 1].tolist() == [states[1] for states in alone]
    with pytest.raises(ValueError, match="one state or 3 of them"):
        envs.reset(options={"start": ["low_3"]})
    with pytest.raises(ValueError, match=r"environment 1: .*start state"):
        envs.reset(options={"start": ["low_3", 0, "low_3"]})


class Knows:
    """A simulator that returns the state in which an episode begins, which is also its reward."""

    spec = RISK.spec

    def reset(self, rng):
        self.start, self.steps = int(rng.choice(RISK.spec.starts)), 1
        return self.start

    def step(self, action):
        self.steps += 1
        return 0

    def reveal(self):
        return [0.0] * (self.steps - 1), [float(self.start)] * self.steps


class Checks(Stops):
    """Stops at once, and compares the state with the reward, which is the state here."""

    def learn(self, episode):
        assert episode.rewards == [float(episode.states[0])]


def test_simulator_returns_the_start():
    emab.simulate(Knows, [Checks, "feedbal"], runs=2, episodes=50)


@pytest.mark.parametrize("returned", [None, 4, "low", 1.0])
def test_simulator_must_return_a_start(returned):
    class Wrong(Knows):
        def reset(self, rng):
            super().reset(rng)
            return returned

    with pytest.raises(ValueError, match=r"`reset` must return .* one of 'low_3' \(3\), .*run 0, episode 1"):
        emab.simulate(Wrong, "feedbal", runs=1, episodes=1)


def test_saved_learners_keep_the_start(tmp_path):
    learner = emab.FeedBAL(RISK.spec)
    env = emab.gym.Env(RISK)
    for number in range(30):
        observation, info = env.reset(**({"seed": 1} if number == 0 else {}))
        over = False
        while not over:
            observation, _, over, _, info = env.step(learner.choose(*observation))
        learner.learn(info["revealed"])
    learner.save(tmp_path / "learner.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "learner.jsonl").read_text().splitlines()[1:]]
    assert {line["start"] for line in lines} == {"low_3", "medium_3", "high_3"}
    again = emab.load_learner(tmp_path / "learner.jsonl")
    for step, state in [(1, start) for start in RISK.spec.starts]:
        one, other = learner.estimate(step, state, 0), again.estimate(step, state, 0)
        assert (one.count, one.mean) == (other.count, other.mean)
    assert "low_3" in command("policy", str(tmp_path / "learner.jsonl")).stdout


def test_episodes_must_give_their_states():
    learner = emab.FeedBAL(RISK.spec)
    with pytest.raises(
        ValueError, match="the state that the episode begins in is not given: it must be one of `low_3`"
    ):
        learner.learn(emab.Episode(actions=[], feedbacks=[], costs=[], rewards=[1.0]))
    with pytest.raises(ValueError, match="begins in state `low_4`: it must be one of"):
        learner.learn(emab.Episode(states=[4], actions=[], feedbacks=[], costs=[], rewards=[1.0]))
    learner.learn(emab.Episode(states=[HIGH], actions=[], feedbacks=[], costs=[], rewards=[1.0]))
    assert learner.estimate(1, HIGH, "stop").count == 1
