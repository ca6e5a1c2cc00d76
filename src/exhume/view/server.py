"""The explorer's server: a WSGI application that only reads, on a loopback address, for a browser on this machine only.

`exhume explore` runs it with waitress.  WSGI is Python's interface for web applications: a function of a request, the
mapping `environ`, and of `start`, which takes status and headers; it returns the body.

Every request has to name this server in `Host`, to begin with the token of this run, and to come from the page itself
or from the address bar: a page of another origin, which a browser would let ask, is refused.  Nothing but the routes
below is answered, so that no path leads to a file.

For an image, the explorer shows the archives that are found in it while the page is open.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self
from urllib.parse import parse_qs, quote

from exhume.engines.carve import find, join
from exhume.errors import EntryNotFoundError, ExhumeError, QueryError, SourceError
from exhume.io.jsonout import jsonable
from exhume.io.source import Source, source_error
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy
from exhume.view.explored import ExploredArchive
from exhume.view.parts import script, style


class ExploredImage(ExploredArchive):
    """Bytes of no known format, a disk image or a dump: the archives in it are its sections."""

    kind = "image"
    generation: int

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS, verifies: bool = True) -> None:
        """Explore the bytes of an image; the search for archives starts with the page."""
        self._limits = limits
        self._carved: list[CarvedArchive] = []  # found so far, in the order of their signatures
        self._image = source
        super().__init__(_Bytes(source), verifies=verifies)
        self.verifies: bool | None = verifies

    def _verify(self) -> None:
        """Search for archives; each one that is found appears on the page at once."""
        found = find(self._image, start=0, stop=self._image.size, limits=self._limits, progress=self._progressed)
        for carved in found:
            self._carved.append(carved)
            self._adopt_sections(_map_of(self._image, self.archives()))
            self.generation += 1
        self._state = "done"

    def _files(self) -> dict[str, Source]:
        return {self._image.name: self._image}

    def _doing(self) -> str:
        """Return the progress that the page shows in place of a verdict."""
        if self._state == "failed":
            return "not searched completely"
        done, total, _ = self._progress or (0, None, "")
        searched = "" if self._state != "running" else f" ({done / total:.0%} searched)" if total else " (searching …)"
        return f"archives found: {len(list(self.archives()))}{searched}"

    def archives(self) -> list[CarvedArchive]:
        """The archives found until now, in order."""
        return list(join(list(self._carved)))

    def sections(self, first: int, count: int) -> list[dict[str, Any]]:
        """The archives, and what is between them; each archive with the key that opens it."""
        out = super().sections(first, count)
        known = {name_of(carved): carved for carved in self.archives()}
        for values in out:
            if (carved := known.get(values["name"])) is not None:
                values["archive"] = values["name"]
                values["bad"] = carved.verdict is CarveVerdict.DAMAGED
            values["fields"] = False  # the page of the archive itself has them
        return out


class _Bytes:
    """An image in the place of an archive."""

    format = "image"

    def __init__(self, source: Source) -> None:
        self.name, self._source = source.name, source

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Return the map of an image in which no archive has been found yet: one gap."""
        return _map_of(self._source, [])

    def __exit__(self, *error: object) -> None:
        self._source.close()


def name_of(carved: CarvedArchive) -> str:
    """Name of an archive in an image: its format and its place."""
    return f"{carved.format}@{carved.offset}+{carved.length}"


def _map_of(image: Source, archives: Iterable[CarvedArchive]) -> SectionMap:
    """An image as sections: nested archives inside those that hold them."""
    names: list[str] = []
    sections = []
    for carved in archives:
        outer = names[carved.nested_in] if carved.nested_in is not None else None  # it comes before its parts
        names.append(name_of(carved))
        basis = f", verified by {carved.verified_by}" if carved.verified_by is not VerifiedBy.NONE else ""
        note = f"{carved.verdict}{basis}" + (f"; {carved.note}" if carved.note else "")
        sections.append(Section(names[-1], carved.span, SectionKind.DATA, note=note, parent=outer))
    return SectionMap([(image, sections)])


MOST_OPEN = 8
"""Archives of an image that are kept open."""

ROW_COUNT = 100
"""Records or sections in an answer to a request that does not say how many."""

