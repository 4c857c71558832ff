"""Shards on executors give the bytes of a run in one place, also when workers die."""

import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from shard_learners import Dies, Kills, Logged, Mistaken, Raises, begun, died, timeless

import emab
import emab.futures
from emab import _shards
from emab._sweep import sweep

ASKED = {"runs": 9, "episodes": 300, "seed": 5, "conditions": ["delay=20"]}
LEARNERS = ["feedbal:sigma2=0.2", emab.UCB1V(), emab.Thompson]
OWN = {"runs": 6, "episodes": 50, "progress": False}
GRID = {"problem": "resource", "runs": 4, "episodes": 100, "grid": {"problem.p": [0.2, 0.4, 0.8]}}

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


def processes(count=2):
    """An executor whose workers have nothing from here."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


@pytest.fixture(scope="module")
def pool():
    with processes() as pool:
        yield pool


@pytest.fixture(scope="module")
def local():
    return timeless(emab.run("treatment", LEARNERS, **ASKED).text)


@pytest.mark.parametrize("shards", [None, 1, 2, 7, 50])
def test_any_number_of_shards_gives_the_bytes_of_one(pool, local, shards):
    for executor in (ThreadPoolExecutor, pool):
        result = emab.futures.run("treatment", LEARNERS, executor=executor, shards=shards, **ASKED)
        assert timeless(result.text) == local


@pytest.mark.parametrize("shards", [None, 1, 2, 50])
def test_a_sweep_in_shards_has_the_bytes_of_one(pool, shards):
    whole = sweep(GRID)
    for executor in (ThreadPoolExecutor, pool):
        result = emab.futures.sweep(GRID, executor=executor, shards=shards)
        assert timeless(result.text) == timeless(whole.text)
        assert (result.csv, result.parquet) == (whole.csv, whole.parquet)


def test_a_sweep_takes_its_problem_along(pool, tmp_path):
    emab.load("treatment").save(tmp_path / "mine.json")
    (tmp_path / "grid.toml").write_text('problem = "mine.json"\nepisodes = 50\nruns = 3\n')
    assert emab.futures.sweep(tmp_path / "grid.toml", executor=pool).csv == sweep(tmp_path / "grid.toml").csv


def test_learners_of_ones_own_travel(pool, tmp_path):
    own = ["feedbal", partial(Logged, tmp_path)]
    whole = emab.run("resource", own, **OWN)
    assert timeless(emab.futures.run("resource", own, executor=pool, shards=3, **OWN).text) == timeless(whole.text)


def test_a_killed_worker_costs_its_shard_and_nothing_else(tmp_path):
    told = []
    (tmp_path / "died").touch()
    whole = emab.run("resource", partial(Dies, tmp_path), **OWN)
    runs = set(begun(tmp_path))
    (tmp_path / "died").unlink()
    (tmp_path / "begun").unlink()
    asked = {**OWN, "progress": lambda done, total: told.append((done, total))}
    result = emab.futures.run("resource", partial(Dies, tmp_path), executor=processes, shards=3, **asked)
    assert timeless(result.text) == timeless(whole.text)
    run, pid = died(tmp_path)
    assert set(begun(tmp_path)) == runs
    first, *again = begun(tmp_path)[run]
    assert first == pid
    assert len(again) == 1
    assert again[0] != pid
    assert told[-1] == (300, 300)
    assert told == sorted(set(told))


def test_an_executor_that_broke_is_said_to_be(tmp_path):
    with processes(1) as pool, pytest.raises(BrokenExecutor, match=r"3 of 3 shards not done.*executor=lambda"):
        emab.futures.run("resource", partial(Dies, tmp_path), executor=pool, shards=3, **OWN)


def test_retries_end(tmp_path):
    with pytest.raises(BrokenExecutor, match="workers died 2 times, with 1 of 1 shards not done"):
        emab.futures.run("resource", partial(Kills, tmp_path), executor=processes, shards=1, retries=1, **OWN)
    assert [len(pids) for pids in begun(tmp_path).values()] == [2]


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, processes])
def test_an_exception_comes_back_and_is_not_tried_again(tmp_path, executor):
    with pytest.raises(KeyError, match="no such key") as caught:
        emab.futures.run("resource", partial(Raises, tmp_path), executor=executor, shards=1, **OWN)
    told = f"{caught.getrepr(style='native')}{caught.value.__cause__}"
    assert 'return {}["no such key"]' in told
    assert all(len(pids) == 1 for pids in begun(tmp_path).values())


def test_an_exception_that_does_not_unpickle_is_told_in_words(pool, tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)raise Mistake\(.*7 at here"):
        emab.futures.run("resource", partial(Mistaken, tmp_path), executor=pool, shards=1, **OWN)


def test_an_interrupt_cancels_what_has_not_begun(tmp_path):
    go_on = threading.Event()

    class Waits(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)
            if len(begun(tmp_path)) > 1:
                go_on.wait()

    def interrupt(done, total):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            emab.futures.run("resource", Waits, executor=executor, shards=6, runs=6, episodes=50, progress=interrupt)
        go_on.set()
    assert len(begun(tmp_path)) <= 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"shards": 0}, ValueError, "`shards` must be at least 1, got 0"),
        ({"executor": 3}, TypeError, "`executor` must be a concurrent.futures.Executor or make one, got 3"),
        ({"runs": 0}, ValueError, "`runs` must be at least 1, got 0"),
        ({"learners": []}, ValueError, "at least one learner"),
        ({"learners": lambda spec: None, "executor": processes}, TypeError, "cannot be sent to another process"),
    ],
)
def test_mistakes_are_named_before_anything_runs(change, error, words):
    asked = {"problem": "resource", "learners": "feedbal", "executor": ThreadPoolExecutor, **OWN, **change}
    with pytest.raises(error, match=words):
        emab.futures.run(**asked)


def test_a_worker_of_another_version_is_refused():
    plan = _shards.plan_sweep(GRID, problem=None, shards=2, workers=1, threads=1)
    other = type(plan.job)(**{**vars(plan.job), "version": "0.0.0"})
    with pytest.raises(RuntimeError, match=r"the job is of emab 0\.0\.0: install the same"):
        _shards.work(other, 1)


def test_shards_are_a_few_a_worker():
    assert [_shards.how_many(None, 8, pieces) for pieces in (1000, 20, 1)] == [32, 20, 1]


class Hasty(emab.FeedBAL):
    """A built-in learner with a choice of its own."""

    def choose(self, step, state):
        return self.spec.stop


def test_a_built_in_learner_that_somebody_changed_travels_as_it_is():
    asked = {"runs": 4, "episodes": 20, "seed": 1}
    with ThreadPoolExecutor(2) as pool:
        shards = emab.futures.run("resource", Hasty, executor=pool, **asked)
        assert timeless(shards.text) == timeless(emab.run("resource", Hasty, **asked).text)
        assert shards.curves[0].causes["late_stop"] == 0.0
        with pytest.raises(TypeError, match="is one learner"):
            emab.futures.run("resource", [Hasty(emab.load("resource").spec)], executor=pool, **asked)
