"""User-defined learners in the engine: numbers, actions, exceptions."""

import functools
import subprocess
import sys
import textwrap
import threading
import traceback

import numpy as np
import pytest
from helpers import PurePython, RandomLearner, timeless

import emab

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


@pytest.mark.parametrize(
    ("problem", "sigma2", "conditions"),
    [
        ("resource", 0.2, ()),
        ("treatment", 0.25, ()),
        ("coverage", 0.25, ()),
        ("resource", 0.2, ("delay=7", "lost=0.2", "dropout=0.1", "override=0.2")),
    ],
)
def test_feedbal_in_python_equals_the_built_in_learner(problem, sigma2, conditions):
    built_in = f"feedbal:sigma2={sigma2}"
    learners = [built_in, functools.partial(PurePython, sigma2=sigma2)]
    options = {"runs": 4, "episodes": 1500, "seed": 3, "conditions": conditions}
    expected, ours = emab.run(problem, learners, **options).curves
    assert (expected.label, ours.label) == (built_in, "PurePython")
    assert ours.steps == expected.steps
    # Under conditions both run in the same loop. Otherwise the built-in learner has a faster one with another order of
    # sums.
    for column in ("regret", "stderr", "gain", "gain_stderr"):
        rounding = 0 if conditions else 1e-12
        np.testing.assert_allclose(getattr(ours, column), getattr(expected, column), rtol=rounding, atol=rounding)


def test_any_number_of_threads_gives_the_same_bytes():
    options = {"runs": 33, "episodes": 100, "seed": 2}
    one, two, three = (
        emab.run("resource", ["random", RandomLearner], threads=threads, **options) for threads in (1, 2, 3)
    )
    assert timeless(one.text) == timeless(two.text) == timeless(three.text)
    other = emab.run("resource", ["random", RandomLearner], runs=33, episodes=100, seed=3)
    assert timeless(other.text) != timeless(one.text)


class StopAt:
    """Stops at a step."""

    def __init__(self, spec, last=2, rng=None):
        self.spec, self.last, self.rng = spec, last, rng

    def choose(self, step, state):
        return self.spec.stop if step >= self.last else 0

    def learn(self, episode):
        assert episode.steps == self.last


