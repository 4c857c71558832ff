"""Learners that workers can import."""

import os
import signal
from functools import partial
from pathlib import Path

from helpers import timeless

import emab


class Logged:
    """Stops at step 3, and logs the start of each run: its random number and its process."""

    label = "logged"

    def __init__(self, folder, spec, rng):
        self.folder, self.stop, self.learned = Path(folder), spec.stop, 0
        self.run = int(rng.integers(2**62))
        with (self.folder / "started").open("a") as file:
            file.write(f"{self.run} {os.getpid()}\n")

    def choose(self, step, state):
        return 0 if step < 3 else self.stop

    def learn(self, episode):
        self.learned += 1


class Dies(Logged):
    """Kills the process that is the first to reach its tenth episode."""

    def learn(self, episode):
        super().learn(episode)
        if self.learned == 10:
            try:
                with (self.folder / "died").open("x") as file:
                    file.write(f"{self.run} {os.getpid()}\n")
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


class Kills(Logged):
    """Kills every process."""

    def learn(self, episode):
        os.kill(os.getpid(), signal.SIGKILL)


class UnpicklableError(Exception):
    """Cannot be unpickled: its arguments differ from those of the constructor."""

    def __init__(self, place, value):
        super().__init__(f"{value} at {place}")


class RaisesUnpicklable(Logged):
    """Raises an exception that cannot be unpickled."""

    def learn(self, episode):
        raise UnpicklableError("here", 7)


class Raises(Logged):
    """Raises an exception in `choose`."""

    def choose(self, step, state):
        return {}["no such key"]


def started(folder):
    """The processes that started each run, by run."""
    runs = {}
    for line in (Path(folder) / "started").read_text().splitlines():
        run, pid = map(int, line.split())
        runs.setdefault(run, []).append(pid)
    return runs


def died(folder):
    """The run in which a process was killed, and the process."""
    run, pid = map(int, (Path(folder) / "died").read_text().split())
    return run, pid


def check_recovery_of_a_killed_worker(folder, run_in_shards, settings):
    """A worker is killed: its shard is repeated, all others are not, and the result is that of one process."""
    (folder / "died").touch()
    whole = emab.run("resource", partial(Dies, folder), **settings)
    runs = set(started(folder))
    (folder / "died").unlink()
    (folder / "started").unlink()
    reports = []
    result = run_in_shards(
        "resource",
        partial(Dies, folder),
        shards=3,
        **{**settings, "progress": lambda done, total: reports.append((done, total))},
    )
    assert timeless(result.text) == timeless(whole.text)
    run, pid = died(folder)
    assert pid != os.getpid()
    assert set(started(folder)) == runs
    first, *again = started(folder)[run]
    assert first == pid
    assert len(again) == 1
    assert again[0] != pid
    return reports
