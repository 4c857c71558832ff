"""Shards on executors give byte-identical results, also when workers die."""

import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from helpers import timeless
from shard_learners import (
    Dies,
    Kills,
    Logged,
    Raises,
    RaisesUnpicklable,
    check_recovery_of_a_killed_worker,
    started,
)

import emab
import emab.futures
from emab import _shards
from emab._sweep import sweep

SETTINGS = {"runs": 9, "episodes": 300, "seed": 5, "conditions": ["delay=20"]}
LEARNERS = ["feedbal:sigma2=0.2", emab.UCB1V(), emab.Thompson]
SMALL = {"runs": 6, "episodes": 50, "progress": False}
GRID = {"problem": "resource", "runs": 4, "episodes": 100, "grid": {"problem.p": [0.2, 0.4, 0.8]}}

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


def processes(count=2):
    """An executor whose workers share no memory with this process."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


@pytest.fixture(scope="module")
def pool():
    with processes() as pool:
        yield pool


@pytest.fixture(scope="module")
def local():
    return timeless(emab.run("treatment", LEARNERS, **SETTINGS).text)


@pytest.mark.parametrize("shards", [None, 1, 2, 7, 50])
def test_run_in_any_number_of_shards_is_byte_identical(pool, local, shards):
    for executor in (ThreadPoolExecutor, pool):
        result = emab.futures.run("treatment", LEARNERS, executor=executor, shards=shards, **SETTINGS)
        assert timeless(result.text) == local


@pytest.mark.parametrize("shards", [None, 1, 2, 50])
def test_sweep_in_any_number_of_shards_is_byte_identical(pool, shards):
    whole = sweep(GRID)
    for executor in (ThreadPoolExecutor, pool):
        result = emab.futures.sweep(GRID, executor=executor, shards=shards)
        assert timeless(result.text) == timeless(whole.text)
        assert (result.csv, result.parquet) == (whole.csv, whole.parquet)


def test_sends_the_device_to_workers(pool, local):
    result = emab.futures.run("treatment", LEARNERS, executor=pool, device="auto", **SETTINGS)
    assert timeless(result.text) == local
    assert emab.futures.sweep(GRID, executor=pool, device="auto").csv == sweep(GRID).csv


def test_sends_the_problem_of_a_sweep_to_workers(pool, tmp_path):
    emab.load("treatment").save(tmp_path / "mine.json")
    (tmp_path / "grid.toml").write_text('problem = "mine.json"\nepisodes = 50\nruns = 3\n')
    assert emab.futures.sweep(tmp_path / "grid.toml", executor=pool).csv == sweep(tmp_path / "grid.toml").csv


def test_sends_user_defined_learners_to_workers(pool, tmp_path):
    learners = ["feedbal", partial(Logged, tmp_path)]
    whole = emab.run("resource", learners, **SMALL)
    assert timeless(emab.futures.run("resource", learners, executor=pool, shards=3, **SMALL).text) == timeless(
        whole.text
    )


def test_repeats_only_the_shard_of_a_killed_worker(tmp_path):
    run = partial(emab.futures.run, executor=processes)
    reports = check_recovery_of_a_killed_worker(tmp_path, run, SMALL)
    assert reports[-1] == (300, 300)
    assert reports == sorted(set(reports))


def test_explains_that_a_broken_executor_cannot_be_replaced(tmp_path):
    with processes(1) as pool, pytest.raises(BrokenExecutor, match=r"3 of 3 shards not done.*executor=lambda"):
        emab.futures.run("resource", partial(Dies, tmp_path), executor=pool, shards=3, **SMALL)


def test_gives_up_after_the_last_retry(tmp_path):
    with pytest.raises(BrokenExecutor, match="workers died 2 times, with 1 of 1 shards not done"):
        emab.futures.run("resource", partial(Kills, tmp_path), executor=processes, shards=1, retries=1, **SMALL)
    assert [len(pids) for pids in started(tmp_path).values()] == [2]


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, processes])
def test_raises_an_exception_of_a_learner_without_retry(tmp_path, executor):
    with pytest.raises(KeyError, match="no such key") as caught:
        emab.futures.run("resource", partial(Raises, tmp_path), executor=executor, shards=1, **SMALL)
    text = f"{caught.getrepr(style='native')}{caught.value.__cause__}"
    assert 'return {}["no such key"]' in text
    assert all(len(pids) == 1 for pids in started(tmp_path).values())


def test_shows_an_exception_that_cannot_be_unpickled_as_text(pool, tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)raise UnpicklableError\(.*7 at here"):
        emab.futures.run("resource", partial(RaisesUnpicklable, tmp_path), executor=pool, shards=1, **SMALL)


def test_interrupt_cancels_the_shards_not_begun(tmp_path):
    go_on = threading.Event()

    class Waits(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)
            if len(started(tmp_path)) > 1:
                go_on.wait()

    def interrupt(done, total):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            emab.futures.run("resource", Waits, executor=executor, shards=6, runs=6, episodes=50, progress=interrupt)
        go_on.set()
    assert len(started(tmp_path)) <= 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"shards": 0}, ValueError, "`shards` must be at least 1, got 0"),
        (
            {"executor": 3},
            TypeError,
            "`executor` must be an Executor or a function that creates one, got 3",
        ),
        ({"device": "tpu"}, ValueError, "`device` must be 'cpu', 'gpu' or 'auto', got 'tpu'"),
        ({"runs": 0}, ValueError, "`runs` must be at least 1, got 0"),
        ({"learners": []}, ValueError, "at least one learner"),
        ({"learners": lambda spec: None, "executor": processes}, TypeError, "cannot be sent to another process"),
    ],
)
def test_rejects_invalid_arguments_before_anything_runs(change, error, message):
    arguments = {"problem": "resource", "learners": "feedbal", "executor": ThreadPoolExecutor, **SMALL, **change}
    with pytest.raises(error, match=message):
        emab.futures.run(**arguments)


def test_worker_rejects_a_job_of_another_version():
    plan = _shards.plan_sweep(GRID, problem=None, shards=2, workers=1, threads=1, device="cpu")
    other = type(plan.job)(**{**vars(plan.job), "version": "0.0.0"})
    with pytest.raises(RuntimeError, match=r"the job is of emab 0\.0\.0: install the same"):
        _shards.work(other, 1)


def test_default_number_of_shards():
    assert [_shards.shard_count(None, 8, pieces) for pieces in (1000, 20, 1)] == [32, 20, 1]


class Hasty(emab.FeedBAL):
    """A built-in learner with an overridden method."""

    def choose(self, step, state):
        return self.spec.stop


def test_sends_a_subclass_of_a_built_in_learner():
    settings = {"runs": 4, "episodes": 20, "seed": 1}
    with ThreadPoolExecutor(2) as pool:
        shards = emab.futures.run("resource", Hasty, executor=pool, **settings)
        assert timeless(shards.text) == timeless(emab.run("resource", Hasty, **settings).text)
        assert shards.curves[0].causes["late_stop"] == 0.0
        with pytest.raises(TypeError, match="is one learner"):
            emab.futures.run("resource", [Hasty(emab.load("resource").spec)], executor=pool, **settings)