def steps(*learners):
    result = emab.run("resource", list(learners), runs=2, episodes=5)
    return dict(zip(result.labels, (curve.steps // 10 for curve in result.curves), strict=True))


def test_classes_and_functions_create_learners():
    class Labelled(StopAt):
        label = "one step"

        def __init__(self, spec):
            super().__init__(spec, 1)

    assert steps(StopAt) == {"StopAt": 2}
    assert steps(Labelled) == {"one step": 1}
    assert steps(functools.partial(StopAt, last=4)) == {"StopAt": 4}
    assert steps(lambda spec: StopAt(spec, 3)) == {"<lambda>": 3}


def test_labels_are_unique():
    def feedbal(spec):
        return StopAt(spec, 5)

    several = [functools.partial(StopAt, last=last) for last in (3, 4)]
    labels = steps(StopAt, *several, feedbal, "feedbal")
    assert list(labels) == ["StopAt", "StopAt (2)", "StopAt (3)", "feedbal (2)", "feedbal"]
    assert [labels[label] for label in ("StopAt", "StopAt (2)", "StopAt (3)", "feedbal (2)")] == [2, 3, 4, 5]


def test_passes_a_random_generator_to_rng_only():
    seen = []

    class Keeps(StopAt):
        def __init__(self, spec, last=2, rng=None):
            super().__init__(spec, last, rng)
            seen.append(rng.integers(1 << 62))

    steps(Keeps)
    assert len(set(seen)) == 2, "each run has its own random stream"
    steps(StopAt)


def test_calls_a_subclass_of_a_built_in_learner():
    class Hasty(emab.FeedBAL):
        def choose(self, step, state):
            return self.spec.stop if step == 3 else super().choose(step, state)

    class Renamed(emab.FeedBAL):
        pass

    result = emab.run("resource", [Hasty, Renamed], runs=2, episodes=500)
    assert result.labels == ["Hasty", "feedbal"]
    assert result.curves[0].steps < result.curves[1].steps
    with pytest.raises(TypeError, match="every run needs a new one"):
        emab.run("resource", Hasty(emab.load("resource").spec))


def chooses(choose):
    class Chooses:
        def __init__(self, spec):
            self.spec = spec

        def choose(self, step, state):
            return choose(step, self.spec)

        def learn(self, episode):
            pass

    return Chooses


@pytest.mark.parametrize(
    ("go_on", "stop"),
    [(0, 1), ("cont", "stop"), (np.int64(0), np.uint8(1)), (False, True), (np.array(0), np.array(1))],
    ids=repr,
)
def test_accepts_numbers_and_names_of_actions(go_on, stop):
    assert steps(chooses(lambda step, spec: go_on if step < 4 else stop)) == {"Chooses": 4}


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        (2, ValueError, r"there is no action 2, chosen at t = 1, x = 0: they are 0 to 1, the last being stop"),
        ("go", ValueError, r"there is no action `go`, chosen at t = 1, x = 0"),
        (None, TypeError, r"`choose` must return the number or the name of an action, got None at t = 1, x = 0"),
        (1.0, TypeError, r"must return the number or the name of an action, got 1.0"),
        (np.array([1]), TypeError, r"must return the number or the name of an action, got array\(\[1\]\)"),
        (-1, ValueError, r"there is no action -1, chosen at t = 1, x = 0: they are 0 to 1"),
        (10**30, TypeError, r"10{30}"),
    ],
    ids=repr,
)
def test_rejects_an_invalid_action(choice, error, message):
    with pytest.raises(error, match=message):
        emab.run("resource", chooses(lambda step, spec: choice), runs=3, episodes=3)


def test_does_not_call_choose_at_the_last_step():
    assert steps(chooses(lambda step, spec: 0 if step < spec.horizon else None)) == {"Chooses": 10}


def test_rejects_an_action_that_is_not_allowed():
    with pytest.raises(ValueError, match=r"action 0 \(.*\) is not allowed at t = 2, x = \d+"):
        emab.run("coverage", chooses(lambda step, spec: 0 if step < 3 else spec.stop), runs=3, episodes=30)


@pytest.mark.parametrize(
    ("learners", "error", "message"),
    [
        (lambda spec: 3, TypeError, r"int has no `choose`"),
        ([StopAt(None)], TypeError, r"StopAt is one learner, and every run needs a new one"),
        ([3], TypeError, r"a learner is a text, a Learner, or a class with `choose` and `learn`, got 3"),
        ([], ValueError, r"there must be at least one learner"),
    ],
)
def test_rejects_objects_that_are_no_learners(learners, error, message):
    with pytest.raises(error, match=message):
        emab.run("resource", learners, runs=3, episodes=3)


def raises_in(method, error):
    class Raises(StopAt):
        def __init__(self, spec):
            super().__init__(spec)
            self.left = 7
            if method == "__init__":
                self.somewhere_deeper()

        def somewhere_deeper(self):
            self.left -= 1
            if self.left == 0 or method == "__init__":
                raise error("mine")

        def choose(self, step, state):
            if method == "choose":
                self.somewhere_deeper()
            return super().choose(step, state)

        def learn(self, episode):
            if method == "learn":
                self.somewhere_deeper()

    return Raises


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["__init__", "choose", "learn"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_raises_exceptions_with_their_traceback(method, error, threads):
    learners = ["feedbal", raises_in(method, error)]
    with pytest.raises(error, match="mine") as caught:
        emab.run("resource", learners, runs=100, episodes=1000, threads=threads)
    assert sys.version_info < (3, 11) or caught.value.__notes__ == ["in the learner `Raises`"]
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == [method, "somewhere_deeper"]
    # The next run is not affected.
    assert steps(StopAt) == {"StopAt": 2}


def test_a_learner_may_start_another_run():
    class Asks(StopAt):
        def __init__(self, spec):
            super().__init__(spec)
            self.inner = emab.FeedBAL(spec)
            self.regret = emab.run("treatment", [StopAt], runs=2, episodes=2, threads=2).curves[0].regret[-1]

        def choose(self, step, state):
            return self.inner.choose(step, state)

        def learn(self, episode):
            self.inner.learn(episode)

    mine, built_in = emab.run("resource", [Asks, "feedbal"], runs=5, episodes=300, threads=2).curves
    np.testing.assert_allclose(mine.regret, built_in.regret, rtol=1e-12)


def test_choices_in_flight_are_announced_and_settled():
    calls = []

    class Told:
        def __init__(self, spec):
            self.spec = spec

        def choose(self, step, state):
            return 0 if step == 1 else self.spec.stop

        def learn(self, episode):
            calls.append("learn")

        def announce(self, episode, step, state, action):
            calls.append((episode, step, state, action))

        def settle(self, episode):
            calls.append(episode)

    emab.run("treatment", Told, runs=1, episodes=4, conditions=["delay=1"], threads=1, progress=False)
    assert calls[0] == (1, 1, 2, 0)
    assert calls[1][:2] == (1, 2)
    assert calls[1][3] == 4
    assert calls[4:6] == [1, "learn"]
    calls.clear()
    # Without a delay nothing is in flight.
    emab.run("treatment", Told, runs=1, episodes=4, threads=1, progress=False)
    assert calls == ["learn"] * 4


def test_a_loop_with_several_open_episodes():
    problem = emab.load("treatment")
    learner = emab.Learner("feedbal-pooled", problem.spec)
    chosen = []
    for episode in range(6):
        chosen.append(learner.choose(1, 2))
        learner.announce(episode, 1, 2, chosen[-1])
    assert chosen == [0, 1, 2, 3, 0, 1]
    learner.settle(0)
    assert learner.choose(1, 2) == 0
    with pytest.raises(ValueError, match="not allowed"):
        learner.announce(7, 1, 3, 0)
    with pytest.raises(ValueError, match="episode"):
        learner.settle(-1)


def test_other_threads_continue():
    seen = threading.Event()

    class Waits(StopAt):
        """Waits for another Python thread."""

        def learn(self, episode):
            assert seen.wait(timeout=60)

    timer = threading.Timer(0.05, seen.set)
    timer.start()
    emab.run("resource", Waits, runs=2, episodes=2, threads=2)
    timer.join()


def in_a_process(code):
    """Run a program and return its exit code, stdout and stderr; a hanging program prints its stack."""
    guard = "import faulthandler; faulthandler.dump_traceback_later(50, exit=True)\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", guard + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


ENDLESS = """
    import emab, os, signal, sys, threading

    class Endless:
        def __init__(self, spec):
            self.spec = spec

        def choose(self, step, state):
            return self.spec.stop

        def learn(self, episode):
            began.set()

    began = threading.Event()
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_run(threads):
    code = f"""
    def interrupt():
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        emab.run("resource", Endless, runs=1000, episodes=1_000_000, threads={threads})
    except KeyboardInterrupt:
        print("stopped")
    """
    assert in_a_process(ENDLESS + code)[:2] == (0, "stopped\n")


def test_a_program_can_exit_during_a_run():
    code = """
    def run():
        emab.run("resource", Endless, runs=1000, episodes=1_000_000, threads=2)

    threading.Thread(target=run, daemon=True).start()
    began.wait()
    print("over")
    """
    code, out, err = in_a_process(ENDLESS + code)
    assert (code, out) == (0, "over\n"), err
