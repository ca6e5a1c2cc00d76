"""Archives at 30 ms of latency: read in place, against downloading them, fsspec's `zip://` and ratarmount.

    python -m benchmarks.remote [--megabytes N] [--latency MS] [--bandwidth MBPS] [--dir DIR] [--repeat N] [--only F]
    python -m benchmarks.remote --many 1000 [--jobs 64] [--write docs/remote.md]
    python -m benchmarks.remote --whole [--write docs/remote.md]

One archive of each format, 200 MB large, is on an HTTP server in a process of its own that waits before it answers
each request and sends all answers together at most at the given bandwidth.  Three things are timed, from the URL to the
result, with no connection and no cache from before: the first record (or member), one record or member somewhere in it,
and a selection of about half a percent.  "Download" is the same after fetching everything, eight files at a time.

`--many` searches a bucket of clp-s archives of 2 MB of logs each for a rare condition, with `exhume search --count` and
`--jobs`, and prints what one archive costs: wall and CPU of the whole command by the number of archives, requests and
bytes; and, with one job, the median from opening an archive to its answer.

`--whole` verifies a ZS archive in place, with one range in flight at a time and with as many as help, and
downloads it, with one connection and with several: from a server that sends 20 MB/s on each connection, and from one
whose connections share a line.

Every figure is the median of the rounds in seconds of wall time, every ratio the median of the ratios within a round;
all rivals run in the same round and must give the same bytes.  What is missing is named and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import exhume
from benchmarks.clp_s_logs import write_logs
from benchmarks.scaling import write_page
from exhume.io.remote.source import RemoteSource

TARGET = 0.3
ASKED = "/.asked"
"""What the server answers with the requests and bytes until then."""

RARE = "service: svc-mail AND status: 500 AND level: ERROR AND host: node-7 AND duration_ms > 200"
FORMATS = ("caf", "databundle", "zs", "clp-s", "ark")
Digest = str

# ------------------------------------------------------------------------------------------------------- the server


class Line:
    """The one line that all answers share: `rate` bytes a second."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._free = 0.0
        self._lock = threading.Lock()

    def send(self, size: int) -> None:
        """Wait for as long as `size` bytes take, after those already queued."""
        with self._lock:
            begin = max(time.perf_counter(), self._free)
            self._free = end = begin + size / self.rate
        time.sleep(max(0.0, end - time.perf_counter()))


def serve(root: Path, latency: float, bandwidth: float, each: float) -> None:  # noqa: C901 - the server is inside
    """Serve a directory with ranges and index pages; print the port and run until it is stopped.

    All connections together get `bandwidth` bytes a second, and each of them `each`.
    """
    line = Line(bandwidth)
    requested = {"requests": 0, "bytes": 0}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.line = Line(each)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            if self.path == ASKED:
                self._head(200, {}, counts := json.dumps(requested).encode(), len(counts))
                return
            requested["requests"] += 1
            time.sleep(latency)
            path = root / self.path.lstrip("/")
            if path.is_dir():
                names = sorted(f"{p.name}/" if p.is_dir() else p.name for p in path.iterdir())
                self._head(200, {"Content-Type": "text/html"}, page := _page(names), len(page) if body else 0)
                return
            if not path.is_file():
                self._head(404, {}, b"", 0)
                return
            size = path.stat().st_size
            found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            start, stop = 0, size
            if found and found[1]:
                start, stop = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
            elif found:
                start = max(0, size - int(found[2]))
            headers = {"Accept-Ranges": "bytes", "ETag": f'"{size:x}"'}
            if found:
                headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
            self._head(206 if found else 200, {**headers, "Content-Length": str(stop - start)}, b"", 0)
            if body:
                with path.open("rb") as file:
                    file.seek(start)
                    while start < stop:
                        piece = file.read(min(256 << 10, stop - start))
                        self.line.send(len(piece))
                        line.send(len(piece))
                        requested["bytes"] += len(piece)
                        self.wfile.write(piece)
                        start += len(piece)

        def _head(self, status: int, headers: dict[str, str], data: bytes, send: int) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data[:send])

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore clients that disconnect."""

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def _page(names: list[str]) -> bytes:
    return "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()


@contextmanager
def serving(root: Path, latency: float, bandwidth: float, each: float = 1e4) -> Iterator[str]:
    """The server in a process of its own; yields its URL.  Milliseconds, and megabytes a second."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.remote",
        "--serve",
        str(root),
        "--latency",
        str(latency),
        "--bandwidth",
        str(bandwidth),
        "--each",
        str(each),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


