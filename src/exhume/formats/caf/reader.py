"""Reading a chunk: two reads to open it (usually one), then one range read per member.

An index that is part of the first read is parsed at once.  A larger one is parsed when all of it is needed; until then,
single names are looked up in the text (`table.find_member`), which costs a fraction and stores nothing.

A chunk is a CAF file: the bytes of its members (files), an index in JSON, and a footer of four bytes with its size.

Spec: caf.txt, Reading from a CAF File.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from exhume.archive import Entry, MemberArchive, Progress, no_progress
from exhume.counts import counted
from exhume.errors import EntryNotFoundError, ExhumeError, Span, UnrecognizedFormatError, shorten
from exhume.findings import Finding, deduplicated
from exhume.formats.caf import checks
from exhume.formats.caf.index import check_version, parse_index
from exhume.formats.caf.layout import FOOTER_SIZE, MIN_INDEX, parse_footer
from exhume.formats.caf.table import Index, Lookup, find_member
from exhume.io.source import STREAM_CHUNK, MemberFile, Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.caf.info import CafInfo
    from exhume.layout.sections import SectionMap

TAIL = 256 << 10
"""Bytes of the first read: the footer, and for most chunks (some 3,500 files) the whole index."""

SCANS = 8
"""Names looked up in the text of a large index before it is parsed: with more, parsing is cheaper."""

BATCH = 32 << 20
"""Bytes of members that one coalesced read holds."""

TRAILING = 64
"""Bytes before the end that are searched for a footer when the last four bytes are not one."""


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, any_version: bool = False) -> CafArchive:
    """Open a chunk; `any_version` reads an unknown `format_version` as if it were 1.0.

    Raises CAF-101 to CAF-107 and CAF-301 when it is not a chunk, and `UnrecognizedFormatError` for a directory.
    """
    if isinstance(source, Tree):
        raise UnrecognizedFormatError("a CAF chunk is a file, not a directory", format="caf", actual=source.name)
    return CafArchive(source, limits=limits, any_version=any_version)


class CafArchive(MemberArchive):
    """One open chunk.  Entries whose range is not inside the data section are listed, but reading them is an error."""

    format = "caf"
    _offered = "match names open_member read_member read_members stat"
    source: Source

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS, any_version: bool = False) -> None:
        """Read the footer and, if that is cheap, the index.

        The index is loaded now if it is in the last `TAIL` bytes or if reading it takes one request; otherwise on first
        use. Raises the error of the rule for a file without a valid footer.
        """
        super().__init__(source, limits=limits)
        self.any_version = any_version
        self._lock = threading.Lock()
        self._index: Index | None = None  # None until it is parsed
        self._scans = 0  # names looked up in the text
        self._known: dict[str, Lookup] = {}  # the results, by name
        size = source.size
        if size < FOOTER_SIZE + MIN_INDEX:
            raise checks.TOO_SMALL.error(
                span=source.span(0, size),
                expected=f"a footer plus an index, at least {counted(FOOTER_SIZE + MIN_INDEX, 'bytes')}",
                actual=counted(size, "bytes"),
            )
        tail = source.read_up_to(max(0, size - TAIL), TAIL)
        footer = source.span(size - FOOTER_SIZE, size)
        self.index_size: int = parse_footer(tail[-FOOTER_SIZE:], footer)
        """Bytes of the index."""
        self.data_size: int = size - FOOTER_SIZE - self.index_size
        """Bytes of the data section, which is where the index starts."""
        if not 0 < self.index_size <= size - FOOTER_SIZE:
            rule = checks.INDEX_TOO_LARGE if self.index_size else checks.INDEX_EMPTY
            raise self._appended() or rule.error(
                span=footer,
                expected=f"1 to {counted(size - FOOTER_SIZE, 'bytes')}",
                actual=counted(self.index_size, "bytes"),
            )
        limits.check("index_size", self.index_size, footer)
        if self.index_size <= len(tail) - FOOTER_SIZE:
            self._parse(tail[-FOOTER_SIZE - self.index_size : -FOOTER_SIZE])
        # `cost.wait` is 0 if requests do not take time; `cost.piece` are the bytes that are worth one request.
        elif not source.cost.wait:  # a local file: only the first byte of the index is checked now
            self._check_start(source.read_at(self.data_size, 1))
        elif self.index_size <= source.cost.piece:
            self._load()

    # -- the index

    @property
    def index(self) -> Index:
        """The whole index, parsed on first use.  Raises the rules' errors when it is broken."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    self._load()
        return self._index  # type: ignore[return-value]

    @property
    def is_loaded(self) -> bool:
        """Whether the index has been parsed."""
        return self._index is not None

    def _load(self) -> None:
        """Read and parse the index."""
        self.limits.check("structure_size", self.index_size, self._index_span)
        data = self.source.read_at(self.data_size, self.index_size)
        self._check_start(data[:1])
        self._parse(data)

    def _check_start(self, first: bytes) -> None:
        """Raise an error unless the index begins like a JSON object."""
        if first not in b"{ \t\r\n":
            raise self._appended() or checks.NOT_AN_INDEX.error(
                span=self.source.span(self.data_size, self.data_size + 1), expected="{", actual=first
            )

    @property
    def _index_span(self) -> Any:
        return self.source.span(self.data_size, self.data_size + self.index_size)

    def _parse(self, data: bytes) -> None:
        """Parse the index and check its version and the ranges of its entries."""
        where = self._index_span
        try:
            index = parse_index(data, where, self.limits)
        except ExhumeError as error:
            if error.code == checks.INDEX_TOO_DEEP.code:
                raise
            raise self._appended() or error from None
        check_version(index, where, self.any_version)
        if not index.has_files:
            raise checks.NO_FILES.error(
                span=where, actual=f"{counted(self.data_size, 'bytes')} of data that no entry covers"
            )
        index.check_ranges(self.data_size, self.source.size)
        self._index = index

    def _appended(self) -> ExhumeError | None:
        """A more precise error when an index and its footer end shortly before the end of the file."""
        size = self.source.size
        extra = find_earlier_footer(self.source.read_up_to(max(0, size - TAIL), TAIL))
        if extra is None:
            return None
        return checks.TRAILING_BYTES.error(
            span=self.source.span(size - extra, size),
            expected="the footer in the last four bytes",
            actual=f"{counted(extra, 'bytes')} more",
        )

    # -- names

    def names(self) -> Iterator[str]:
        index = self.index
        return iter(index.names if len(index.table) == len(index.names) else index.table)

    def __len__(self) -> int:
        return len(self.index.table)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self.range_of(name)
        except EntryNotFoundError:
            return False
        except ExhumeError:  # a member with an unusable range is there; an unusable index shows no name to be absent
            pass
        return True

    def entries(self) -> Iterator[Entry]:
        index = self.index
        for ordinal, name in index.items():
            yield self._entry(index, ordinal, name)

    def _entry(self, index: Index, ordinal: int, name: str) -> Entry:
        """Return a member as an entry; one with a faulty range has the problem instead of sizes."""
        flaw = index.flaws.get(ordinal)
        if flaw is not None:
            return Entry("file", name, details={"problem": flaw.rule.code, "reason": flaw.rule.title})
        return self._stored(name, index.starts[ordinal], index.ends[ordinal])

    def _stored(self, name: str, start: int, end: int) -> Entry:
        """Return a member at `[start, end)` of the chunk as an entry; it is stored as it is."""
        size = end - start
        return Entry("file", name, offset=self.source.origin + start, size=size, stored_size=size)

    def stat(self, name: str) -> Entry:
        """One member's entry.  Raises `EntryNotFoundError`, and the rule's error when its range is unusable."""
        return self._stored(name, *self.range_of(name))

    def range_of(self, name: str) -> tuple[int, int]:
        """The checked half-open range of a member in the chunk.  Raises like `stat`."""
        index = self._index
        if index is None:  # search the stored index for this name alone, if that is possible
            known = self._look_up(name)
            if known is not None:
                if known.found is None:
                    raise self._no_such_member(name)
                start, end = known.found
                if start <= end <= self.data_size:
                    return start, end
            index = self.index  # parses it, and finds out about the range
        ordinal = index.table.get(name)
        if ordinal is None:
            raise self._no_such_member(name)
        if index.flaws and ordinal in index.flaws:
            raise index.flaws[ordinal].error(self._index_span)
        return index.starts[ordinal], index.ends[ordinal]

    def _look_up(self, name: str) -> Lookup | None:
        """Look the name up in the text of an index that is not parsed; None when it should be parsed now."""
        known = self._known.get(name)
        if known is None and self._scans < SCANS:
            if self.source.cost.wait and not self._scans:  # this check was left out on opening
                self._check_start(self.source.read_at(self.data_size, 1))
            self._scans += 1
            known = find_member(self.source, self.data_size, self.index_size, name)
            if known is not None:
                self._known[name] = known
        return known

    def _no_such_member(self, name: str) -> EntryNotFoundError:
        return EntryNotFoundError("no such member", format="caf", span=self.source.span(0, 0), actual=shorten(name))

    def match(self, patterns: Sequence[str]) -> list[str]:
        """See `MemberArchive.match`; a member's exact name selects that member only, and `a/` everything below `a`.

        One pattern is looked up without parsing a large index where that is enough.  Raises `EntryNotFoundError` for a
        pattern that nothing matches.
        """
        if self._index is None and len(patterns) == 1:
            known = self._look_up(patterns[0])
            if known is not None and known.found is not None:
                return [patterns[0]]
            is_name = not any(char in patterns[0] for char in "*?[") and not patterns[0].endswith("/")
            if known is not None and is_name and not known.below:  # no file of that name, nor a directory
                raise self._no_such_member(patterns[0])
        table = self.index.table
        others = [pattern for pattern in patterns if pattern not in table]
        chosen = set(patterns) & table.keys()
        if others:
            chosen.update(super().match(others))
        return [name for name in self.names() if name in chosen]

    # -- bytes

    def read_member(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return bytes `[start, stop)` of a member; negative numbers count from its end."""
        first, end = self.range_of(name)
        if start or stop is not None:
            begin, finish, _ = slice(start, stop).indices(end - first)
            first, end = first + begin, first + max(begin, finish)
        return self.source.read_at(first, end - first)

    def iter_member(self, name: str, chunk_size: int = STREAM_CHUNK, *, jobs: int = 1) -> Iterator[bytes]:
        start, end = self.range_of(name)
        return self.source.chunks(start, end, chunk_size)

    def open_member(self, name: str) -> BinaryIO:
        start, end = self.range_of(name)
        return io.BufferedReader(MemberFile(name, end - start, partial(self.read_member, name)))

    def stored_range(self, name: str) -> tuple[Source, int, int]:
        return (self.source, *self.range_of(name))

    def stored_ranges(self, names: Sequence[str]) -> tuple[Source, Sequence[int], Sequence[int]] | None:
        """Return where members are stored, as starts and ends; None if a member is unknown or the index is faulty."""
        index = self.index
        if index.flaws:
            return None
        if len(index.table) == len(index.names) and index.names == names:  # all members, in order
            return self.source, index.starts, index.ends
        try:
            places = [index.table[name] for name in names]
        except KeyError:
            return None
        return self.source, [index.starts[place] for place in places], [index.ends[place] for place in places]

    def will_read(self, entries: Sequence[Entry]) -> None:
        """Announce that these members are read next: the source may fetch the range that has all of them."""
        places = [(entry.offset - self.source.origin, entry.size or 0) for entry in entries if entry.offset is not None]
        if places:
            self.source.will_read(min(at for at, _ in places), max(at + size for at, size in places))

    def read_members(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Several members, in the order given; adjacent members are read together, at most `BATCH` bytes at a time.

        Raises like `read_member`, before the batch that the bad name belongs to.
        """
        batch: list[tuple[str, tuple[int, int]]] = []  # names and ranges
        held = 0  # bytes of them
        if len(names) > 1:
            _ = self.index  # parsed once instead of scanned for each name
        for name in names:
            start, end = self.range_of(name)
            if batch and held + end - start > BATCH:
                yield from self._read_batch(batch)
                batch, held = [], 0
            batch.append((name, (start, end)))
            held += end - start
        yield from self._read_batch(batch)

    def _read_batch(self, batch: list[tuple[str, tuple[int, int]]]) -> Iterator[tuple[str, bytes]]:
        data = self.source.read_many([span for _, span in batch])
        return zip((name for name, _ in batch), data, strict=True)

    # -- the whole

    def info(self) -> CafInfo:
        """Return counts, sizes and the order of the index."""
        from exhume.formats.caf.info import collect

        return collect(self)

    def sections(self, *, jobs: int = 1) -> SectionMap:
        from exhume.formats.caf.sections import build_sections

        return build_sections(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule.  There are no checksums, so `quick` and `jobs` change nothing: no data is read."""
        from exhume.formats.caf.verify import verify

        return deduplicated(verify(self, progress))


def find_earlier_footer(tail: bytes) -> int | None:
    """The number of bytes after the last footer that matches an index; None when there is no such footer."""
    for extra in range(1, min(TRAILING, len(tail) - FOOTER_SIZE - MIN_INDEX) + 1):
        end = len(tail) - extra - FOOTER_SIZE
        size = parse_footer(tail[end : end + FOOTER_SIZE], Span("", end, end + FOOTER_SIZE))
        if MIN_INDEX <= size <= end and tail[end - size : end - size + 1] == b"{" and tail[end - 1 : end] == b"}":
            return extra
    return None


def verify_source(
    source: Source | Tree,
    *,
    limits: Limits = DEFAULT_LIMITS,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress = no_progress,
) -> Iterator[Finding]:
    """Every broken rule of a file that might not open as a chunk: continues after an unknown version or bytes after
    the footer.

    There are no checksums, so `quick` and `jobs` change nothing: no data is read.
    """
    try:
        archive = open_archive(source, limits=limits)
        _ = archive.index
    except ExhumeError as error:
        # Two faults leave a chunk that can be verified: bytes after the footer, which are cut off, and the version.
        first = Finding.from_error(error)
        yield first
        if isinstance(source, Tree) or error.span is None:
            return
        if error.code == checks.TRAILING_BYTES.code:
            source = source.window(0, error.span.start - source.origin)
        elif error.code != checks.BAD_VERSION.code:
            return
        archive = open_archive(source, limits=limits, any_version=True)  # verified without its known fault
        yield from (finding for finding in archive.verify(progress=progress) if finding.code != first.code)
    else:
        yield from archive.verify(progress=progress)


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """The sections of a file that is not a valid chunk, or has bytes after it; its files are shown as far as the index
    is readable.
    """
    from exhume.formats.caf.sections import map_remains

    assert isinstance(source, Source)
    return map_remains(source, _end(source, limits), limits)


def _end(source: Source, limits: Limits) -> int:
    """The offset where the chunk ends: before any bytes that were appended to it."""
    try:
        _ = open_archive(source, limits=limits).index
    except ExhumeError as error:
        if error.code == checks.TRAILING_BYTES.code and error.span is not None:
            return error.span.start - source.origin
    return source.size
