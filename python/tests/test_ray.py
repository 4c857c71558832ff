"""Shards as Ray tasks give the bytes of a run in one place, also when a worker is killed."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import shard_learners
from shard_learners import Dies, Logged, Raises, begun, died, timeless

import emab
import emab.ray
from emab._sweep import sweep

ray = pytest.importorskip("ray")

ASKED = {"runs": 9, "episodes": 300, "seed": 5, "conditions": ["delay=20"]}
LEARNERS = ["feedbal:sigma2=0.2", emab.UCB1V()]
OWN = {"runs": 6, "episodes": 50, "progress": False}
GRID = {"problem": "resource", "runs": 4, "episodes": 100, "grid": {"problem.p": [0.2, 0.4, 0.8]}}

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.shutdown()
    # Workers have no path to the tests.
    ray.cloudpickle.register_pickle_by_value(shard_learners)
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()
    ray.cloudpickle.unregister_pickle_by_value(shard_learners)


@pytest.mark.parametrize("shards", [None, 1, 2, 7, 50])
def test_any_number_of_shards_gives_the_bytes_of_one(shards):
    whole = emab.run("treatment", LEARNERS, **ASKED)
    assert timeless(emab.ray.run("treatment", LEARNERS, shards=shards, **ASKED).text) == timeless(whole.text)


@pytest.mark.parametrize(("shards", "num_cpus"), [(None, 1), (2, 2), (50, 1)])
def test_a_sweep_in_shards_has_the_bytes_of_one(shards, num_cpus):
    whole, result = sweep(GRID), emab.ray.sweep(GRID, shards=shards, num_cpus=num_cpus)
    assert timeless(result.text) == timeless(whole.text)
    assert (result.csv, result.parquet) == (whole.csv, whole.parquet)


def test_a_killed_worker_costs_its_shard_and_nothing_else(tmp_path):
    (tmp_path / "died").touch()
    whole = emab.run("resource", partial(Dies, tmp_path), **OWN)
    runs = set(begun(tmp_path))
    (tmp_path / "died").unlink()
    (tmp_path / "begun").unlink()
    told = []
    asked = {**OWN, "progress": lambda done, total: told.append((done, total))}
    result = emab.ray.run("resource", partial(Dies, tmp_path), shards=3, **asked)
    assert timeless(result.text) == timeless(whole.text)
    run, pid = died(tmp_path)
    assert pid != os.getpid()
    assert set(begun(tmp_path)) == runs
    first, *again = begun(tmp_path)[run]
    assert first == pid
    assert len(again) == 1
    assert again[0] != pid
    assert told == [(100, 300), (200, 300), (300, 300)]


def test_a_worker_that_dies_is_an_error_when_retries_end(tmp_path):
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        emab.ray.run("resource", partial(Dies, tmp_path), shards=3, retries=0, **OWN)


def test_an_exception_comes_back_and_is_not_tried_again(tmp_path):
    with pytest.raises(KeyError, match=r'return {}\["no such key"\]'):
        emab.ray.run("resource", partial(Raises, tmp_path), shards=1, **OWN)
    assert all(len(pids) == 1 for pids in begun(tmp_path).values())


def test_code_that_is_in_no_module_travels(tmp_path):
    class Mine(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)

    whole = emab.run("resource", Mine, **OWN)
    assert timeless(emab.ray.run("resource", Mine, **OWN).text) == timeless(whole.text)


def test_an_interrupt_ends_what_runs_and_cancels_the_rest(tmp_path):
    class Mine(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)
            while len(begun(tmp_path)) > 1:
                pass

    def interrupt(done, total):
        while len(begun(tmp_path)) < 2:
            pass
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emab.ray.run("resource", Mine, shards=6, runs=6, episodes=50, num_cpus=2, progress=interrupt)
    # There is room again, though the second would never have ended.
    assert emab.ray.run("resource", runs=2, episodes=50, num_cpus=2).runs == 2
    assert len(begun(tmp_path)) == 2


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="`num_cpus` must be at least 1, got 0"):
        emab.ray.run("resource", num_cpus=0)
    with pytest.raises(ValueError, match="`shards` must be at least 1, got 0"):
        emab.ray.run("resource", shards=0)


def test_without_ray_it_says_what_to_install():
    code = "import sys; sys.modules['ray'] = None; import emab.ray; emab.ray.run('resource')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "ImportError: emab.ray needs Ray: pip install emab[ray]"


def test_the_page_runs(tmp_path):
    """Each block of docs/ray.md as a script of its own, on the cluster that is there."""
    page = Path(__file__).parents[2] / "docs" / "ray.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    there = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    for block in blocks:
        (tmp_path / "block.py").write_text(block)
        done = subprocess.run([sys.executable, "block.py"], cwd=tmp_path, env=there, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "Started a local Ray instance" not in done.stderr
