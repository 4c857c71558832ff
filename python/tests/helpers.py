"""Helpers that several test modules share."""

import os
import re
import subprocess
import sys


def timeless(text):
    """A result document without its times."""
    return re.sub(r'"seconds": [0-9.e+-]+', '"seconds": 0', text)


def command(*arguments, code=0, cwd=None):
    """Run the command `emab` and check its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "emab", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "COLUMNS": "1000"},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


class RandomLearner:
    """Takes a random allowed action."""

    def __init__(self, spec, rng):
        self.spec, self.rng = spec, rng

    def choose(self, step, state):
        return self.rng.choice(self.spec.allowed(step, state))

    def learn(self, episode):
        pass
