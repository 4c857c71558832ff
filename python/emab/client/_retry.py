"""When to send a request again, and when to give up.

Every request of this client may be sent again: the service recognises it and answers as it did. So whatever
got lost, on the way there or on the way back, is simply sent once more.
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

from ._errors import EmabError, TooMany, Unavailable, refusal

_AGAIN = frozenset({429, 502, 503, 504})
_log = logging.getLogger("emab.client")


@dataclass(frozen=True, slots=True)
class Retries:
    """For how long to try: pauses double from `first` to `most` seconds, until `deadline` seconds are over.

    What the service says in `Retry-After` is kept to. `Client(..., retries=None)` tries once.

    >>> with Client(client.url, client_token, retries=Retries(deadline=5.0)) as hasty:
    ...     hasty.ready()
    True
    """

    deadline: float = 60.0
    first: float = 0.1
    most: float = 5.0


class Body(Protocol):
    """A body that is streamed."""

    @property
    def repeatable(self) -> bool:
        """Whether all of it can (still) be sent."""


class _Failure(NamedTuple):
    what: str
    status: int | None
    remedy: str | None


class Tries:
    """The tries of one request."""

    def __init__(self, request: str, url: str, retries: Retries | None, body: Body | None) -> None:
        """From now on."""
        self._body = body
        self._request = request
        self._url = url
        self._retries = retries or Retries(deadline=0.0)
        self._sent = 0
        self._begun = time.monotonic()

    def lost(self, error: httpx.TransportError) -> float:
        """There was no answer: the seconds to wait before the next try; raises where there is none."""
        found = str(error) or type(error).__name__
        if isinstance(error, httpx.LocalProtocolError):
            raise EmabError(f"{self._request} cannot be sent: {found}") from error
        failure = _Failure(f"gave no answer to {self._request}: {found}", None, "is `emab serve` running there?")
        if _is_tls(error):
            self._give_up(
                failure._replace(remedy="to trust a certificate of your own, give its file as `verify`"),
                error,
            )
        return self._again(failure, 0.0, error)

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """None if the answer is good, or the seconds to wait before the next try; raises what is refused."""
        if 200 <= status < 300:
            return None
        refused = refusal(status, self._request, body)
        if status not in _AGAIN:
            raise refused
        said = headers.get("retry-after", "")
        least = float(said) if said.isdigit() else 0.0
        failure = _Failure(f"answered {self._request} with {status}: {refused.detail}", status, None)
        try:
            return self._again(failure, least, refused)
        except Unavailable as unavailable:
            if isinstance(refused, TooMany):
                raise refused from unavailable
            raise

    def _again(self, failure: _Failure, least: float, cause: Exception) -> float:
        self._sent += 1
        pause = least + self._pause()
        if self._body is not None and not self._body.repeatable:
            self._give_up(
                failure._replace(remedy="its lines came from an iterator and are gone: give them again"),
                cause,
            )
        if self._spent() + pause > self._retries.deadline:
            self._give_up(failure, cause)
        # One failure is nothing to bother people with, and the tenth is no news.
        level = logging.WARNING if self._sent == 2 else logging.INFO
        _log.log(level, "%s %s; trying again in %.1f s", self._url, failure.what, pause)
        return pause

    def _give_up(self, failure: _Failure, cause: Exception) -> NoReturn:
        tries = max(self._sent, 1)
        times = "once" if tries == 1 else f"{tries} times in {self._spent():.1f} s"
        remedy = f"; {failure.remedy}" if failure.remedy else ""
        raise Unavailable(
            f"{self._url} {failure.what} (sent {times}; it may or may not have been recorded, and to send it "
            f"again is harmless){remedy}",
            failure.status,
            tries,
        ) from cause

    def _spent(self) -> float:
        return time.monotonic() - self._begun

    def _pause(self) -> float:
        longest = min(self._retries.most, self._retries.first * 2.0 ** min(self._sent - 1, 32))
        # By chance, so that clients that failed together do not come back together.
        return longest * random.uniform(0.5, 1.0)


def _is_tls(error: BaseException | None) -> bool:
    """Whether TLS is the matter: a certificate that is not trusted now is not trusted in a second."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return True
        error = error.__cause__ or error.__context__
    return False
