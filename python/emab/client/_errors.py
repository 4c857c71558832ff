"""What can go wrong, as exceptions: the service's own words, with the place they are about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class EmabError(Exception):
    """Everything that this client raises, but for a `ValueError` about what it was about to send.

    >>> try:
    ...     client.study("nowhere").read()
    ... except EmabError as error:
    ...     print(error)
    there is no study `nowhere` (GET /v1/studies/nowhere)
    """


class Refused(EmabError):
    """The service refused a request.

    Attributes are the fields of the service's problem details (RFC 9457): `status`, `kind` (its stable
    `type`, such as `urn:emab:conflict`), `title`, `detail`, `pointer` (where in the body the fault is),
    `current_step`, `retry_after`; and `request` (what was asked for), `hint` (what may help, if this client
    knows it) and `raw` (all of it).

    >>> episode = client.study("clinic").open("p1")
    >>> try:
    ...     episode.tell("blood", "positive")
    ... except Refused as refused:
    ...     print(refused.status, refused.pointer, refused.detail)
    422 /reason `stop` was recommended and `blood` was done: an override needs a `reason`
    """

    def __init__(self, status: int, request: str, raw: Mapping[str, Any]) -> None:
        """Read from an answer's status and its problem details."""
        self.status = status
        self.request = request
        self.raw = dict(raw)
        self.kind: str = raw.get("type") or "about:blank"
        self.title: str = raw.get("title") or f"HTTP {status}"
        self.detail: str = raw.get("detail") or self.title
        self.pointer: str | None = raw.get("pointer")
        self.current_step: int | None = raw.get("current_step")
        self.retry_after: float | None = raw.get("retry_after")
        self.hint: str | None = _hint(status, self.kind)
        super().__init__(status, request, raw)

    def __str__(self) -> str:
        """The service's words, the place, and what may help."""
        place = f"at {self.pointer} of {self.request}" if self.pointer else self.request
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.detail} ({place}){hint}"


class Unauthorized(Refused):
    """401: no token, or one that is not valid (any more).

    >>> with Client(client.url, token="emab_of_somebody_else") as stranger:
    ...     stranger.study("clinic").read()
    Traceback (most recent call last):
    emab.client.Unauthorized: ...
    """


class NotAllowed(Refused):
    """403: the token's role, or the studies it is for, do not allow this.

    >>> issubclass(NotAllowed, Refused)
    True
    """


class NotFound(Refused, LookupError):
    """404: no such study, episode or decision. Also a `LookupError`.

    >>> client.study("clinic").episode("nobody").read()
    Traceback (most recent call last):
    emab.client.NotFound: study `clinic` has no episode `nobody` (GET /v1/studies/clinic/episodes/nobody)
    """


class Conflict(Refused):
    """409: it contradicts what is recorded. `current_step` says where the episode is, if that is the matter.

    >>> episode = client.study("clinic").open("p1")
    >>> try:
    ...     episode.stop(step=2)
    ... except Conflict as conflict:
    ...     print(conflict.current_step)
    1
    """


class Invalid(Refused, ValueError):
    """400, 413, 415, 422: it cannot be read, or not be done in this study. Also a `ValueError`.

    >>> client.study("clinic").open("p1").tell("surgery", "positive")
    Traceback (most recent call last):
    emab.client.Invalid: there is no action `surgery` in this study; it has `blood`, `scan` (at /action of ...
    """


class TooMany(Refused):
    """429: too many requests, for longer than this client is willing to wait (`Retries.deadline`).

    >>> issubclass(TooMany, Refused)
    True
    """


class Unavailable(EmabError):
    """No answer, or 502, 503 or 504, for longer than this client is willing to wait (`Retries.deadline`).

    The request may or may not have been recorded; to send it again is harmless. `status` is that of the last
    answer, or `None` where there was none; `tries` is how often it was sent.

    >>> with Client("http://127.0.0.1:9", retries=None) as nobody:
    ...     nobody.study("clinic").read()
    Traceback (most recent call last):
    emab.client.Unavailable: http://127.0.0.1:9 gave no answer to GET /v1/studies/clinic...
    """

    def __init__(self, message: str, status: int | None, tries: int) -> None:
        """With the whole message."""
        super().__init__(message, status, tries)
        self.status = status
        self.tries = tries

    def __str__(self) -> str:
        """The message."""
        return str(self.args[0])


class Unexpected(EmabError):
    """An answer that is not one of the service's: another program at this address, or a proxy on the way.

    >>> issubclass(Unexpected, EmabError)
    True
    """


_CLASSES: Mapping[int, type[Refused]] = {
    400: Invalid,
    401: Unauthorized,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooMany,
}


def refusal(status: int, request: str, body: bytes) -> Refused:
    """The exception for a refusal; a proxy on the way may answer with something else than JSON."""
    try:
        raw = json.loads(body)
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        text = body[:200].decode("utf-8", "replace").strip()
        raw = {"detail": f"answered with HTTP {status}, and not by emab: {text!r}"}
    return _CLASSES.get(status, Refused)(status, request, raw)


def _hint(status: int, kind: str) -> str | None:
    if status == 401:
        return "give the client its `token`, or set the environment variable EMAB_TOKEN"
    if kind == "urn:emab:wrong-step":
        return "`ask()` gives the decision of the current step"
    return None
