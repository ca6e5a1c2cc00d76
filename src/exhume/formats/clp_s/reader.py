"""`ClpSArchive`: a clp-s archive, one file or a directory, opened for reading.

Everything is lazy: opening reads the header, the first use of a property reads its section, and tables are decoded one
by one.  What one damaged section does not touch stays readable.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from exhume.archive import Entry, Progress, no_progress
from exhume.choices import check_keywords
from exhume.formats.clp_s.read.tables import TableArchive
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.findings import Finding
    from exhume.formats.clp_s.arrow import ClpSTableOptions
    from exhume.formats.clp_s.info import ClpSInfo
    from exhume.formats.clp_s.query.search import Search
    from exhume.formats.clp_s.query.tree import QueryOptions
    from exhume.layout.sections import SectionMap


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ClpSArchive:
    """Open an archive, a file or a directory.  Raises CLPS-101, 102, 105, 301, 307 when the header already says no."""
    return ClpSArchive(source, limits=limits)


class ClpSArchive(TableArchive):
    """A clp-s archive in its own nouns: schema tree, schemas, tables, dictionaries, records."""

    wide_tables = True
    _offered = "events json_lines schema_tree search tables timestamp_ranges"

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(source, limits=limits)
        self._sections: SectionMap | None = None

    def info(self) -> ClpSInfo:
        """Versions, sizes, counts, time ranges and ingestion units."""
        from exhume.formats.clp_s import info

        return info.collect(self)

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """What every byte is for: header, metadata, the sections of the files part, streams and tables within."""
        if self._sections is not None:
            return self._sections
        from exhume.formats.clp_s import sections
        from exhume.layout.sections import SectionKind

        found = sections.build(self)
        if not any(section.kind is SectionKind.UNREAD for section, *_ in found.sums(tiles=True)):
            self._sections = found  # of unread ones, a later call may read more
        return found

    def entries(self) -> Iterator[Entry]:
        """The tables, in stored order."""
        from exhume.formats.clp_s import info

        return info.table_entries(self)

    def content_digest(self) -> str:
        """SHA-256 over version, metadata and payloads, independent of their position and compression."""
        from exhume.formats.clp_s.recode import content_digest

        return content_digest(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; `quick` leaves the dictionaries' content and the tables' rows alone."""
        from exhume.findings import deduplicated
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

        Dicts, or lists for root arrays; auto-generated keys of KV-IR streams are below the key `@`.  `with_source`
        yields `Sourced` tuples `(event, log_event_idx, properties)` instead, with the range index properties of the
        ingestion unit that the record came from.
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
        from exhume.formats.clp_s.query.tree import Options

        check_keywords("to_arrow()", options, to_arrow, Options)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[ClpSTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[ClpSTableOptions]) -> Mapping[str, Callable[[], Any]]: ...
