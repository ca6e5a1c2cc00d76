"""The explorer's server: waitress on a loopback address, with a token that is made for this run."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from typing import Any, Self

from exhume.errors import SourceError
from exhume.io.source import source_error
from exhume.view.explored import Explored
from exhume.view.served import Environ, Explorer, Opener, Start

LOOPBACK = "127.0.0.1"
THREADS = 4

POLL = 0.5
"""Seconds after which the server looks whether it is still used."""


class Server:
    """Serves what is explored until it is interrupted, or, with `idle`, unused for so many seconds.

    `url` is the address of the page.  Raises `SourceError` if the port is taken.
    """

    def __init__(
        self, shown: Explored, open_carved: Opener | None = None, *, port: int = 0, idle: float | None = None
    ) -> None:
        from waitress.server import create_server

        token = secrets.token_urlsafe(24)
        self._app = Explorer(shown, token, open_carved)
        self._idle = idle
        self._used = time.monotonic()
        self._ended = False
        self._map: dict[int, Any] = {}
        try:
            self._server: Any = create_server(
                self._answer,
                map=self._map,
                host=LOOPBACK,
                port=port,
                threads=THREADS,
                channel_request_lookahead=1,  # notices that a browser is gone while its request is answered
                ident=None,
                expose_tracebacks=False,
                max_request_header_size=16 << 10,
                max_request_body_size=1,
                clear_untrusted_proxy_headers=True,
            )
        except OSError as error:
            raise _taken(error, port) from error
        port = int(self._server.effective_port)
        self._app.hosts = frozenset({f"{LOOPBACK}:{port}", f"localhost:{port}"})
        self.url: str = f"http://{LOOPBACK}:{port}/{token}/"

    def _answer(self, environ: Environ, start: Start) -> Iterable[bytes]:
        self._used = time.monotonic()
        return self._app(environ, start)

    def run(self) -> None:
        """Answers requests until interrupted, unused for too long, or closed by another thread."""
        import logging

        from waitress import wasyncore

        logging.getLogger("waitress").setLevel(logging.ERROR)
        try:
            while not self._ended and (self._idle is None or time.monotonic() - self._used < self._idle):
                wasyncore.loop(timeout=min(POLL, self._idle or POLL), map=self._map, count=1)
        except KeyboardInterrupt:
            return

    def stop(self) -> None:
        """Ends `run`, from another thread."""
        self._ended = True
        self._server.pull_trigger()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        from waitress import wasyncore

        self._server.task_dispatcher.shutdown()
        wasyncore.close_all(self._map, ignore_all=True)  # the server itself, and browsers that keep their connection


def _taken(error: OSError, port: int) -> SourceError:
    return source_error(error, f"port {port}") if port else source_error(error, LOOPBACK)
