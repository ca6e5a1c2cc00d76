"""Does this look like a database of the LevelDB family?

CURRENT is a file that names the manifest, which lists the tables (`*.ldb`, `*.sst`).  Confidences are between 0 and 1:
a format with a higher one is preferred, so weak evidence (file names alone) counts less than a magic number.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Final

from exhume_ksy.facts.leveldb_blob_file import FileHeader as BlobHeader
from exhume_ksy.facts.leveldb_footer import LeveldbFooter

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.leveldb.names import (
    CURRENT,
    MANIFEST_NAME,
    classify_name,
    hint_files,
    kind_in_pebble,
    obvious_manifest,
    plain_names,
)
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

_BLOB_HEAD = struct.Struct(BlobHeader.packed)  # it starts with magic and version
# Names of files besides those of `classify_name` that LevelDB and RocksDB write.
_OTHER_FILES = r"LOCK|IDENTITY|LOG(?:\.old(?:\.[0-9]+)?)?|OPTIONS-[0-9]+|[0-9]+\.dbtmp"

UNREAD_TABLES: Final[Mapping[bytes, str]] = {
    LeveldbFooter.means.is_plain: "a plain table of RocksDB",
    LeveldbFooter.means.is_old_plain: "a plain table of RocksDB",
    LeveldbFooter.means.is_cuckoo: "a cuckoo table of RocksDB",
    LeveldbFooter.means.is_pebble: "a table in a format of Pebble's own",
}
"""Kinds of tables that are recognized, but not read, by the magic number at their end."""


def probe(source: Source | Tree) -> Identification | None:
    """Recognize a directory with CURRENT and its manifest, the remains of such a directory, and a lone table."""
    if isinstance(source, Source):
        return _probe_table(source)
    names = plain_names(source)
    here = Span(source.name, 0, 0)
    kinds = [classify_name(name)[0] for name in names]
    evidence = []
    confidence = 0.0
    if CURRENT in names:
        # The name in CURRENT, which often need not be read.
        text = obvious_manifest(source) or ""
        if not text:
            hint_files(source, names)
            with source.source(CURRENT) as current:
                text = current.read_up_to(0, 64).decode("ascii", "replace").rstrip("\r\n")
        if MANIFEST_NAME.fullmatch(text):
            confidence = 0.97 if text in names else 0.8
            evidence.append(f"CURRENT names {text}{'' if text in names else ', which is missing'}")
    if "manifest" in kinds:
        confidence = max(confidence, 0.6)
        evidence.append("a manifest")
    tables, logs = kinds.count("table"), kinds.count("log")
    if tables or (logs and confidence):
        confidence = max(confidence, 0.55 if tables else 0.0)
        evidence.append(f"{counted(tables, 'tables')}, {counted(logs, 'logs')}")
    return Identification("leveldb", confidence, here, tuple(evidence)) if confidence else None


def owns(name: str) -> bool:
    """Whether databases of this family write such a file directly into their directory, including unused kinds."""
    return kind_in_pebble(name, classify_name(name)[0]) != "other" or re.fullmatch(_OTHER_FILES, name) is not None


def _probe_table(source: Source) -> Identification | None:
    """Identify a lone blob file or table by its magic number; None if it has none."""
    head = source.read_up_to(0, BlobHeader.size)
    if len(head) == BlobHeader.size and _BLOB_HEAD.unpack(head)[:2] == (BlobHeader.magic, BlobHeader.version):
        return Identification(
            "leveldb", 0.7, source.span(0, source.size), ("magic number and version of a RocksDB blob file",)
        )
    if source.size < LeveldbFooter.before_end.leveldb[0]:
        return None
    magic_size, means = LeveldbFooter.before_end.magic[0], LeveldbFooter.means
    tail = bytes(source.read_at(source.size - magic_size, magic_size))
    known = {means.is_leveldb: "a LevelDB table", means.is_rocksdb: "a RocksDB table", **UNREAD_TABLES}
    if tail in known:
        return Identification(
            "leveldb", 0.9, source.span(0, source.size), (f"magic number at the end of {known[tail]}",)
        )
    return None
