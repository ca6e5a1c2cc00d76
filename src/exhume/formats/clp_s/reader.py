"""`ClpSArchive`: a clp-s archive, one file or a directory, opened for reading.

Everything is lazy: opening reads the header, the first use of a property reads its section, and tables are decoded one
by one.  Everything that does not depend on a damaged section stays readable.

A table has the records with one schema (list of nodes of the schema tree; a node is a key path and a type of value).
Tables are compressed together in packed streams.  An ingestion unit is the records of one input of the writer.  Most of
the methods are in `read.tables.TableArchive`.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from exhume.archive import Entry, Progress, no_progress
from exhume.choices import check_keywords
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, deduplicated
from exhume.formats.clp_s.read.tables import TableArchive
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.arrow import ClpSTableOptions
    from exhume.formats.clp_s.info import ClpSInfo
    from exhume.formats.clp_s.query import QueryOptions
    from exhume.formats.clp_s.query.search import Search
    from exhume.formats.clp_s.read.records import RecordWithOrigin
    from exhume.formats.clp_s.read.tables import Table
    from exhume.layout.sections import SectionMap


def table_entries(archive: TableArchive) -> Iterator[Entry]:
    """Yield an entry for each table, in stored order: place, size, schema, rows and column paths."""
    last: tuple[int, Span | None] = -1, None  # the stream of the table before, and its stored range
    is_tree = isinstance(archive.source, Tree)
    for table in archive.tables:
        entry = table.entry
        details: dict[str, Any] = {
            "records": entry.num_messages,
            "schema_id": entry.schema_id,
            "stream": entry.stream_id,
            "stream_offset": entry.start,
        }
        offset, source = None, None
        try:
            if entry.problem is not None:
                raise entry.problem
            stream_id, span = last
            if span is None or stream_id != entry.stream_id:
                span = archive.stream_span(entry.stream_id)
                last = entry.stream_id, span
            offset, source = span.start, span.source if is_tree else None
            details["columns"] = list(map(archive.schema_tree.path_text, _column_nodes(archive, table)))
        except ExhumeError as error:
            details["problem"] = str(error)
        yield Entry("table", None, table.index, offset, table.size, None, source, details)


def _column_nodes(archive: TableArchive, table: Table) -> Sequence[int]:
    """The node of each column of a table.

    A valid schema without structured arrays is a list of these nodes, and of nodes without a column; otherwise the
    slower `layout` of the table is needed.
    """
    tree, schemas = archive.schema_tree, archive.schemas
    place = schemas.place(table.schema_id)
    if place >= 0 and schemas.columns.num_ordered[place] == schemas.columns.num_entries[place]:
        nodes = schemas.columns.entries_value(place)
        has_column, last = tree.has_column, len(tree)
        if all(0 <= node < last for node in nodes):
            return [node for node in nodes if has_column[node]]
    return table.layout.nodes


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ClpSArchive:
    """Open an archive, a file or a directory.  Raises CLPS-101, 102, 105, 301, 307 if its header is not readable."""
    return ClpSArchive(source, limits=limits)


class ClpSArchive(TableArchive):
    """A clp-s archive: its schema tree, schemas, tables, dictionaries and records."""

    wide_tables = True  # `to_arrow` takes `widest`
    _offered = "events json_lines schema_tree search tables timestamp_ranges"  # in completion

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(source, limits=limits)
        self._sections: SectionMap | None = None

    def info(self) -> ClpSInfo:
        """Versions, sizes, counts, time ranges and ingestion units."""
        from exhume.formats.clp_s.info import collect

        return collect(self)

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """The purpose of every byte: header, metadata, the sections of the files part, streams and tables within."""
        if self._sections is not None:
            return self._sections
        from exhume.formats.clp_s import sections
        from exhume.layout.sections import SectionKind

        found = sections.build(self)
        if not any(section.kind is SectionKind.UNREAD for section, *_ in found.sums(tiles=True)):
            self._sections = found  # with unread sections it is not kept: a later call may read more
        return found

    def entries(self) -> Iterator[Entry]:
        """The tables, in stored order."""

        return table_entries(self)

    def content_digest(self) -> str:
        """SHA-256 over version, metadata and payloads, independent of their position and compression."""
        from exhume.formats.clp_s.recode import content_digest

        return content_digest(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; `quick` leaves the dictionaries' content and the tables' rows alone."""
        from exhume.formats.clp_s import verify

        return deduplicated(verify.verify(self, quick, jobs, progress))

    # -- records ------------------------------------------------------------------------------------------------

    def search(self, query: str, **options: Unpack[QueryOptions]) -> Search:
        """The records that a KQL query matches; options are those of `search.Options` (`ignore_case`, time bounds).

        Raises `QueryError`.
        """
        return self.chosen(query, options)

    def chosen(self, query: str | None, options: QueryOptions, jobs: int = 1) -> Search:
        """The records that a query, or without one the options of a query, choose; raises `QueryError`."""
        from exhume.formats.clp_s.query.search import chosen

        return chosen(self, query, options, jobs)

    def json_chunks(self, *, ordered: bool = False, complete: bool = False, jobs: int = 1) -> Iterator[bytes]:
        """The exact text of `clp-s x` (`ordered`: of `clp-s x --ordered`) in chunks of whole records.

        `complete` also prints what upstream does not: root arrays, auto-generated keys, empty keys of containers
        inside arrays.  `jobs` threads decode and print tables.  Where a table is damaged, what comes before the damage
        is given before its error is raised.
        """
        from exhume.formats.clp_s.read import records

        return records.json_chunks(self, ordered=ordered, complete=complete, jobs=jobs)

    def text_chunks(self, *, jobs: int = 1) -> Iterator[bytes]:
        """The text log that the archive was made of, byte for byte, in chunks.

        Raises `UnsupportedOperationError` for other records, and for several tables made without log order.
        """
        from exhume.formats.clp_s.read.plain import text_chunks

        return text_chunks(self, jobs=jobs)

    def json_lines(
        self,
        query: str | None = None,
        *,
        ordered: bool = False,
        complete: bool = False,
        **options: Unpack[QueryOptions],
    ) -> Iterator[bytes]:
        """One record at a time, each with its newline; see `json_chunks`, which is faster.

        With a KQL query, the matching records as `clp-s s` prints them; further options are those of `search`.
        """
        if query is not None or options:
            return self.chosen(query, options).lines(ordered=ordered, complete=complete)
        from exhume.formats.clp_s.read import records

        return records.json_lines(self, ordered=ordered, complete=complete)

    @overload
    def events(
        self,
        query: str | None = None,
        *,
        ordered: bool = False,
        with_source: Literal[False] = False,
        **options: Unpack[QueryOptions],
    ) -> Iterator[dict[str, Any]]: ...
    @overload
    def events(
        self,
        query: str | None = None,
        *,
        ordered: bool = False,
        with_source: Literal[True],
        **options: Unpack[QueryOptions],
    ) -> Iterator[RecordWithOrigin]: ...
    def events(
        self,
        query: str | None = None,
        *,
        ordered: bool = False,
        with_source: bool = False,
        **options: Unpack[QueryOptions],
    ) -> Iterator[Any]:
        """Records as Python objects, with all their values.

        With a KQL query, the matching records; further options are those of `search`.

        Each record is a dict; a record that is an array is a list.  Auto-generated keys of KV-IR streams are below the
        key `@`.  `with_source` yields tuples `(event, log_event_idx, properties)` instead, with the range index
        properties of the ingestion unit that the record came from.
        """
        if query is not None or options:
            return self.chosen(query, options).events(ordered=ordered, with_source=with_source)
        from exhume.formats.clp_s.read import records

        return records.events(self, ordered=ordered, with_source=with_source)

    def to_arrow(self, **options: Unpack[ClpSTableOptions]) -> Any:
        """A streaming `pyarrow.RecordBatchReader` over the records; see `formats.clp_s.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`, `ignore_case`, `begin_ms`, `end_ms`, `query`, `dictionaries`,
        `jobs`, `widest`.
        """
        from exhume.formats.clp_s.arrow import to_arrow
        from exhume.formats.clp_s.query import Options

        check_keywords("to_arrow()", options, to_arrow, Options)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[ClpSTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[ClpSTableOptions]) -> Mapping[str, Callable[[], Any]]: ...
