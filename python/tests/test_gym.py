"""Problems as Gymnasium environments: Gymnasium's checks, the engine's random numbers, and the oracle's values."""

import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordMany

import emab
import emab.gym

NAMES = [name for name, _ in emab._emab.builtin()]
# Without dropout, after which rewards are unknown and which emab.solve ignores.
STAYING = [pytest.param(emab.load(name).with_conditions(["dropout=0"]), id=name) for name in NAMES]
IDS = [name for name in gymnasium.registry if name.startswith("emab/") and name != "emab/Problem-v0"]

COINS = {
    "name": "coins",
    "horizon": 4,
    "states": 4,
    "actions": ["coin", "wait"],
    "feedbacks": 2,
    "transition": "x + f",
    "allowed": "a == coin or t < 3",
    "model": {
        "feedback": [0.5, 0.5],
        "cost": [[[0.2, 0.1]]],
        "reward": "x",
        "cost_noise": {"kind": "uniform", "half_width": 0.1},
    },
}

DROPOUT = pytest.param(emab.load("resource").with_conditions(["dropout=0.3"]), id="dropout")


def episodes(env, choose, count, **begin):
    """Play episodes, and return the final info and the rewards of each."""
    played = []
    for number in range(count):
        observation, info = env.reset(**(begin if number == 0 else {}))
        rewards, over = [], False
        while not over:
            observation, reward, over, truncated, info = env.step(choose(observation, info))
            assert not truncated
            rewards.append(reward)
        played.append((info, rewards))
    return played


def sampling(seed):
    rng = np.random.default_rng(seed)
    return lambda observation, info: int(rng.choice(np.flatnonzero(info["action_mask"])))


# Requirements of Gymnasium


