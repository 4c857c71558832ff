"""A process `emab serve`, which the tests start, kill and restart."""

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
    """Return the command `emab`; raise an error if there is none."""
    found = os.environ.get("EMAB_BINARY") or shutil.which("emab")
    if found is None:
        raise RuntimeError(
            "these tests need the command `emab`: set EMAB_BINARY, or add it to PATH "
            "(`cargo build -p emab-cli` builds target/debug/emab)"
        )
    return found


class LiveServer:
    """A service with its own data folder. The first start prints the admin token."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it on a free port."""
        self._folder = folder
        self._options = options
        self._port = 0
        self.url, self.token = "", ""
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def __enter__(self) -> LiveServer:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the process."""
        self.stop()

    def start(self) -> None:
        """Start it; a restart keeps the port."""
        out = self._folder / "out"
        with out.open("w") as stdout, (self._folder / "err").open("a") as stderr:
            listen = f"127.0.0.1:{self._port}"
            command = [binary(), "serve", "--listen", listen, *self._options]
            self._process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=self._env())
        end = time.monotonic() + 20
        while (address := re.search(r"listening on (https?://127\.0\.0\.1:(\d+))", out.read_text())) is None:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"emab serve did not start: {(self._folder / 'err').read_text()}")
            time.sleep(0.005)
        self.url, self._port = address[1], int(address[2])
        if not self.token:
            # The token is printed after the address.
            while (token := re.search(r"emab_[0-9a-f]{64}", out.read_text())) is None:
                if time.monotonic() > end:
                    raise RuntimeError(f"emab serve printed no token: {out.read_text()}")
                time.sleep(0.005)
            self.token = token[0]

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL after 10 seconds."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def new_token(self, name: str, role: str) -> str:
        """Create a token, and wait until the service accepts it."""
        secret = self._run("token", "new", name, "--role", role).split()[0]
        # The service reads new tokens within a second.
        time.sleep(1.5)
        return secret

    def log(self) -> list[dict[str, Any]]:
        """Return the fields of the lines that it has logged."""
        return [json.loads(line)["fields"] for line in (self._folder / "err").read_text().splitlines()]

    def audit(self, *options: str) -> dict[str, Any]:
        """Return the report of `emab audit`; raise an error if the store is not clean."""
        store = f"sqlite:{self._folder / 'data' / 'studies.db'}"
        found: dict[str, Any] = json.loads(self._run("audit", store, "--json", *options))
        return found

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([binary(), *arguments], env=self._env(), check=True, capture_output=True, text=True)
        return done.stdout

    def _env(self) -> dict[str, str]:
        return {**os.environ, "EMAB_DATA": str(self._folder / "data")}
