"""Names of the files in a database directory: the kind of each file, and which of them opening reads.

CURRENT has the name of the manifest, which lists the tables; `*.log` are logs of writes, `*.ldb` and `*.sst` tables,
`*.blob` files with large values, OPTIONS-* settings of RocksDB, `marker.*` files of Pebble.  The functions that request
files matter for remote directories, where each request takes long: they announce several files at once.  `folder` is
the directory of the database in the tree, with a slash ("" for the tree itself).

Spec: LevelDB doc/impl.md, "Files"; db/filename.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exhume.io.tree import Tree

# Names: manifests; logs, tables and blob files; RocksDB's options; Pebble's markers, and its files of other kinds.
MANIFEST_NAME = re.compile(r"MANIFEST-([0-9]{1,20})", re.ASCII)
_NUMBERED = re.compile(r"([0-9]{1,20})\.(log|ldb|sst|blob)", re.ASCII)
_OPTIONS = r"OPTIONS-([0-9]{1,20})"  # compiled when it is used, as those that follow
_MARKER = r"marker\.([a-z-]+)\.([0-9]{1,20})\.(.+)"  # what it is about, iteration, value
_OF_PEBBLE = r"[0-9]{1,20}-[0-9]{1,20}\.log|REMOTE-OBJ-CATALOG-[0-9]{1,20}"
CURRENT = "CURRENT"
_LAST_NUMBER = (1 << 64) - 1  # of a file
PEBBLE = "pebble"
"""The kind of files that mean something else in a database of Pebble than in one of RocksDB."""

SMALL_TABLES = 5 << 19
"""Remote tables of at most this total size, 2.5 MiB, are fetched as a whole when rows are read.

Fetching 2 MiB, which is as large as LevelDB makes a table, takes about as long as another request.
"""


def classify_name(name: str) -> tuple[str, int]:
    """Return (kind, number) of a file name, the number 0 if it has none.

    The engines know numbers of 64 bits: a file with a larger one is of the kind "other".
    """
    if name == CURRENT:
        return "current", 0
    manifest = MANIFEST_NAME.fullmatch(name)
    if manifest and int(manifest[1]) <= _LAST_NUMBER:
        return "manifest", int(manifest[1])
    match = _NUMBERED.fullmatch(name)
    if match and int(match[1]) <= _LAST_NUMBER:
        number, ending = int(match[1]), match[2]
        return (ending if ending in ("log", "blob") else "table"), number
    return "other", 0


def pebble_version(names: Iterable[str]) -> str | None:
    """Return the format major version that Pebble's newest marker states.

    It is "" if there are only other markers, and None without a marker: then the directory is not Pebble's.
    """
    markers = [match for name in names if name.startswith("marker.") and (match := re.fullmatch(_MARKER, name))]
    stated = [(int(one[2]), one[3].lstrip("0")) for one in markers if one[1] == "format-version"]
    if not stated:
        return "" if markers else None
    _, version = max(stated)  # the highest iteration of the marker counts
    return version


def kind_in_pebble(name: str, kind: str) -> str:
    """The kind of a file in a database of Pebble, which shares the form of tables only."""
    other = kind in ("log", "manifest", "blob", "current")
    return PEBBLE if other or re.fullmatch(_OF_PEBBLE, name) or re.fullmatch(_MARKER, name) else kind


def newest_options(names: Iterable[str]) -> str | None:
    """The newest of RocksDB's files OPTIONS among files; None without any."""
    possible = [name for name in names if name.startswith("OPTIONS-")]
    found = [(int(match[1]), name) for name in possible if (match := re.fullmatch(_OPTIONS, name))]
    return max(found)[1] if found else None


def plain_names(tree: Tree) -> list[str]:
    """The names of files directly in the directory."""
    return tree.files()


def set_aside(tree: Tree) -> list[str]:
    """The logs, tables and manifests in `lost`, into which a repair moves what it read.

    Spec: LevelDB db/repair.cc, `ArchiveFile`.
    """
    names = [name for name in tree.names() if name.startswith("lost/")]
    return sorted(
        name for name in names if classify_name(name.removeprefix("lost/"))[0] in ("log", "table", "manifest")
    )


def obvious_manifest(tree: Tree, folder: str = "") -> str | None:
    """Return the manifest that CURRENT must name, if reading CURRENT would be a needless request; otherwise None.

    It is the only manifest, and the listed size of CURRENT is exactly that of its name and a line end. `verify` reads
    CURRENT nevertheless.
    """
    names = [name.removeprefix(folder) for name in tree.names() if name.startswith(folder)]
    manifests = [name for name in names if classify_name(name)[0] == "manifest"]
    if len(manifests) == 1 and tree.listed_size(f"{folder}{CURRENT}") == len(manifests[0]) + 1:
        return manifests[0]
    return None


def opening_files(tree: Tree, folder: str = "") -> list[str]:
    """The files that opening reads: the obvious manifest, or CURRENT and the manifest that it most likely names."""
    obvious = obvious_manifest(tree, folder)
    if obvious is not None:
        return [f"{folder}{obvious}"]
    names = [name.removeprefix(folder) for name in tree.names() if name.startswith(folder)]
    newest = max((name for name in names if classify_name(name)[0] == "manifest"), key=classify_name, default=None)
    return [f"{folder}{name}" for name in (CURRENT, newest) if name in names]


def hint_files(tree: Tree, names: Iterable[str]) -> None:
    """Request what opening reads, and the sizes of other files, all at once."""
    first = opening_files(tree)
    tree.will_read(first, sizes=[name for name in names if name not in first])


def hint_rows(tree: Tree, names: Iterable[str], *, heads: Iterable[str] = (), sizes: Iterable[str] = ()) -> None:
    """Request, all at once, what has to be read first to get rows of these tables and logs.

    That is the starts of logs, and small tables as a whole or else both ends of tables (footer and index are last).
    `heads` and `sizes` name further files whose start or size is needed.
    """
    kinds = {name: classify_name(name.rpartition("/")[2])[0] for name in names}
    tables = {name: tree.listed_size(name) for name, kind in kinds.items() if kind == "table"}
    whole = None not in tables.values() and sum(size or 0 for size in tables.values()) <= SMALL_TABLES
    tree.will_read(
        [*heads, *(name for name, kind in kinds.items() if kind == "log")],
        tails=[] if whole else tables,  # of these, end and beginning
        spans={name: (0, size) for name, size in tables.items() if whole and size},
        sizes=sizes,
    )
