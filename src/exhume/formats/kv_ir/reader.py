"""`KvIrArchive`: a KV-IR stream, opened for reading.

Opening reads the preamble (magic number and metadata).  Everything else is a pass over the units (events and
declarations of keys) from front to back.  Keys form two trees: auto-generated ones, which the logger adds itself, and
those of its user.

Spec: `docs/formats/kv_ir.md`, "Bytes".
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from exhume.archive import Entry, Progress, RecordArchive, no_progress
from exhume.choices import check_choice, check_keywords
from exhume.errors import ExhumeError, QueryError, SourceError, Span
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.chunks import decode_ahead
from exhume.formats.kv_ir.layout import Preamble, parse_metadata, parse_preamble
from exhume.formats.kv_ir.passes import Event, Units
from exhume.formats.kv_ir.stream import HEAD, Stream
from exhume.formats.kv_ir.units import EventForm
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.findings import Finding
    from exhume.formats.clp_s.query import QueryOptions
    from exhume.formats.kv_ir.arrow import KvIrTableOptions
    from exhume.formats.kv_ir.info import KvIrInfo
    from exhume.layout.sections import SectionMap

U = TypeVar("U", bound=Units)

PAIRS = {"user": EventForm.USER, "auto": EventForm.AUTO, "both": EventForm.BOTH}
"""Values of the option `pairs`: which pairs of an event are returned."""


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> KvIrArchive:
    """Open a stream.  Raises KVIR-101..103, KVIR-301, KVIR-302, KVIR-307, KVIR-308, KVIR-401 and KVIR-402."""
    if isinstance(source, Tree):
        raise checks.NOT_KV_IR.error("a directory", span=Span(source.name, 0, 0))
    return KvIrArchive(source, limits=limits)


def begin_units(stream: Stream, limits: Limits) -> Units:
    """A pass over a stream whose metadata is valid.  Raises as `open_archive`."""
    units = Units(stream, limits)
    parse_metadata(units.preamble, stream.span(0, units.preamble.size))
    return units


def read_preamble(stream: Stream, limits: Limits = DEFAULT_LIMITS) -> Preamble:
    """Read the preamble, and little more.  Raises the same errors as `Units`."""
    head = stream.head(HEAD)
    try:
        return parse_preamble(head, stream.span(0, len(head)), stream.rules)
    except SourceError:
        raise
    except ExhumeError:
        return Units(stream, limits).preamble  # a longer one; for a faulty one, this raises the error


class StreamArchive(RecordArchive):
    """Base of open streams of both kinds: key-value pairs (`KvIrArchive`) and text messages (CLP IR).

    Attributes:
        schema: The id of the specification.
        stream: The `Stream` that the bytes come from.
        preamble: The start of the stream, before the units.
        metadata: All metadata of the stream.
        on_omitted: Called with the error of each event above a limit and, once everything before them was read, of
            bytes after the end of the stream, such as those of a second stream.  Without it, such an error is raised,
            after all that can be read.
    """

    schema: str
    source: Source
    stream: Stream
    preamble: Preamble
    metadata: dict[str, Any]
    on_omitted: Callable[[ExhumeError], object] | None = None

    @abc.abstractmethod
    def units(self) -> Units:
        """A new pass over the units."""

    def reporting(self, units: U) -> U:
        """Return the pass `units`, after it was set to report what it leaves out to the archive's `on_omitted`."""
        units.on_omitted = self.on_omitted
        return units

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """The purpose of every byte."""
        from exhume.formats.kv_ir.sections import section_map

        return section_map(self)

    def outline(self) -> SectionMap:
        """The same, without reading what follows the preamble."""
        from exhume.formats.kv_ir.sections import outline

        return outline(self)

    def content_digest(self) -> str:
        """SHA-256 of the stream itself, without the zstd frames around it.  Raises the rules of broken frames."""
        from exhume.codecs.checksums import sha256

        digest = sha256()
        for piece in Stream(self.source, self.stream.rules).pieces():
            digest.update(piece)
        return f"sha256:{digest.hexdigest()}"


