"""The client for programs that do something else while they wait: the same calls, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import TypeVar

import anyio
import httpx

from . import _study_calls as calls
from ._async_study import AsyncStudy
from ._call import Call
from ._health_calls import ALIVE, READY
from ._link import Link, Verify
from ._retry import Body, Retries
from ._study_calls import Page, Spec
from ._views import StudyView

T = TypeVar("T")


class AsyncClient:
    """A connection to a decision service; tasks may share it.

    `token` is taken from the environment variable EMAB_TOKEN where it is not given. `timeout` is how many
    seconds to wait for an answer (the service answers within 30), `retries` for how long to go on trying.
    `verify` is for TLS: the file of a certificate authority of your own, or an `ssl.SSLContext`.

    >>> async with AsyncClient(client.url, client_token) as service:
    ...     [study.name async for study in service.studies()]
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
        self._http = httpx.AsyncClient(headers=self._link.headers, timeout=self._link.timeout, verify=self._link.verify)

    @property
    def url(self) -> str:
        """Where the service is.

        >>> client.url.startswith("http://127.0.0.1:")
        True
        """
        return self._link.url

    def __repr__(self) -> str:
        """Without the token."""
        return f"AsyncClient({self.url!r})"

    async def __aenter__(self) -> AsyncClient:
        """For `async with`."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections; `async with` does that, too.

        >>> service = AsyncClient(client.url, client_token)
        >>> await service.close()
        """
        await self._http.aclose()

    async def alive(self) -> bool:
        """Whether the service is up; asked once, and no answer is a no.

        >>> await client.alive()
        True
        """
        return await self._healthy(ALIVE)

    async def ready(self) -> bool:
        """Whether the service is up and its store can be read; asked once, and no answer is a no.

        >>> await client.ready()
        True
        """
        return await self._healthy(READY)

    def studies(self, *, page: int = 100) -> AsyncIterator[StudyView]:
        """The studies that the token is for, by name; asked for `page` at a time (up to 1000).

        >>> [study.name async for study in client.studies()]
        ['clinic']
        """
        return self._pages(lambda after: calls.studies(after, page))

    def study(self, name: str) -> AsyncStudy:
        """The study of this name; nothing is sent, and whether it is there is not looked up.

        >>> client.study("clinic")
        AsyncStudy('clinic')
        """
        return AsyncStudy(self, name)

    async def create_study(
        self,
        name: str,
        spec: Spec,
        *,
        learner: str | None = None,
        shadow: Sequence[str] | None = None,
        missing_at_random: bool | None = None,
    ) -> AsyncStudy:
        """Creates a study from a problem without its `model`: a dict, or anything with `to_dict()`.

        `learner`, `shadow` and `missing_at_random` are added to it where they are given. A study never
        changes: the same again is harmless, another one of the same name is a `Conflict`.

        >>> problem = {"horizon": 2, "states": 1, "actions": ["test"], "feedbacks": 2, "transition": "0"}
        >>> await client.create_study("small", problem, learner="feedbal")
        AsyncStudy('small')
        """
        view = await self._send(calls.create(name, spec, learner, shadow, missing_at_random))
        return AsyncStudy(self, view.name)

    async def _send(self, call: Call[T], chunks: Body | None = None) -> T:
        tries = self._link.tries(call, chunks)
        while True:
            try:
                answer = await self._http.send(self._link.request(self._http, call, chunks))
            except httpx.TransportError as error:
                pause = tries.lost(error)
            else:
                refused = tries.answered(answer.status_code, answer.headers, answer.content)
                if refused is None:
                    return call.read(answer.content)
                pause = refused
            await anyio.sleep(pause)

    async def _pages(self, part: Callable[[str], Call[Page[T]]]) -> AsyncIterator[T]:
        after: str | None = ""
        while after is not None:
            page = await self._send(part(after))
            for item in page.items:
                yield item
            after = page.next

    async def _healthy(self, call: Call[None]) -> bool:
        try:
            return (await self._http.send(self._link.request(self._http, call))).is_success
        except httpx.TransportError:
            return False
