"""A proxy between client and service that drops answers after the service has acted."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from urllib.parse import urlsplit


class Relay:
    """Forwards everything, but closes the connection instead of every `lose`-th part of an answer."""

    def __init__(self, url: str, lose: int) -> None:
        """Listen in front of the service at this address."""
        self._to = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        self._lose = lose
        self._lock = threading.Lock()
        self._answers = 0
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                relay._forward(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.lost = 0

    def __enter__(self) -> Relay:
        """Start."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def _forward(self, near: socket.socket) -> None:
        # When one side closes, close the other one.
        with socket.create_connection(self._to) as far, contextlib.suppress(OSError):
            threading.Thread(target=self._requests, args=(near, far), daemon=True).start()
            while answer := far.recv(1 << 16):
                if self._loses():
                    break
                near.sendall(answer)
            near.shutdown(socket.SHUT_RDWR)

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while request := near.recv(1 << 16):
                far.sendall(request)
            far.shutdown(socket.SHUT_WR)

    def _loses(self) -> bool:
        with self._lock:
            self._answers += 1
            lost = self._answers % self._lose == 0
            self.lost += lost
            return lost
