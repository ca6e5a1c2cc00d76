"""A server on loopback that responds with arbitrary bytes from a test, and counts how many of them it could send."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENOUGH = 256 << 20
"""Bytes after which an endless body ends, so that a client without a bound fails instead of never ending."""


class Request:
    """What was asked: the method, the path, and the range `(start, end)` or None."""

    def __init__(self, head: str) -> None:
        self.method, self.path, _ = head.split(" ", 2)
        found = re.search(r"(?im)^range: *bytes=(\d*)-(\d*)", head)
        self.range = None if found is None else (found[1], found[2])
        self.head = head
        self.sent = 0

    def span(self, size: int) -> tuple[int, int]:
        """The half-open range that was requested, of an object of `size` bytes."""
        if self.range is None:
            return 0, size
        start, end = self.range
        return (max(0, size - int(end)), size) if not start else (int(start), min(size, int(end) + 1))


Answer = Callable[[Request], Iterator[bytes]]


class Hostile:
    """The server's URL, what it was asked, and how many bytes it sent."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.sent = 0
        self.requests: list[Request] = []
        self.url = ""
        self.over = threading.Event()


@contextmanager
def hostile(answer: Answer) -> Iterator[Hostile]:
    """Serve the answers for the length of the block; each connection is closed after one."""
    served = Hostile(answer)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    served.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def serve(client: socket.socket) -> None:
        with client:
            head = b""
            client.settimeout(5)
            try:
                while b"\r\n\r\n" not in head:
                    got = client.recv(65536)
                    if not got:
                        return
                    head += got
                request = Request(head.decode("latin-1"))
                served.requests.append(request)
                for piece in served.answer(request):
                    client.sendall(piece)
                    served.sent += len(piece)
                    request.sent += len(piece)
                    if request.sent > ENOUGH or served.over.is_set():
                        return
            except OSError:
                return  # the client went away

    def accept() -> None:
        while not served.over.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.over.set()
        thread.join()
        listener.close()


def head(status: str, *lines: str) -> bytes:
    """The head of an answer that closes its connection."""
    return "\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *lines, "", "")).encode("latin-1")


def endless(piece: bytes = b"x" * 65536) -> Iterator[bytes]:
    """A body without an end."""
    while True:
        yield piece


def chunked() -> Iterator[bytes]:
    """A body without an end, in chunks."""
    return endless(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def dripping(pause: float) -> Iterator[bytes]:
    """A body of one byte at a time."""
    while True:
        yield b"x"
        time.sleep(pause)


def good(data: bytes, etag: str = '"one"') -> Answer:
    """The answers of an honest server that has one object."""

    def answer(request: Request) -> Iterator[bytes]:
        start, end = request.span(len(data))
        lines = [
            f"ETag: {etag}",
            f"Content-Length: {end - start}",
            f"Content-Range: bytes {start}-{end - 1}/{len(data)}",
        ]
        yield head("206 Partial Content", *lines)
        if request.method == "GET":
            yield data[start:end]

    return answer
