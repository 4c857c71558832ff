"""Connection settings that both clients share."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from ._call import JSON, LINES, Call
from ._retry import Attempts, Body, Retries

Verify = bool | str | os.PathLike[str] | ssl.SSLContext
# The service answers an import once it is complete.
_IMPORT_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Address, token, timeouts and retries."""

    url: str
    headers: dict[str, str] = field(repr=False)
    timeout: httpx.Timeout
    import_timeout: httpx.Timeout
    retries: Retries | None
    verify: bool | ssl.SSLContext

    @classmethod
    def of(cls, url: str, token: str | None, timeout: float, retries: Retries | None, verify: Verify) -> Settings:
        """Validate the arguments of a client."""
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url is {url!r}, and must begin with http:// or https://")
        token = (token if token is not None else os.environ.get("EMAB_TOKEN", "")).strip()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connect = min(timeout, 5.0)
        short, long = (httpx.Timeout(seconds, connect=connect) for seconds in (timeout, max(timeout, _IMPORT_TIMEOUT)))
        trust = verify if isinstance(verify, bool | ssl.SSLContext) else _authority(verify)
        return cls(url.rstrip("/"), headers, short, long, retries, trust)

    @property
    def silence(self) -> float:
        """After how many seconds without a byte a stream is lost; the service sends some every 10 seconds."""
        return max(self.timeout.read or 0.0, 15.0)

    def attempts(self, call: Call[Any], body: Body | None = None) -> Attempts:
        """Return the retry policy for one call."""
        return Attempts(str(call), self.url, self.retries, body)

    def request(
        self, http: httpx.Client | httpx.AsyncClient, call: Call[Any], body: Body | None = None
    ) -> httpx.Request:
        """Return the HTTP request of a call, with the JSON body of the call or a streamed one."""
        kind, timeout = (JSON, self.timeout) if body is None else (LINES, self.import_timeout)
        content: Any = call.body if body is None else body
        headers = {} if content is None else {"Content-Type": kind}
        if call.accept is not None:
            headers["Accept"] = call.accept
        return http.build_request(
            call.method,
            self.url + call.path,
            params=call.query,
            content=content,
            headers=headers,
            timeout=timeout,
        )


def _authority(file: str | os.PathLike[str]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.fspath(file))
