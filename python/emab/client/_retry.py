"""When to repeat a request, and when to give up.

Every request of this client is idempotent: the service recognises a repeated request and gives the same answer.
A request is therefore sent again whenever it or its answer was lost.
"""

from __future__ import annotations

import logging
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Protocol

import httpx

from ._errors import EmabError, TooMany, Unavailable, rejection

_AGAIN = frozenset({429, 502, 503, 504})
_log = logging.getLogger("emab.client")


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits of repeated requests: pauses double from `first` to `most` seconds, until `deadline` seconds.

    `Retry-After` of the service is respected. `Client(..., retries=None)` sends a request once.

    >>> with Client(client.url, client_token, retries=Retries(deadline=5.0)) as hasty:
    ...     hasty.ready()
    True
    """

    deadline: float = 60.0
    first: float = 0.1
    most: float = 5.0


class Body(Protocol):
    """A body that is streamed: an `Iterable` or `AsyncIterable` of bytes."""

    @property
    def repeatable(self) -> bool:
        """Whether the whole body can be sent (again)."""


class _Failure(NamedTuple):
    what: str
    status: int | None
    remedy: str | None


class Attempts:
    """The attempts to send one request."""

    def __init__(self, request: str, url: str, retries: Retries | None, body: Body | None) -> None:
        """Start the clock."""
        self._body = body
        self._request = request
        self._url = url
        self._retries = retries or Retries(deadline=0.0)
        self._sent = 0
        self._begun = time.monotonic()

    def lost(self, error: httpx.TransportError) -> float:
        """Return the seconds to wait after a request without an answer; raise if there is no further attempt."""
        found = str(error) or type(error).__name__
        if isinstance(error, httpx.LocalProtocolError):
            raise EmabError(f"{self._request} cannot be sent: {found}") from error
        failure = _Failure(f"gave no answer to {self._request}: {found}", None, "is `emab serve` running there?")
        if _is_tls(error):
            self._give_up(
                failure._replace(remedy="to trust your own certificate, pass its file as `verify`"),
                error,
            )
        return self._again(failure, 0.0, error)

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """Return None for a good answer, or the seconds to wait; raise if rejected or out of attempts."""
        if 200 <= status < 300:
            return None
        rejected = rejection(status, self._request, body)
        if status not in _AGAIN:
            raise rejected
        header = headers.get("retry-after", "")
        least = float(header) if header.isdigit() else 0.0
        failure = _Failure(f"answered {self._request} with {status}: {rejected.detail}", status, None)
        try:
            return self._again(failure, least, rejected)
        except Unavailable as unavailable:
            if isinstance(rejected, TooMany):
                raise rejected from unavailable
            raise

    def _again(self, failure: _Failure, least: float, cause: Exception) -> float:
        self._sent += 1
        pause = least + self._pause()
        if self._body is not None and not self._body.repeatable:
            self._give_up(
                failure._replace(
                    remedy="its lines came from an iterator and cannot be sent again: import them once more"
                ),
                cause,
            )
        if self._spent() + pause > self._retries.deadline:
            self._give_up(failure, cause)
        # The first failure is common, and later ones repeat the second.
        level = logging.WARNING if self._sent == 2 else logging.INFO
        _log.log(level, "%s %s; trying again in %.1f s", self._url, failure.what, pause)
        return pause

    def _give_up(self, failure: _Failure, cause: Exception) -> NoReturn:
        tries = max(self._sent, 1)
        times = "once" if tries == 1 else f"{tries} times in {self._spent():.1f} s"
        remedy = f"; {failure.remedy}" if failure.remedy else ""
        raise Unavailable(
            f"{self._url} {failure.what} (sent {times}; it may or may not have been recorded, and can "
            f"safely be sent again){remedy}",
            failure.status,
            tries,
        ) from cause

    def _spent(self) -> float:
        return time.monotonic() - self._begun

    def _pause(self) -> float:
        longest = min(self._retries.most, self._retries.first * 2.0 ** min(self._sent - 1, 32))
        # Jitter: clients that failed together should not return together.
        return longest * random.uniform(0.5, 1.0)


def _is_tls(error: BaseException | None) -> bool:
    """Return whether TLS failed: an untrusted certificate does not become trusted by waiting."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return True
        error = error.__cause__ or error.__context__
    return False
