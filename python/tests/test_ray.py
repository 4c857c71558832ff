"""Shards as Ray tasks give byte-identical results, also when a worker is killed."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import helpers
import pytest
import shard_learners
from helpers import timeless
from shard_learners import Dies, Logged, Raises, check_recovery_of_a_killed_worker, started

import emab
import emab.ray
from emab._sweep import sweep

ray = pytest.importorskip("ray")

SETTINGS = {"runs": 9, "episodes": 300, "seed": 5, "conditions": ["delay=20"]}
LEARNERS = ["feedbal:sigma2=0.2", emab.UCB1V()]
SMALL = {"runs": 6, "episodes": 50, "progress": False}
GRID = {"problem": "resource", "runs": 4, "episodes": 100, "grid": {"problem.p": [0.2, 0.4, 0.8]}}

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.shutdown()
    # Workers cannot import the tests.
    for module in (helpers, shard_learners):
        ray.cloudpickle.register_pickle_by_value(module)
    # A GPU that Ray reserves need not exist.
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()
    for module in (helpers, shard_learners):
        ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.parametrize("shards", [None, 1, 2, 7, 50])
def test_run_in_any_number_of_shards_is_byte_identical(shards):
    whole = emab.run("treatment", LEARNERS, **SETTINGS)
    assert timeless(emab.ray.run("treatment", LEARNERS, shards=shards, **SETTINGS).text) == timeless(whole.text)


@pytest.mark.parametrize(("shards", "num_cpus"), [(None, 1), (2, 2), (50, 1)])
def test_sweep_in_any_number_of_shards_is_byte_identical(shards, num_cpus):
    whole, result = sweep(GRID), emab.ray.sweep(GRID, shards=shards, num_cpus=num_cpus)
    assert timeless(result.text) == timeless(whole.text)
    assert (result.csv, result.parquet) == (whole.csv, whole.parquet)


def test_repeats_only_the_shard_of_a_killed_worker(tmp_path):
    reports = check_recovery_of_a_killed_worker(tmp_path, emab.ray.run, SMALL)
    assert reports == [(100, 300), (200, 300), (300, 300)]


def test_gives_up_after_the_last_retry(tmp_path):
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        emab.ray.run("resource", partial(Dies, tmp_path), shards=3, retries=0, **SMALL)


def test_raises_an_exception_of_a_learner_without_retry(tmp_path):
    with pytest.raises(KeyError, match=r'return {}\["no such key"\]'):
        emab.ray.run("resource", partial(Raises, tmp_path), shards=1, **SMALL)
    assert all(len(pids) == 1 for pids in started(tmp_path).values())


def test_sends_a_local_class_to_workers(tmp_path):
    class Mine(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)

    whole = emab.run("resource", Mine, **SMALL)
    assert timeless(emab.ray.run("resource", Mine, **SMALL).text) == timeless(whole.text)


def test_interrupt_cancels_all_tasks(tmp_path):
    class Mine(Logged):
        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)
            while len(started(tmp_path)) > 1:
                pass

    def interrupt(done, total):
        while len(started(tmp_path)) < 2:
            pass
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emab.ray.run("resource", Mine, shards=6, runs=6, episodes=50, num_cpus=2, progress=interrupt)
    # The processors are free again, although the second shard would never have ended.
    assert emab.ray.run("resource", runs=2, episodes=50, num_cpus=2).runs == 2
    assert len(started(tmp_path)) == 2


@pytest.mark.parametrize(
    ("num_cpus", "num_gpus", "workers"),
    [(1, 0, 8), (3, 0, 2), (1, 1, 2), (1, 2, 1), (1, 0.25, 8), (1, 0.1, 8), (2, 4, 1)],
)
def test_processors_and_gpus_limit_the_shards_at_once(num_cpus, num_gpus, workers):
    resources = SimpleNamespace(cluster_resources=lambda: {"CPU": 8.0, "GPU": 2.0})
    assert emab.ray._workers(resources, num_cpus, num_gpus) == workers


def test_fractions_of_a_gpu_are_exact():
    resources = SimpleNamespace(cluster_resources=lambda: {"CPU": 64.0, "GPU": 1.0})
    assert emab.ray._workers(resources, 1, 0.1) == 10


@pytest.mark.parametrize("argument", ["num_cpus", "shards"])
def test_rejects_zero(argument):
    with pytest.raises(ValueError, match=f"`{argument}` must be at least 1, got 0"):
        emab.ray.run("resource", **{argument: 0})


@pytest.mark.parametrize("call", [emab.ray.run, emab.ray.sweep])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "tpu"}, "`device` must be 'cpu', 'gpu' or 'auto', got 'tpu'"),
        ({"num_gpus": -1}, "`num_gpus` must be at least 0, got -1"),
    ],
)
def test_rejects_an_invalid_device(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call("resource", **arguments)


def test_names_the_package_to_install_without_ray():
    code = "import sys; sys.modules['ray'] = None; import emab.ray; emab.ray.run('resource')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "ImportError: emab.ray needs Ray: pip install emab[ray]"


def test_code_of_the_ray_page_runs(tmp_path):
    """Each block of docs/ray.md is a script and runs on this cluster."""
    page = Path(__file__).parents[2] / "docs" / "ray.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    for block in blocks:
        (tmp_path / "block.py").write_text(block)
        done = subprocess.run(
            [sys.executable, "block.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "Started a local Ray instance" not in done.stderr
