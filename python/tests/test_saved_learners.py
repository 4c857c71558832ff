"""Pickled and saved learners are identical to the original."""

import copy
import json
import pickle

import numpy as np
import pytest
from helpers import command

import emab
from emab.learners import BY_NAME

PROBLEM = emab.load("coverage")


def play(learner, rng):
    """Play one episode; half of the actions are not those of the learner."""
    spec, step, state = PROBLEM.spec, 1, PROBLEM.spec.start
    actions, feedbacks, costs, chosen = [], [], [], []
    rewards = [PROBLEM.reward(step, state)]
    while step < spec.horizon:
        action = learner.choose(step, state)
        chosen.append(action)
        if rng.random() < 0.5:
            action = int(rng.choice(spec.allowed(step, state)))
        if action == spec.stop:
            break
        probabilities = PROBLEM.feedback(step, state, action)
        feedback = int(rng.choice(len(probabilities), p=probabilities))
        actions.append(action)
        feedbacks.append(feedback)
        costs.append(float("nan") if rng.random() < 0.1 else PROBLEM.cost(step, state, action) + rng.normal() / 10)
        state = spec.next(step, state, action, feedback)
        step += 1
        rewards.append(PROBLEM.reward(step, state) + rng.normal() / 10)
    if rng.random() < 0.1:
        rewards = []
    learner.learn(emab.Episode(actions=actions, feedbacks=feedbacks, costs=costs, rewards=rewards))
    return chosen


def estimates(learner):
    spec = PROBLEM.spec
    pairs = [(step, state) for step in range(1, spec.horizon + 1) for state in range(spec.n_states)]
    found = [learner.estimate(*pair, action) for pair in pairs for action in spec.allowed(*pair)]
    return [known and (known.count, known.mean, known.width, known.index) for known in found]


@pytest.fixture(params=sorted(BY_NAME))
def learner(request):
    """A learner after 25 episodes."""
    learner = BY_NAME[request.param](PROBLEM, seed=7)
    rng = np.random.default_rng(1)
    for _ in range(25):
        play(learner, rng)
    return learner


def check_equal(one, other):
    """Check that two learners agree, and do so for 25 more episodes."""
    assert type(one) is type(other)
    assert (one.text, one.learned, one.parameters, one.spec) == (
        other.text,
        other.learned,
        other.parameters,
        other.spec,
    )
    first, second = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(25):
        assert play(one, first) == play(other, second)
    assert repr(estimates(one)) == repr(estimates(other))
    steps = np.repeat(np.arange(1, PROBLEM.spec.horizon + 1), 3)
    states = np.zeros_like(steps)
    assert one.choose_batch(steps, states).tolist() == other.choose_batch(steps, states).tolist()


def saved(learner, tmp_path):
    learner.save(tmp_path / "learner.jsonl")
    return emab.load_learner(tmp_path / "learner.jsonl")


COPIES = {
    "pickle": lambda learner, _: pickle.loads(pickle.dumps(learner)),
    "copy": lambda learner, _: copy.deepcopy(learner),
    "file": saved,
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_is_identical(learner, kind, tmp_path):
    check_equal(learner, COPIES[kind](learner, tmp_path))


def test_a_copy_is_independent(learner):
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(learner))))
    rng = np.random.default_rng(3)
    before = estimates(learner)
    play(again, rng)
    assert (again.learned, learner.learned) == (26, 25)
    assert repr(estimates(learner)) == repr(before)


