"""Exceptions of the client, with the error message of the service and the place it refers to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class EmabError(Exception):
    """Base class of the client's exceptions. A request that cannot be sent raises `ValueError`.

    >>> try:
    ...     client.study("nowhere").read()
    ... except EmabError as error:
    ...     print(error)
    there is no study `nowhere` (GET /v1/studies/nowhere)
    """


class Refused(EmabError):
    """The service rejected a request.

    Attributes are the fields of the service's problem details (RFC 9457): `status`, `kind` (its stable
    `type`, such as `urn:emab:conflict`), `title`, `detail`, `pointer` (the place in the body),
    `current_step`, `retry_after`; and `request` (method and path), `hint` (a remedy, where the client has one)
    and `raw` (the whole document).

    >>> episode = client.study("clinic").open("p1")
    >>> try:
    ...     episode.tell("blood", "positive")
    ... except Refused as refused:
    ...     print(refused.status, refused.pointer, refused.detail)
    422 /reason `stop` was recommended and `blood` was taken: an override needs a `reason`
    """

    def __init__(self, status: int, request: str, raw: Mapping[str, Any]) -> None:
        """Read the problem details of an answer."""
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
        """Return the message of the service, the place, and the hint."""
        place = f"at {self.pointer} of {self.request}" if self.pointer else self.request
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.detail} ({place}){hint}"


class Unauthorized(Refused):
    """401: no token, or an invalid or expired one.

    >>> with Client(client.url, token="emab_unknown") as unknown:
    ...     unknown.study("clinic").read()
    Traceback (most recent call last):
    emab.client.Unauthorized: ...
    """


class NotAllowed(Refused):
    """403: the role or the studies of the token do not allow the request.

    >>> issubclass(NotAllowed, Refused)
    True
    """


class NotFound(Refused, LookupError):
    """404: the study, episode or decision does not exist. Also a `LookupError`.

    >>> client.study("clinic").episode("nobody").read()
    Traceback (most recent call last):
    emab.client.NotFound: study `clinic` has no episode `nobody` (GET /v1/studies/clinic/episodes/nobody)
    """


class Conflict(Refused):
    """409: the request contradicts the log. `current_step` is that of the episode, where steps disagree.

    >>> episode = client.study("clinic").open("p1")
    >>> try:
    ...     episode.stop(step=2)
    ... except Conflict as conflict:
    ...     print(conflict.current_step)
    1
    """


class Invalid(Refused, ValueError):
    """400, 413, 415, 422: the request is malformed or impossible in this study. Also a `ValueError`.

    >>> client.study("clinic").open("p1").tell("surgery", "positive")
    Traceback (most recent call last):
    emab.client.Invalid: this study has no action `surgery`; there are `blood`, `scan` (at /action of ...
    """


class TooMany(Refused):
    """429: too many requests, until the deadline of the client (`Retries.deadline`).

    >>> issubclass(TooMany, Refused)
    True
    """


class Unavailable(EmabError):
    """No answer, or 502, 503 or 504, until the deadline of the client (`Retries.deadline`).

    The request may or may not have been recorded, and can safely be sent again. `status` is that of the last
    answer, or `None` without an answer; `tries` is the number of attempts.

    >>> with Client("http://127.0.0.1:9", retries=None) as client:
    ...     client.study("clinic").read()
    Traceback (most recent call last):
    emab.client.Unavailable: http://127.0.0.1:9 gave no answer to GET /v1/studies/clinic...
    """

    def __init__(self, message: str, status: int | None, tries: int) -> None:
        """Keep the whole message."""
        super().__init__(message, status, tries)
        self.status = status
        self.tries = tries

    def __str__(self) -> str:
        """Return the message."""
        return str(self.args[0])


class Unexpected(EmabError):
    """An answer that emab does not give: another program or a proxy listens at this address.

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


def rejection(status: int, request: str, body: bytes) -> Refused:
    """Return the exception for an error status; a proxy may answer with something other than JSON."""
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
        return "pass `token` to the client, or set the environment variable EMAB_TOKEN"
    if kind == "urn:emab:wrong-step":
        return "`ask()` returns the decision of the current step"
    return None