# ----------------------------------------------------------------------------------------------------- the archives

MEMBER = 10_000
MEMBERS_PER_FOLDER = 100


def make(root: Path, format: str, megabytes: int) -> None:
    """An archive of that size, of bytes that do not compress."""
    path, rnd, size = root / f"archive.{format}", random.Random(format), megabytes * 1_000_000
    if path.exists():
        return
    if format in ("caf", "databundle"):
        options: dict[str, Any] = {"jobs": 2, "level": 1} if format == "databundle" else {}
        writer: Any = exhume.create(path, format, **options)
        with writer, zipfile.ZipFile(root / "archive.zip", "a") as box:
            for name in members(size):
                data = rnd.randbytes(MEMBER)
                (writer.add_bytes if format == "caf" else writer.add)(name, data)
                if format == "caf":
                    box.writestr(name, data)
    elif format == "zs":
        writer = exhume.create(path, format, codec="none")
        with writer:
            writer.add_records(sorted(b"%016x" % rnd.getrandbits(64) + b" " * 184 for _ in range(size // 202)))
    elif format == "clp-s":
        writer = exhume.create(path, format)
        with writer:
            for i in range(size // (8 * FLOATS)):
                writer.write(
                    {"at": i, f"kind{i % KINDS}": i, "message": f"node {i % 97} took {i % 1013} ms"}
                    | {f"f{n}": rnd.random() for n in range(FLOATS)}
                )
    else:
        writer = exhume.create(path, format, split_bytes=64 << 20)
        with writer:
            for topic in range(4):
                writer.channel(f"topic{topic}", column=f"column{topic}")
            for i in range(size // 2000):
                writer.write(f"topic{i % 4}", i * 1000, rnd.randbytes(2000))


FLOATS, KINDS = 60, 50


def members(size: int) -> list[str]:
    """The names of as many members as fit."""
    return [f"folder-{i // MEMBERS_PER_FOLDER:04}/member-{i:06}" for i in range(size // MEMBER)]


# --------------------------------------------------------------------------------------------------- what is measured


def digest(parts: Iterable[bytes]) -> Digest:
    """One short string for many bytes; an empty result is an error."""
    found = hashlib.sha256()
    some = False
    for part in parts:
        found.update(part)
        some = True
    assert some
    return found.hexdigest()


Work = Callable[[Any], Iterable[bytes]]


def tasks(format: str, size: int) -> dict[str, Work]:
    """What is done with an open archive: the first, one, and some."""
    if format in ("caf", "databundle"):
        names = members(size)
        one = names[len(names) * 2 // 3]
        folder = names[len(names) // 3].partition("/")[0]
        some = [name for name in names if name.startswith(f"{folder}/")]
        many: Work = lambda a: (data for _, data in a.read_members(some))  # noqa: E731 - one of several
        if format == "databundle":
            many = lambda a: map(a.read_member, some)  # noqa: E731 - as above
        return {"first": lambda a: [a.read_member(names[0])], "one": lambda a: [a.read_member(one)], "some": many}
    if format == "zs":
        return {
            "first": lambda a: [next(iter(a.records()))],
            "one": lambda a: [next(iter(a.records(prefix=b"7777")))],
            "some": lambda a: a.records(start=b"5500", stop=b"5540"),
        }
    if format == "clp-s":
        number = size // (8 * FLOATS) // 2
        kind = number % KINDS
        return {
            "first": lambda a: [json.dumps(next(iter(a.events()))).encode()],
            "one": lambda a: [json.dumps(e).encode() for e in a.events(query=f"kind{kind}: {number}")],
            "some": lambda a: [str(a.search(f"kind{kind} > {number}").count()).encode()],
        }
    middle = size // 2000 // 2 * 1000
    return {
        "first": lambda a: [next(iter(a.messages(decode=False))).data],
        "one": lambda a: [
            next(iter(a.messages(topics=["topic2"], start_ns=middle, latched=False, decode=False))).data
        ],
        "some": lambda a: (
            m.data
            for m in a.messages(topics=["topic1"], start_ns=middle, stop_ns=middle + middle // 25, latched=False,
                                decode=False)
        ),
    }  # fmt: skip


FRESH = {"skip_instance_cache": True}


def in_place(url: str, format: str, work: Work) -> Digest:
    """The work on the archive where it is."""
    with exhume.open(url, format=format, storage_options=FRESH) as archive:
        return digest(work(archive))


def after_download(url: str, format: str, work: Work, root: Path) -> Digest:
    """The work on a copy, which is removed again."""
    names = list(_links(url)) if url.endswith("/") else [""]
    with tempfile.TemporaryDirectory(dir=root) as spot:
        copy = Path(spot, "copy")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: fetch(url + name, copy / name if name else copy), names))
        with exhume.open(copy, format=format) as archive:
            return digest(work(archive))


def _links(url: str) -> Iterator[str]:
    """Files below an index page."""
    for name in re.findall(r'href="([^"]+)"', get(url).decode()):
        if name.endswith("/"):
            yield from (name + below for below in _links(url + name))
        else:
            yield name


def get(url: str) -> bytes:
    """All bytes of a URL."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("GET", parts.path)
    data = connection.getresponse().read()
    connection.close()
    return data


def fetch(url: str, path: Path) -> None:
    """One file, streamed to disk."""
    parts = urlsplit(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("GET", parts.path)
    with path.open("wb") as file:
        shutil.copyfileobj(connection.getresponse(), file, 1 << 20)
    connection.close()


def zip_rival(url: str, names: list[str]) -> Digest:
    """The same members through fsspec's `zip://`."""
    import fsspec

    fs = fsspec.filesystem("zip", fo=url, target_options=FRESH)
    try:
        return digest(fs.cat_file(name) for name in names)
    finally:
        fs.close()


def ratarmount_rival(url: str, names: list[str]) -> Digest:
    """The same members of the zip file through ratarmount."""
    from ratarmountcore.mountsource.factory import open_mount_source

    with open_mount_source(url, indexFilePath=":memory:", writeIndex=False, printDebug=0) as source:

        def read(name: str) -> bytes:
            info = source.lookup(f"/{name}")
            assert info is not None
            with source.open(info) as file:
                data: bytes = file.read()
                return data

        return digest(map(read, names))


def rivals(url: str, size: int) -> dict[str, Callable[[str], Digest]]:
    """The rivals of CAF that are there: each takes the name of a task."""
    names = members(size)
    folder = names[len(names) // 3].partition("/")[0]
    wanted = {
        "first": [names[0]],
        "one": [names[len(names) * 2 // 3]],
        "some": [name for name in names if name.startswith(f"{folder}/")],
    }
    found: dict[str, Callable[[str], Digest]] = {"fsspec zip": lambda task: zip_rival(url, wanted[task])}
    try:
        import ratarmountcore.mountsource.factory  # noqa: F401 - whether it is there
    except ImportError as error:
        print(f"left out: ratarmount (pip install ratarmountcore): {error}")
        return found
    found["ratarmount"] = lambda task: ratarmount_rival(url, wanted[task])
    return found


def timed(work: Callable[[], Digest]) -> tuple[float, Digest]:
    """Seconds of wall time, and what came of it."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def measure(url: str, root: Path, format: str, size: int, repeat: int) -> list[tuple[str, float, bool]]:
    """Print the figures of one format; return its ratios."""
    target = f"{url}/archive.{format}" + ("/" if format in ("databundle", "ark") else "")
    others = rivals(f"{url}/archive.zip", size) if format == "caf" else {}
    out: list[tuple[str, float, bool]] = []
    for task, work in tasks(format, size).items():
        runs: dict[str, Callable[[], Digest]] = {
            "exhume": partial(in_place, target, format, work),
            "download": partial(after_download, target, format, work, root),
        }
        runs |= {name: partial(rival, task) for name, rival in others.items()}
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(repeat + 1):
            results = set()
            for name, run in runs.items():
                spent, result = timed(run)
                results.add(result)
                if number:  # the first round loads code
                    seconds[name].append(spent)
            assert len(results) == 1, f"{format}, {task}: the rivals differ"
        line = "  ".join(f"{name} {statistics.median(times):.3f}" for name, times in seconds.items())
        print(f"{format:10} {task:6} {line}", flush=True)
        for name, times in seconds.items():
            if name != "exhume":
                ratio = statistics.median(a / b for a, b in zip(seconds["exhume"], times, strict=True))
                out.append((f"{format} {task} / {name}", ratio, ratio <= TARGET))
    return out


SERVERS = {"20 MB/s on each connection": (1000.0, 20.0), "100 MB/s, shared": (100.0, 1e4)}
CONNECTIONS = 16


def read_whole(root: Path, megabytes: int, latency: float, repeat: int) -> Iterator[str]:
    """The lines of the table of `--whole`."""
    make(root, "zs", megabytes)
    yield "| server | one range at a time | several | download | download, 16 connections |"
    yield "| --- " + "| --: " * 4 + "|"
    for name, (bandwidth, each) in SERVERS.items():
        with serving(root, latency, bandwidth, each) as url:
            target = f"{url}/archive.zs"
            ways: tuple[Callable[[], object], ...] = (
                partial(verify_alone, target),
                partial(verify_whole, target),
                partial(download_in_parts, target, 1),
                partial(download_in_parts, target, CONNECTIONS),
            )
            verify_whole(target)  # loads code
            spent = [statistics.median(seconds(way) for _ in range(repeat)) for way in ways]
        yield f"| {name} | " + " | ".join(f"{one:.2f}" for one in spent) + " |"


def seconds(work: Callable[[], object]) -> float:
    """Wall time."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def verify_whole(url: str) -> None:
    """Verify an archive where it is."""
    assert not list(exhume.verify(url, storage_options={**FRESH, "allow_full_download": True}))


def verify_alone(url: str) -> None:
    """The same with one range in flight at a time."""
    with patch.object(RemoteSource, "_fetch_ahead", lambda self, start, stop: None):
        verify_whole(url)


def download_in_parts(url: str, parts: int) -> int:
    """Fetch all bytes, each part on a connection of its own; return their number."""
    size = int(urlopen(Request(url, method="HEAD")).headers["Content-Length"])

    def get_part(number: int) -> int:
        start, stop = size * number // parts, size * (number + 1) // parts
        with urlopen(Request(url, headers={"Range": f"bytes={start}-{stop - 1}"})) as answer:
            return len(answer.read())

    with ThreadPoolExecutor(parts) as pool:
        return sum(pool.map(get_part, range(parts)))


def search_many(root: Path, count: int, jobs: int, latency: float, bandwidth: float) -> Iterator[str]:
    """The lines of the table of `--many`."""
    folder = root / "bucket"
    first = folder / "a-00000.clps"
    if not first.exists():
        folder.mkdir()
        write_logs(root / "logs.jsonl", "flat", 2_000_000)
        with exhume.create(first, "clp-s", timestamp_key="timestamp") as writer:
            for line in (root / "logs.jsonl").read_bytes().splitlines():
                writer.write(json.loads(line))
    for number in range(1, count):
        if not (path := folder / f"a-{number:05}.clps").exists():
            os.link(first, path)
    size = first.stat().st_size / 1e6
    yield f"| archives of {size:.2f} MB | jobs | wall, ms | CPU, ms | requests | MB | p50 of one alone, ms |"
    yield "| --: " * 7 + "|"
    with serving(folder, latency, bandwidth) as url:
        names = [f"{url}/a-{number:05}.clps" for number in range(count)]
        listed = root / "names.txt"
        search_one(names[0])  # loads code
        alone = statistics.median(timed(partial(search_one, name))[0] for name in names[:20])
        for several in (1, 8, jobs):
            chosen = names if several > 1 else names[: max(1, count // 20)]
            listed.write_text("\n".join(chosen) + "\n")
            command = [sys.executable, "-m", "exhume", "search", RARE, "--targets-from", str(listed), "--count"]
            before, used, begin = json.loads(get(url + ASKED)), children_cpu(), time.perf_counter()
            subprocess.run([*command, "--jobs", str(several), "-q"], check=True, stdout=subprocess.DEVNULL)
            wall, cpu, after = time.perf_counter() - begin, children_cpu() - used, json.loads(get(url + ASKED))
            requests, sent = (after[key] - before[key] for key in ("requests", "bytes"))
            each = [1000 * wall, 1000 * cpu, requests, sent / 1e6]
            shown = " | ".join(f"{figure / len(chosen):.2f}" for figure in each)
            yield f"| {len(chosen)} | {several} | {shown} | {f'{1000 * alone:.0f}' if several == 1 else ''} |"


def search_one(url: str) -> Digest:
    """How many records of one archive match."""
    with exhume.open(url, storage_options=FRESH) as archive:
        return str(archive.search(RARE).count())  # type: ignore[attr-defined]


def children_cpu() -> float:
    """CPU seconds of the processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Run the benchmark; exit status 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200, help="size of each archive (default: 200)")
    parser.add_argument("--latency", type=float, default=30, help="milliseconds before each answer (default: 30)")
    parser.add_argument("--bandwidth", type=float, default=100, help="megabytes a second of the line (default: 100)")
    parser.add_argument("--dir", type=Path, help="where archives are made and kept (default: a temporary directory)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=FORMATS, action="append", help="only this format (repeatable)")
    parser.add_argument("--many", type=int, metavar="N", help="search N archives instead")
    parser.add_argument("--jobs", type=int, default=64, help="with --many: the largest number of jobs (64)")
    parser.add_argument("--whole", action="store_true", help="read whole archives instead")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="with --many, --whole: the page whose table to write"
    )
    parser.add_argument("--each", type=float, default=1e4, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.latency / 1000, options.bandwidth * 1e6, options.each * 1e6)
        return 0
    root = options.dir or Path(tempfile.mkdtemp(prefix="exhume-remote-"))
    root.mkdir(parents=True, exist_ok=True)
    if options.many or options.whole:
        if options.whole:
            lines = list(read_whole(root, options.megabytes, options.latency, options.repeat))
        else:
            lines = list(search_many(root, options.many, options.jobs, options.latency, options.bandwidth))
        print("\n".join(lines))
        if options.write:
            write_page(options.write, {"whole archives" if options.whole else "search of many": iter(lines)})
        if options.dir is None:
            shutil.rmtree(root)
        return 0
    size = options.megabytes * 1_000_000
    ratios: list[tuple[str, float, bool]] = []
    try:
        with serving(root, options.latency, options.bandwidth) as url:
            print(f"{options.megabytes} MB archives, {options.latency:g} ms, {options.bandwidth:g} MB/s; seconds")
            for format in options.only or FORMATS:
                make(root, format, options.megabytes)
                ratios += measure(url, root, format, size, options.repeat)
    finally:
        if options.dir is None:
            shutil.rmtree(root)
    print()
    for name, ratio, met in ratios:
        print(f"{name:32} {ratio:6.3f}  {'ok' if met else 'MISSED'} (at most {TARGET})")
    return 0 if all(met for _, _, met in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
