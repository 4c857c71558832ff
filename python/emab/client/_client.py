"""The client that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TypeVar

import httpx

from . import _study_calls as calls
from ._call import Call
from ._health_calls import ALIVE, READY
from ._lines import Chunks
from ._link import Link, Verify
from ._retry import Retries
from ._study import Study
from ._study_calls import Page, Spec
from ._views import StudyView

T = TypeVar("T")


class Client:
    """A connection to a decision service; threads may share it.

    `token` is taken from the environment variable EMAB_TOKEN where it is not given. `timeout` is how many
    seconds to wait for an answer (the service answers within 30), `retries` for how long to go on trying.
    `verify` is for TLS: the file of a certificate authority of your own, or an `ssl.SSLContext`.

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
        """Nothing is sent yet."""
        self._link = Link.to(url, token, timeout, retries, verify)
        self._http = httpx.Client(headers=self._link.headers, timeout=self._link.timeout, verify=self._link.verify)

    @property
    def url(self) -> str:
        """Where the service is.

        >>> client.url.startswith("http://127.0.0.1:")
        True
        """
        return self._link.url

    def __repr__(self) -> str:
        """Without the token."""
        return f"Client({self.url!r})"

    def __enter__(self) -> Client:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def close(self) -> None:
        """Closes the connections; `with` does that, too.

        >>> service = Client(client.url, client_token)
        >>> service.close()
        """
        self._http.close()

    def alive(self) -> bool:
        """Whether the service is up; asked once, and no answer is a no.

        >>> client.alive()
        True
        """
        return self._healthy(ALIVE)

    def ready(self) -> bool:
        """Whether the service is up and its store can be read; asked once, and no answer is a no.

        >>> client.ready()
        True
        """
        return self._healthy(READY)

    def studies(self, *, page: int = 100) -> Iterator[StudyView]:
        """The studies that the token is for, by name; asked for `page` at a time (up to 1000).

        >>> for study in client.studies():
        ...     print(study.name, study.episodes)
        clinic 0
        """
        return self._pages(lambda after: calls.studies(after, page))

    def study(self, name: str) -> Study:
        """The study of this name; nothing is sent, and whether it is there is not looked up.

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
    ) -> Study:
        """Creates a study from a problem without its `model`: a dict, or anything with `to_dict()`.

        `learner`, `shadow` and `missing_at_random` are added to it where they are given. A study never
        changes: the same again is harmless, another one of the same name is a `Conflict`.

        >>> problem = {"horizon": 2, "states": 1, "actions": ["test"], "feedbacks": 2, "transition": "0"}
        >>> client.create_study("small", problem, learner="feedbal")
        Study('small')
        """
        view = self._send(calls.create(name, spec, learner, shadow, missing_at_random))
        return Study(self, view.name)

    def _send(self, call: Call[T], chunks: Chunks | None = None) -> T:
        tries = self._link.tries(call, chunks)
        while True:
            try:
                answer = self._http.send(self._link.request(self._http, call, chunks))
            except httpx.TransportError as error:
                pause = tries.lost(error)
            else:
                refused = tries.answered(answer.status_code, answer.headers, answer.content)
                if refused is None:
                    return call.read(answer.content)
                pause = refused
            time.sleep(pause)

    def _pages(self, part: Callable[[str], Call[Page[T]]]) -> Iterator[T]:
        after: str | None = ""
        while after is not None:
            page = self._send(part(after))
            yield from page.items
            after = page.next

    def _healthy(self, call: Call[None]) -> bool:
        try:
            return self._http.send(self._link.request(self._http, call)).is_success
        except httpx.TransportError:
            return False
