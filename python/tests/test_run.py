"""Runs from Python: numbers of the command line, progress, interruption, error messages."""

import contextlib
import fcntl
import json
import math
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
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers import command, timeless

import emab
from emab._emab import Experiment

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


HUGE = {
    "horizon": 3,
    "actions": 1,
    "feedbacks": 1,
    "transition": "x",
    "model": {"feedback": [1], "cost": 0, "reward": 1},
}


@pytest.mark.parametrize(
    ("problem", "learners", "options"),
    [
        ("resource", ["feedbal", "ucb1v", "psrl"], {}),
        ("treatment", ["feedbal:width=sound,delta=1/n", "random"], {"checkpoints": [7, 100, 1000]}),
        ("screening", ["feedbal-model"], {"conditions": ["delay=20", "dropout=0.1"]}),
    ],
)
def test_numbers_are_those_of_the_command(problem, learners, options):
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


def test_any_number_of_threads_gives_the_same_bytes():
    one, two = (emab.run("tutoring", runs=40, episodes=300, threads=n) for n in (1, 2))
    assert timeless(one.text) == timeless(two.text)


@pytest.mark.filterwarnings("ignore::emab.DeviceWarning")
def test_any_device_gives_the_same_bytes():
    cpu, auto = (emab.run("tutoring", runs=40, episodes=300, device=device) for device in ("cpu", "auto"))
    assert timeless(cpu.text) == timeless(auto.text)


def test_warns_once_with_each_notice_about_the_device(monkeypatch):
    class Noticed:
        device_notices = ("no GPU", "no memory", "no GPU")

        def __init__(self, *arguments, **settings):
            self.experiment = Experiment(*arguments, **settings)

        def __getattr__(self, name):
            return getattr(self.experiment, name)

    monkeypatch.setattr("emab._run.Experiment", Noticed)
    with pytest.warns(emab.DeviceWarning) as caught:
        emab.run("parity", "random", runs=2, episodes=10)
    assert [str(warning.message) for warning in caught] == ["no GPU", "no memory"]
    assert {warning.filename for warning in caught} == {__file__}


def test_a_simulator_has_no_gpu():
    with pytest.raises(ValueError, match="applies to problems only: a simulator runs on the processor"):
        emab.run(lambda: None, device="gpu")


def test_a_learner_class_is_its_text():
    assert emab.FeedBAL(sigma2=0.2, width="sound").text == "feedbal:sigma2=0.2,width=sound"
    by_class = emab.run("resource", emab.FeedBAL(sigma2=0.05), runs=5, episodes=100)
    by_line = emab.run("resource", "feedbal:sigma2=0.05", runs=5, episodes=100)
    assert timeless(by_class.text) == timeless(by_line.text)
    by_type = emab.run("resource", emab.UCB1V, runs=5, episodes=100)
    assert by_type.labels == ["ucb1v"]


