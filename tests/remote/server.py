"""An HTTP server with byte ranges that misbehaves on demand, on loopback, and counts what it is asked."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, unquote

from tests.remote.wire import Wire

MODES = (
    "good",
    "ignores-ranges",
    "short-body",
    "wrong-length",
    "wrong-range",
    "changed-etag",
    "changed-size",
    "flaky",
    "down",
    "no-length",
    "401",
    "403",
    "silent",
)


class Served:
    """What is served, how, and what was asked (`requests`: method, path, range)."""

    def __init__(self, files: dict[str, bytes], mode: str = "good", delay: float = 0.0) -> None:
        self.files = files
        self.mode = mode
        self.wire = Wire()
        self.wire.delay = delay
        self.requests: list[tuple[str, str, str]] = []
        self.url = ""
        self.failures = 0
        self.most_together: int | None = None
        """Requests that are answered at a time; 503 for more."""
        self.over = threading.Event()

    def index(self, folder: str) -> bytes | None:
        """The page that lists a directory, None for none."""
        below = {name[len(folder) :].partition("/")[::2] for name in self.files if name.startswith(folder)}
        links = sorted({f"{first}{'/' if rest else ''}" for first, rest in below})
        return "".join(f'<a href="{quote(link)}">{link}</a>\n' for link in links).encode() if links else None

    @property
    def gets(self) -> int:
        """Requests that carry bytes."""
        return sum(method == "GET" for method, _, _ in self.requests)


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - the handler is a class inside
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits for an acknowledgement

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            wanted = self.headers.get("Range", "")
            served.requests.append((self.command, self.path, wanted))
            with served.wire.request(f"{self.command} {self.path} {wanted}".strip()):
                self._reply(wanted, body=body)

        def _reply(self, wanted: str, *, body: bool) -> None:
            if served.mode == "silent":
                served.over.wait(20)
                return
            if served.mode.isdigit():
                self._send(int(served.mode), b"no", {}, body)
                return
            if served.most_together is not None and served.wire.under_way > served.most_together:
                served.failures += 1
                self._send(503, b"too many", {}, body)
                return
            name = unquote(self.path).lstrip("/")
            data = served.files.get(name)
            if data is None and name.endswith("/"):
                data = served.index(name)
            if data is None:
                self._send(404, b"", {}, body)
                return
            if served.mode == "down" or (served.mode == "flaky" and body and served.failures < 2):
                served.failures += 1
                self._send(503, b"try again", {}, body)
                return
            etag = '"two"' if served.mode == "changed-etag" and body and served.gets > 1 else '"one"'
            headers = {"ETag": etag, "Accept-Ranges": "bytes", "Last-Modified": "Sat, 01 Nov 2025 12:00:00 GMT"}
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
            tail = re.fullmatch(r"bytes=-(\d+)", wanted)
            if tail and data:
                found = re.fullmatch(r"(\d+)-(\d+)", f"{max(0, len(data) - int(tail[1]))}-{len(data) - 1}")
            if (found or tail) and not data and served.mode == "good":
                self._send(416, b"", {**headers, "Content-Range": "bytes */0"}, body)
                return
            if not found or served.mode in ("ignores-ranges", "no-length"):
                self._send(200, data, headers, body)
                return
            start, stop = int(found[1]), min(int(found[2]) + 1, len(data))
            total = len(data) + (7 if served.mode == "changed-size" and served.gets > 1 else 0)
            if served.mode == "wrong-range":
                start, stop = start + 1, stop + 1
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{total}"
            piece = data[start:stop]
            if served.mode == "short-body":
                piece = piece[:-1]
            self._send(206, piece, headers, body, lie=1 if served.mode == "wrong-length" else 0)

        def _send(self, status: int, data: bytes, headers: dict[str, str], body: bool, lie: int = 0) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if served.mode == "no-length":
                self.send_header("Connection", "close")
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(data) + lie))
            self.end_headers()
            if body:
                self.wfile.write(data)
            if lie:
                self.close_connection = True

    return Handler


class _Quiet(ThreadingHTTPServer):
    """Says nothing about clients that go away, or do not trust it."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing."""


@contextmanager
def serving(
    files: dict[str, bytes], mode: str = "good", delay: float = 0.0, tls: ssl.SSLContext | None = None
) -> Iterator[Served]:
    """Serve files on a loopback port for the length of the block."""
    served = Served(files, mode, delay)
    server = _Quiet(("127.0.0.1", 0), _handler(served))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    served.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        served.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
