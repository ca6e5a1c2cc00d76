"""Base classes of all archives: `Archive`, its two kinds (of members and of records), and `Writer`.

An archive contains members (named byte strings, as in a zip file) or records (log events, messages, keys with values).
Its bytes are divided into sections (header, index, block ...).  A `Finding` is a broken rule, a `Span` a byte range.
"""

from __future__ import annotations

import abc
import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self, Unpack

from exhume.choices import check_keywords, matching
from exhume.errors import EntryNotFoundError, Span, UnsupportedOperationError
from exhume.findings import Finding
from exhume.io.source import STREAM_CHUNK, MemberFile, Source
from exhume.io.tree import Tree
from exhume.late import notebook_html
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.layout.sections import Section, SectionMap
    from exhume.parts import Partition, ReadingOptions
    from exhume.tabular.arrow import MemberTableOptions, TableOptions

Progress = Callable[[int, int | None, str], None]
"""Called with (done, total or None, unit) by anything that may take long; must return quickly."""


def no_progress(done: int, total: int | None, unit: str) -> None:
    """The progress callback that does nothing."""


_NO_DETAILS: Mapping[str, Any] = {}  # shared default of `Entry.details`


class Entry(NamedTuple):
    """One thing an archive lists.

    Attributes:
        kind: member, block, table, channel, row, ...
        name: Its name, for things that have one.
        ordinal: Its number, from 0, for those that have none.
        offset: Absolute, in bytes; None: no bytes of its own.
        size: Logical bytes.
        stored_size: Bytes on disk.
        source: Its file, for archives of several files.
        details: The format's own columns, JSON-able.

    Example:
        >>> entry = exhume.caf.open("files.caf").stat("README.txt")
        >>> entry.kind, entry.offset, entry.size
        ('file', 0, 41)
    """

    kind: str
    name: str | None = None
    ordinal: int | None = None
    offset: int | None = None
    size: int | None = None
    stored_size: int | None = None
    source: str | None = None
    details: Mapping[str, Any] = _NO_DETAILS

    @property
    def label(self) -> str:
        """The name, or the kind and ordinal of what has no name."""
        return self.name if self.name is not None else f"{self.kind} {self.ordinal}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume list --json`."""
        out: dict[str, Any] = {}
        if self.name is not None:
            out["name"] = self.name
        if self.ordinal is not None:
            out["ordinal"] = self.ordinal
        out |= {"kind": self.kind, "offset": self.offset, "size": self.size, "stored_size": self.stored_size}
        if self.source is not None:
            out["source"] = self.source
        return out | dict(self.details)


class Info(abc.ABC):
    """Result of `info()`: a typed object per format whose `to_dict()` is the documented JSON (keys keep order)."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values; nested dicts and lists of dicts are shown as sub-sections and tables."""

    @property
    def omitted(self) -> str:
        """A sentence that names the values left None because they would take too many requests; usually empty."""
        return ""

    @property
    def findings(self) -> Sequence[Finding]:
        """The errors met while the values were gathered; because of them, values may be missing or wrong."""
        return ()


COMMON = "close closed entries format info name partitions sections to_arrow to_dataset verify"
"""Names that completion offers for every archive; what is called rarely is in the reference only."""


