"""A real `emab serve`, started, killed and started again by the tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CLINIC: dict[str, Any] = {
    "horizon": 3,
    "states": ["unknown", "clear", "suspect"],
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "transition": "1 + f",
    "learning": {"delta": 0.05, "sigma2_cost": 0, "sigma2_reward": 0.25, "feedback_spread": 0},
    "learner": "feedbal:width=sound",
}


def binary() -> str:
    """The command `emab`; the tests cannot do without it."""
    found = os.environ.get("EMAB_BINARY") or shutil.which("emab")
    if found is None:
        raise RuntimeError(
            "these tests need a real service: set EMAB_BINARY to the command `emab`, or put it into the PATH "
            "(`cargo build -p emab-cli` makes target/debug/emab)"
        )
    return found


class LiveServer:
    """A service with a data folder of its own. Its first start makes the admin token."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Starts it on a free port."""
        self._folder = folder
        self._options = options
        self._port = 0
        self.url, self.token = "", ""
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def __enter__(self) -> LiveServer:
        """It runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """However the test went."""
        self.stop()

    def start(self) -> None:
        """Starts it; again on the port it had."""
        out = self._folder / "out"
        with out.open("w") as stdout, (self._folder / "err").open("a") as stderr:
            listen = f"127.0.0.1:{self._port}"
            command = [binary(), "serve", "--listen", listen, *self._options]
            self._process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=self._env())
        end = time.monotonic() + 20
        while (told := re.search(r"listening on (https?://127\.0\.0\.1:(\d+))", out.read_text())) is None:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"emab serve did not start: {(self._folder / 'err').read_text()}")
            time.sleep(0.005)
        self.url, self._port = told[1], int(told[2])
        if not self.token:
            # The token is printed after the address.
            while (token := re.search(r"emab_[0-9a-f]{64}", out.read_text())) is None:
                if time.monotonic() > end:
                    raise RuntimeError(f"emab serve printed no token: {out.read_text()}")
                time.sleep(0.005)
            self.token = token[0]

    def kill(self) -> None:
        """Kill -9."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """As an operator does; by force where it does not end."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def new_token(self, name: str, role: str) -> str:
        """Another token, once the service knows it."""
        secret = self._run("token", "new", name, "--role", role).split()[0]
        # It notices within a second.
        time.sleep(1.5)
        return secret

    def audit(self) -> dict[str, Any]:
        """What `emab audit` says of the store; an error if it is not clean."""
        store = f"sqlite:{self._folder / 'data' / 'studies.db'}"
        found: dict[str, Any] = json.loads(self._run("audit", store, "--json"))
        return found

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([binary(), *arguments], env=self._env(), check=True, capture_output=True, text=True)
        return done.stdout

    def _env(self) -> dict[str, str]:
        return {**os.environ, "EMAB_DATA": str(self._folder / "data")}