@pytest.mark.parametrize("tool", ["learners", "sync_client"])
def test_generated_files_are_up_to_date(tool):
    path = Path(__file__).parents[1] / "tools" / f"{tool}.py"
    done = subprocess.run([sys.executable, path, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_progress_reaches_the_total():
    reports = []
    emab.run("resource", ["feedbal", "random"], runs=10, episodes=100, progress=lambda *report: reports.append(report))
    assert reports[-1] == (2000, 2000)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_exception_in_the_progress_callback_stops_the_run():
    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        emab.run("resource", runs=10**6, episodes=10**6, progress=stop)


def test_other_threads_continue():
    """Another thread runs Python between two calls of `progress`, however busy the machine is."""
    calls, seen, end = 0, threading.Event(), time.monotonic() + 60

    def progress(done, total):
        nonlocal calls
        calls += 1
        if seen.is_set() or time.monotonic() > end:
            raise InterruptedError

    def tick():
        while not seen.is_set() and time.monotonic() < end:
            before, ticks = calls, 0
            while 0 < before == calls and ticks < 10:
                time.sleep(0.001)
                ticks += 1
            if ticks == 10:
                seen.set()

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(InterruptedError):
        emab.run("resource", runs=10**6, episodes=10**6, threads=1, progress=progress)
    thread.join()
    assert seen.is_set()


def test_ctrl_c_stops_a_run():
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


@pytest.mark.parametrize("horizon", [60, 300])
def test_ctrl_c_stops_solving(horizon):
    problem = {
        "horizon": horizon,
        "states": 3000,
        "actions": 20,
        "feedbacks": 10,
        "transition": "(x * 7 + f * 13 + a * 29 + t) % 3000",
        "model": {"feedback": 0.1, "reward": "x / 3000"},
    }
    code = f"import emab; p = emab.load({problem}); print('begun', flush=True); emab.solve(p)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "lost sys.stderr" not in errors


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
    assert "continue with `emab run --resume" in errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: emab.run("resource", "feedball"), "unknown learner `feedball` (did you mean `feedbal`?)"),
        (lambda: emab.run("resource", "feedbal:delta=2"), "`delta` must lie in (0, 1), got 2"),
        (lambda: emab.run("resource", []), "at least one learner"),
        (lambda: emab.run("resource", runs=0), "`runs` must be at least 1, got 0"),
        (lambda: emab.run("resource", checkpoints=[0]), "`checkpoints`"),
        (lambda: emab.run("resource", runs=-1), "`runs` must be a whole number from 0 to 2**64 - 1, got -1"),
        (lambda: emab.run("resource", episodes=1.5), "`episodes` must be a whole number of at least 0"),
        (lambda: emab.run("resource", runs=1e30), "`runs` must be a whole number of at least 0"),
        (lambda: emab.run("resource", "feedbal:sigam2=1"), "did you mean `sigma2`?"),
        (lambda: emab.run("resource", seed=2**64), "`seed` must be a whole number from 0 to"),
        (lambda: emab.run("resource", threads=-1), "`threads` must be a whole number from 0 to"),
        (lambda: emab.run("resource", device="tpu"), "`device` must be 'cpu', 'gpu' or 'auto', got 'tpu'"),
        (lambda: emab.run("resource", checkpoints=[-1]), "`checkpoints` must be a whole number from 0 to"),
        (lambda: emab.FeedBAL(emab.load("resource").spec, seed=-1), "`seed` must be a whole number"),
        (lambda: emab.FeedBAL(emab.load("resource").spec).choose(-1, 0), "`step` must be a whole number"),
        (lambda: emab.Episode(actions=[-1], feedbacks=[0], costs=[], rewards=[]), "`actions` must be a whole number"),
        (lambda: emab.bounds("resource", episodes=0), "`episodes` must be at least 1, got 0"),
        (lambda: emab.solve({**HUGE, "states": 10**9}), "too many for lists"),
        (lambda: emab.run("resource", conditions=["dropout=1.2"]), "`dropout` must lie in [0, 1), got 1.2"),
        (lambda: emab.load({"horizn": 3}), "did you mean `horizon`?"),
        (lambda: emab.FeedBAL(sigma2="0.1,delta=3"), "`sigma2` takes one value"),
        (lambda: emab.run("resource", conditions={"dropot": 0.1}), "did you mean `dropout`?"),
        (lambda: emab.run("resource", conditions="dropout"), "such as delay=20, got `dropout`"),
        (lambda: emab.lower_bound("resource", episodes=0), "`episodes` must be at least 1, got 0"),
        (lambda: emab.lower_bound("resource", target="best"), '`target` must be "benchmark" or "optimal", got "best"'),
        (lambda: emab.bounds("resource", delta=3), "`delta` must lie in (0, 1), got 3"),
    ],
)
def test_rejects_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: emab.load(None), "a problem is a name, a path, a dictionary or a Problem, got None"),
        (lambda: emab.run("parity", runs=2, episodes=10).curve(7), "one of feedbal; got 7"),
        (
            lambda: emab.run("parity", conditions=0.1),
            "`conditions` must be texts such as 'dropout=0.1', or a dictionary",
        ),
        (lambda: emab.run("parity", runs="ten"), "`runs` must be a whole number, got 'ten'"),
        (
            lambda: emab.run("resource", conditions={"delay": {"kind": "geometric", "mean": 20}}),
            "`conditions`: `delay` must be a number, a list of numbers, or a text",
        ),
        (
            lambda: emab.Episode(actions=["surgery"], feedbacks=[0], costs=[0], rewards=[0, 1]),
            "`actions` must be indices, got the name 'surgery': use spec.actions.index('surgery')",
        ),
    ],
)
def test_rejects_arguments_of_other_types(call, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("given", [{"dropout": 0.1, "missing_costs": [0, 0.5]}, ["dropout=0.1", "missing_costs=0:0.5"]])
def test_conditions_are_texts_or_a_dictionary(given):
    result = emab.run("resource", "random", runs=2, episodes=10, conditions=given)
    assert result.conditions == "dropout=0.1 missing_costs=0:0.5"
    one = emab.run("resource", "random", runs=2, episodes=10, conditions="dropout=0.1")
    assert one.conditions == "dropout=0.1"


def test_record_at_may_be_one_episode():
    result = emab.run("parity", runs=2, episodes=10, record_at=5)
    assert result.single_runs("feedbal").episode.tolist() == [5, 10]


def test_a_learner_that_is_given_twice_is_run_once():
    assert emab.run("parity", ["feedbal", emab.FeedBAL(), "random"], runs=2, episodes=10).labels == [
        "feedbal",
        "random",
    ]


def test_states_may_be_given_by_name():
    spec, benchmark = emab.load("treatment").spec, emab.solve("treatment").benchmark
    learner, state = emab.FeedBAL(spec), spec.states.index("in situ")
    assert benchmark.choice(1, "in situ") == benchmark.choice(1, state)
    assert learner.choose(1, "in situ") == learner.choose(1, state)
    assert learner.estimate(1, "in situ", "surgery").count == 0
    assert spec.allowed(1, "in situ") == spec.allowed(1, state)
    for call in (benchmark.choice, learner.choose):
        with pytest.raises(ValueError, match=r"there is no state `in sit` \(did you mean `in situ`\?\)"):
            call(1, "in sit")


def test_error_messages_are_those_of_the_command():
    with pytest.raises(FileNotFoundError) as raised:
        emab.load("resorce")
    assert command("solve", "resorce", code=2).stderr == f"error: {raised.value}\n"


def test_an_error_in_a_file_shows_its_line(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("horizon = 3\nstates = 2\nactions = 1\nfeedbacks = 1\ntransition = 'x +'\n")
    with pytest.raises(emab.ProblemError) as raised:
        emab.load(file)
    assert f"{file}:5" in str(raised.value)
    assert command("check", file, code=2).stderr == f"error: {raised.value}\n"


def warnings_of(problem, learner):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        emab.run(problem, learner, runs=2, episodes=10)
    return [(warning.category, str(warning.message)) for warning in caught]


def test_warns_that_a_guarantee_does_not_hold():
    ((category, message),) = warnings_of("feedback-gap", "feedbal")
    assert category is emab.SoundnessWarning
    assert message.startswith("feedbal: the paper's width is not sound")


def test_a_default_parameter_is_an_assumption_and_not_a_soundness_warning():
    document = emab.load("resource").to_dict()
    del document["learning"]
    caught = warnings_of(document, "feedbal:width=sound,feedback_spread=1")
    assumed = [message for category, message in caught if category is emab.AssumptionWarning]
    assert any("`sigma2`" in message for message in assumed)
    assert not any("`sigma2`; " in message for category, message in caught if category is emab.SoundnessWarning)
    assert not issubclass(emab.AssumptionWarning, emab.SoundnessWarning)
    assert warnings_of("resource", "feedbal:width=sound") == []


def test_solve_and_bounds_are_those_of_the_command():
    theirs = json.loads(command("solve", "treatment", "--json").stdout)
    ours = emab.solve("treatment")
    assert ours.benchmark.value == theirs["benchmark"]["value"]
    assert ours.optimal.policy == theirs["optimal"]["policy"]
    assert ours.best_fixed.sequence == theirs["best_fixed"]["sequence"]
    assert emab.bounds("resource", episodes=77).document == json.loads(
        command("bounds", "resource", "--episodes", 77, "--json").stdout
    )


def test_the_lower_bound_is_that_of_the_command():
    options = ["--lower", "--target", "optimal", "--least-cost", 0, "--episodes", 777, "--json"]
    theirs = json.loads(command("bounds", "treatment", *options).stdout)["lower"]
    ours = emab.lower_bound("treatment", episodes=777, target="optimal", least_cost=0)
    assert (ours.constant, ours.at_n, ours.target) == (theirs["constant"], theirs["at_n"], "optimal")
    assert [triplet.constant for triplet in ours.triplets] == [triplet["constant"] for triplet in theirs["triplets"]]
    assert 0 < ours.at_n < ours.constant * math.log(777)


def test_keeps_the_signal_handler_of_python():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_stops_a_slow_user_defined_learner():
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
    # Several threads print at once.
    assert child.stdout.readline().startswith("begun")
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_shows_a_progress_bar_in_a_terminal():
    code = "import emab, warnings; warnings.simplefilter('ignore'); emab.run('resource', runs=2000, episodes=10_000)"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports the end of the terminal as an error
        while part := os.read(ours, 4096):
            shown += part
    assert child.wait(timeout=60) == 0
    assert b"running" in shown
    assert b"%" in shown


def test_policy_rejects_a_pair_out_of_range():
    policy = emab.solve("resource").benchmark
    for step, state in [(0, 0), (11, 0), (1, -1), (1, 10)]:
        with pytest.raises(IndexError, match="must be from"):
            policy.choice(step, state)


def test_choose_batch_takes_lists_and_arrays():
    learner = emab.FeedBAL(emab.load("resource").spec)
    for steps, states in [([1, 2], [0, 1]), (np.array([1, 2], dtype=np.int32), range(2))]:
        assert learner.choose_batch(steps, states).tolist() == [learner.choose(1, 0), learner.choose(2, 1)]
    with pytest.raises(TypeError):
        learner.choose_batch([1.5], [0])


def test_gain_is_unknown_where_a_cost_is():
    unknown = emab.Episode(actions=[0], feedbacks=[1], costs=[], rewards=[0.0, 1.0])
    assert np.isnan(unknown.gain)
    assert emab.Episode(actions=[0], feedbacks=[1], costs=[0.25], rewards=[float("nan"), 1.0]).gain == 0.75


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"costs": [0.1], "rewards": [0.0]}, "`rewards` has 1 values, expected 2: one for each step"),
        (
            {"costs": [], "rewards": [0.0, 1.0]},
            "`costs` has 0 values, expected 1: one for each action; NaN is an unknown",
        ),
        ({"costs": [0.1, 0.2], "rewards": [0.0, 1.0]}, "`costs` has 2 values and the episode 1"),
    ],
)
def test_learn_rejects_too_few_and_too_many_values(lists, message):
    learner = emab.FeedBAL(emab.load("resource").spec)
    with pytest.raises(ValueError, match=message):
        learner.learn(emab.Episode(actions=[0], feedbacks=[1], **lists))
    # Unknown rewards, as after a dropout.
    learner.learn(emab.Episode(actions=[0], feedbacks=[1], costs=[0.1], rewards=[]))
    assert learner.learned == 1