HEADERS = (
    ("Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)  # fmt: skip
"""Headers of every response: nothing is loaded from elsewhere, kept, framed, or sent to another server."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>exhume explore</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<script src="page.js"></script>
</body>
</html>
"""

Environ = dict[str, Any]  # a request
Start = Callable[[str, list[tuple[str, str]]], Any]  # takes status and headers of the response
Opener = Callable[[CarvedArchive], ExploredArchive]  # opens an archive that was found in an image


class RefusedError(Exception):
    """A request that is not answered: the status and one sentence."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class Explorer:
    """The application: the target, and the archives of an image that were opened from it.

    `hosts` are the values of `Host` that name this server; `open_carved` opens an archive that was found in an image.
    """

    def __init__(self, target: ExploredArchive, token: str, open_carved: Opener | None = None) -> None:
        """Register the routes of `api/NAME`; each is a function of the shown archive and the query."""
        self.target = target
        self.token = token
        self.hosts: frozenset[str] = frozenset()
        self._open_carved = open_carved
        self._opened: OrderedDict[str, ExploredArchive] = OrderedDict()  # archives of an image, by `name_of`
        self._lock = threading.Lock()
        self._routes: dict[str, Callable[[ExploredArchive, _Query], Any]] = {
            "contents": lambda shown, _: shown.contents(),
            "state": _state,
            "sections": lambda shown, asked: shown.sections(asked.number("first", 0), asked.number("count", ROW_COUNT)),
            "fields": lambda shown, asked: shown.fields(asked.number("section"), asked.optional("at"), asked.part()),
            "elements": lambda shown, asked: shown.elements(
                asked.number("section"),
                asked.part(),
                asked.text("array"),
                asked.number("first", 0),
                asked.optional("at"),
            ),
            "holding": lambda shown, asked: shown.holding(asked.number("space"), asked.number("at")),
            "named": lambda shown, asked: {"section": shown.named(asked.text("name"), asked.optional("after"))},
            "bands": lambda shown, asked: shown.bands(
                asked.number("space"), asked.number("start"), asked.number("end")
            ),
            "records": lambda shown, asked: shown.records(
                asked.text("query", ""), asked.number("first", 0), asked.number("count", ROW_COUNT), asked.gone
            ),
        }

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        """Answer one request."""
        try:
            status, kind, body, more = self._answer(environ)
        except RefusedError as refused:
            status, kind, body, more = refused.status, "text/plain; charset=utf-8", [f"{refused}\n".encode()], []
        except (EntryNotFoundError, QueryError) as error:
            missing = isinstance(error, EntryNotFoundError)
            status, kind, more = "404 Not Found" if missing else "400 Bad Request", "application/json", []
            body = [_json({"schema": "exhume.error/1", **error.to_dict()})]
        except ExhumeError as error:  # the archive cannot be read there: the page states it
            status, kind, more = "422 Unprocessable Content", "application/json", []
            body = [_json({"schema": "exhume.error/1", **error.to_dict()})]
        start(status, [("Content-Type", kind), *HEADERS, *more])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else body

    def _answer(self, environ: Environ) -> tuple[str, str, Iterable[bytes], list[tuple[str, str]]]:
        """Return `(status, content type, body, more headers)`.  Raises `RefusedError` for any other path."""
        rest = self._allowed(environ)
        if rest in _FILES:
            kind, content = _FILES[rest]
            return "200 OK", kind, [content().encode("utf-8")], []
        query = _Query(environ.get("QUERY_STRING", ""), environ.get("waitress.client_disconnected", bool))
        api, _, name = rest.partition("/")
        if api == "api" and name in self._routes:
            return "200 OK", "application/json", [_json(self._routes[name](self._shown(query), query))], []
        if rest == "api/bytes":
            return "200 OK", "application/octet-stream", [_bytes(self._shown(query), query)], []
        if rest == "download":
            shown = self._shown(query)
            name, size, body = _download(shown, query)
            disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
            return "200 OK", "application/octet-stream", body, [
                ("Content-Disposition", disposition), ("Content-Length", str(size))
            ]  # fmt: skip
        raise RefusedError("404 Not Found", "nothing is here")

    def _allowed(self, environ: Environ) -> str:
        """The path after the token; raises `RefusedError` for a request that is not the page's own."""
        if environ.get("HTTP_HOST", "") not in self.hosts:
            raise RefusedError("421 Misdirected Request", "this server has another name")
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            raise RefusedError("403 Forbidden", "requests of other origins are refused")
        if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("same-origin", "none"):
            raise RefusedError("403 Forbidden", "requests of other sites are refused")
        token, slash, rest = environ.get("PATH_INFO", "").removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise RefusedError("403 Forbidden", "the address lacks the token that exhume printed")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            raise RefusedError("405 Method Not Allowed", "nothing can be changed here")
        if not slash:
            raise RefusedError("404 Not Found", "nothing is here")
        return str(rest)

    def _shown(self, query: _Query) -> ExploredArchive:
        """The object of a request: the target, or one of the archives found in it."""
        key = query.text("archive", "")
        if not key:
            return self.target
        with self._lock:
            known = self._opened.get(key)
            if known is None:
                carved = next((one for one in self.target.archives() if name_of(one) == key), None)
                if carved is None or self._open_carved is None:
                    raise EntryNotFoundError("no such archive was found", actual=key)
                known = self._opened[key] = self._open_carved(carved)
                while len(self._opened) > MOST_OPEN:
                    self._opened.popitem(last=False)[1].rest()
            return known


def _state(shown: ExploredArchive, query: _Query) -> dict[str, Any]:
    """Return the state of the work; with the parameter `check`, begin it first."""
    if query.optional("check"):
        shown.check()
    return shown.state()


def _bytes(shown: ExploredArchive, query: _Query) -> bytes:
    """Return bytes of a file, or of the payload of the section that the request names."""
    start, size, section = query.number("start"), query.number("size"), query.optional("section")
    if section is None:
        return shown.bytes_of(query.number("space"), start, size)
    return shown.payload(section, start, size)


def _download(shown: ExploredArchive, query: _Query) -> tuple[str, int, Iterable[bytes]]:
    """The name, the size and the bytes of what is saved: the archive, a section, its payload, or a field of them."""
    number = query.optional("section")
    if number is None:
        source = shown.source(0)
        return f"{shown.name.rpartition('/')[2]}.{shown.format}", source.size, source.chunks()
    section = shown.section(number)
    part = query.text("name", "") or section.name
    if query.text("what", "stored") == "payload":
        size = shown.payload_size(number)
        start, end = _range(query, 0, size)
        return f"{part}.payload", end - start, shown.payload_chunks(number, start, end)
    source = shown.found.sources[section.span.source]
    start, end = _range(query, section.span.start, section.span.end)
    return f"{part}.bin", end - start, source.chunks(start - source.origin, end - source.origin)


def _range(query: _Query, first: int, last: int) -> tuple[int, int]:
    """The part `[start, end)` of `[first, last)` that a request wants; all of it if the request names none."""
    start = min(last, max(first, query.number("start", first)))
    return start, min(last, max(start, query.number("end", last)))


class _Query:
    """The parameters of a request, and whether its sender is gone; what is missing or no number is refused."""

    def __init__(self, text: str, gone: Callable[[], bool] = bool) -> None:
        """Parse a query string; `gone` is whether the client has closed the connection (`bool()`: it has not)."""
        self.gone = gone
        try:
            self._values: Mapping[str, list[str]] = parse_qs(text, keep_blank_values=True, max_num_fields=20)
        except ValueError as error:
            raise RefusedError("400 Bad Request", "too many parameters") from error

    def text(self, name: str, default: str | None = None) -> str:
        """Return a parameter, or `default` if it is absent. Raises `RefusedError` without one."""
        found = self._values.get(name)
        if found is None:
            if default is None:
                raise RefusedError("400 Bad Request", f"{name} is missing")
            return default
        return found[-1]

    def number(self, name: str, default: int | None = None) -> int:
        """Return a parameter that is a number from 0 on, or `default`.  Raises `RefusedError` for anything else."""
        text = self.text(name, None if default is None else str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= 19):  # 19 digits: 63 bits
            raise RefusedError("400 Bad Request", f"{name} is not a number")
        return int(text)

    def part(self) -> str:
        """Return which field tree of a section is meant.  Raises `RefusedError` for anything but tree or payload."""
        part = self.text("part", "tree")
        if part not in ("tree", "payload"):
            raise RefusedError("400 Bad Request", "part is not tree or payload")
        return part

    def optional(self, name: str) -> int | None:
        """Return a parameter that is a number; None if it is absent."""
        return self.number(name) if name in self._values else None


def _json(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(jsonable(value), ensure_ascii=True, separators=(",", ":")).encode("ascii")


# Path after the token: content type, and a function that returns the content.
_FILES: dict[str, tuple[str, Callable[[], str]]] = {
    "": ("text/html; charset=utf-8", lambda: PAGE),
    "page.js": ("text/javascript; charset=utf-8", script),
    "page.css": ("text/css; charset=utf-8", style),
}


LOOPBACK = "127.0.0.1"
THREADS = 4
"""Requests that are answered at a time."""

POLL = 0.5
"""Seconds after which the server looks whether it is still used."""


class Server:
    """Serves what is explored until it is interrupted, or, with `idle`, unused for this many seconds.

    `url` is the address of the page.  Raises `SourceError` if the port is taken.
    """

    def __init__(
        self, shown: ExploredArchive, open_carved: Opener | None = None, *, port: int = 0, idle: float | None = None
    ) -> None:
        """Listen on a loopback address; `port` 0 takes a free one.  The token in `url` is new for each run."""
        from waitress.server import create_server

        token = secrets.token_urlsafe(24)
        self._app = Explorer(shown, token, open_carved)
        self._idle = idle
        self._used = time.monotonic()  # the last request, in seconds
        self._ended = False  # whether `stop` was called
        self._map: dict[int, Any] = {}  # sockets of waitress, by descriptor
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
        """Note the time of the request, and answer it."""
        self._used = time.monotonic()
        return self._app(environ, start)

    def run(self) -> None:
        """Answer requests until interrupted, unused for too long, or closed by another thread."""
        import logging

        from waitress import wasyncore

        logging.getLogger("waitress").setLevel(logging.ERROR)
        try:
            while not self._ended and (self._idle is None or time.monotonic() - self._used < self._idle):
                wasyncore.loop(timeout=min(POLL, self._idle or POLL), map=self._map, count=1)
        except KeyboardInterrupt:
            return

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._ended = True
        self._server.pull_trigger()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving, and close every connection."""
        from waitress import wasyncore

        self._server.task_dispatcher.shutdown()
        wasyncore.close_all(self._map, ignore_all=True)  # the server itself, and browsers that keep their connection


def _taken(error: OSError, port: int) -> SourceError:
    """Return the error for an address that cannot be listened on."""
    return source_error(error, f"port {port}") if port else source_error(error, LOOPBACK)
