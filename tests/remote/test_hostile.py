"""Servers that send more than was requested, something else, or nothing for ever: one line, and a bounded answer."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import exhume
import exhume.io.remote
import exhume.io.remote.opening
import exhume.io.remote.source
import exhume.io.remote.stores
from exhume.errors import SourceError
from exhume.io.opening import open_target
from exhume.io.remote.source import RequestedSpans
from tests.conftest import Ran
from tests.remote.hostile import Answer, Request, chunked, dripping, endless, good, head, hostile
from tests.remote.server import serving

pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
Cli = Callable[..., Ran]
SAMPLE = Path(__file__).parent.parent / "samples" / "zs" / "words-deflate.zs"
MOST = 24 << 20
"""Bytes that an answer may cost: those requested, and what the sockets of both sides keep."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhume.io.remote, "RETRY_DELAY", 0.001)
    monkeypatch.setattr(exhume.io.remote.stores, "SILENCE", 0.5)
    monkeypatch.setattr(exhume.io.remote.opening, "HEADERS", 0.5)
    monkeypatch.setattr(exhume.io.remote.opening, "PATIENCE", 0.5)


def partial(*lines: str, body: Callable[[], Iterator[bytes]]) -> Answer:
    """A 206 for the range that was requested, of an object of 1 MB, with further header lines and a body."""

    def answer(request: Request) -> Iterator[bytes]:
        start, end = request.span(1 << 20)
        yield head("206 Partial Content", f"Content-Range: bytes {start}-{end - 1}/{1 << 20}", 'ETag: "one"', *lines)
        if request.method == "GET":
            yield from body()

    return answer


def whole(*lines: str, body: Callable[[], Iterator[bytes]]) -> Answer:
    """A 200, whatever was requested."""

    def answer(request: Request) -> Iterator[bytes]:
        yield head("200 OK", 'ETag: "one"', *lines)
        if request.method == "GET":
            yield from body()

    return answer


def failing(request: Request) -> Iterator[bytes]:
    yield head("503 Service Unavailable")
    yield from endless()


def claiming(size: str) -> Answer:
    """A HEAD that states a size, and GETs without ranges."""

    def answer(request: Request) -> Iterator[bytes]:
        yield head("200 OK", f"Content-Length: {size}")
        if request.method == "GET":
            yield from endless()

    return answer


def huge(request: Request) -> Iterator[bytes]:
    """An object with a stated size of almost 8 EB."""
    size = (1 << 63) - 1
    start, end = request.span(size)
    yield head(
        "206 Partial Content", f"Content-Range: bytes {start}-{end - 1}/{size}", f"Content-Length: {end - start}"
    )
    yield bytes(min(end - start, 1 << 20))


def bomb() -> Iterator[bytes]:
    packed = gzip.compress(bytes(32 << 20))
    yield packed


