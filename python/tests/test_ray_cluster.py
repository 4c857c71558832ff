"""Shards on several Ray nodes give byte-identical results, also when a node is killed; each may take a GPU."""

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import helpers
import pytest
import shard_learners
from helpers import timeless
from shard_learners import Logged, started

import emab
import emab.ray
from emab import _shards
from emab._sweep import sweep

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = pytest.mark.filterwarnings("ignore::emab.SoundnessWarning")

STORE = 80 * 2**20
NODES = 3
SHARDS = 9
RUN = {"problem": "treatment", "learners": ["feedbal", emab.UCB1V()], "runs": 9, "episodes": 300, "seed": 5}
MANY_CHECKPOINTS = {"checkpoints": range(1, RUN["episodes"] + 1)}
GRID = {"problem": "resource", "runs": 4, "episodes": 100, "grid": {"problem.p": [k / 10 for k in range(1, 10)]}}


@pytest.fixture(scope="module")
def nodes():
    """A cluster of a head and two nodes; one that a test removes is replaced."""
    ray.shutdown()
    # Workers cannot import the tests.
    modules = (helpers, shard_learners, sys.modules[__name__])
    for module in modules:
        ray.cloudpickle.register_pickle_by_value(module)
    # Ray writes the address of the cluster into this folder, where no other process looks for it. The paths of sockets
    # are too long in the folders of pytest.
    folder = tempfile.mkdtemp(prefix="emab-", dir="/tmp")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_TMPDIR", folder)
        environment.delenv("RAY_ADDRESS", raising=False)
        environment.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        cluster = cluster_utils.Cluster()
        try:
            # A dead node is noticed after a second instead of 15, and a slow one may still take 20 seconds to answer.
            health = {"period_ms": 300, "timeout_ms": 20_000, "failure_threshold": 3}
            cluster.add_node(
                num_cpus=1,
                object_store_memory=STORE,
                include_dashboard=False,
                _system_config={f"health_check_{name}": value for name, value in health.items()},
            )
            for _ in range(NODES - 1):
                cluster.add_node(num_cpus=1, object_store_memory=STORE)
            ray.init(address=cluster.address, log_to_driver=False)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()
            for module in modules:
                ray.cloudpickle.unregister_pickle_by_value(module)
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(nodes):
    """The cluster with all its nodes."""
    for _ in range(NODES - len(nodes.list_all_nodes())):
        nodes.add_node(num_cpus=1, object_store_memory=STORE)
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == NODES, "the cluster does not have all its nodes")
    return nodes