def test_counts_may_be_floats_with_a_whole_value():
    plain = emab.run("parity", runs=10, episodes=100, seed=3, checkpoints=[50])
    assert emab.run("parity", runs=np.float32(10), episodes=1e2, seed=3.0, checkpoints=[5e1]).curves[
        0
    ].regret.tolist() == (plain.curves[0].regret.tolist())


@pytest.mark.parametrize(
    "call",
    [
        lambda path: emab.load(path / "problem.toml"),
        lambda path: emab.load("nothing"),
        lambda path: emab.run(path / "problem.json"),
        lambda path: emab.sweep(path / "sweep.toml"),
        lambda path: emab.sweep({"problem": str(path / "problem.toml")}),
        lambda path: emab.Result.read(path / "results"),
        lambda path: emab.load_learner(path / "learner.jsonl"),
        lambda path: emab.load("parity").save(path / "nowhere" / "problem.json"),
    ],
)
def test_a_missing_file_is_file_not_found_error(call, tmp_path):
    with pytest.raises(FileNotFoundError):
        call(tmp_path)


@pytest.mark.parametrize("call", [emab.load, emab.sweep, emab.load_learner])
def test_a_folder_is_no_file(call, tmp_path):
    with pytest.raises(IsADirectoryError):
        call(tmp_path)


def test_a_file_of_the_wrong_kind_is_recognised(tmp_path):
    sweep, problem = tmp_path / "sweep.toml", tmp_path / "problem.toml"
    sweep.write_text('problem = "parity"\nruns = 2\n')
    problem.write_text("horizon = 3\nstates = 2\nactions = 1\nfeedbacks = 1\ntransition = 0\n")
    with pytest.raises(ValueError, match="this is a sweep file"):
        emab.load(sweep)
    with pytest.raises(ValueError, match="this is a problem file"):
        emab.sweep(problem)
