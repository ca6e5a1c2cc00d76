"""The files of a database directory: the kind and role of each, and sources, only a few open at a time.

A database may have thousands of tables and a bundle thousands of shards, more than a process may keep open: a closed
one is opened again when it is needed.  Only files with plain names directly inside the directory are opened.

CURRENT names the manifest, which lists the tables of the state.  The role of a file is what the database does with
it: live files make up the state, obsolete ones once did, orphans are in no manifest.  Pebble is a database whose tables
have the form of RocksDB's, but whose other files differ.

Spec: LevelDB doc/impl.md, "Files"; db/filename.cc.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from exhume.errors import Span
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.manifest import Manifest, parse_current, replay
from exhume.formats.leveldb.model import Role, TableFile
from exhume.formats.leveldb.names import (
    CURRENT,
    PEBBLE,
    classify_name,
    kind_in_pebble,
    obvious_manifest,
    plain_names,
    set_aside,
)
from exhume.io.source import Cost, Source
from exhume.io.tree import Tree
from exhume.limits import Limits
from exhume.tuples import NamedTuple


class DbFile(NamedTuple):
    """One file of the directory (or one that should be there: `role` missing, `size` None).

    `kind`: table, log, blob, manifest, current, other.  `number`: the one in the name, which the manifest uses.
    `level`: that of a table in the state; higher levels have older rows.  `expected_size`, `largest_sequence`: as
    stated in the manifest.
    """

    name: str
    kind: str
    number: int
    role: Role
    size: int | None
    level: int | None = None
    column_family: int = 0
    expected_size: int | None = None
    largest_sequence: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"name": self.name, "kind": self.kind, "role": str(self.role), "size": self.size}
        if self.level is not None:
            out["level"] = self.level
        if self.column_family:
            out["column_family"] = self.column_family
        if self.expected_size is not None and self.expected_size != self.size:
            out["expected_size"] = self.expected_size
        return out


def load_manifest(tree: Tree, report: Report, limits: Limits) -> Manifest | None:
    """Return the manifest that CURRENT names; if that fails, which is reported, the newest one; None without any."""
    names = plain_names(tree)
    chosen = obvious_manifest(tree) or named_manifest(tree, report)
    if chosen is None:
        manifests = sorted((classify_name(name)[1], name) for name in names if classify_name(name)[0] == "manifest")
        if not manifests:
            return None
        chosen = manifests[-1][1]  # the highest number is the newest
    with tree.source(chosen) as source:
        manifest = replay(source, report, limits)
    manifest.name = chosen
    return manifest


def named_manifest(tree: Tree, report: Report) -> str | None:
    """The manifest that CURRENT names, if it exists."""
    names = plain_names(tree)
    if CURRENT not in names:
        report(checks.NO_CURRENT, span=Span(tree.name, 0, 0))
        return None
    with tree.source(CURRENT) as source:
        # CURRENT has one short line.
        chosen = parse_current(source.read_up_to(0, 4096), source.span(0, source.size), report)
    if chosen is not None and chosen not in names:
        report(checks.NO_MANIFEST, span=Span(CURRENT, 0, 0), actual=chosen)
        return None
    return chosen


def old_manifests(tree: Tree, current: str, limits: Limits) -> list[Manifest]:
    """Every other manifest in the directory, as far as it is readable (evidence of older versions)."""
    names = [name for name in plain_names(tree) if name != current and classify_name(name)[0] == "manifest"]
    tree.will_read(names)
    out = []
    for name in names:
        with tree.source(name) as source:
            manifest = replay(source, checks.ignore, limits)
        manifest.name = name
        out.append(manifest)
    return out


def list_files(tree: Tree, manifest: Manifest | None, was_named: Callable[[int], bool], report: Report) -> list[DbFile]:
    """Return every file with its role, sorted by kind and number; report missing files and two of the same number.

    `was_named`: whether any manifest ever named the table of a number.
    """
    referenced: dict[int, TableFile] = {table.number: table for table in manifest.tables} if manifest else {}
    out: list[DbFile] = []
    seen: dict[int, str] = {}  # table number -> file name
    for name in plain_names(tree):
        kind, number = classify_name(name)
        if manifest is not None and name == manifest.name:
            kind = "manifest"  # CURRENT may name a file of any name
        with tree.source(name) as source:
            size, whole = source.size, source.span(0, source.size)
        if kind != "table":
            role, family = _role_of(kind, name, number, manifest)
            file = DbFile(name, kind, number, role, size, None, family)
        else:  # its role depends on all manifests
            if number in seen:
                report(checks.TWO_FILES, span=whole, actual=seen[number])
            seen[number] = name
            table = referenced.get(number)
            if table is None:
                file = DbFile(name, kind, number, Role.OBSOLETE if was_named(number) else Role.ORPHAN, size, None, 0)
            else:
                file = DbFile(name, kind, number, Role.LIVE, size, table.level, table.column_family, table.size,
                              table.largest_sequence)  # fmt: skip
                if size != table.size:
                    report(checks.FILE_SIZE, span=whole, expected=table.size, actual=size)
        if file.role is Role.ORPHAN:
            report(checks.ORPHAN, span=whole)
        elif file.role is Role.OBSOLETE:
            report(checks.OBSOLETE, span=whole)
        out.append(file)
    for name in set_aside(tree):
        with tree.source(name) as source:
            report(checks.SET_ASIDE, span=source.span(0, source.size))
    out += _missing_blobs({one.number for one in out if one.kind == "blob"}, manifest, report)
    for number, table in referenced.items():
        if number not in seen:
            name = f"{number:06d}.ldb"
            report(checks.MISSING_FILE, f"table {number} of level {table.level}", span=Span(name, 0, 0))
            out.append(DbFile(name, "table", number, Role.MISSING, None, table.level, table.column_family, table.size))
    return sorted(out, key=lambda file: (file.kind, file.number, file.name))


def as_of_pebble(file: DbFile) -> DbFile:
    """Return a file of a database of Pebble with the role that it has here: only tables are read."""
    kind = kind_in_pebble(file.name, file.kind)
    return file._replace(kind=kind, role=Role.OTHER) if kind == PEBBLE else file


def _log_role(number: int, manifest: Manifest | None) -> Role:
    """Return the role of a log: live, obsolete, or orphan if there is no manifest."""
    if manifest is None:
        return Role.ORPHAN
    if manifest.is_replayed(number):
        return Role.LIVE
    return Role.OBSOLETE


def _missing_blobs(found: set[int], manifest: Manifest | None, report: Report) -> list[DbFile]:
    """Report live blob files that are not in the directory, and return entries for them.

    `found` has the file numbers in the directory.
    """
    out: list[DbFile] = []
    for number, family in (manifest.live_blobs if manifest else {}).items():
        if number not in found:
            name = f"{number:06d}.blob"
            report(checks.MISSING_FILE, "a blob file", span=Span(name, 0, 0))
            out.append(DbFile(name, "blob", number, Role.MISSING, None, None, family))
    for number in manifest.unnamed_blobs if manifest else ():
        if number in found:  # a blob file of the old BlobDB, which are in no manifest
            detail = "tables refer to it, and the manifest does not name it"
            report(checks.BLOB_FILE, detail, span=Span(f"{number:06d}.blob", 0, 0))
    return out


def _role_of(kind: str, name: str, number: int, manifest: Manifest | None) -> tuple[Role, int]:
    """The role of a file other than a table, and its column family."""
    if kind == "log":
        return _log_role(number, manifest), 0
    if kind == "blob":
        return _blob_role(number, manifest)
    if kind == "manifest":
        return Role.LIVE if manifest is not None and name == manifest.name else Role.OBSOLETE, 0
    return Role.LIVE if kind == "current" else Role.OTHER, 0


def _blob_role(number: int, manifest: Manifest | None) -> tuple[Role, int]:
    """The role of a blob file, and its column family."""
    if manifest is None:
        return Role.ORPHAN, 0
    if number in manifest.live_blobs:
        return Role.LIVE, manifest.live_blobs[number]
    return (Role.OBSOLETE if number in manifest.mentioned_blobs else Role.ORPHAN), 0


MOST_OPEN = 128
"""Files of a directory that are open at the same time, as systems allow a process about a thousand."""


class SourcePool:
    """The files of a directory, `MOST_OPEN` of them open at a time (more while that many are being read)."""

    def __init__(self, tree: Tree) -> None:
        """Keep at most `MOST_OPEN` files of a directory open."""
        self._tree = tree
        self._most = MOST_OPEN
        self._known: dict[str, PooledSource] = {}  # all that were requested, by name
        self._open: OrderedDict[str, Source] = OrderedDict()  # least recently used first
        self._uses: dict[str, int] = {}  # reads in progress, by name: such a file is not closed
        self._lock = threading.Lock()  # held for the dictionaries above, but not while a file is read

    def source(self, name: str) -> PooledSource:
        """One file of the directory.  Raises `EntryNotFoundError`, `SourceError`."""
        with self._lock:
            found = self._known.get(name)
            if found is None:
                found = self._known[name] = PooledSource(self, name, self._opened(name))
            return found

    def _opened(self, name: str) -> Source:
        """Return the open file `name`, and close idle files above the limit, least recently used first. The caller has
        the lock.
        """
        source = self._open.get(name)
        if source is None:
            source = self._open[name] = self._tree.source(name)
            while len(self._open) > self._most and (idle := self._idle(name)) is not None:
                self._open.pop(idle).close()
        self._open.move_to_end(name)
        return source

    def _idle(self, name: str) -> str | None:
        """Return the name of the file that was unused for the longest time, other than `name`; None if all are being
        read.
        """
        return next((other for other in self._open if not self._uses.get(other) and other != name), None)

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Exactly `size` bytes of a file."""
        with self._lock:
            source = self._opened(name)
            self._uses[name] = self._uses.get(name, 0) + 1
        try:
            return source.read_at(offset, size)
        finally:
            with self._lock:
                self._uses[name] -= 1

    def will_read(self, name: str, start: int, stop: int) -> None:
        """Announce that a range of a file will be read in small pieces."""
        with self._lock:
            self._opened(name).will_read(start, stop)

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for source in self._open.values():
                source.close()
            self._open.clear()
            self._known.clear()


class PooledSource(Source):
    """A file of a pool, which may be closed between two reads. Size, cost and name are kept for that."""

    def __init__(self, pool: SourcePool, file: str, opened: Source) -> None:
        """Describe a file that the pool opens again when it is read."""
        self._pool = pool
        self._file = file
        self._size = opened.size
        self._cost = opened.cost
        self.name: str = opened.name
        self.origin: int = opened.origin

    @property
    def size(self) -> int:
        return self._size

    @property
    def cost(self) -> Cost:
        return self._cost

    def will_read(self, start: int, stop: int) -> None:
        """Announce a read of the file, so that a remote store can fetch it early."""
        if self._cost.wait:  # a local file need not be opened for that
            self._pool.will_read(self._file, start, stop)

    def _read(self, offset: int, size: int) -> bytes:
        return self._pool.read(self._file, offset, size)
