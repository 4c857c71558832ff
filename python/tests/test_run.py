"""Runs from Python: the numbers of the command line, progress, interruption, words."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import numpy as np
import pytest

import emab
from emab import _emab

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


HUGE = {
    "horizon": 3,
    "actions": 1,
    "feedbacks": 1,
    "transition": "x",
    "model": {"feedback": [1], "cost": 0, "reward": 1},
}


def command(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "emab", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def timeless(text):
    document = json.loads(text)
    for learner in document["learners"]:
        del learner["seconds"]
    return document


@pytest.mark.parametrize(
    ("problem", "learners", "options"),
    [
        ("resource", ["feedbal", "ucb1v", "psrl"], {}),
        ("treatment", ["feedbal:width=sound,delta=1/n", "random"], {"checkpoints": [7, 100, 1000]}),
        ("screening", ["feedbal-model"], {"conditions": ["delay=20", "dropout=0.1"]}),
    ],
)
def test_the_numbers_of_the_command_line(problem, learners, options):
    ours = emab.run(problem, learners, runs=30, episodes=1000, seed=5, **options)
    arguments = ["run", problem, "--runs", 30, "--episodes", 1000, "--seed", 5, "--json"]
    arguments += [word for learner in learners for word in ("--learner", learner)]
    arguments += [word for condition in options.get("conditions", []) for word in ("--condition", condition)]
    if "checkpoints" in options:
        arguments += ["--checkpoints", ",".join(map(str, options["checkpoints"]))]
    theirs = command(*arguments).stdout
    assert timeless(ours.text) == timeless(theirs)


def test_curves_are_those_of_the_document():
    result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=500, checkpoints=[1, 50, 500])
    for curve, document in zip(result.curves, json.loads(result.text)["learners"], strict=True):
        assert curve.episode.tolist() == [1, 50, 500]
        assert curve.regret.tolist() == [point["regret"] for point in document["curve"]]
        assert np.all(curve.lower <= curve.regret)
        assert np.all(curve.regret <= curve.upper)
    assert result.curve("ucb1v") is result.curves[1]
    with pytest.raises(KeyError, match="there are feedbal, ucb1v"):
        result.curve("ucb")


def test_any_threads_same_bytes():
    one, two = (emab.run("tutoring", runs=40, episodes=300, threads=n) for n in (1, 2))
    assert timeless(one.text) == timeless(two.text)


def test_a_setting_of_a_class_is_its_line():
    assert emab.FeedBAL(sigma2=0.2, width="sound").text == "feedbal:sigma2=0.2,width=sound"
    by_class = emab.run("resource", emab.FeedBAL(sigma2=0.05), runs=5, episodes=100)
    by_line = emab.run("resource", "feedbal:sigma2=0.05", runs=5, episodes=100)
    assert timeless(by_class.text) == timeless(by_line.text)
    by_type = emab.run("resource", emab.UCB1V, runs=5, episodes=100)
    assert by_type.labels == ["ucb1v"]


def test_learning_class_file_is_up_to_date():
    from pathlib import Path

    root = Path(__file__).parents[1]
    written = subprocess.run(
        [sys.executable, root / "tools" / "learners.py"],
        input=_emab.catalogue(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--config", root / "pyproject.toml", "-"],
        input=written,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert formatted == (root / "emab" / "learners.py").read_text(), "`tools/regenerate` rewrites it"


def test_progress_reaches_the_total():
    told = []
    emab.run("resource", ["feedbal", "random"], runs=10, episodes=100, progress=lambda *at: told.append(at))
    assert told[-1] == (2000, 2000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_callback_that_raises_stops_it():
    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        emab.run("resource", runs=10**6, episodes=10**6, progress=stop)


def test_other_threads_run_meanwhile():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    emab.run("resource", runs=400, episodes=5000, threads=1, progress=False)
    done.set()
    thread.join()
    assert len(ticks) > 20


def test_ctrl_c_stops_it():
    code = (
        "import emab, warnings; warnings.simplefilter('ignore'); print('begun', flush=True)\n"
        "emab.run('resource', runs=10**6, episodes=10**6)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_ctrl_c_of_the_command_leaves_a_checkpoint(tmp_path):
    out = tmp_path / "out"
    job = [sys.executable, "-m", "emab", "run", "resource", "--runs", "1000000", "--episodes", "1000", "--out", out]
    child = subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (out / "checkpoint.json").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "go on with `emab run --resume" in errors


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: emab.run("resource", "feedball"), "unknown learner `feedball`, did you mean `feedbal`?"),
        (lambda: emab.run("resource", "feedbal:delta=2"), "`delta` must lie in (0, 1), got 2"),
        (lambda: emab.run("resource", []), "at least one learner"),
        (lambda: emab.run("resource", runs=0), "`runs` must be at least 1, got 0"),
        (lambda: emab.run("resource", checkpoints=[0]), "`checkpoints`"),
        (lambda: emab.run("resource", runs=-1), "`runs` must be a whole number from 0 to 18446744073709551615, got -1"),
        (lambda: emab.run("resource", seed=2**64), "`seed` must be a whole number from 0 to"),
        (lambda: emab.run("resource", threads=-1), "`threads` must be a whole number from 0 to"),
        (lambda: emab.run("resource", checkpoints=[-1]), "`checkpoints` must be a whole number from 0 to"),
        (lambda: emab.FeedBAL(emab.load("resource").spec, seed=-1), "`seed` must be a whole number"),
        (lambda: emab.FeedBAL(emab.load("resource").spec).choose(-1, 0), "`step` must be a whole number"),
        (lambda: emab.Episode(actions=[-1], feedbacks=[0], costs=[], rewards=[]), "`actions` must be a whole number"),
        (lambda: emab.bounds("resource", episodes=0), "`episodes` must be at least 1, got 0"),
        (lambda: emab.solve({**HUGE, "states": 10**9}), "too many for lists"),
        (lambda: emab.run("resource", conditions=["dropout=1.2"]), "`dropout` must lie in [0, 1), got 1.2"),
        (lambda: emab.load({"horizn": 3}), "did you mean `horizon`?"),
        (lambda: emab.FeedBAL(sigma2="0.1,delta=3"), "`sigma2` takes one value"),
        (lambda: emab.bounds("resource", delta=3), "`delta` must lie in (0, 1), got 3"),
    ],
)
def test_words(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_the_same_words_as_the_command():
    with pytest.raises(FileNotFoundError) as raised:
        emab.load("resorce")
    assert command("solve", "resorce", code=2).stderr == f"error: {raised.value}\n"


def test_a_mistake_in_a_file_shows_its_line(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("horizon = 3\nstates = 2\nactions = 1\nfeedbacks = 1\ntransition = 'x +'\n")
    with pytest.raises(emab.ProblemError) as raised:
        emab.load(file)
    assert f"{file}:5" in str(raised.value)
    assert command("check", file, code=2).stderr == f"error: {raised.value}\n"


def test_a_doubtful_width_is_warned_of():
    with pytest.warns(emab.SoundnessWarning, match="the paper's width is not sound"):
        emab.run("feedback-gap", runs=2, episodes=10)


def test_solve_and_bounds_are_those_of_the_command():
    theirs = json.loads(command("solve", "treatment", "--json").stdout)
    ours = emab.solve("treatment")
    assert ours.benchmark.value == theirs["benchmark"]["value"]
    assert ours.optimal.policy == theirs["optimal"]["policy"]
    assert ours.best_fixed.sequence == theirs["best_fixed"]["sequence"]
    assert emab.bounds("resource", episodes=77).document == json.loads(
        command("bounds", "resource", "--episodes", 77, "--json").stdout
    )


def test_no_pythons_signals_are_left_behind():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_stops_a_slow_learner_of_ones_own():
    code = """