def test_every_built_in_problem_is_registered():
    assert len(IDS) == len(NAMES)
    assert {"emab/Resource-v0", "emab/FeedbackGap-v0"} <= set(IDS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", IDS)
def test_registered_environments_pass_check_env(name):
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.filterwarnings("error")
def test_environments_from_file_dictionary_and_problem_pass_check_env(tmp_path):
    emab.load(COINS).save(tmp_path / "coins.json")
    for problem in [tmp_path / "coins.json", COINS, emab.load(COINS)]:
        env = emab.gym.make(problem)
        check_env(env.unwrapped)
        assert env.unwrapped.problem == emab.load(COINS)


def test_gymnasium_imports_the_module_by_name():
    line = "import gymnasium; print(gymnasium.make('emab.gym:emab/Resource-v0').reset(seed=1)[0])"
    done = subprocess.run([sys.executable, "-c", line], check=True, capture_output=True, text=True)
    assert done.stdout == "[1 0]\n"


def test_works_with_recording_wrappers():
    env = RecordEpisodeStatistics(emab.gym.make("resource"))
    ((info, rewards),) = episodes(env, sampling(1), 1, seed=1)
    assert info["episode"]["r"] == pytest.approx(info["revealed"].gain)
    assert info["episode"]["l"] == len(rewards) == info["revealed"].steps
    envs = RecordMany(emab.gym.make_vec("resource", num_envs=2))
    envs.reset(seed=1)
    infos = envs.step(np.array([1, 0]))[-1]
    assert infos["episode"]["l"].tolist() == [1, 0]


def test_renders_a_line():
    env = emab.gym.make("treatment", render_mode="ansi")
    env.reset(seed=1)
    spec = env.unwrapped.problem.spec
    assert env.render() == f"treatment: step 1 of {spec.horizon}, state {spec.states[spec.start]}"
    env.step(0)
    env.step(spec.stop)
    assert re.search(rf"step 2 of .* \({spec.actions[0]} -> .*, over\)$", env.render())


# Random numbers of the engine


class Recorder:
    """FeedBAL, which keeps its episodes."""

    made: list["Recorder"]

    def __init__(self, spec):
        self.inner, self.shown = emab.FeedBAL(spec), []
        Recorder.made.append(self)

    def choose(self, step, state):
        return self.inner.choose(step, state)

    def learn(self, episode):
        self.inner.learn(episode)
        self.shown.append(episode)


@pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")
@pytest.mark.parametrize("problem", [*NAMES, DROPOUT])
def test_same_seed_and_actions_give_the_episodes_of_the_engine(problem):
    Recorder.made = []
    emab.run(problem, [Recorder], runs=2, episodes=60, seed=7, threads=1)
    runs = [recorder.shown for recorder in Recorder.made if len(recorder.shown) == 60]
    assert len(runs) == 2
    env = emab.gym.Env(problem)
    for run, shown in enumerate(runs):
        learner = emab.FeedBAL(emab.load(problem).spec)
        for number, episode in enumerate(shown):
            observation, _ = env.reset(seed=7, options={"run": run}) if number == 0 else env.reset()
            over = False
            while not over:
                observation, _, over, _, info = env.step(learner.choose(*observation))
            # Equal bit for bit, and so is the learner.
            assert info["revealed"] == episode
            assert (info["costs"], info["rewards"]) == (episode.costs, episode.rewards)
            learner.learn(info["revealed"])


def test_seeds_of_one_environment():
    env = emab.gym.Env("resource")

    def play(**begin):
        return [rewards for _, rewards in episodes(env, sampling(1), 5, **begin)]

    first = play()
    assert play() != first, "without a seed the streams continue"
    assert play(seed=env.np_random_seed) == first, "the random seed is available"
    assert play(seed=3) == play(seed=3) != play(seed=4)
    assert play(seed=3, options={"run": 1}) != play(seed=3)
    others = emab.gym.Env("resource"), emab.gym.Env("resource")
    assert len({str(episodes(other, sampling(1), 5)[0][1]) for other in others}) == 2


# Rewards, observations and allowed actions


@pytest.mark.parametrize("problem", STAYING)
def test_observations_masks_and_rewards_match_the_problem(problem):
    env = emab.gym.Env(problem)
    spec, draw = env.problem.spec, sampling(1)

    def choose(observation, info):
        assert observation in env.observation_space
        step, state = (int(value) for value in observation)
        assert info["action_mask"].dtype == np.int8
        assert np.flatnonzero(info["action_mask"]).tolist() == spec.allowed(step, state)
        assert env.action_space.sample(mask=info["action_mask"]) in spec.allowed(step, state)
        return draw(observation, info)

    for info, rewards in episodes(env, choose, 50, seed=2):
        shown = info["revealed"]
        assert rewards == [*(-cost for cost in shown.costs), shown.rewards[-1]]
        assert sum(rewards) == pytest.approx(shown.gain)
        follow = zip(shown.states, shown.actions, shown.feedbacks, shown.states[1:], strict=False)
        for step, (state, action, feedback, after) in enumerate(follow, 1):
            assert spec.next(step, state, action, feedback) == after


@pytest.mark.parametrize("policy", ["benchmark", "optimal"])
@pytest.mark.parametrize("problem", STAYING)
def test_mean_gain_of_policies_matches_the_oracle(problem, policy):
    spec, solved = problem.spec, getattr(emab.solve(problem), policy)
    numbers = {spec.action_name(action): action for action in range(spec.n_actions + 1)} | {None: -1}
    table = np.array([[numbers[choice] for choice in row] for row in solved.policy])
    count, each = 2000, 5
    envs = emab.gym.VectorEnv(problem, count)
    observations, _ = envs.reset(seed=11)
    gains, number = np.zeros((count, each + 1)), np.zeros(count, dtype=int)
    # The same number of episodes per environment: short episodes must not be over-represented.
    while number.min() < each:
        actions = table[observations[:, 0] - 1, observations[:, 1]]
        observations, rewards, over, _, _ = envs.step(actions)
        gains[np.arange(count), number] += rewards
        number = np.minimum(number + over, each)
    gains = gains[:, :each]
    assert abs(gains.mean() - solved.value) <= 4 * gains.std() / np.sqrt(gains.size) + 1e-12


def test_an_action_that_is_not_allowed_ends_the_episode():
    env = emab.gym.Env(COINS)
    env.reset(seed=1)
    env.step(1)
    env.step(1)
    observation, reward, over, _, info = env.step(1)
    assert (over, info["not_allowed"], observation[0]) == (True, True, 3)
    assert reward == info["rewards"][-1]
    strict = emab.gym.Env(COINS, on_forbidden="raise")
    strict.reset(seed=1)
    strict.step(1)
    strict.step(1)
    with pytest.raises(ValueError, match=r"`wait` is not allowed at step 3 in state `\d`: .*action_mask"):
        strict.step(1)
    assert strict.step(0)[2] is False, "the error changed nothing"


def test_dropout_hides_the_rewards():
    problem = emab.load("resource").with_conditions(["dropout=0.5"])
    learner = emab.FeedBAL(problem.spec)
    left = 0
    for info, rewards in episodes(emab.gym.Env(problem), lambda *_: 0, 50, seed=1):
        if info.get("left"):
            left += 1
            assert info["rewards"] == []
            assert len(info["costs"]) == len(rewards)
        learner.learn(info["revealed"])
    assert 0 < left <= learner.learned == 50


# Vectorised environments


@pytest.mark.parametrize("problem", [*NAMES, pytest.param(COINS, id="coins"), DROPOUT])
def test_vector_matches_single_environments(problem):
    count, rng = 7, np.random.default_rng(5)
    envs, alone = emab.gym.VectorEnv(problem, count), [emab.gym.Env(problem) for _ in range(count)]
    observations, infos = envs.reset(seed=20)
    for i, env in enumerate(alone):
        observation, info = env.reset(seed=20 + i)
        assert observations[i].tolist() == observation.tolist()
        assert infos["action_mask"][i].tolist() == info["action_mask"].tolist()
    over, ended = np.zeros(count, dtype=bool), 0
    for _ in range(200):
        # Some actions are not allowed.
        actions = rng.integers(envs.single_action_space.n, size=count)
        before = over
        observations, rewards, over, truncated, infos = envs.step(actions)
        assert observations in envs.observation_space
        assert not truncated.any()
        for i, env in enumerate(alone):
            if before[i]:
                (observation, info), reward, is_over = env.reset(), 0.0, False
            else:
                observation, reward, is_over, _, info = env.step(actions[i])
            assert observations[i].tolist() == observation.tolist()
            assert (rewards[i], over[i]) == (reward, is_over)
            assert infos["action_mask"][i].tolist() == info["action_mask"].tolist()
            for key in ("not_allowed", "left"):
                has = key in infos and bool(infos[f"_{key}"][i])
                assert has == (key in info)
                assert not has or infos[key][i]
            if is_over:
                ended += 1
                assert infos["_costs"][i]
                assert infos["_rewards"][i]
                for key in ("costs", "rewards"):
                    shown = infos[key][i]
                    assert shown[: len(info[key])].tolist() == info[key]
                    assert np.isnan(shown[len(info[key]) :]).all()
                assert envs.revealed()[i] == info["revealed"]
            else:
                assert i not in envs.revealed()
    assert ended > 50


@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_make_vec_in_all_modes(mode):
    envs = gymnasium.make_vec("emab/Screening-v0", num_envs=3, vectorization_mode=mode)
    rng = np.random.default_rng(1)
    alone = emab.gym.VectorEnv("screening", 3)
    try:
        assert envs.reset(seed=5)[0].tolist() == alone.reset(seed=5)[0].tolist()
        for _ in range(20):
            actions = rng.integers(envs.single_action_space.n, size=3)
            ours, theirs = alone.step(actions), envs.step(actions)
            for mine, other in zip(ours[:4], theirs[:4], strict=True):
                assert np.array_equal(mine, other)
            assert np.array_equal(ours[4]["action_mask"], theirs[4]["action_mask"])
            # Gymnasium returns lists, emab rows of one array; the masks agree.
            assert np.array_equal(ours[4].get("_rewards"), theirs[4].get("_rewards"))
    finally:
        envs.close()


def test_seeds_of_a_vector():
    envs = emab.gym.VectorEnv("resource", 2)

    def play(**begin):
        envs.reset(**begin)
        return envs.step([1, 1])[1].tolist()

    assert play(seed=[8, 3]) == [play(seed=8)[0], play(seed=3)[0]]
    first = play(seed=8)
    later = play(seed=[8, None])
    assert later[0] == first[0]
    assert later[1] != first[1], "without a seed the streams continue"
    assert play() != play()
    a, b = (emab.gym.VectorEnv("resource", 2) for _ in range(2))
    a.reset(seed=[None, 1])
    b.reset(seed=[None, 1])
    (a0, a1), (b0, b1) = a.step([1, 1])[1], b.step([1, 1])[1]
    assert (a1, a0 != b0) == (b1, True)


# Errors


def test_rejects_invalid_steps():
    env = emab.gym.Env("resource")
    with pytest.raises(RuntimeError, match=r"no episode under way: call reset\(\)"):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"`action` must be from 0 to 1 \(`stop`\), got 2"):
        env.step(2)
    env.step(1)
    with pytest.raises(RuntimeError, match="no episode under way"):
        env.step(1)


