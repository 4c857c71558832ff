"""Tabular Gymnasium environments as problems, compared with backward induction on the table."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import emab
import emab.gym


def optimum(env, actions_left, stop_reward):
    """The value of the optimal policy on the table, which may stop before every action."""
    table, value = env.unwrapped.P, np.full(len(env.unwrapped.P), stop_reward)
    for _ in range(actions_left):
        of_actions = [
            [sum(p * (r + (0.0 if end else value[after])) for p, after, r, end in table[s][a]) for a in table[s]]
            for s in range(len(table))
        ]
        value = np.maximum(stop_reward, np.max(of_actions, axis=1))
    return float(env.unwrapped.initial_state_distrib @ value)


ENVS = {
    "lake": (lambda: gymnasium.make("FrozenLake-v1"), 30, 0.0, 0),
    "large lake": (lambda: gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=True), 40, 0.0, 0),
    "two starts": (lambda: gymnasium.make("FrozenLake-v1", desc=["SFFS", "FHFF", "FFFG"]), 12, 0.0, 1),
    "cliff": (lambda: gymnasium.make("CliffWalking-v1"), 16, -100.0, 0),
    "slippery cliff": (lambda: gymnasium.make("CliffWalking-v1", is_slippery=True), 40, -500.0, 0),
    "taxi": (lambda: gymnasium.make("Taxi-v4"), 14, 0.0, 3),
    "rainy taxi": (lambda: gymnasium.make("Taxi-v4", is_rainy=True), 14, -20.0, 3),
}


@pytest.mark.parametrize("name", ENVS)
def test_optimal_value_equals_backward_induction(name):
    make, horizon, stop_reward, start_steps = ENVS[name]
    env = make()
    problem = emab.gym.from_gym(env, horizon, stop_reward=stop_reward, start_steps=start_steps or 1)
    solved = emab.solve(problem)
    assert solved.optimal.value == pytest.approx(optimum(env, horizon - 1 - start_steps, stop_reward), abs=1e-12)
    # No single step has a reward.
    assert solved.benchmark.value == stop_reward < solved.optimal.value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ENVS)
def test_converted_problem_passes_check_env(name):
    make, horizon, stop_reward, start_steps = ENVS[name]
    problem = emab.gym.from_gym(make(), horizon, stop_reward=stop_reward, start_steps=start_steps or 1)
    check_env(emab.gym.make(problem).unwrapped)


def test_keeps_transitions_and_rewards():
    env = gymnasium.make("FrozenLake-v1")
    problem = emab.gym.from_gym(env, 10, actions=["left", "down", "right", "up"], sigma2=0.25, name="ice")
    spec, ended = problem.spec, {5, 7, 11, 12, 15}
    assert (problem.name, spec.n_states, spec.n_feedbacks, spec.start) == ("ice", 16, 3, 0)
    assert emab.FeedBAL(problem.spec).parameters["sigma2"] == 0.25
    for state in range(16):
        assert spec.allowed(2, state) == ([spec.stop] if state in ended else [0, 1, 2, 3, spec.stop])
        for action in range(4) if state not in ended else []:
            found = np.zeros(16)
            for feedback, probability in enumerate(problem.feedback(2, state, action)):
                found[spec.next(2, state, action, feedback)] += probability
            expected = np.zeros(16)
            for probability, after, _, _ in env.unwrapped.P[state][action]:
                expected[after] += probability
            assert found == pytest.approx(expected, abs=1e-15)
            earned = sum(probability * reward for probability, _, reward, _ in env.unwrapped.P[state][action])
            assert problem.cost(2, state, action) == pytest.approx(-earned, abs=1e-15)


class Loop(gymnasium.Env):
    """An environment that may both continue and terminate in state 1."""

    def __init__(self):
        self.observation_space, self.action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)
        self.P = {
            0: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 1, 2.0, True)]},
            1: {0: [(1.0, 0, 1.0, False)], 1: [(0.5, 1, 1.0, True), (0.5, 1, 0.0, False)]},
        }
        self.initial_state_distrib = np.array([1.0, 0.0])


def test_separates_termination_from_a_state_that_continues():
    env = Loop()
    for horizon in range(1, 8):
        solved = emab.solve(emab.gym.from_gym(env, horizon))
        assert solved.optimal.value == pytest.approx(optimum(env, horizon - 1, 0.0), abs=1e-12)
    spec = emab.gym.from_gym(env, 5).spec
    assert (spec.n_states, spec.allowed(2, 2)) == (3, [spec.stop])


@pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")
def test_planning_learner_finds_the_goal():
    problem = emab.gym.from_gym(gymnasium.make("FrozenLake-v1", is_slippery=False), 9, sigma2=0.1)
    result = emab.run(problem, ["psrl"], runs=4, episodes=1000, seed=1)
    assert emab.solve(problem).benchmark.value == 0.0
    # The benchmark stops at once with a gain of 0, so that the regret is minus the gain.
    assert result.curve("psrl").regret[-1] < -500


def test_taxi_can_be_saved_and_loaded(tmp_path):
    problem = emab.gym.from_gym("Taxi-v4", 20)
    assert (problem.spec.n_states, problem.spec.n_feedbacks) == (501, 300)
    problem.save(tmp_path / "taxi.json")
    assert (tmp_path / "taxi.json").stat().st_size < 200_000
    assert emab.load(tmp_path / "taxi.json") == problem
    env = emab.gym.make(tmp_path / "taxi.json")
    first = {int(env.reset(seed=seed)[0][1]) for seed in range(3)}
    assert first == {500}
    starts = {int(env.unwrapped.step(0)[0][1]) for _ in range(200) if env.reset()}
    assert len(starts) > 100


@pytest.mark.parametrize(
    ("env", "horizon", "options", "message"),
    [
        ("CartPole-v1", 10, {}, "has no table `P` of its transitions"),
        ("Taxi-v4", 10, {"start_steps": 0}, "`start_steps` must be at least 1, got 0"),
        ("FrozenLake-v1", 0, {}, "`horizon` must be from 1"),
    ],
)
def test_rejects_invalid_arguments(env, horizon, options, message):
    with pytest.raises(ValueError, match=message):
        emab.gym.from_gym(env, horizon, **options)