def headers(request: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 206 Partial Content\r\n"
    yield from endless(b"".join(b"X-%d: y\r\n" % number for number in range(10_000)))


def slow_headers(request: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 206 Partial Content\r\nX-Long: "
    yield from dripping(0.1)


ATTACKS: dict[str, Answer] = {
    "206 without an end": partial(body=endless),
    "206 in chunks without an end": partial("Transfer-Encoding: chunked", body=chunked),
    "200 without an end": whole(body=endless),
    "200 in chunks without an end": whole("Transfer-Encoding: chunked", body=chunked),
    "206 of a gzip bomb": partial("Content-Encoding: gzip", body=bomb),
    "206 of more bytes than requested": partial("Content-Length: 50000000", body=endless),
    "503 without an end": failing,
    "HEAD states a small size": claiming("100"),
    "HEAD states a large size": claiming(str(10**18)),
    "HEAD states an impossible size": claiming(str(10**30)),
    "another Content-Range": lambda request: iter(
        [head("206 Partial Content", "Content-Range: bytes 7-9/1000"), b"xyz"]
    ),
    "a Content-Range of digits": lambda request: iter(
        [head("206 Partial Content", f"Content-Range: bytes 0-65535/{'9' * 5000}"), b"x" * 65536]
    ),
    "an object of 8 EB": huge,
    "headers without an end": headers,
    "a header of a byte at a time": slow_headers,
    "a body of a byte at a time": partial(body=lambda: dripping(0.1)),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_answer_is_bounded(attack: str, exhume_cli: Cli) -> None:
    with hostile(ATTACKS[attack]) as served:
        start = time.monotonic()
        ran = exhume_cli("verify", f"{served.url}/a.zs", "--storage", "skip_instance_cache=true", "--format", "zs")
        assert time.monotonic() - start < 60
        assert ran.code in (1, 4)
        if ran.code == 1:
            assert re.fullmatch(r"exhume: [^\n]+ \[EX-\d+\]\n", ran.err), ran.err
        assert max(request.sent for request in served.requests) < MOST


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_answer_is_bounded_in_a_chain(attack: str) -> None:
    """A zip file system reads the object through fsspec's own requests."""
    with hostile(ATTACKS[attack]) as served:
        with pytest.raises((exhume.ExhumeError, OSError)):
            exhume.open(f"zip://a.zs::{served.url}/a.zip", storage_options={"skip_instance_cache": True})
        assert max(request.sent for request in served.requests) < MOST


def test_a_later_answer_is_bounded() -> None:
    data = bytes(1 << 20)
    with hostile(good(data)) as served:
        source = open_target(f"{served.url}/a", storage_options={"skip_instance_cache": True})
        assert isinstance(source, exhume.io.source.Source)
        served.answer = partial(body=endless)
        before = served.sent
        with pytest.raises(SourceError, match="more than was requested") as caught:
            source.read_at(500_000, 1000)
        assert caught.value.code == "EX-602"
        assert served.sent - before < MOST
        source.close()


def test_an_index_page_is_bounded(monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli) -> None:
    monkeypatch.setattr(exhume.io.remote.opening, "UNASKED", 1 << 20)
    with hostile(whole("Content-Type: text/html", body=lambda: endless(b'<a href="x">x</a>' * 1000))) as served:
        ran = exhume_cli("list", f"{served.url}/folder/", "--storage", "skip_instance_cache=true")
        assert (ran.code, "EX-602" in ran.err, ran.err.count("\n")) == (1, True, 1)
        assert served.sent < MOST


def test_a_store_of_s3_is_bounded(monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli) -> None:
    pytest.importorskip("s3fs", reason="the extra cloud (s3fs) is not installed")
    monkeypatch.setattr(exhume.io.remote.opening, "UNASKED", 1 << 20)
    for answer in (partial(body=endless), whole(body=endless), failing):
        with hostile(answer) as served:
            options = {"endpoint_url": served.url, "key": "k", "secret": "s", "skip_instance_cache": "true",
                       "config_kwargs": '{"retries": {"max_attempts": 1}}'}  # fmt: skip
            storage = [word for key, value in options.items() for word in ("--storage", f"{key}={value}")]
            for url in ("s3://bucket/a.zs", "s3://bucket/folder/"):
                ran = exhume_cli("info", url, *storage)
                assert (ran.code, ran.err.count("\n")) == (1, 1), ran.err
            assert max(request.sent for request in served.requests) < MOST


def test_redirects_stay_with_the_host(exhume_cli: Cli) -> None:
    storage = ("--storage", "skip_instance_cache=true")
    with serving({"other.zs": SAMPLE.read_bytes()}) as other:

        def answer(request: Request) -> Iterator[bytes]:
            if request.path == "/near.zs":
                yield head("302 Found", "Location: /there.zs", "Content-Length: 0")
            elif request.path == "/there.zs":
                yield from good(SAMPLE.read_bytes())(request)
            else:
                yield head("302 Found", f"Location: {other.url}/other.zs", "Content-Length: 0")

        with hostile(answer) as served:
            assert exhume_cli("verify", f"{served.url}/near.zs", *storage).code == 0
            for url in (f"{served.url}/far.zs", f"zip://x::{served.url}/far.zip"):
                ran = exhume_cli("verify", url, *storage)
                assert ran.code == 1
                assert re.fullmatch(
                    r"exhume: [^\n]*the server redirects to another host[^\n]* \[EX-612\]\n", ran.err
                ), ran.err
            assert "--follow-redirects" in ran.err
            assert not other.requests
            assert exhume_cli("verify", f"{served.url}/far.zs", "--follow-redirects", *storage).code == 0
            assert other.requests
            with exhume.open(f"{served.url}/far.zs", storage_options={"follow_redirects": True}) as archive:
                assert archive.format == "zs"
            with pytest.raises(SourceError, match="redirects"):
                exhume.open(f"{served.url}/far.zs")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://x/y", "//127.0.0.1:1/x", "http://[", "/loop", ""])
def test_redirects_that_lead_nowhere(place: str, exhume_cli: Cli) -> None:
    with hostile(lambda request: iter([head("302 Found", f"Location: {place}", "Content-Length: 0")])) as served:
        for more in ((), ("--follow-redirects",)):
            ran = exhume_cli("verify", f"{served.url}/loop", "--storage", "skip_instance_cache=true", *more)
            assert (ran.code, ran.err.count("\n")) == (1, 1), ran.err
            assert re.match(r"exhume: .* \[EX-\d+\]\n", ran.err)
        assert len(served.requests) < 100


def test_what_was_requested_is_counted_in_spans() -> None:
    touched, megabyte = RequestedSpans(), 1 << 20
    touched.add(5, 6)
    touched.add(10 * megabyte, 12 * megabyte)
    assert touched.size == 3 * megabyte
    assert touched.size_with(0, 1 << 62) == 1 << 62
    touched.add(megabyte, 10 * megabyte + 1)
    assert touched.size == 12 * megabyte
    assert touched.size_with(3, 4) == touched.size


def test_a_large_object_needs_permission_however_it_is_read(exhume_cli: Cli) -> None:
    """A cache of fsspec downloads objects as a whole."""
    with serving({"a.zs": bytes(20 << 20)}) as served:
        url, storage = f"simplecache::{served.url}/a.zs", ("--storage", "skip_instance_cache=true")
        ran = exhume_cli("identify", url, *storage)
        assert (ran.code, "EX-602" in ran.err) == (1, True), ran.err
        ran = exhume_cli("identify", url, *storage, "--allow-full-download")
        assert ran.code != 1, ran.err


def test_content_that_changes_under_one_etag_is_caught_by_checksums(exhume_cli: Cli, tmp_path: Path) -> None:
    """Two archives of the same size and ETag, swapped before any of the requests of `verify`."""
    import random

    paths: list[Any] = []
    for seed in (1, 2):
        rows = sorted(random.Random(seed).randbytes(100) for _ in range(8000))
        paths.append(tmp_path / f"{seed}.zs")
        with exhume.create(paths[-1], "zs", codec="none", block_size=1 << 15) as writer:
            for row in rows:
                writer.add(row)
    first, second = (path.read_bytes() for path in paths)
    assert len(first) == len(second) > 3 * 320_000 // 2
    codes = set()
    for swap in range(12):

        def answer(request: Request, swap: int = swap) -> Iterator[bytes]:
            yield from good(first if len(served.requests) <= swap else second)(request)

        with hostile(answer) as served:
            ran = exhume_cli("verify", f"{served.url}/a.zs", "--storage", "skip_instance_cache=true")
            seen = len(served.requests)
        codes.add(ran.code)
        assert ran.code == (4 if 0 < swap < seen else 0), (swap, seen, ran.err)
    assert codes == {0, 4}


def _large() -> bytes:
    """A CAF, which has no checksums, with a member between its head and its tail."""
    sizes = (70_000, 400_000, 300_000)
    ends = list(accumulate(sizes))
    places = enumerate(zip([0, *ends], ends, strict=False))
    files = {f"{number}": {"start_byte": start, "end_byte": end} for number, (start, end) in places}
    index = json.dumps({"format_version": "1.0", "files": files}, separators=(",", ":")).encode()
    return bytes(sum(sizes)) + index + len(index).to_bytes(4, "little")


def _stated(request: Request, data: bytes, *lines: str) -> Iterator[bytes]:
    start, end = request.span(len(data))
    yield head("206 Partial Content", f"Content-Length: {end - start}", *lines)
    if request.method == "GET":
        yield data[start:end]


def test_a_server_without_etags_states_changes_by_the_time(exhume_cli: Cli, tmp_path: Path) -> None:
    data = _large()
    changed = data.replace(b"\0", b"\1")

    def answer(request: Request) -> Iterator[bytes]:
        start, end = request.span(len(data))
        later = len(served.requests) > swap
        time = f"Last-Modified: Sat, 01 Nov 2025 12:00:0{int(later)} GMT"
        yield from _stated(
            request, changed if later else data, f"Content-Range: bytes {start}-{end - 1}/{len(data)}", time
        )

    for swap in (1, 99):
        with hostile(answer) as served:
            ran = exhume_cli("cat", f"{served.url}/a.caf", "1", "--storage", "skip_instance_cache=true")
            assert len(served.requests) >= 2
        assert (ran.code, "EX-604" in ran.err) == ((0, False) if swap == 99 else (1, True)), (swap, ran.err)
        assert ran.out == (bytes(400_000) if swap == 99 else b"")


def test_a_range_that_is_not_stated_is_not_taken(exhume_cli: Cli) -> None:
    data = _large()

    def answer(request: Request) -> Iterator[bytes]:
        start, end = request.span(len(data))
        stated = (f"Content-Range: bytes {start}-{end - 1}/{len(data)}",) if len(served.requests) < 2 else ()
        yield from _stated(request, data, 'ETag: "one"', *stated)

    with hostile(answer) as served:
        ran = exhume_cli("cat", f"{served.url}/a.caf", "1", "--storage", "skip_instance_cache=true")
    assert (ran.code, ran.out, "EX-602" in ran.err) == (1, b"", True), ran.err
