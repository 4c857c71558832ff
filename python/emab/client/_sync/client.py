# Written by `python python/tools/sync_client.py` from ../_async/client.py.
"""The client: connections, retries and pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

from .. import _study_calls as calls
from .._call import LIVENESS, READINESS, Call
from .._events import Event
from .._follow import Follower
from .._retry import Body, Retries
from .._settings import Settings, Verify
from .._study_calls import Page, Spec
from .._tables import event_number
from .._views import StudyView
from .study import Study

T = TypeVar("T")


class Client:
    """A client of a decision service; threads may share it.

    `token` defaults to the environment variable EMAB_TOKEN. `timeout` is the number of seconds to wait for an
    answer (the service answers within 30), `retries` limits the time spent on repeated requests. `verify` is
    for TLS: the file of your own certificate authority, or an `ssl.SSLContext`.

    >>> with Client(client.url, client_token) as service:
    ...     [study.name for study in service.studies()]
    ['clinic']
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        timeout: float = 35.0,
        retries: Retries | None = Retries(),  # noqa: B008  # it is frozen
        verify: Verify = True,
    ) -> None:
        """Send nothing; the first call connects."""
        self._settings = Settings.of(url, token, timeout, retries, verify)
        self._http = httpx.Client(
            headers=self._settings.headers, timeout=self._settings.timeout, verify=self._settings.verify
        )

    @property
    def url(self) -> str:
        """The address of the service.

        >>> client.url.startswith("http://127.0.0.1:")
        True
        """
        return self._settings.url

    def __repr__(self) -> str:
        """Show the address, without the token."""
        return f"Client({self.url!r})"

    def __enter__(self) -> Client:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections, as leaving `with` does.

        >>> service = Client(client.url, client_token)
        >>> service.close()
        """
        self._http.close()

    def alive(self) -> bool:
        """Return whether the service is up. One request is sent; without an answer the result is false.

        >>> client.alive()
        True
        """
        return self._healthy(LIVENESS)

    def ready(self) -> bool:
        """Return whether the service is up and can read its store, from one request.

        >>> client.ready()
        True
        """
        return self._healthy(READINESS)

    def studies(self, *, page: int = 100) -> Iterator[StudyView]:
        """Iterate over the studies that the token gives access to, by name, in pages of up to 1000.

        >>> [study.name for study in client.studies()]
        ['clinic']
        """
        return self._pages(lambda after: calls.studies(after, page))

    def study(self, name: str) -> Study:
        """Return a handle for the study of this name. No request is sent, and the study need not exist.

        >>> client.study("clinic")
        Study('clinic')
        """
        return Study(self, name)

    def create_study(
        self,
        name: str,
        spec: Spec,
        *,
        learner: str | None = None,
        shadow: Sequence[str] | None = None,
        missing_at_random: bool | None = None,
        protocol: Mapping[str, Any] | None = None,
        expected_delay: str | None = None,
        thresholds: Mapping[str, Any] | None = None,
    ) -> Study:
        """Create a study from a problem without its `model`: a dict, or an object with `to_dict()`.

        `learner`, `shadow`, `missing_at_random`, `protocol` (what to recommend to the first episodes, such as
        ``{"first": 20, "sequence": ["blood"]}``), `expected_delay` (of outcomes, such as ``"30d"``) and
        `thresholds` (of the health checks) are added to the problem where given. A study never changes: the same
        request again returns the same study, and another problem under the same name is a `Conflict`.

        >>> problem = {"horizon": 2, "states": 1, "actions": ["test"], "feedbacks": 2, "transition": "0"}
        >>> client.create_study("small", problem, learner="feedbal")
        Study('small')
        """
        rest = {"protocol": protocol, "expected_delay": expected_delay, "thresholds": thresholds}
        view = self._send(calls.create(name, spec, learner, shadow, missing_at_random, rest))
        return Study(self, view.name)

    def _send(self, call: Call[T], body: Body | None = None) -> T:
        """Send a call until it succeeds, is rejected, or the retries are used up; return what it reads."""
        return call.read(self._answer(call, body).content)

    def _answer(self, call: Call[T], body: Body | None = None) -> httpx.Response:
        """Send a call until it succeeds, is rejected, or the retries are used up."""
        attempts = self._settings.attempts(call, body)
        while True:
            try:
                answer = self._http.send(self._settings.request(self._http, call, body))
            except httpx.TransportError as error:
                pause = attempts.lost(error)
            else:
                retry = attempts.answered(answer.status_code, answer.headers, answer.content)
                if retry is None:
                    return answer
                pause = retry
            time.sleep(pause)

    def _download(self, call: Call[bytes], path: Path) -> int:
        """Write an answer to a file, from its beginning after a lost connection; return its event number."""
        attempts = self._settings.attempts(call)
        while True:
            try:
                answer = self._http.send(self._settings.request(self._http, call), stream=True)
                try:
                    body = b"" if answer.is_success else answer.read()
                    retry = attempts.answered(answer.status_code, answer.headers, body)
                    if retry is None:
                        with Path(path).open("wb") as file:
                            for part in answer.iter_bytes():
                                file.write(part)
                        return event_number(answer.headers)
                    pause = retry
                finally:
                    answer.close()
            except httpx.TransportError as error:
                pause = attempts.lost(error)
            time.sleep(pause)

    def _follow(self, study: str, follower: Follower) -> Iterator[Event]:
        """Iterate over events as they are recorded; connect again after an interruption."""
        attempts = None
        while not follower.is_idle:
            call = calls.follow(study, follower.after)
            attempts = attempts or self._settings.attempts(call)
            request = self._settings.request(self._http, call)
            request.extensions["timeout"]["read"] = follower.wait(self._settings.silence)
            follower.restart()
            try:
                answer = self._http.send(request, stream=True)
                try:
                    body = b"" if answer.is_success else answer.read()
                    retry = attempts.answered(answer.status_code, answer.headers, body)
                    if retry is None:
                        attempts = None
                        for part in answer.iter_raw():
                            yield from follower.feed(part)
                            if follower.is_idle:
                                return
                    # The service ends a stream when it stops, or revokes the token.
                    pause = 0.1 if retry is None else retry
                finally:
                    answer.close()
            except httpx.TransportError as error:
                if follower.is_idle:
                    return
                attempts = attempts or self._settings.attempts(call)
                pause = attempts.lost(error)
            time.sleep(pause)

    def _pages(self, part: Callable[[str], Call[Page[T]]]) -> Iterator[T]:
        """Iterate over the items of all pages."""
        after: str | None = ""
        while after is not None:
            page = self._send(part(after))
            yield from page.items
            after = page.next

    def _healthy(self, call: Call[None]) -> bool:
        try:
            return self._http.send(self._settings.request(self._http, call)).is_success
        except httpx.TransportError:
            return False