@pytest.mark.parametrize(
    ("create", "error", "message"),
    [
        (
            lambda: emab.gym.Env("resource", on_forbidden="clip"),
            ValueError,
            "`on_forbidden` must be 'stop' or 'raise', got 'clip'",
        ),
        (
            lambda: emab.gym.Env("resource", render_mode="human"),
            ValueError,
            "`render_mode` must be 'ansi' or None, got 'human'",
        ),
        (
            lambda: emab.gym.Env(emab.load("resource").with_conditions(["delay=20", "dropout=0.1"])),
            ValueError,
            r"conditions \(delay=20\) that an environment cannot have",
        ),
        (lambda: emab.gym.make("resorce"), FileNotFoundError, "did you mean `resource`"),
        (lambda: emab.gym.VectorEnv(COINS, 0), ValueError, "`num_envs` must be from 1 to 1048576, got 0"),
    ],
)
def test_rejects_invalid_arguments(create, error, message):
    with pytest.raises(error, match=message):
        create()


def test_vector_errors_change_nothing():
    envs = emab.gym.VectorEnv(COINS, 2, on_forbidden="raise")
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        envs.step([0, 0])
    envs.reset(seed=1)
    envs.step([0, 1])
    envs.step([0, 1])
    with pytest.raises(ValueError, match="environment 1: the action `wait` is not allowed at step 3"):
        envs.step([0, 1])
    with pytest.raises(ValueError, match="environment 1: `action` must be from 0 to 2"):
        envs.step([0, -1])
    with pytest.raises(ValueError, match="`actions` must be 2, one for each environment, got 3"):
        envs.step([0, 0, 0])
    with pytest.raises(TypeError, match="Cannot cast"):
        envs.step([0.5, 0.0])
    assert envs.step([0, 0])[0][:, 0].tolist() == [4, 4]
    with pytest.raises(ValueError, match="`seed` must be one integer or 2 of them; got 3"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, False])})