class Archive(abc.ABC):
    """An open archive, as `exhume.open` returns it; a context manager.

    Reading is thread-safe; no file is ever written, locked or created next to the evidence.

    Args:
        source: The opened file or object; `source.name` is its path or URL.
        limits: What hostile input may cost.

    Raises:
        FormatError: Its methods, where they meet damage.
        SourceError: Its methods, where reading itself fails.

    Example:
        >>> with exhume.open("words.zs") as archive:
        ...     [section.name for section in archive.sections()]
        ['header', 'metadata', 'data-0', 'index-0']
    """

    format: str  # id, such as zs
    _offered: ClassVar[str] = ""
    """Names of a format that completion offers next to `COMMON`, separated by blanks; all names if it is empty."""
    closed: bool = False
    """Whether `close` was called."""

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.source = source
        self.limits = limits

    @property
    def name(self) -> str:
        """The path or URL that was opened."""
        return self.source.name

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return notebook_html("archive_html", self)

    @abc.abstractmethod
    def info(self) -> Info:
        """Header, counts, codecs, versions, ranges: what is known without scanning the data."""

    @abc.abstractmethod
    def sections(self, *, jobs: int = 1) -> SectionMap:
        """The purpose of every byte, determined by `jobs` threads if that requires decompression (0: one per core)."""

    def outline(self) -> SectionMap:
        """The sections, found as cheaply as the archive's own index allows.

        For an undamaged archive they are the same as those of `sections`, with one exception: neighbors whose border
        cannot be found without decompressing are one section here.
        """
        return self.sections()

    @abc.abstractmethod
    def entries(self) -> Iterator[Entry]:
        """The entries of the archive, in a deterministic order."""

    @abc.abstractmethod
    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Yield a finding for every broken rule, in file order where that is possible.

        `quick` leaves out what needs the payloads (checksums of stored bytes and structure are still checked).
        """

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """Facts that need a scan (`exhume info --stats`), by `jobs` threads or processes (0: one per core), as JSON."""
        return {}

    def content_digest(self) -> str:
        """A digest of the logical content, however it is stored; `algorithm:hex`.  Or `UnsupportedOperationError`."""
        raise UnsupportedOperationError(f"{self.format} archives have no content digest", span=Span(self.name, 0, 0))

    def read_section(self, name: str) -> bytes:
        """The decompressed payload of one section.  Raises `EntryNotFoundError`."""
        section: Section = self.sections().named(name)
        if section.load is not None:
            return section.load()
        source = self.sections().sources[section.span.source]
        self.limits.check("payload_size", section.span.size, section.span)
        return source.read_at(section.span.start - source.origin, section.span.size)

    def to_arrow(self, **options: Unpack[TableOptions]) -> Any:
        """The archive's table as a streaming `pyarrow.RecordBatchReader` (extra `arrow`): records, or members.

        Every format takes `columns` (the names to return, in that order), `batch_rows` (rows per batch), and `losses`,
        a `collections.Counter` of values that did not fit (see `exhume.tabular.arrow`); other options are the format's
        own.  Records and members are read when their batch is requested, and damage is raised by the batch that meets
        it.  Raises `MissingDependencyError` without pyarrow, `EntryNotFoundError` for an unknown column, and
        `UnsupportedOperationError` where the format has no Arrow form.
        """
        raise UnsupportedOperationError(f"{self.format} has no Arrow form", span=Span(self.name, 0, 0))

    def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[TableOptions]) -> Any:
        """The same table as a `pyarrow.dataset.Dataset`, for DuckDB, Polars (`scan_pyarrow_dataset`) and pyarrow.

        Only the columns that a query needs are read.  Those that were read completely are kept for the next query, up
        to `cache_bytes` of decoded columns (default 256 MiB; 0 keeps none, nor does the option `losses`).  Other
        options and errors are those of `to_arrow`.
        """
        from exhume.tabular.dataset import CACHE_BYTES, ArchiveDataset

        return ArchiveDataset(self, options, CACHE_BYTES if cache_bytes is None else cache_bytes)

    wide_tables: ClassVar[bool] = False
    """Whether `to_arrow` takes `widest`: the number of columns above which rows are maps (`exhume.tabular.wide`)."""

    def arrow_tables(self, **options: Unpack[TableOptions]) -> Mapping[str, Callable[[], Any]]:
        """A function that makes the reader of each table, by its name; most formats have one table, named ""."""
        return {"": functools.partial(self.to_arrow, **options)}

    def read_arrow_tables(
        self, tables: Sequence[str], **options: Unpack[TableOptions]
    ) -> tuple[dict[str, Any], Callable[[], Iterator[tuple[str, Any]]]] | None:
        """Several of `arrow_tables` in one pass: `(schemas, function yielding (table, batch))`; None: one by one."""
        return None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: DuckDB, Polars and pandas read the table so; pyarrow casts to another one."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def partitions(
        self,
        size: int | None = 64 << 20,
        *,
        opening: Mapping[str, Any] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        **options: Unpack[ReadingOptions],
    ) -> list[Partition]:
        """The archive in parts of about `size` stored bytes (None: a single part), for dask or any pool of workers.

        Parts are small and picklable.  Each one opens the archive for itself, in another process or on another machine,
        and reads only its own bytes: `partition.records()`, `partition.to_arrow()`.  `opening` and `storage_options`
        are those that this archive was opened with, if any; `options` are those of reading (see
        `exhume.distributed.partitions`, which plans many archives).  Raises `UnsupportedOperationError` for an archive
        that no path or URL leads to.
        """
        from exhume.parts import partitions_of

        return partitions_of(self, size, opening or {}, storage_options or {}, options)

    def close(self) -> None:
        """Close the source."""
        self.closed = True
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{', closed' if self.closed else ''}>"

    def __dir__(self) -> list[str]:
        """Return the names of attributes, for completion: of those without an underscore, what the format has."""
        known, offered = super().__dir__(), f"{COMMON} {self._offered}".split()
        return [name for name in known if name[0] == "_" or not self._offered or name in offered]

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Raise `TypeError`: files and locks do not travel to another process."""
        raise TypeError(f"cannot pickle an open archive ({self.name}): pass its path, or use its partitions()")