class KvIrArchive(StreamArchive):
    """A KV-IR stream: its metadata, its two trees of keys, and its events in their order.

    Attributes:
        stream: The `Stream` that the bytes come from.
        preamble: The start of the stream, before the units.
        metadata: All metadata of the stream; `user_metadata` is the part that the program which wrote it added.
    """

    format = "kv-ir"
    _offered = "events follow json_lines metadata search user_metadata"  # in completion
    wide_tables = True  # `to_arrow` takes `widest`
    schema = "clp_kv_ir"

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Read the preamble and its metadata."""
        super().__init__(source, limits=limits)
        self.stream: Stream = Stream(source)
        self.preamble: Preamble = read_preamble(self.stream, limits)
        self.metadata: dict[str, Any] = parse_metadata(self.preamble, self.stream.span(0, self.preamble.size))
        self.user_metadata: dict[str, Any] = self.metadata.get("USER_DEFINED_METADATA", {})

    def units(self) -> Units:
        """A new pass over the units."""
        return self.reporting(Units(Stream(self.source), self.limits))

    def info(self) -> KvIrInfo:
        """Version, metadata, number of events, and the keys of both trees.  Reads the whole stream."""
        from exhume.formats.kv_ir.info import collect

        return collect(self)

    def entries(self) -> Iterator[Entry]:
        """The keys, those of the logger first; within each tree, in the order of their declarations."""
        from exhume.formats.kv_ir.info import key_entries

        return key_entries(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; see `exhume.formats.kv_ir.verify`."""
        from exhume.formats.kv_ir.verify import verify_source

        return verify_source(self.source, limits=self.limits, quick=quick, jobs=jobs, progress=progress)

    def to_arrow(self, **options: Unpack[KvIrTableOptions]) -> Any:
        """A streaming `pyarrow.RecordBatchReader` over the events; see `formats.kv_ir.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`, `jobs`, `widest`.
        """
        from exhume.formats.kv_ir.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[KvIrTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[KvIrTableOptions]) -> Mapping[str, Callable[[], Any]]: ...

    # -- events --------------------------------------------------------------------------------------------------

    def json_chunks(self, *, pairs: str = "user", jobs: int = 1) -> Iterator[bytes]:
        """The events as lines of JSON, in chunks of whole lines.

        `pairs`: those of the `user` (what `clp-s` prints), of the logger (`auto`), or `both`, as
        `{"auto_generated_kv_pairs": {...}, "user_generated_kv_pairs": {...}}`.  `jobs` threads decode chunks of the
        stream in parallel (0: one per core).  Raises `QueryError` for other pairs, the fault in the stream
        after the events before it, and the fault in an event after all other events.
        """
        check_choice("pairs", pairs, PAIRS)
        units, how = self.units(), PAIRS[pairs]
        return chain(decode_ahead(units, how, jobs), units.printed(how))

    def text_chunks(self) -> Iterator[bytes]:
        """The text log that the stream was made of, byte for byte, in chunks.

        Raises `UnsupportedOperationError` if the events are not lines of a plain-text log, and what `events` raises.
        """
        from exhume.formats.kv_ir.lines import text_of

        units = self.units()
        units.decoder.print_event = text_of
        return units.printed(EventForm.LOG)

    def json_lines(self, *, pairs: str = "user", jobs: int = 1) -> Iterator[bytes]:
        """The events as lines of JSON, one at a time; see `json_chunks`."""
        return (line for chunk in self.json_chunks(pairs=pairs, jobs=jobs) for line in chunk.splitlines(keepends=True))

    def events(self) -> Iterator[Event]:
        """The events as `(auto, user)`: the logger's pairs and the user's pairs, nested as they were logged.

        Bytes that are not UTF-8 become lone surrogates (`surrogateescape`).  Raises the fault in the stream
        after the events before it, and the fault in an event after all other events.
        """
        return self.units().readable()

    def events_with_place(self) -> Iterator[tuple[Span, Event]]:
        """Yield each event with its span. Raises the rule of the damage, after the events before it."""
        units = self.units()
        for event in units.readable():
            start = units.decoder.start
            yield units.stream.span(start, start + 1), event

    def follow(self, *, quiet_s: float | None = None) -> Iterator[Event]:
        """The events, each as soon as its logger has written it; ends with the stream.

        With `quiet_s`, ends after that many seconds without new bytes.  A file that is replaced or truncated is
        followed from its new beginning.  Raises `SourceError` for anything but a whole local file, and as `events`.
        """
        from exhume.formats.kv_ir.follow import followed

        return followed(self, checks.STREAM, lambda stream: begin_units(stream, self.limits), quiet_s)

    def search(
        self,
        query: str,
        *,
        pairs: str = "both",
        timestamp_key: str | None = None,
        jobs: int = 1,
        **options: Unpack[QueryOptions],
    ) -> Iterator[bytes]:
        """The events that a KQL query matches, as lines of JSON, in their order; `pairs` as for `json_chunks`.

        Keys of the logger are addressed with `@`, as in `@level.name: ERROR`.  `timestamp_key` names the key whose
        values `begin_ms` and `end_ms` are compared with; so many `jobs` work at a time (0: one per core); further
        options are those of a search in clp-s archives.  Raises `QueryError`, and the fault in the stream after
        the matches before it.
        """
        from exhume.formats.clp_s.query import Options
        from exhume.formats.clp_s.query.kql import parse
        from exhume.formats.kv_ir.rows import ROOTS, archives

        check_keywords("search()", options, Options, KvIrArchive.search)
        check_choice("pairs", pairs, ROOTS)
        how = Options(**options)
        if timestamp_key is not None and how.begin_ms is None and how.end_ms is None:
            raise QueryError("timestamp_key has no effect without begin_ms or end_ms")
        parse(query)
        found = archives(self, timestamp_key, jobs=jobs)
        return (line for one in found for line in one.search(query, **options).lines(ordered=True, roots=ROOTS[pairs]))

    def __iter__(self) -> Iterator[Event]:
        return self.events()
