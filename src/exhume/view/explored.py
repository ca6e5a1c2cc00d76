"""The explorer's view of one archive or image (`exhume explore`), each part on request.

A section is a range of bytes with one purpose, known by its number; its payload is its decompressed content.  A space
is an address space of the page: the number of a file, or -1 for a payload.  An image is a file that is searched for
archives.

The sections are found, rules are verified and images are searched by threads, while requests are answered with what is
known already: `generation` changes when there is more.  Memory is bounded by the section map, one section's fields
and the payloads that are kept (`engines/payloads.py`).
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Protocol

from exhume.archive import Archive
from exhume.counts import counted
from exhume.engines.explain import explain_one
from exhume.engines.explained import NEARBY, SectionCache, checked_nearby
from exhume.engines.explanation import ExplainedSection
from exhume.engines.payloads import Payloads
from exhume.engines.verify import describe_verdict
from exhume.errors import EntryNotFoundError, ExhumeError, QueryError, SourceError, Span, shorten
from exhume.findings import Finding, Severity
from exhume.io.source import Source
from exhume.layout.schema import ARRAY_SHOWN
from exhume.layout.sections import PayloadRun, Section, SectionMap
from exhume.recovery import CarvedArchive
from exhume.view.parts import ATTENTION, is_bad, more_values, node_values, note_of, section_values, stripes

MOST_FINDINGS = 500
MOST_SECTIONS = 1000
MOST_BYTES = 1 << 20
"""Most findings, sections and bytes in the response to one request."""

PATIENCE = 3.0
"""Seconds that a request may spend on reading a large section."""

CACHES = 4
"""Sections whose parsed arrays are kept for the next request."""

CLOSING = 5.0
"""Seconds that closing waits for a thread; an archive that one still reads stays open until the process ends."""

READY = 0.25
"""Seconds that the first answer waits for the sections of a small archive."""


class Rows(Protocol):
    """Records of an archive that match a query, as a table: from a row on, at most so many, unless `gone()`."""

    def __call__(self, query: str, first: int, count: int, gone: Callable[[], bool]) -> dict[str, Any]: ...

    def close(self) -> bool:
        """End what is running between requests; whether it has ended."""


class ExploredContent(Protocol):
    """The explored object: an archive, a file by a foreign specification, or the bytes of an image."""

    @property
    def name(self) -> str: ...

    @property
    def format(self) -> str: ...

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """The purpose of every byte."""

    def __exit__(self, *error: object) -> None: ...


class ExploredArchive:
    """One archive, or one file by a foreign specification, while it is explored.

    `rows` finds its records.  `verifies` is whether its rules are checked without a request by the user: not for a
    remote archive, which would be downloaded.  The attribute is None if there are no rules.
    """

    kind = "archive"

    def __init__(
        self, archive: ExploredContent, *, name: str = "", rows: Rows | None = None, verifies: bool = True
    ) -> None:
        """Start the thread that finds the sections; the other fields are filled by threads under `_lock`."""
        self.archive = archive
        self.name: str = name or archive.name
        self.format: str = archive.format
        self.verifies: bool | None = verifies if isinstance(archive, Archive) else None
        self._rows = rows
        self._sections: SectionMap | None = None
        self._failure = ""  # the error that ended a thread, in words
        self._ready = threading.Event()  # a thread has ended, such as that which finds the sections
        self._lock = threading.Lock()
        self._payloads = Payloads()  # decompressed payloads, by section
        self._caches: OrderedDict[int, SectionCache] = OrderedDict()  # by section, least recently used first
        self._findings: list[Finding] = []  # the first ones
        self._counts: Counter[Any] = Counter()  # all findings, by severity
        self._codes: set[str] = set()  # of all findings
        self._progress: tuple[int, int | None, str] | None = None  # of verifying: (done, total, unit)
        self._state = "waiting"  # then running, done or failed
        self.generation: int = 0
        """Raised when sections or verdicts that a page shows are no longer all that is known."""
        self._threads: list[threading.Thread] = []
        self._closing = False  # whether threads are to end
        self._troubled: list[Section] = []  # gaps and unread sections
        self._start(self._map)

    # -- what threads do

    def _start(self, work: Callable[[], None]) -> None:
        """Do some work in a thread of its own."""
        thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do the work of a thread; an error becomes the state of the page."""
        try:
            work()
        except (ExhumeError, OSError, MemoryError) as error:
            self._failure = str(error) or "out of memory"
            self._state = "failed" if self._state == "running" else self._state
        finally:
            self.generation += 1
            self._ready.set()

    def _map(self) -> None:
        """Find the sections, as cheaply as the archive's own index allows."""
        archive = self.archive
        self._adopt_sections(archive.outline() if isinstance(archive, Archive) else archive.sections())

    def _adopt_sections(self, found: SectionMap) -> None:
        """Take over the sections that are known now."""
        # One section for each kind of a run: any gap is among them.  Parts of payloads are not tiles.
        tiles = (section for section, *_ in found.sums(tiles=True))
        nested = chain.from_iterable(part.unread() for part in found.parts if isinstance(part, PayloadRun))
        sums = (section for section in chain(tiles, nested) if section.kind in ATTENTION)
        with self._lock:
            self._payloads = Payloads()  # the old ones are kept by numbers of sections, which may have changed
            self._caches.clear()
        self._troubled, self._sections = list(islice(sums, MOST_SECTIONS)), found

    def _progressed(self, done: int, total: int | None, unit: str) -> None:
        """Note the progress of verifying; once the explorer is closed, raise `SourceError` to end it."""
        self._progress = (done, total, unit)
        if self._closing:
            raise SourceError("the explorer was closed", span=Span(self.name, 0, 0))

    def check(self) -> None:
        """Begin to verify, once."""
        with self._lock:
            if self._state != "waiting":
                return
            self._state = "running"
        self._start(self._verify)

    def _verify(self) -> None:
        """Verify the archive, and keep its first findings and the counts of all."""
        if isinstance(self.archive, Archive):
            for finding in self.archive.verify(progress=self._progressed):
                self._counts[finding.severity] += 1
                self._codes.add(finding.code)
                # Half of the space is for problems alone, so that notes and warnings leave space for them.
                room = 2 * MOST_FINDINGS if finding.is_problem else MOST_FINDINGS
                if len(self._findings) < room:
                    self._findings.append(finding)
            if self._counts[Severity.ERROR]:
                self._adopt_sections(self.archive.sections())  # the outline is what the archive says of itself
        self._state = "done"

    # -- what requests ask

    @property
    def found(self) -> SectionMap:
        """The sections as far as they are known."""
        return self._sections if self._sections is not None else SectionMap([])

    def contents(self) -> dict[str, Any]:
        """Return what a page needs to begin: files, the number of sections, and the findings until now."""
        self._ready.wait(READY)
        known = self._sections
        files = known.sources if known is not None else self._files()
        numbers = {name: number for number, name in enumerate(files)}
        return {
            "target": self.name,
            "format": self.format,
            "kind": self.kind,
            "spaces": [
                {"name": name, "kind": "file", "base": source.origin, "size": source.size}
                for name, source in files.items()
            ],
            "count": len(self.found),
            "mapped": known is not None,
            "searchable": self._rows is not None,
            "gaps": [section_values(one, numbers[one.span.source]) for one in self._troubled],  # also unread sections
            "open": None,  # the offset that the page opens at: only a saved page has one, see `page`
            **self.state(),
        }

    def _files(self) -> dict[str, Source]:
        """Return the archive's file by name, for as long as the sections are not known."""
        source = self.archive.source if isinstance(self.archive, Archive) else None
        return {source.name: source} if isinstance(source, Source) else {}

    def state(self) -> dict[str, Any]:
        """Progress of the work, the verdict and the findings."""
        done = self._state == "done"
        counts = self._counts if done and isinstance(self.archive, Archive) else None
        verdict, words = (
            describe_verdict(self.format, counts, self._codes) if counts is not None else ("", self._doing())
        )
        numbers = {name: number for number, name in enumerate(self.found.sources)}
        return {
            "generation": self.generation,
            "state": self._state,
            "verifies": self.verifies,
            "failure": self._failure,
            "verdict": verdict,
            "summary": words,
            "problems": sum(finding.is_problem for finding in self._findings),
            "findings": [self._finding(finding, numbers) for finding in list(self._findings)],
        }

    def _doing(self) -> str:
        """Return the progress that the page shows in place of a verdict."""
        if not isinstance(self.archive, Archive):
            return "by a specification"
        if self._state == "failed":
            return "not checked completely"
        if self._state == "waiting":
            return "not checked yet"
        done, total, _ = self._progress or (0, None, "")
        return f"checking … {done / total:.0%}" if total else "checking …"

    def _finding(self, finding: Finding, numbers: dict[str, int]) -> dict[str, Any]:
        """Return a finding as JSON for the page; `numbers` has the page's number of each file by its name.

        `payload` lists the section that it concerns, if any; `within` is its range in the decompressed payload.
        """
        span = finding.span
        out: dict[str, Any] = {
            "code": finding.code,
            "severity": str(finding.severity),
            "text": str(finding),
            "space": None,
        }
        if span is None:
            return out
        out |= {"space": numbers.get(span.source), "start": span.start, "end": span.end}
        if span.payload is not None:
            # The innermost section, in a list; an empty list if there is none.
            start, _ = span.payload
            out["payload"] = self.found.numbers_at(span.start, span.source, payload=start)[-1:]
            part = self.section(out["payload"][0]).span.payload if out["payload"] else None
            base, _ = part or (0, 0)  # offsets in a part of a payload count from its start
            out["within"] = [at - base for at in span.payload]
        return out

    def sections(self, first: int, count: int) -> list[dict[str, Any]]:
        """The sections from a number on."""
        found = self.found
        numbers = {name: number for number, name in enumerate(found.sources)}
        shown: list[Section] = found[first : first + min(count, MOST_SECTIONS)]
        out = []
        for section in shown:
            values = section_values(section, numbers[section.span.source])
            values["bad"] = any(_touches(finding, section.span) for finding in self._findings if finding.is_problem)
            values["payload"] = section.load is not None
            values["fields"] = section.schema is not None or section.load is not None
            out.append(values)
        return out

    def section(self, number: int) -> Section:
        """A section by its number; raises `EntryNotFoundError`."""
        if not 0 <= number < len(self.found):
            raise EntryNotFoundError("no section has this number", span=Span(self.name, 0, 0), actual=number)
        chosen: Section = self.found[number]
        return chosen

    def fields(self, number: int, at: int | None = None, part: str = "tree") -> dict[str, Any]:
        """The fields of a section: the first elements of long arrays, and those that hold the byte `at` of a part.

        The result has `reading` if `at` was not reached in the time allowed: the section was read up to this byte, and
        the same request reads further.
        """
        section = self.section(number)
        item = self._explained(number, at, part)
        space = list(self.found.sources).index(section.span.source)
        out: dict[str, Any] = {"note": note_of(item), "bad": is_bad(item)}
        if failure := self._payloads.failure(number):
            out["note"] = "; ".join(filter(None, (out["note"], failure)))
        if item.stopped is not None:
            out["reading"] = item.stopped
        if item.stored is not None:
            out["tree"] = node_values(item.stored, space)
        if item.payload is not None:
            out["payload"] = node_values(item.payload, -1)
        if section.load is not None:
            try:
                out["payload_size"] = self._payloads.size(number, section)
            except ExhumeError as error:
                out["note"] = out["note"] or f"the payload cannot be decoded: {error}"
        return out

    def _explained(
        self, number: int, at: int | None, part: str, page: tuple[str, int] | None = None, *, payload: bool = True
    ) -> ExplainedSection:
        """Return section `number` with the fields around offset `at`; recent sections are kept in `_caches`.

        `part` is "tree" if `at` is an offset in the file, else it is one in the payload.  `page`: an array and the
        index of its first element to show.
        """
        section = self.section(number)
        unchecked = "" if isinstance(self.archive, Archive) else "the specification names no checksum"
        marks = []
        if at is not None:
            marks = [Span(section.span.source, at, at + 1) if part == "tree" else section.span.in_payload(at, at + 1)]
        if not unchecked and section.span.size > NEARBY:
            unchecked = f"covers {counted(section.span.size, 'bytes')}: only `exhume verify` compares it"
        section = checked_nearby(section)
        with self._lock:
            cache = self._caches.pop(number, None)
            if cache is None:
                payloads, whole = self._payloads, self.section(number)  # `whole`: with all its checks
                cache = SectionCache(lambda: payloads.content(number, whole), PATIENCE)
            self._caches[number] = cache
            if len(self._caches) > CACHES:
                self._caches.popitem(last=False)
            return explain_one(
                # (Findings about a whole file are shown at section 0.)
                self.found, section, list(self._findings), marks=marks, first=number == 0,
                page=page, payload=payload, unchecked=unchecked, cache=cache,
            )  # fmt: skip

    def elements(self, number: int, part: str, path: str, first: int = 0, at: int | None = None) -> dict[str, Any]:
        """Elements of the array of that path in a part, `tree` or `payload`: from a number on, or about the byte `at`.

        They are `k` of the result, as in `node_values`.  Raises `EntryNotFoundError` if there is no such array.
        """
        page = (path, first) if at is None else None
        item = self._explained(number, at, part, page, payload=part == "payload")
        tree = item.payload if part == "payload" else item.stored
        node = next((node for _, node in tree.walk() if node.path == path), None) if tree is not None else None
        if node is None:
            raise EntryNotFoundError("this section has no such array", span=item.section.span, actual=shorten(path))
        space = -1 if part == "payload" else list(self.found.sources).index(item.section.span.source)
        if page is None:  # around the byte `at`
            if item.stopped is not None:
                return {"k": node_values(node, space).get("k", []), "reading": item.stopped}
            # The tree has the first elements and, at last, the one with the byte; their names are [N].
            last = int(node.children[-1].name[1:-1]) if node.children else 0
            if last >= ARRAY_SHOWN:
                return self.elements(number, part, path, last - ARRAY_SHOWN // 2)  # with its neighbors
            return {"k": node_values(node, space).get("k", [])}
        end, count = first + len(node.children), len(node.children) + node.omitted  # of the page; of the array
        shown = more_values(max(0, first - ARRAY_SHOWN), min(first, count), "before")
        shown += [node_values(child, space) for child in node.children]
        out = {"k": [*shown, *more_values(end, max(0, count - end), unread=node.unread)]}
        return out if item.stopped is None else {**out, "reading": item.stopped}

    def payload(self, number: int, start: int, size: int) -> bytes:
        """Bytes of the decompressed payload of a section, from a position in it on.

        Raises `EntryNotFoundError` if it has none, or what decoding does.
        """
        return self._payloads.read(number, self.section(number), start, min(size, MOST_BYTES))

    def payload_size(self, number: int) -> int:
        """Bytes of a payload; raises the same errors as `payload`."""
        return self._payloads.size(number, self.section(number))

    def payload_chunks(self, number: int, start: int, end: int) -> Iterator[bytes]:
        """The bytes `[start, end)` of a payload, in order; raises the same errors as `payload`."""
        return self._payloads.chunks(number, self.section(number), start, end)

    def bytes_of(self, space: int, start: int, size: int) -> bytes:
        """Bytes of a file, from a position in it on."""
        source = self.source(space)
        return source.read_up_to(start, min(size, MOST_BYTES))

    def source(self, space: int) -> Source:
        """A file by its number; raises `EntryNotFoundError`."""
        files = list(self.found.sources.values()) or list(self._files().values())
        if not 0 <= space < len(files):
            raise EntryNotFoundError("no file has this number", span=Span(self.name, 0, 0), actual=space)
        return files[space]

    def holding(self, space: int, offset: int) -> list[int]:
        """The numbers of the sections that hold a byte."""
        return self.found.numbers_at(offset, self.source(space).name)

    def named(self, text: str, after: int | None) -> int | None:
        """The number of the section of that name, or with `after` of the next one whose name contains the text.

        That search ignores case, and continues at the first section after the last; None if there is none.
        """
        names = self.found.names()
        if after is None:
            return next((number for number, name in enumerate(names) if name == text), None)
        wanted, first = text.lower(), None
        for number, name in enumerate(names):
            if wanted in name.lower():
                if number > after:
                    return number
                first = number if first is None else first
        return first

    def bands(self, space: int, start: int, end: int) -> list[tuple[int, int, str, int, str]]:
        """Return the bars that the map shows for a part of a file."""
        names = list(self.found.sources)
        return stripes(self.found, names[space], (start, end)) if 0 <= space < len(names) else []

    def records(self, query: str, first: int, count: int, gone: Callable[[], bool]) -> dict[str, Any]:
        """Records that match a query; raises `QueryError` for a wrong query, or where there are no records.

        The search ends, with `QueryError`, once `gone()` says that no one waits for it.
        """
        if self._rows is None:
            raise QueryError("this target has no records")
        return self._rows(query, first, min(count, MOST_SECTIONS), gone)

    def archives(self) -> Iterable[CarvedArchive]:
        """The archives found in an image: none."""
        return ()

    def rest(self) -> bool:
        """End the search over records, which stays between requests; whether it has ended."""
        return self._rows is None or self._rows.close()

    def close(self) -> None:
        """End the work of threads, and close the archive once they have ended."""
        self._closing = True
        rests = self.rest()
        for thread in self._threads:
            thread.join(CLOSING)
        if rests and not any(thread.is_alive() for thread in self._threads):
            self.archive.__exit__(None, None, None)


def _touches(finding: Finding, span: Span) -> bool:
    """Return whether a finding concerns bytes of a span, or a position in it if the finding has no bytes."""
    where = finding.span
    if where is None or where.source != span.source or where.start >= span.end:
        return False
    return where.end > span.start or where.start >= span.start  # the second: an empty one at the start
