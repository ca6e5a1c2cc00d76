"""A database directory that was opened: its manifest, its files and their readers, and the problems with it.

Files are read directly; no database library, no lock, no write.

The file CURRENT names the manifest, which lists the tables of the state and the first log to replay; OPTIONS has
the settings of RocksDB.  A comparator defines the order of keys, a merge operator how changes to a value are
applied.  A blob file has large values; tables only refer to them.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.batches import LoadedLog, Unused
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator, comparator_of
from exhume.formats.leveldb.files import (
    DbFile,
    SourcePool,
    as_of_pebble,
    list_files,
    load_manifest,
    named_manifest,
    old_manifests,
)
from exhume.formats.leveldb.manifest import ColumnFamily, Manifest
from exhume.formats.leveldb.model import BYTEWISE, Role, SequenceRule, Status, type_name
from exhume.formats.leveldb.names import (
    hint_files,
    newest_options,
    obvious_manifest,
    pebble_version,
    plain_names,
)
from exhume.formats.leveldb.replay import Replay
from exhume.formats.leveldb.table import Table, property_number
from exhume.formats.leveldb.table_index import FAMILY_ID, NO_FAMILY
from exhume.formats.leveldb.values import (
    MOST_OPTIONS,
    Operator,
    Resolver,
    Versions,
    log_folder,
    operators_of,
    resolver_of,
)
from exhume.io.caching import cached_property
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.io.values import whole
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.leveldb.blobs import BlobStore

V = TypeVar("V")
Held = Callable[[int, bytes, Versions], bytes | None]
"""A `Resolver` of values in memory."""

MOST_UNREAD = 100  # errors that are kept
LOOKED_AT = 16
"""Data blocks that say whether a table that names no comparator is in the order of bytes."""


class DatabaseDirectory:
    """The files of an open database.  Thread-safe.

    `problems` are the findings made while CURRENT, manifest and directory were read.  With None as `sequence_rule`,
    the rule is recognized in each log by the numbers of its successive batches.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        limits: Limits = DEFAULT_LIMITS,
        sequence_rule: SequenceRule | None = None,
        standalone: bool = False,
    ) -> None:
        """Read the manifest and list the files.  `standalone`: there is neither CURRENT nor a manifest, and all files
        count as live.
        """
        self.tree = tree
        self._standalone = standalone
        self._pool = SourcePool(tree)  # the open files
        self.limits = limits  # of memory and sizes
        self.sequence_rule = sequence_rule
        self.problems: list[Finding] = []
        self.errors: list[ExhumeError] = []  # those of `problems` that are faults
        report = self._note
        hint_files(tree, plain_names(tree))
        version = pebble_version(plain_names(tree))  # None: not a database of Pebble; "" if its version is unknown
        if version is not None:
            report(checks.PEBBLE, span=Span(tree.name, 0, 0), actual=f"format major version {version or 'unknown'}")
        no_manifest = standalone or version is not None  # that of Pebble is not read
        self.manifest: Manifest | None = None if no_manifest else load_manifest(tree, report, limits)
        # Without a manifest, no file is missing or an orphan.  (Old manifests of Pebble are not read, either.)
        was_named = self._was_named if version is None else lambda number: False
        self.files: list[DbFile] = list_files(tree, self.manifest, was_named, checks.ignore if no_manifest else report)
        if version is not None:
            self.files = [as_of_pebble(file) for file in self.files]  # only tables are read: logs and such are OTHER
        elif standalone:
            self.files = [
                file._replace(role=Role.LIVE) if file.kind in ("table", "log", "blob") else file for file in self.files
            ]
        self.missing_logs: list[str] = []
        """The logs that the manifest names and that are not among the files."""
        self.absent_logs: list[ExhumeError] = []
        """An error for each missing log, unless the logs are elsewhere.  They do not prevent reading, as in engines."""
        self._check_logs(report)
        self._tables: dict[str, Table] = {}
        """Readers of tables, by file name."""
        self._logs: dict[str, LoadedLog] | None = None
        """Live logs, by file name; None: not read yet."""
        self._prepared: list[Unused] = []
        """Writes of transactions in live logs that were neither committed nor rolled back."""
        self._uncommitted: frozenset[int] = frozenset()
        """Their sequence numbers, as far as tables may have such writes."""
        self._confirmed = False
        """Whether `confirm_manifest` is done."""
        self.unresolved: set[str] = set()
        """Types of versions whose value was requested and could not be determined."""
        self.unread: deque[tuple[bytes, ExhumeError]] = deque(maxlen=MOST_UNREAD)
        """Why the last values could not be read that were requested, each with its key."""
        self.kinds: set[int] = set()
        """Types of entries that were met in live files."""
        self._lock = threading.RLock()

    def _note(self, rule: checks.Rule, detail: str = "", **facts: Any) -> None:
        """Keep a finding, and its error for `require_sound`."""
        finding = rule.finding(detail, **facts)
        self.problems.append(finding)
        if finding.is_problem:
            self.errors.append(rule.error(detail, **facts))

    @cached_property
    def old_manifests(self) -> list[Manifest]:
        """Manifests that are no longer used; they are read when there are tables that only they may have named."""
        return old_manifests(self.tree, self.manifest.name if self.manifest else "", self.limits)

    def _was_named(self, table: int) -> bool:
        """Whether a manifest, the current or an older one, ever mentioned a table."""
        named = self.manifest is not None and table in self.manifest.mentioned
        return named or any(table in each.mentioned for each in self.old_manifests)

    def _check_logs(self, report: Report) -> None:
        """Report that logs named by the manifest are missing, or that the options place the logs elsewhere."""
        missing = self._missing_logs()
        if not missing:
            return
        self.missing_logs = [f"{number:06d}.log" for number in missing]
        spans = [Span(name, 0, 0) for name in self.missing_logs]
        folder = log_folder(self._options())
        from pathlib import PurePath

        # The options name the directory of the logs by its path.  A database that was moved has a different path, but
        # the same name, so a different name means that the logs have a directory of their own.
        if folder and PurePath(folder).name != PurePath(self.tree.name).name:
            report(checks.LOGS_ELSEWHERE, span=spans[0], actual=folder)
        else:
            self.absent_logs = [checks.LOG_ABSENT.error(span=span) for span in spans]
            self.problems += [checks.LOG_ABSENT.finding(span=span) for span in spans]

    def _missing_logs(self) -> list[int]:
        """Return the numbers of logs that must exist, but do not.

        A LevelDB manifest names the log in use, which exists from before until after it is named: it must be there.  A
        RocksDB manifest names the first number that a log may have: there must be this log or a later one.  It lists
        the logs only if the database tracks them.
        """
        manifest = self.manifest
        if manifest is None:
            return []
        logs = [file for file in self.files if file.kind == "log"]
        missing = manifest.tracked_logs - {file.number for file in logs}
        # An older log than `first` does not matter, and a tracked log that is missing is already the finding.
        first = manifest.log_number
        if first and not missing and all(file.number != first for file in logs):
            has_later_log = any(file.role is Role.LIVE for file in logs)
            # The writer is LevelDB itself, or perhaps dacha, not RocksDB.
            is_leveldb = manifest.comparator is not None and manifest.writer.startswith("leveldb")
            if is_leveldb or not has_later_log:
                missing.add(first)
        return sorted(missing)

    def _options(self) -> str:
        """The newest OPTIONS; empty without one."""
        name = newest_options(plain_names(self.tree))
        return self.source(name).read_up_to(0, MOST_OPTIONS).decode("utf-8", "surrogateescape") if name else ""

    def confirm_manifest(self) -> None:
        """Read CURRENT once, if the manifest was found without it, and note the problem with it."""
        with self._lock:
            if self.manifest is not None and not self._confirmed and obvious_manifest(self.tree):
                self._confirmed = True
                named_manifest(self.tree, self._note)

    def require_sound(self) -> None:
        """Raise the first error of reading CURRENT, manifest and directory; every strict method calls it first."""
        if self.errors:
            raise self.errors[0]

    @property
    def comparator(self) -> str:
        """The name of the comparator, which orders the keys."""
        return (self.manifest.comparator if self.manifest else None) or BYTEWISE

    @property
    def is_bytewise(self) -> bool:
        """Whether keys are ordered as bytes in all column families, so that files can be merged and searched by key."""
        families = self.manifest.families if self.manifest else (0, *self._apparent_orders)
        return all(self.order(family).is_bytewise for family in families)

    def order(self, family: int) -> Comparator:
        """The order of the keys of a column family.

        Without a manifest, it is the one that tables name.  Where they name none, it is that of bytes, unless sound
        tables are not in that order.
        """
        if self.manifest is not None:
            return self.manifest.order_of(family)
        return self._apparent_orders.get(family) or comparator_of(BYTEWISE)

    def order_of(self, file: DbFile) -> Comparator:
        """The order of the keys of a table: as its properties say, else that of its column family."""
        if self.manifest is not None and (file.role is Role.LIVE or file.column_family):
            return self.order(file.column_family)
        return self._named_order(file) or self.order(file.column_family)

    def _named_order(self, file: DbFile) -> Comparator | None:
        """The comparator that the properties of a table name; None if they name none."""
        name = Table.comparator_name(self._properties(file))
        return comparator_of(name) if name else None

    def _properties(self, file: DbFile) -> Mapping[str, bytes]:
        """The properties of a table as far as they can be read."""
        table = Table(self.source(file.name), limits=self.limits)
        return table.properties(checks.ignore) if table.footer_or_none() is not None else {}

    def family_of(self, file: DbFile) -> int:
        """The column family of a table: as the manifest states it, and as its properties do where it is not live."""
        if file.role is Role.LIVE or file.column_family:
            return file.column_family
        stated = property_number(self._properties(file).get(FAMILY_ID, b"")) or 0
        return stated if stated < NO_FAMILY else 0

    @cached_property
    def _apparent_orders(self) -> dict[int, Comparator]:
        """The order of keys in each column family with tables where no manifest names one: that of the properties of
        its tables, else of bytes if the keys are in that order.  An empty name: unknown, e.g. if tables disagree.
        """
        families: dict[int, list[DbFile]] = {}
        for file in self.files:
            if file.kind == "table":
                families.setdefault(self.family_of(file), []).append(file)
        return {family: self._apparent_order(files) for family, files in families.items()}

    def _apparent_order(self, files: list[DbFile]) -> Comparator:
        """The order of keys in some tables; see `_apparent_orders`."""
        named = {order.name for file in files if (order := self._named_order(file)) is not None}
        if named:
            return comparator_of(named.pop() if len(named) == 1 else "")
        plain = (Table(self.source(file.name), limits=self.limits) for file in files)
        return comparator_of("" if any(map(self._is_in_another_order, plain)) else BYTEWISE)

    def _is_in_another_order(self, table: Table) -> bool:
        """Whether the first blocks of a table are sound, but its keys are not in the order of bytes."""
        damaged = disorder = False

        def note(rule: checks.Rule, *args: object, **kwargs: object) -> None:
            """Note whether a finding is about the order of keys or about damage."""
            nonlocal damaged, disorder
            # A fault in the filler of the footer is not one of the blocks.
            damaged |= rule not in (checks.KEY_ORDER, checks.FOOTER_FILL)
            disorder |= rule is checks.KEY_ORDER

        if table.check_footer(note) is None:
            return False
        for block in table.read_blocks(table.index(note).handles[:LOOKED_AT], note):
            if block is not None:
                table.block_items(block, 0, note)
            if damaged:
                break
        return disorder and not damaged

    @cached_property
    def operators(self) -> dict[int, Operator]:
        """The merge operators of the column families, by their numbers, according to the newest OPTIONS."""
        named = operators_of(self._options())
        families = self.manifest.families if self.manifest is not None else {0: ColumnFamily()}
        return {number: named[one.name] for number, one in families.items() if one.name in named}

    @cached_property
    def blobs(self) -> BlobStore:
        """The blob files that are present."""
        from exhume.formats.leveldb.blobs import BlobStore

        names = {file.number: file.name for file in self.files if file.kind == "blob" and file.size is not None}
        return BlobStore(names, self.source, self.limits)

    @cached_property
    def resolve(self) -> Resolver:
        """Function (column family, key, its versions) to the value that they make. Its errors say why a value cannot be
        read.
        """
        return resolver_of(self.operators, self.blobs.value)

    @cached_property
    def resolve_large(self) -> Resolver:
        """`resolve`, but it returns None instead of raising, and notes the failure in `unresolved` and `unread`. It may
        return large values.
        """
        return self._noting(self.resolve)

    @cached_property
    def resolve_value(self) -> Held:
        """`resolve_large` for values that have to fit in memory: None, and a note, for one above the limit
        `payload_size`.
        """

        def held(family: int, key: bytes, versions: Versions) -> bytes | None:
            """Resolve a value, and read all of it; raises `LimitExceededError` above the limit."""
            value = self.resolve(family, key, versions)
            return None if value is None else whole(value)

        return self._noting(held)

    def _noting(
        self, resolve: Callable[[int, bytes, Versions], V | None]
    ) -> Callable[[int, bytes, Versions], V | None]:
        """Wrap `resolve` so that an error becomes None (unknown value) and is added to `unread`."""

        def noted(family: int, key: bytes, versions: Versions) -> V | None:
            """Resolve the value that `versions` of a key make, and remember the key and type if that fails."""
            try:
                value = resolve(family, key, versions)
            except ExhumeError as error:
                self.unread.append((key, error))
                value = None
            if value is None:
                newest_type, _ = versions[0]
                self.unresolved.add(type_name(newest_type))
            return value

        return noted

    def source(self, name: str) -> Source:
        """One file of the directory."""
        return self._pool.source(name)

    def table(self, file: DbFile) -> Table:
        """The reader of one table."""
        with self._lock:
            found = self._tables.get(file.name)
            if found is None:
                found = self._tables[file.name] = Table(
                    self.source(file.name), file.number, level=file.level, referenced=file.role is Role.LIVE,
                    column_family=self.family_of(file), largest_sequence=file.largest_sequence,
                    comparator=self.order_of(file), limits=self.limits,
                    hidden=self._hidden if file.role is Role.LIVE else frozenset,
                )  # fmt: skip
            return found

    def tables(self, *roles: Role) -> list[DbFile]:
        """Tables in these roles."""
        return [file for file in self.files if file.kind == "table" and file.role in roles]

    def logs(self, *roles: Role) -> list[DbFile]:
        """Logs in these roles, oldest first; a blob file without a database takes the place of a log."""
        kind = "blob" if self._is_blob_file else "log"
        return [file for file in self.files if file.kind == kind and file.role in roles]

    @cached_property
    def _is_blob_file(self) -> bool:
        """Whether there is nothing but a blob file."""
        return self._standalone and all(file.kind == "blob" for file in self.files)

    def load_log(self, file: DbFile, report: Report = checks.strict) -> LoadedLog:
        """A log as sorted items.  Live ones are read together, once, since transactions may span several."""
        if file.role is not Role.LIVE:
            return self._replay().load(self.source(file.name), file).report_fault(report)
        return self._live_logs()[file.name].report_fault(report)

    def _replay(self) -> Replay:
        """A new replay: it remembers transactions from one log to the next."""
        return Replay(self.manifest, self.limits, self.sequence_rule, self._is_dacha)

    def _live_logs(self) -> dict[str, LoadedLog]:
        """Return the entries of the logs that the database would replay, read once."""
        with self._lock:
            if self._logs is None:
                replay = self._replay()
                self._logs = {file.name: self._loaded(file, replay) for file in self.logs(Role.LIVE)}
                self._prepared = list(replay.prepared())  # complete only after the last log
                self._uncommitted = replay.uncommitted()
            return self._logs

    def _hidden(self) -> frozenset[int]:
        """The sequence numbers of entries in live tables that were prepared and never committed."""
        self._live_logs()
        return self._uncommitted

    def _loaded(self, file: DbFile, replay: Replay) -> LoadedLog:
        """The rows of a log, or of the blob file that takes its place."""
        if file.kind == "blob":
            from exhume.formats.leveldb.blobs import rows_of

            return rows_of(self.source(file.name), file, self.limits)
        return replay.load(self.source(file.name), file)

    def unused_items(self, report: Report = checks.strict) -> Iterator[Unused]:
        """Yield the items of logs that are not part of the state: unused ones of live logs, prepared transactions, and
        all items of other logs.
        """
        for file in self.logs(Role.LIVE):
            yield from self.load_log(file, report).unused
        yield from self._prepared
        replay = self._replay()
        for file in self.logs(Role.OBSOLETE, Role.ORPHAN):
            log = replay.load(self.source(file.name), file).report_fault(checks.of_unused(report))
            yield from ((Status.UNREFERENCED, family, items) for family, items in sorted(log.items.items()))
            yield from log.unused
        yield from replay.prepared()

    def _is_dacha(self) -> bool:
        """Return whether the writer is dacha EmbeddedDB, by the manifest or by the form of IDENTITY."""
        writer = self.manifest.writer if self.manifest else ""
        if writer == "dacha":
            return True
        # The manifest fits several writers: only dacha writes IDENTITY (a UUID without a line end) and no OPTIONS.
        names = {file.name for file in self.files}
        if "dacha" not in writer or "IDENTITY" not in names or any(name.startswith("OPTIONS-") for name in names):
            return False
        identity = self.source("IDENTITY").read_up_to(0, 64)
        return len(identity) == 36 and not identity.endswith(b"\n")  # 36: a UUID as text

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            self._pool.close()
            self._tables.clear()
            self._logs = None
