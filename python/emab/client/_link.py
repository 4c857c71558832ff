"""How to reach the service: what both clients are made from."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from ._call import JSON, LINES, Call
from ._retry import Body, Retries, Tries

Verify = bool | str | os.PathLike[str] | ssl.SSLContext
# An import is answered once it is all taken in.
_LONG = 600.0


@dataclass(frozen=True, slots=True)
class Link:
    """An address, a token and some patience."""

    url: str
    headers: dict[str, str] = field(repr=False)
    timeout: httpx.Timeout
    long: httpx.Timeout
    retries: Retries | None
    verify: bool | ssl.SSLContext

    @classmethod
    def to(cls, url: str, token: str | None, timeout: float, retries: Retries | None, verify: Verify) -> Link:
        """From what people give."""
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url is {url!r}, and must begin with http:// or https://")
        token = (token if token is not None else os.environ.get("EMAB_TOKEN", "")).strip()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connect = min(timeout, 5.0)
        short, long = (httpx.Timeout(seconds, connect=connect) for seconds in (timeout, max(timeout, _LONG)))
        return cls(url.rstrip("/"), headers, short, long, retries, _trust(verify))

    def tries(self, call: Call[Any], body: Body | None = None) -> Tries:
        """The tries of a call."""
        return Tries(str(call), self.url, self.retries, body)

    def request(
        self, http: httpx.Client | httpx.AsyncClient, call: Call[Any], body: Body | None = None
    ) -> httpx.Request:
        """A call as a request, with its own body or one that is streamed."""
        kind, timeout = (JSON, self.timeout) if body is None else (LINES, self.long)
        content: Any = call.body if body is None else body
        return http.build_request(
            call.method,
            self.url + call.path,
            params=call.query,
            content=content,
            headers={} if content is None else {"Content-Type": kind},
            timeout=timeout,
        )


def _trust(verify: Verify) -> bool | ssl.SSLContext:
    if isinstance(verify, bool | ssl.SSLContext):
        return verify
    return ssl.create_default_context(cafile=os.fspath(verify))
