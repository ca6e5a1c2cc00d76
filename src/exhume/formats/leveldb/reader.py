"""`exhume.open` for databases of the LevelDB family.

A database has a manifest, which consists of version edits (changes to its set of files), tables and logs.  A version is
an entry of a key, live if it is the newest and not a deletion.  The comparator is the order of keys.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from exhume.archive import Entry, Progress, RecordArchive, no_progress
from exhume.choices import check_choice, check_keywords
from exhume.findings import Finding, deduplicated
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.kernel import number_range
from exhume.formats.leveldb.layout_facts import (
    BLOB_HEADER,
    BLOB_MAGIC,
    LEVELDB_FOOTER,
    LEVELDB_MAGIC,
    MAGIC_SIZE,
    ROCKSDB_MAGIC,
)
from exhume.formats.leveldb.model import CURRENT_STATE, Role, SequenceRule, Version, type_name
from exhume.formats.leveldb.probe import UNREAD_TABLES
from exhume.formats.leveldb.ranges import RowCounts, tally_of, versions_of
from exhume.formats.leveldb.wire import key_text
from exhume.io.source import Source, WindowSource
from exhume.io.tree import MemoryTree, Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.leveldb.arrow import LevelDbTableOptions
    from exhume.formats.leveldb.info import LevelDbInfo
    from exhume.layout.sections import SectionMap


class LevelDbArchive(RecordArchive):
    """A database directory (or a lone table).  `database` is the full reader; see `Database`."""

    format = "leveldb"
    _offered = "database is_incomplete"  # public attributes besides those of `RecordArchive`

    def __init__(
        self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, sequence_rule: SequenceRule | None = None
    ) -> None:
        """Open a directory, or a lone table.

        Raises the first error of CURRENT or the manifest if the directory has no file of a database.
        """
        super().__init__(source, limits=limits)
        # Findings of the last `stats`.
        self._scanned: list[Finding] = []
        self.is_incomplete = False
        """Whether a listing on the command line met damage, or something that could not be checked."""
        if isinstance(source, Tree):
            self.database: Database = Database(source, limits=limits, sequence_rule=sequence_rule)
            if not any(file.kind in ("table", "log", "manifest", "current") for file in self.database.files):
                raise (self.database.errors or [checks.NO_CURRENT.error(span=None)])[0]
        else:
            self.database = _lone_table(source, limits)

    def info(self) -> LevelDbInfo:
        """Return the facts from CURRENT, manifest and directory; tables and logs are not read."""
        from exhume.formats.leveldb.info import collect

        return collect(self.database, self._scanned)

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """Versions by status and type, sequence numbers, rules of the logs, and every version edit with its offset."""
        # Count the versions.
        total = RowCounts(Counter(), Counter(), Counter(), b"")
        sequences: list[bytes] = []
        found: list[Finding] = []
        report = checks.collector(found.append)
        for part in self.database.map_versions(tally_of, report, older=False, jobs=jobs, lean=True):
            for sums, counts in zip(total[:3], part[:3], strict=True):
                sums.update(counts)
            sequences.append(part.sequences)
        low, high, distinct = number_range(sequences) or (None, None, 0)
        self._scanned = found
        # The logs, with the rule by which their sequence numbers count.
        logs = {}
        for file in self.database.logs(Role.LIVE, Role.OBSOLETE, Role.ORPHAN):
            log = self.database.load_log(file, checks.ignore)
            logs[file.name] = {"records": log.records, "sequence_rule": str(log.rule), "reason": log.evidence}
        manifest = self.database.manifest
        return {
            "versions": total.statuses.total(),
            "statuses": dict(sorted(total.statuses.items())),
            "types": dict(sorted(total.types.items())),
            "checksums": dict(sorted(total.verdicts.items())),
            "first_sequence": low,
            "highest_sequence": high,
            "sequence_numbers_without_entry": (high - low + 1 - distinct)
            if high is not None and low is not None
            else 0,
            "logs": logs,
            "edits": [
                {"offset": record.offset, "intact": record.intact, **record.edit.to_dict()}
                for record in manifest.records
            ]
            if manifest
            else [],
        }

    def sections(self, *, jobs: int = 1) -> SectionMap:
        from exhume.formats.leveldb.sections import file_sections
        from exhume.layout.sections import SectionMap

        return SectionMap(file_sections(self.database, jobs=jobs))

    def entries(self) -> Iterator[Entry]:
        """Live rows in key order; raises at the first damage (`versions` continues)."""
        self.database.require_sound()
        rows = self.database.map_versions(versions_of, checks.strict, unreferenced=False, older=False, lean=True)
        for version in chain.from_iterable(rows):
            if version.status in CURRENT_STATE:
                yield version_entry(version)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        from exhume.formats.leveldb.verify import verify_database

        return deduplicated(verify_database(self.database, quick=quick, jobs=jobs, progress=progress))

    def to_arrow(self, **options: Unpack[LevelDbTableOptions]) -> Any:
        """Rows as a table, by default the live ones; see `exhume.formats.leveldb.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`, `start`, `stop`, `prefix`, `all_versions`, `sequence`, `jobs`.
        """
        from exhume.formats.leveldb.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[LevelDbTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[LevelDbTableOptions]) -> Mapping[str, Callable[[], Any]]: ...

    def close(self) -> None:
        self.database.close()
        super().close()


def version_entry(version: Version) -> Entry:
    """A version of a key as an entry of a listing."""
    return Entry(
        kind="row" if version.status in CURRENT_STATE else type_name(version.value_type),
        name=key_text(version.key),
        offset=version.place.offset,
        size=None if version.known_value is None else len(version.content),
        source=version.place.file,
        details=_Details(version),
    )


class _Details(Mapping[str, Any]):
    """The columns of a version, made on request: a plain listing shows names alone."""

    __slots__ = ("_made", "_version")

    def __init__(self, version: Version) -> None:
        self._version = version
        self._made: dict[str, Any] | None = None

    def _columns(self) -> dict[str, Any]:
        """The columns, kept once they were made; the file is left out, as the entry names it as its `source`."""
        if self._made is None:
            self._made = {"key": self._version.key, **self._version.to_dict()}
            del self._made["file"]
        return self._made

    def __getitem__(self, name: str) -> Any:
        return self._columns()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns())

    def __len__(self) -> int:
        return len(self._columns())

    def __repr__(self) -> str:
        return repr(self._columns())


class _BorrowedSource(WindowSource):
    """A source that its owner closes, so that closing it here does nothing."""

    def close(self) -> None:
        pass


def _lone_table(source: Source, limits: Limits) -> Database:
    """Return a database of one table, or of one blob file, and nothing else.

    The file is put into a directory in memory, under a name that has its kind.  Raises LDB-104 for any other file.
    """
    if source.read_up_to(0, BLOB_HEADER).startswith(BLOB_MAGIC):
        blobs = MemoryTree({"000001.blob": _BorrowedSource(source, 0, source.size)}, source.name)
        return Database(blobs, limits=limits, standalone=True)
    tail = source.read_at(source.size - MAGIC_SIZE, MAGIC_SIZE) if source.size >= LEVELDB_FOOTER else b""
    if tail not in (LEVELDB_MAGIC, ROCKSDB_MAGIC, *UNREAD_TABLES):
        raise checks.BAD_MAGIC.error("neither a database directory nor a table", span=source.span(0, source.size))
    tree = MemoryTree({"000001.ldb": _BorrowedSource(source, 0, source.size)}, source.name)
    return Database(tree, limits=limits, standalone=True)


def open_archive(
    source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, sequence_rule: SequenceRule | str | None = None
) -> LevelDbArchive:
    """Open a database directory or a lone table.

    `sequence_rule` is one of `SequenceRule`, or None to recognize it in each log.  A directory with a damaged
    CURRENT or manifest can be opened; strict methods (`entries`, `database.scan`) then raise the error.
    """
    if sequence_rule is not None:
        check_choice("sequence_rule", sequence_rule, SequenceRule)
    rule = SequenceRule(sequence_rule) if sequence_rule is not None else None
    return LevelDbArchive(source, limits=limits, sequence_rule=rule)
