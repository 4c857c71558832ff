"""A running service with a store of its own, for the stories in the browser."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

EMAB = os.environ["EMAB"]
ROLES = ("admin", "operator", "viewer", "blinded")

CLINIC: dict[str, Any] = {
    "horizon": 3,
    "states": ["unknown", "clear", "suspect"],
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "transition": "1 + f",
    "learning": {"delta": 0.05, "sigma2_cost": 0, "sigma2_reward": 0.25, "feedback_spread": 0},
    "learner": "feedbal:width=sound",
    "shadow": ["feedbal-pooled"],
    "outcome_range": {"reward": [0, 1], "cost": [0, 1]},
    "expected_delay": "1d",
    "protocol": {"first": 5, "sequence": ["blood"]},
}
"""The study of docs/clinic.md, with a protocol for the first patients."""


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Service:
    """`emab serve` on a temporary store, with a token of every role."""

    def __init__(self, *options: str, roles: tuple[str, ...] = ROLES[1:]) -> None:
        """Start it with these options, and create a token of each of these roles besides `admin`."""
        self._folder = tempfile.TemporaryDirectory(prefix="emab-browser-")
        self.folder = Path(self._folder.name)
        self.port = free_port()
        self.options = options
        self.process: subprocess.Popen[str] | None = None
        first = self.start()
        found = re.search(r"emab_[0-9a-f]{64}", first)
        assert found, first
        self.tokens = {"admin": found.group(0)}
        for role in roles:
            self.tokens[role] = self.new_token(role, role)

    @property
    def url(self) -> str:
        """The address of the console, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> str:
        """Start the service, and return what it prints until it listens."""
        command = [EMAB, "serve", "--listen", f"127.0.0.1:{self.port}", *self.options]
        environment = {**os.environ, "EMAB_DATA": str(self.folder / "data")}
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout
        printed = self.process.stdout.readline()
        assert "listening" in printed, (self.folder / "log").read_text()
        if not (self.folder / "started").exists():
            (self.folder / "started").touch()
            while "emab_" not in printed:
                printed += self.process.stdout.readline()
        return printed

    def kill(self) -> None:
        """End the process at once, as a failing machine does."""
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self._wait()

    def close(self) -> None:
        """End the service and remove its folder."""
        assert self.process
        self.process.terminate()
        self._wait()
        self._folder.cleanup()

    def _wait(self) -> None:
        assert self.process and self.process.stdout
        self.process.wait(timeout=20)
        self.process.stdout.close()

    def emab(self, *arguments: str) -> str:
        """Run a command on the data of this service."""
        environment = {**os.environ, "EMAB_DATA": str(self.folder / "data")}
        done = subprocess.run([EMAB, *arguments], capture_output=True, text=True, env=environment, check=True)
        return done.stdout

    def new_token(self, name: str, role: str, person: str | None = None) -> str:
        """Create a token and return its secret."""
        owner = ["--owner", person] if person else []
        secret = self.emab("token", "new", name, "--role", role, *owner)
        found = re.search(r"emab_[0-9a-f]{64}", secret)
        assert found, secret
        return found.group(0)

    def call(self, method: str, path: str, body: Any = None, role: str = "admin") -> Any:
        """Call the API; returns the status and the parsed answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.tokens[role]}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/{path}", data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def done(self, method: str, path: str, body: Any = None, role: str = "admin") -> Any:
        """Call the API and return the answer, which must be a success."""
        status, answer = self.call(method, path, body, role)
        assert status < 300, (path, answer)
        return answer

    def treat(self, study: str, case: str, ill: bool, *, upto: str = "outcome", role: str = "operator") -> None:
        """Take a case of the clinic through its steps: `upto` open, told, stopped or outcome."""
        place = f"studies/{study}/episodes"
        decision = self.done("POST", place, {"id": case}, role)
        if upto == "open":
            return
        costs: list[float] = []
        while decision["action"] != "stop":
            feedback = "positive" if ill else "negative"
            told = {"step": decision["step"], "action": decision["action"], "feedback": feedback}
            decision = self.done("POST", f"{place}/{case}:tell", told, role)
            costs.append(0.05)
            if upto == "told":
                return
        self.done("POST", f"{place}/{case}:stop", {"step": decision["step"]}, role)
        if upto == "stopped":
            return
        rewards = [float(not ill)] + [1.0] * len(costs)
        self.done("PUT", f"{place}/{case}/outcome", {"costs": costs, "rewards": rewards}, role)

    def events(self, study: str) -> list[dict[str, Any]]:
        """Return the log of a study."""
        headers = {"Authorization": f"Bearer {self.tokens['admin']}"}
        address = f"{self.url}/v1/studies/{study}/events?limit=10000"
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
            return [json.loads(line) for line in answer.read().decode().splitlines()]


@contextmanager
def recorded_step(page: Page) -> Iterator[None]:
    """Wait for the page of the next step; the page of this one may still say that the step before it is recorded."""
    step = int(page.get_by_role("button", name=re.compile("Record step")).inner_text().split()[-1])
    yield
    page.get_by_text("The step is recorded").wait_for()
    page.get_by_text(f"Step {step + 1} of at most").wait_for()


def wait_until(condition: Any, seconds: float = 10.0) -> None:
    """Wait until a condition holds; fails after a time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition does not hold in time"
        time.sleep(0.05)
