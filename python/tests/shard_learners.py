"""Learners that workers can import, and what two results are compared by."""

import os
import re
import signal
from pathlib import Path


def timeless(text):
    """A document without its times."""
    return re.sub(r'"seconds": [0-9.e+-]+', '"seconds": 0', text)


class Logged:
    """Goes on for two steps, and writes down when a run begins: its random number and its process."""

    label = "logged"

    def __init__(self, folder, spec, rng):
        self.folder, self.stop, self.learned = Path(folder), spec.stop, 0
        self.run = int(rng.integers(2**62))
        with (self.folder / "begun").open("a") as file:
            file.write(f"{self.run} {os.getpid()}\n")

    def choose(self, step, state):
        return 0 if step < 3 else self.stop

    def learn(self, episode):
        self.learned += 1


class Dies(Logged):
    """The first to come to its tenth episode has its process killed."""

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
    """Has every process killed."""

    def learn(self, episode):
        os.kill(os.getpid(), signal.SIGKILL)


class Mistake(Exception):
    """Cannot be unpickled: what is pickled is not what it is made of."""

    def __init__(self, place, value):
        super().__init__(f"{value} at {place}")


class Mistaken(Logged):
    """Raises what cannot be unpickled."""

    def learn(self, episode):
        raise Mistake("here", 7)


class Raises(Logged):
    """Raises in the middle of an episode."""

    def choose(self, step, state):
        return {}["no such key"]


def begun(folder):
    """The processes that began each run, by the run."""
    runs = {}
    for line in (Path(folder) / "begun").read_text().splitlines():
        run, pid = map(int, line.split())
        runs.setdefault(run, []).append(pid)
    return runs


def died(folder):
    """The run in which a process was killed, and which."""
    run, pid = map(int, (Path(folder) / "died").read_text().split())
    return run, pid