def test_saving_twice_gives_the_same_bytes(learner, tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    learner.save(one)
    emab.load_learner(one).save(two)
    assert one.read_bytes() == two.read_bytes()


def test_only_learners_that_read_the_model_save_it(learner, tmp_path):
    entries = json.loads(command("learners", learner.text, "--json").stdout)
    learner.save(tmp_path / "learner.jsonl")
    problem = json.loads((tmp_path / "learner.jsonl").read_text().splitlines()[0])["problem"]
    assert ("model" in problem) == (entries[0]["sees"] != "spec")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_pickles_a_setting(name):
    setting = BY_NAME[name]()
    again = pickle.loads(pickle.dumps(setting))
    assert (type(again), again.text, again.parameters) == (type(setting), setting.text, setting.parameters)


def test_pickle_keeps_a_subclass(tmp_path):
    learner = Mine(PROBLEM.spec)
    play(learner, np.random.default_rng(1))
    again = pickle.loads(pickle.dumps(learner))
    assert type(again) is Mine
    assert again.learned == 1
    learner.save(tmp_path / "mine.jsonl")
    assert type(emab.load_learner(tmp_path / "mine.jsonl")) is emab.FeedBAL


class Mine(emab.FeedBAL):
    """A subclass without changes."""


def test_without_remember_it_cannot_be_saved(tmp_path):
    learner = emab.FeedBAL(PROBLEM.spec, remember=False)
    with pytest.raises(RuntimeError, match="remember=False"):
        learner.save(tmp_path / "learner.jsonl")
    assert not (tmp_path / "learner.jsonl").exists()
    with pytest.raises(RuntimeError, match="remember=False"):
        pickle.dumps(learner)


def lines(tmp_path):
    learner = emab.FeedBAL(PROBLEM.spec)
    rng = np.random.default_rng(1)
    for _ in range(5):
        play(learner, rng)
    learner.save(tmp_path / "learner.jsonl")
    return (tmp_path / "learner.jsonl").read_text().splitlines()


ONE = {"feedbacks": [0], "costs": [0.1], "rewards": [0, 0]}
UNKNOWN = {**ONE, "actions": [0], "feedbacks": [77]}
NONE = {**ONE, "actions": [0], "feedbacks": []}
TWICE = {"actions": [0, 0], "feedbacks": [0, 0], "costs": [0.1, 0.1], "rewards": [0, 0, 0]}


def changed(line, **fields):
    return json.dumps({**json.loads(line), **fields})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [], r"line 1: the file is empty"),
        (lambda lines: ["hello"], r"line 1: this is no JSON object; a saved learner begins"),
        (lambda lines: ["[1]"], r"line 1: this is no JSON object; a saved learner begins"),
        (lambda lines: [lines[0][:-9]], r"line 1: this is not JSON .*it ends before"),
        (lambda lines: [changed(lines[0], emab_learner=99)], r"line 1: the format is 99, .* reads format 1"),
        (lambda lines: [changed(lines[0], learner=3)], r"line 1: .* must be a text, got 3; write it in double quotes"),
        (lambda lines: [changed(lines[0], problem={})], r"in the problem of the learner: .*`horizon`"),
        (lambda lines: [changed(lines[0], problem={"horizon": 0})], r"in the problem of the learner"),
        (lambda lines: [*lines[:3], lines[3][:-5]], r"line 4: this is not JSON .*it ends before a list is closed"),
        (lambda lines: [*lines[:3], "", "null"], r"line 5: the line must be a JSON object, .*, got null"),
        (lambda lines: [*lines[:2], '{"ask": [0, 0]}'], r"line 3: `ask` is \[0, 0\]: steps are 1 to 4"),
        (lambda lines: [*lines[:2], '{"ask": [1, 99999]}'], r"line 3: `ask` is \[1, 99999\]: .* states 0 to 242"),
        (lambda lines: [lines[0], changed(lines[1], actions=["no"], **ONE)], r"line 2: there is no action .no"),
        (lambda lines: [lines[0], changed(lines[1], actions=[99], **ONE)], r"line 2: there is no action 99"),
        (lambda lines: [lines[0], changed(lines[1], **UNKNOWN)], r"line 2: there is no feedback 77"),
        (lambda lines: [lines[0], changed(lines[1], **NONE)], r"line 2: 1 actions and 0 feedbacks"),
        (lambda lines: [lines[0], changed(lines[1], rewards=[1e200])], r"line 2: .*at most 1e100"),
        (lambda lines: [lines[0], changed(lines[1], rewards=[0.0] * 99)], r"line 2: `rewards` has 99 values"),
        (lambda lines: [lines[0], changed(lines[1], **TWICE)], r"line 2: `north` may not be taken at step 2"),
    ],
)  # fmt: skip
def test_rejects_a_damaged_file_with_its_line(damage, message, tmp_path):
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(damage(lines(tmp_path))))
    with pytest.raises(ValueError, match=message) as caught:
        emab.load_learner(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [("feedball", r"unknown learner `feedball` \(did you mean `feedbal`"), ("feedbal:delta=2", r"`delta` must lie in")],
)
def test_rejects_an_invalid_learner_in_a_file(line, message, tmp_path):
    path = tmp_path / "damaged.jsonl"
    path.write_text(changed(lines(tmp_path)[0], learner=line))
    with pytest.raises(ValueError, match=rf"damaged\.jsonl: line 1: .*{message}"):
        emab.load_learner(path)


def test_rejects_a_file_that_is_not_utf_8(tmp_path):
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(lines(tmp_path)[0].encode() + b"\n\xff\xfe\n")
    with pytest.raises(ValueError, match="line 2: it is not UTF-8: byte 0"):
        emab.load_learner(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        emab.load_learner(tmp_path / "none.jsonl")
    with pytest.raises(OSError, match="cannot write"):
        emab.FeedBAL(PROBLEM.spec).save(tmp_path / "no folder" / "learner.jsonl")


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        ({"actions": [0], "feedbacks": [], "costs": [], "rewards": []}, r"1 actions and 0 feedbacks: there is one"),
        ({"actions": [9], "feedbacks": [0], "costs": [], "rewards": []}, r"action 9 at step 1: they are 0 to"),
        ({"actions": [0], "feedbacks": [99], "costs": [], "rewards": []}, r"feedback 99 at step 1: they are 0 to"),
        (TWICE, r"`north` may not be taken at step 2 in state"),
        ({"actions": [0] * 50, "feedbacks": [0] * 50, "costs": [], "rewards": []}, r"50 actions: at most \d+ fit"),
        ({"actions": [], "feedbacks": [], "costs": [1.0], "rewards": []}, r"`costs` has 1 values and the episode 0"),
        ({"actions": [], "feedbacks": [], "costs": [], "rewards": [float("inf")]}, r"`rewards` has inf: at most 1e100"),
        (
            {"actions": [], "feedbacks": [], "costs": [], "rewards": [], "states": [1]},
            r"state 1 at step 1: its actions and feedbacks lead to 0",
        ),
    ],
)
def test_rejects_an_invalid_episode_and_changes_nothing(episode, message):
    learner = emab.FeedBAL(PROBLEM.spec)
    with pytest.raises(ValueError, match=message):
        learner.learn(emab.Episode(**episode))
    assert learner.learned == 0


def test_another_file_is_replaced_only_if_asked(tmp_path):
    learner, path = emab.FeedBAL(PROBLEM.spec), tmp_path / "learner.jsonl"
    learner.save(path)
    learner.save(path)
    play(learner, np.random.default_rng(1))
    before = path.read_bytes()
    with pytest.raises(
        FileExistsError, match=r"learner\.jsonl exists, and is not this learner; force=True replaces it"
    ):
        learner.save(path)
    assert path.read_bytes() == before
    learner.save(path, force=True)
    assert emab.load_learner(path).learned == 1