def wait_until(condition, message, limit=120):
    """Wait for a condition; the limit is for tests that fail."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(message)
        time.sleep(0.02)


def node_id():
    return ray.get_runtime_context().get_node_id()


class Event(NamedTuple):
    """A shard has started or finished on a node."""

    kind: str
    shard: int
    node: str
    gpus: str
    """``CUDA_VISIBLE_DEVICES``."""
    device: str
    size: int
    """The number of bytes of a result."""


def log(folder, *fields):
    with (folder / "events").open("a") as file:
        file.write("\t".join(map(str, fields)) + "\n")


def events(folder, *kinds):
    """The events of these kinds, in their order."""
    if not (folder / "events").exists():
        return []
    found = [line.split("\t") for line in (folder / "events").read_text().splitlines()]
    return [
        Event(what, int(shard), node, gpus, device, int(size))
        for what, shard, node, gpus, device, size in found
        if what in kinds
    ]


def logged(folder, gate):
    """The function that does a shard in a worker, with a log, and with `gate` before its work begins."""

    def work(job, number):
        seen = node_id(), os.environ.get("CUDA_VISIBLE_DEVICES", ""), job.device
        log(folder, "started", number, *seen, 0)
        gate(number)
        done = _shards.work(job, number)
        log(folder, "finished", number, *seen, len(done))
        return done

    return work


def blocking_gate(folder, head, number):
    """Every node does two shards, and one node never ends its third: file `blocked` has its shard and the node."""
    node = node_id()
    here = sum(event.node == node for event in events(folder, "started"))
    if here == 1:
        wait_until(
            lambda: len({event.node for event in events(folder, "started")}) == NODES, "not all nodes have shards"
        )
    elif here >= 3:
        if node != head:
            with suppress(FileExistsError), (folder / "blocked").open("x") as file:
                file.write(f"{number} {node}")
                file.flush()
                wait_until(lambda: False, "the node is not killed")
        wait_until((folder / "blocked").exists, "no node has begun its third shard")


class Kill:
    """Progress: kills the node with the blocked shard, after the driver took some results."""

    def __init__(self, cluster, folder, after):
        self.cluster, self.folder, self.after, self.reports = cluster, folder, after, 0

    def __call__(self, done, total):
        self.reports += 1
        if self.reports == self.after:
            blocked = self.folder / "blocked"
            wait_until(
                lambda: len(events(self.folder, "finished")) == SHARDS - 1 and blocked.read_text(),
                "not all other shards are finished",
            )
            self.shard, self.id = blocked.read_text().split()
            (node,) = (node for node in self.cluster.worker_nodes if node.node_id == self.id)
            self.cluster.remove_node(node, allow_graceful=False)


def kill_a_node(cluster, folder, monkeypatch, call, after):
    """Do a job while a node is killed; return its result, the starts of each shard, the blocked shard, and the node."""
    gate = partial(blocking_gate, folder, cluster.head_node.node_id)
    monkeypatch.setattr(emab.ray, "work", logged(folder, gate))
    kill = Kill(cluster, folder, after)
    result = call(shards=SHARDS, progress=kill)
    assert kill.reports == SHARDS
    starts = Counter(event.shard for event in events(folder, "started"))
    assert sorted(starts) == list(range(1, SHARDS + 1))
    return result, starts, int(kill.shard), kill.id


def test_all_nodes_do_shards_of_a_run(cluster, tmp_path):
    class Waits(Logged):
        """Waits until all nodes have begun a shard."""

        def __init__(self, spec, rng):
            super().__init__(tmp_path, spec, rng)
            (tmp_path / f"node-{node_id()}").touch()
            wait_until(lambda: len(list(tmp_path.glob("node-*"))) == NODES, "not all nodes have shards")

    settings = {"runs": 6, "episodes": 50, "conditions": ["delay=20"]}
    result = emab.ray.run("resource", ["feedbal", Waits], shards=6, **settings)
    assert {f"node-{node.node_id}" for node in cluster.list_all_nodes()} == {
        path.name for path in tmp_path.glob("node-*")
    }
    assert [len(pids) for pids in started(tmp_path).values()] == [1] * 6
    whole = emab.run("resource", ["feedbal", partial(Logged, tmp_path)], **settings)
    assert timeless(result.text) == timeless(whole.text)


def test_each_shard_takes_a_gpu(cluster, tmp_path, monkeypatch):
    """Ray reserves GPUs as a node declares them, whether or not they exist."""

    def gate(number):
        wait_until(lambda: len(events(tmp_path, "started")) >= 3, "the GPUs are not used at once")
        # Time for one shard too many to start.
        time.sleep(0.2)

    monkeypatch.setattr(emab.ray, "work", logged(tmp_path, gate))
    settings = {"problem": "resource", "learners": "feedbal", "runs": 4, "episodes": 50}
    # More processors than GPUs.
    gpu_nodes = [cluster.add_node(num_cpus=n + 1, num_gpus=n, object_store_memory=STORE) for n in (2, 1)]
    try:
        wait_until(lambda: ray.cluster_resources().get("GPU") == 3, "the nodes with GPUs have not joined")
        result = emab.ray.run(num_gpus=1, shards=4, **settings)
    finally:
        for node in gpu_nodes:
            cluster.remove_node(node)
    assert timeless(result.text) == timeless(emab.run(**settings).text)
    begun = events(tmp_path, "started")
    assert sorted(event.shard for event in begun) == list(range(1, 5))
    two, one = (node.node_id for node in gpu_nodes)
    cards = {(two, "0"), (two, "1"), (one, "0")}
    assert {(event.node, event.gpus) for event in begun} == cards
    assert {event.device for event in begun} == {"auto"}
    busy = Counter()
    for event in events(tmp_path, "started", "finished"):
        busy[event.node, event.gpus] += 1 if event.kind == "started" else -1
        assert set(busy.values()) <= {0, 1}


def test_repeats_only_the_running_shard_of_a_killed_node(cluster, tmp_path, monkeypatch):
    """The driver has taken all other results, also those of the killed node."""
    call = partial(emab.ray.run, **RUN)
    result, starts, blocked, node = kill_a_node(cluster, tmp_path, monkeypatch, call, after=SHARDS - 1)
    assert timeless(result.text) == timeless(emab.run(**RUN).text)
    assert starts == {**dict.fromkeys(starts, 1), blocked: 2}
    first, second = (event.node for event in events(tmp_path, "started") if event.shard == blocked)
    assert first == node != second


def test_repeats_results_that_died_with_a_node(cluster, tmp_path, monkeypatch):
    """Large results stay on their node until the driver takes them; it has taken one when the node is killed."""
    settings = {**RUN, **MANY_CHECKPOINTS}
    call = partial(emab.ray.run, **settings)
    result, starts, blocked, node = kill_a_node(cluster, tmp_path, monkeypatch, call, after=1)
    assert timeless(result.text) == timeless(emab.run(**settings).text)
    # Ray sends smaller ones along with the end of a task.
    assert min(event.size for event in events(tmp_path, "finished")) > 100 * 1024
    repeated = {shard for shard, count in starts.items() if count > 1}
    assert blocked in repeated
    assert len(repeated) >= 2
    assert repeated <= {event.shard for event in events(tmp_path, "started") if event.node == node}


def test_sweep_repeats_only_the_running_shard_of_a_killed_node(cluster, tmp_path, monkeypatch):
    call = partial(emab.ray.sweep, GRID)
    result, starts, blocked, _ = kill_a_node(cluster, tmp_path, monkeypatch, call, after=SHARDS - 1)
    whole = sweep(GRID)
    assert timeless(result.text) == timeless(whole.text)
    assert (result.csv, result.parquet) == (whole.csv, whole.parquet)
    assert starts == {**dict.fromkeys(starts, 1), blocked: 2}
