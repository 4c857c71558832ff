"""A reverse proxy for tests: below a path, and with a fault between a request and its answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType


class Proxy:
    """Passes connections on to a port of this machine, one request each."""

    def __init__(self, port: int, prefix: str = "") -> None:
        """Listen on a free port; `prefix` is removed from the path of every request."""
        self.port = port
        self.prefix = prefix.encode()
        self._fault: Callable[[], None] | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        """Return the proxy."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """End it."""
        self._listener.close()

    def before_answer(self, fault: Callable[[], None]) -> None:
        """Call `fault` when the answer to the next form arrives, and drop the answer."""
        self._fault = fault

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            head, body = read_head(client)
            if not head:
                return
            first, rest = head.split(b"\r\n", 1)
            method, path, version = first.split(b" ")
            path = path.removeprefix(self.prefix) or b"/"
            # One request for each connection keeps the proxy simple.
            lines = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            request = b"\r\n".join([b" ".join([method, path, version]), b"Connection: close", *lines])
            try:
                upstream = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            with upstream:
                upstream.sendall(request + b"\r\n\r\n" + body)
                length = next(
                    (int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0
                )
                while len(body) < length:
                    more = client.recv(65_536)
                    body += more
                    upstream.sendall(more)
                while part := upstream.recv(65_536):
                    if method == b"POST" and self._fault:
                        fault, self._fault = self._fault, None
                        fault()
                        return
                    try:
                        client.sendall(part)
                    except OSError:
                        return


def read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request without its last empty line, and what of the body came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65_536)
        if not more:
            return b"", b""
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    return head, body
