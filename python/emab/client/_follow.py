"""Following a log: server-sent events, and the chain of their hashes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator

from ._decode import reader
from ._errors import Unexpected
from ._events import Event

_read = reader(Event.of)
# The `previous` hash of the first event.
_GENESIS = "0" * 64
_DATA = b"data: "


class Follower:
    """Reads a stream of events, checks that each follows the one before, and knows where to continue."""

    def __init__(self, study: str, after: int, timeout: float | None) -> None:
        """Start after an event."""
        if after < 0:
            raise ValueError(f"after is {after}, and must be 0 or the number of an event")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout is {timeout}, and must be a positive number of seconds, or None")
        self.after = after
        self._study = study
        self._timeout = timeout
        self._hash = _GENESIS if after == 0 else None
        self._rest = b""
        self._latest = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no event has come for the timeout."""
        return self._timeout is not None and time.monotonic() - self._latest >= self._timeout

    def wait(self, most: float) -> float:
        """Return how many seconds to wait for bytes. The service sends some every 10 seconds."""
        if self._timeout is None:
            return most
        return max(min(most, self._latest + self._timeout - time.monotonic()), 0.01)

    def restart(self) -> None:
        """Forget a line that was cut off by the end of a connection."""
        self._rest = b""

    def feed(self, part: bytes) -> Iterator[Event]:
        """Iterate over the events that a part of the stream completes."""
        # Not `splitlines`, which also splits at characters that JSON does not escape.
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            if line.startswith(_DATA):
                yield self._next(line[len(_DATA) :])
                # The time that the caller takes does not count.
                self._latest = time.monotonic()

    def _next(self, line: bytes) -> Event:
        event = _read(line)
        # The hash is of the line without it.
        text, _, _ = line.rpartition(b',"hash":')
        for wrong in (
            event.seq != self.after + 1 and f"event {self.after + 1} is expected",
            hashlib.sha256(text + b"}").hexdigest() != event.hash and "its hash is not that of its content",
            self._hash not in (None, event.previous) and f"its `previous` is not the hash of event {self.after}",
        ):
            if wrong:
                raise Unexpected(
                    f"event {event.seq} of study {self._study!r} is not the next of the log that was read: {wrong}; "
                    "audit the store with `emab audit`"
                )
        self.after, self._hash = event.seq, event.hash
        return event