import emab, time, warnings
warnings.simplefilter("ignore")
class Slow:
    def __init__(self, spec):
        self.stop = spec.stop
    def choose(self, step, state):
        time.sleep(0.2)
        return self.stop
    def learn(self, episode):
        print("begun", flush=True)
emab.run("resource", Slow, runs=100, episodes=100_000)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_a_bar_is_shown_to_a_terminal():
    code = "import emab, warnings; warnings.simplefilter('ignore'); emab.run('resource', runs=2000, episodes=10_000)"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so where nobody writes any more
        while part := os.read(ours, 4096):
            shown += part
    assert child.wait(timeout=60) == 0
    assert b"running" in shown
    assert b"%" in shown


def test_choices_outside_of_a_policy_are_refused():
    policy = emab.solve("resource").benchmark
    for step, state in [(0, 0), (11, 0), (1, -1), (1, 10)]:
        with pytest.raises(IndexError, match="must be from"):
            policy.choice(step, state)


def test_many_choices_from_any_list():
    learner = emab.FeedBAL(emab.load("resource").spec)
    for steps, states in [([1, 2], [0, 1]), (np.array([1, 2], dtype=np.int32), range(2))]:
        assert learner.choose_batch(steps, states).tolist() == [learner.choose(1, 0), learner.choose(2, 1)]
    with pytest.raises(TypeError):
        learner.choose_batch([1.5], [0])


def test_the_gain_of_an_episode_that_is_not_known():
    unknown = emab.Episode(actions=[0], feedbacks=[1], costs=[], rewards=[0.0, 1.0])
    assert np.isnan(unknown.gain)
    assert emab.Episode(actions=[0], feedbacks=[1], costs=[0.25], rewards=[float("nan"), 1.0]).gain == 0.75