class MemberArchive(Archive):
    """An archive of named byte strings (caf, databundle).  Names are relative and `/`-separated.

    Args:
        source: The file or object to read.
        limits: What hostile input may cost.

    Raises:
        EntryNotFoundError: Its methods, for a name that is not there.

    Example:
        >>> with exhume.open("files.caf", format="caf") as archive:
        ...     archive.read_member("README.txt", 0, 5)
        b'A few'
    """

    detail_columns: ClassVar[Mapping[str, str]] = {}
    """Columns of the member table that only this format has: name and Arrow type (a factory of `pyarrow`)."""

    @abc.abstractmethod
    def names(self) -> Iterator[str]:
        """Member names, in the archive's order."""

    @abc.abstractmethod
    def stat(self, name: str) -> Entry:
        """One member's entry.  Raises `EntryNotFoundError`."""

    @abc.abstractmethod
    def read_member(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a member, clipped like a slice; only what covers the range is read.

        Raises `EntryNotFoundError`, and the format's own error for a member that is damaged.
        """

    def will_read(self, entries: Sequence[Entry]) -> None:
        """Announce that these members will be read, mostly in this order.

        A remote archive then fetches them in few requests, and fetches nothing else.
        """

    def will_read_all(self) -> None:
        """Announce that all members will be read, if they are stored in the archive's order."""
        if not self.source.is_remote:
            return
        entries = list(self.entries())
        # (number of the file, offset in it): in an archive of several files, members have no absolute offset.
        places = [
            (one.details.get("shard") or 0, one.details.get("shard_offset", 0) if one.offset is None else one.offset)
            for one in entries
            if one.size
        ]
        if places == sorted(places):
            self.will_read(entries)

    def iter_member(self, name: str, chunk_size: int = STREAM_CHUNK, *, jobs: int = 1) -> Iterator[bytes]:
        """A member's bytes in chunks, with bounded memory; `jobs` threads decode (0: one per core)."""
        entry = self.stat(name)
        size = entry.size or 0
        if size > chunk_size:
            self.will_read([entry])
        for start in range(0, size, chunk_size):
            yield self.read_member(name, start, min(size, start + chunk_size))

    def stored_range(self, name: str) -> tuple[Source, int, int] | None:
        """The verified range of an uncompressed member, `(source, start, end)`; None if its bytes need decoding."""
        return None

    def stored_ranges(self, names: Sequence[str]) -> tuple[Source, Sequence[int], Sequence[int]] | None:
        """`stored_range` of many members of one source at once: `(source, starts, ends)` in the order of `names`.

        None when they have to be looked up one by one, because some are unknown, damaged or not stored uncompressed.
        """
        return None

    def decoded_range(self, name: str) -> tuple[Callable[[int, int], bytes], int, int] | None:
        """The range of a member in a stream that many members share and that has to be decoded: `(read, start, end)`.

        `read(start, end)` decodes a range of the stream, from any thread, and is equal for members of one stream; its
        result must be passed to `check_member`.  None for a member without such a stream.
        """
        return None

    def check_member(self, name: str, data: bytes | memoryview) -> None:
        """Compare the whole content of a member with what the archive says of it; raise the format's error."""

    def stored_digest(self, entry: Entry) -> str | None:
        """The checksum that the archive keeps of a member's bytes, as `algorithm:hex`; None when it keeps none."""
        return None

    def detail_values(self, entry: Entry) -> Mapping[str, Any]:
        """The values of `detail_columns` for one member."""
        return {name: entry.details.get(name) for name in self.detail_columns}

    def to_arrow(self, **options: Unpack[MemberTableOptions]) -> Any:
        """The members as a table, one row each; see `exhume.tabular.arrow.member_table`.

        Options: `columns`, `batch_rows`, `losses`, `digest`, `entries`, `jobs`.
        """
        from exhume.tabular.arrow import member_table

        check_keywords("to_arrow()", options, member_table)
        return member_table(self, **options)

    if TYPE_CHECKING:  # the same methods, declared with the options that archives of members take

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[MemberTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[MemberTableOptions]) -> Mapping[str, Callable[[], Any]]: ...

    def open_member(self, name: str) -> BinaryIO:
        """A member as a seekable, buffered binary file."""
        return io.BufferedReader(MemberFile(name, self.stat(name).size or 0, functools.partial(self.read_member, name)))

    def match(self, patterns: Sequence[str]) -> list[str]:
        """Names that equal or glob-match any pattern, in the archive's order (`a/` selects what is below `a`).

        Raises `EntryNotFoundError` for a pattern that nothing matches.
        """
        return matching(list(self.names()), patterns, Span(self.name, 0, 0))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self.stat(name))
        except EntryNotFoundError:
            return False

    def __iter__(self) -> Iterator[str]:
        return self.names()


class RecordArchive(Archive):
    """An archive of records (zs, clp-s, kv-ir, clp-ir, ark, leveldb); the format's own nouns say how they are read.

    Args:
        source: The file or object to read.
        limits: What hostile input may cost.

    Raises:
        FormatError: Its methods, where they meet damage.

    Example:
        >>> isinstance(exhume.open("words.zs"), exhume.RecordArchive)
        True
    """


class Writer(abc.ABC):
    """Builds one archive, as a context manager; `exhume.create` returns it.

    Leaving it normally finishes the archive; after an exception, nothing remains that looks like a complete archive.

    Raises:
        WriterError: Its methods, for values that the format cannot hold.

    Example:
        >>> with exhume.create("one.caf", "caf") as writer:
        ...     writer.add_bytes("greeting.txt", b"hello")
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: object, tb: object) -> None:
        if exc_type is None:
            try:
                self.finish()
            except BaseException:
                self.abort()
                raise
        else:
            self.abort()

    @abc.abstractmethod
    def finish(self) -> None:
        """Complete the archive and put it in place; a second call does nothing."""

    @abc.abstractmethod
    def abort(self) -> None:
        """Remove the output; it may be called again, and after `finish` it does nothing."""
