"""`exhume.open` for bundles.

A bundle is a directory with an index (a LevelDB database, whose rows say where files are) and shards (files with the
content).  The rows of a remote bundle are read only when they are needed, as each request takes long.

Spec: data_bundle.txt, Index, Shard Files.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from exhume.archive import Entry, MemberArchive, Progress, no_progress
from exhume.choices import check_choice
from exhume.errors import EntryNotFoundError, ExhumeError, FormatError, Span, shorten
from exhume.findings import Finding, deduplicated
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.bundle import View
from exhume.formats.data_bundle.history import FileVersion, History
from exhume.formats.data_bundle.index import BundleIndex, FileRow
from exhume.formats.data_bundle.layout import FILE_PREFIX, RECORD_STOP
from exhume.formats.data_bundle.messages import BundleConfig, ShardHeader, compression_name
from exhume.formats.data_bundle.names import INDEX, hint_opening, is_at_hand, shard_number
from exhume.formats.data_bundle.shard import read_header
from exhume.formats.leveldb.database import Database
from exhume.io.caching import cached_property
from exhume.io.parallel import map_ordered
from exhume.io.source import STREAM_CHUNK, Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.data_bundle.info import BundleInfo
    from exhume.layout.sections import SectionMap


class DataBundleArchive(MemberArchive):
    """An open bundle.  `database` is the forensic reader of its index, `history()` the replaced and deleted rows."""

    format = "databundle"
    # Public names besides those of every archive.
    _offered = "match names open_member read_member stat versions"
    # Columns of tables that only bundles have, by name, with their Arrow types; see `detail_values`.
    detail_columns: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"shard": "uint64", "shard_offset": "uint64", "user_data_type": "string", "user_data": "binary"}
    )

    def __init__(
        self,
        source: Tree,
        *,
        limits: Limits = DEFAULT_LIMITS,
        sequence_rule: str | None = None,
        check: bool = True,
    ) -> None:
        """Open a bundle; the index is read when it is first needed.

        `check`: the first use raises unless the index has the configuration row of a bundle.
        """
        super().__init__(source, limits=limits)
        from exhume.formats.leveldb.model import SequenceRule

        self.tree = source
        self.is_incomplete = False
        """Whether a listing on the command line met damage in the index, or something that could not be checked."""
        hint_opening(source)
        if sequence_rule is not None:
            check_choice("sequence_rule", sequence_rule, SequenceRule)
        rule = SequenceRule(sequence_rule) if sequence_rule is not None else None
        self.database: Database = Database(source.subtree(INDEX), limits=limits, sequence_rule=rule)
        # A missing log may have had the only row of a file, so that a listing without it would be incomplete.
        self.database.errors += self.database.absent_logs
        self.view: View = View(source, lambda shard: self.index.records(shard), limits)
        self._check = check
        self._counts_rows = is_at_hand(source)
        """Whether `info` reads the rows of the index, to count files."""
        self._rows: dict[str, FileRow] | None = None
        """All live rows by path; None: not read yet."""
        self._lock = threading.Lock()  # for `_rows`

    @cached_property
    def index(self) -> BundleIndex:
        """The live rows.  Raises when a bundle's configuration row is not among them (if that is to be checked)."""
        index = BundleIndex(self.database)
        if self._check:
            index.config()
        return index

    @cached_property
    def config(self) -> BundleConfig:
        """The configuration row; raises when it is missing or not that of a bundle."""
        return self.index.config()

    def shard_files(self) -> dict[int, str]:
        """The shard files that exist, by number."""
        out: dict[int, str] = {}
        for name in self.tree.names():
            number = shard_number(name)
            if number is not None:
                out[number] = name
        return dict(sorted(out.items()))

    def rows(self) -> dict[str, FileRow]:
        """Every live file and directory row by path, read once.  Raises at the first damage in the index."""
        self._counts_rows = True
        with self._lock:
            if self._rows is None:
                rows: dict[str, FileRow] = {}
                found = self.index.files()
                while some := list(islice(found, 65_536)):  # the limit is checked now and then
                    rows.update((row.path, row) for row in some)
                    self.limits.check("entries", len(rows))
                self._rows = rows
            return self._rows

    def row(self, name: str) -> FileRow:
        """The row of one path (one index lookup unless all rows are loaded).  Raises `EntryNotFoundError`."""
        key = name.rstrip("/")
        found = self._rows.get(key) if self._rows is not None else self.index.file(key)
        if found is None or not key:
            raise EntryNotFoundError("no such member", span=Span(self.name, 0, 0), actual=shorten(name))
        return found

    def names(self) -> Iterator[str]:
        yield from self.rows()

    def stat(self, name: str) -> Entry:
        return self.entry_of(self.row(name))

    def entry_of(self, row: FileRow) -> Entry:
        """A row as an entry of a listing."""
        meta = row.meta
        details: dict[str, Any] = {}
        if not meta.is_directory:
            details = {"shard": meta.shard_index, "shard_offset": meta.offset, "crc32c": f"{meta.crc32c:08x}"}
        if meta.user_data is not None:
            details["user_data"] = meta.user_data.to_dict()
        return Entry(
            kind="directory" if meta.is_directory else "file",
            name=row.path,
            size=0 if meta.is_directory else meta.size,
            details=details,
        )

    def stored_digest(self, entry: Entry) -> str | None:
        """Return the stored checksum of a member, as `list` and catalogs show it."""
        found = entry.details.get("crc32c")
        return None if found is None else f"crc32c:{found}"

    def detail_values(self, entry: Entry) -> Mapping[str, Any]:
        """Return the values of the table's columns that only bundles have."""
        attached = entry.details.get("user_data")
        values = {name: entry.details.get(name) for name in ("shard", "shard_offset")}
        if attached is not None:
            from exhume.tabular.arrow import plain_text

            values |= {
                "user_data_type": plain_text(attached["type_url"]),
                "user_data": bytes.fromhex(attached["value_hex"]),
            }
        return values

    def will_read(self, entries: Sequence[Entry]) -> None:
        """Prefetch the ranges of these members, one range per shard."""
        ranges: dict[int, tuple[int, int]] = {}
        for entry in entries:
            shard, start = entry.details.get("shard"), entry.details.get("shard_offset", 0)
            if shard is not None and entry.size:
                low, high = ranges.get(shard, (start, start))
                ranges[shard] = min(low, start), max(high, start + entry.size)
        for number, (start, stop) in ranges.items():
            with suppress(ExhumeError):  # the error is raised again when the member is read
                self.view.shard(number).will_read(start, stop)

    def entries(self) -> Iterator[Entry]:
        return (self.entry_of(row) for row in self.rows().values())

    def list_directory(self, folder: str = "") -> Iterator[Entry]:
        """The entries of a directory, found by prefix scans of the index, whatever the size of the bundle."""
        lead = folder.strip("/")
        for name, row in self.index.children(lead):
            path = f"{lead}/{name}" if lead else name
            yield (
                self.entry_of(row)
                if row is not None
                else Entry(kind="directory", name=path, size=0, details={"implied": True})
            )

    def read_member(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        return self.view.read(self.row(name), start, stop)

    def iter_member(self, name: str, chunk_size: int = STREAM_CHUNK, *, jobs: int = 1) -> Iterator[bytes]:
        """Yield a member in chunks of at most `chunk_size` bytes; a directory has none."""
        row = self.row(name)
        if row.meta.is_directory:
            return
        for part in self.view.chunks(row, jobs):
            if len(part) <= chunk_size:
                yield part
            else:
                yield from (part[at : at + chunk_size] for at in range(0, len(part), chunk_size))

    def decoded_range(self, name: str) -> tuple[Callable[[int, int], bytes], int, int] | None:
        meta = self.row(name).meta
        if meta.is_directory:
            return None
        return self.view.reader(meta.shard_index), meta.offset, meta.offset + meta.size

    def check_member(self, name: str, data: bytes | memoryview) -> None:
        self.view.check_content(self.row(name), data)

    def history(self) -> History:
        """Replaced and deleted rows, and past states.  Close it when done."""
        return History(self.tree, self.database, self.limits)

    def versions(self, *, check: bool = True) -> Iterator[FileVersion]:
        """Every version of every file row; continues after damage."""
        history = self.history()
        try:
            yield from history.files(check=check)
        finally:
            history.close()

    def info(self) -> BundleInfo:
        """Return the facts on the bundle; None for counts of rows if these are not read.

        Rows of an index that takes more than one request are counted only once they have been read (`stats`, `rows`).
        """
        from exhume.formats.data_bundle.info import BundleInfo

        shards: dict[int, dict[str, Any]] = {}
        self.tree.will_read(sizes=self.shard_files().values())
        for number, name in self.shard_files().items():
            with self.tree.source(name) as source:
                shards[number] = {"shard": number, "size": source.size, "records": None}
        index: dict[str, Any] = {
            "writer": self.database.manifest.writer if self.database.manifest else None,
            "last_sequence": None,
            "files": len(self.database.files),
            "size": sum(file.size or 0 for file in self.database.files),
        }
        config = header = None
        counts: dict[str, int | None] = dict.fromkeys(("files", "directories", "size"))
        # With the rows: the configuration and all counts; without them, one header of a shard.
        if self._counts_rows:
            config = self.config
            self._hint_rows()
            sizes = [None if row.meta.is_directory else row.meta.size for row in self.rows().values()]
            files = [size for size in sizes if size is not None]
            counts |= {"files": len(files), "directories": len(sizes) - len(files), "size": sum(files)}
            index["last_sequence"] = self.database.last_sequence()
            for number, shard in shards.items():
                shard["records"] = len(self.index.records(number))
        else:
            header = self._first_header()
        stored_size = sum(shard["size"] for shard in shards.values()) + index["size"]
        return BundleInfo(config, header, tuple(shards.values()), index, **counts, stored_size=stored_size)

    def _hint_rows(self) -> None:
        """Request all rows at once, where reading them takes requests."""
        spans = self.database.spans(FILE_PREFIX, RECORD_STOP) if self.tree.cost.wait else {}
        self.tree.will_read(spans={f"{INDEX}/{name}": span for name, span in spans.items()})

    def _first_header(self) -> ShardHeader | None:
        """The header of the first shard, None where it is damaged or missing."""
        first = next(iter(self.shard_files().values()), None)
        if first is not None:
            with suppress(FormatError), self.tree.source(first) as source:
                return read_header(source, self.limits)
        return None

    def _shard_headers(self) -> Iterator[dict[str, Any]]:
        """Yield the parsed header of each shard, or the fault in it, as JSON."""
        shards = self.shard_files()
        self.tree.will_read(shards.values())
        for number, name in shards.items():
            with self.tree.source(name) as source:
                yield {"shard": number, **self._describe(source)}

    def _describe(self, source: Source) -> dict[str, Any]:
        """Return the values in a shard's header, or only `problem` if it is unreadable."""
        try:
            header = read_header(source, self.limits)
        except ExhumeError as error:
            return {"problem": error.message}
        return {
            "shard_count": header.shard_count,
            "compression": compression_name(header.compression),
            "record_size": header.record_size,
            "record_alignment": header.record_alignment,
            "data_offset": header.data_offset,
        }

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """Headers of the shards, versions of rows by status, and how many of the replaced and deleted files can still
        be read, by `jobs` threads (0: one per core).  Continues after damage.
        """
        self._counts_rows = True  # for `info`: the index is read now anyway
        statuses: Counter[str] = Counter()
        old: Counter[str] = Counter()
        with closing(self.history()) as history:
            found = [version for version in history.versions if version.key.startswith(FILE_PREFIX)]
            statuses.update(version.status for version in found)
            replaced = (version for version in found if version.status != "live")
            for one in map_ordered(history.file, replaced, jobs, leave=True):
                if one.checksum_status is not None:
                    old[one.checksum_status] += 1
        return {
            "shard_headers": list(self._shard_headers()),
            "row_versions": dict(sorted(statuses.items())),
            "old_files": dict(sorted(old.items())),
        }

    def content_digest(self) -> str:
        """SHA-256 over every path with its kind, user data, size and bytes, in the order of paths."""
        from exhume.formats.data_bundle.recode import content_digest

        return content_digest(self)

    def sections(self, *, jobs: int = 1) -> SectionMap:
        from exhume.formats.data_bundle.sections import map_bundle

        return map_bundle(self, jobs)

    def outline(self) -> SectionMap:
        """The sections, without decompressing records: one and the padding after it are one section."""
        from exhume.formats.data_bundle.sections import map_bundle

        return map_bundle(self, measured=False)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        from exhume.formats.data_bundle.verify import verify_bundle

        return deduplicated(verify_bundle(self, quick=quick, jobs=jobs, progress=progress))

    def close(self) -> None:
        self.view.close()
        self.database.close()
        super().close()


def open_archive(
    source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, sequence_rule: str | None = None, check: bool = True
) -> DataBundleArchive:
    """Open a bundle directory.

    `check`: raise unless the index has the configuration row of a bundle (forensic work on a damaged index turns it
    off).  A remote index that takes more than one request is checked when its rows are first read.
    """
    if not isinstance(source, Tree):
        raise checks.NO_CONFIG.error("a bundle is a directory", span=source.span(0, 0))
    archive = DataBundleArchive(source, limits=limits, sequence_rule=sequence_rule, check=check)
    if check and is_at_hand(source):
        try:
            _ = archive.index
        except BaseException:
            archive.close()
            raise
    return archive


def verify_source(
    source: Source | Tree, *, limits: Limits, quick: bool, jobs: int, progress: Progress
) -> Iterator[Finding]:
    """Open a bundle without demanding its configuration row, and verify it."""
    with open_archive(source, limits=limits, check=False) as archive:
        yield from archive.verify(quick=quick, jobs=jobs, progress=progress)


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """Return the sections of a bundle whose index cannot be opened, by what each of its files shows by itself."""
    return open_archive(source, limits=limits, check=False).sections()
