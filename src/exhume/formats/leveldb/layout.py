"""Bytes <-> values through the generated parsers; the only module here that imports `exhume_ksy`.

Structures that are read once per file go through the generated classes: footers, version edits, properties, filters.
The hot ones (log fragments, batch operations, block entries, handles) have hand-written twins in `log.py`, `wire.py`
and `exhume.kernel`, compared with the generated classes in `tests/leveldb/test_twins.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exhume_ksy.leveldb_block import LeveldbBlock
from exhume_ksy.leveldb_filter import LeveldbFilter
from exhume_ksy.leveldb_footer import LeveldbFooter
from exhume_ksy.leveldb_index_delta import LeveldbIndexDelta
from exhume_ksy.leveldb_log import LeveldbLog
from exhume_ksy.leveldb_properties import LeveldbProperties
from exhume_ksy.leveldb_version_edit import LeveldbVersionEdit
from exhume_ksy.leveldb_write_batch import LeveldbWriteBatch

from exhume.errors import ExhumeError, Span, StructureError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.model import Footer, TableFile, VersionEdit
from exhume.formats.leveldb.wire import Handle
from exhume.kaitai import FAILURES, parse, translate

LEVELDB_FOOTER = 48
ROCKSDB_FOOTER = 53
NEWEST_VERSION = 7
"""Newest `format_version` of RocksDB tables that is read."""
BLOCK_TRAILER = 5
LEVELDB_MAGIC = bytes.fromhex("57fb808b247547db")
ROCKSDB_MAGIC = bytes.fromhex("f7cff485b741e288")
CHECKSUM_NAMES = ("none", "crc32c", "xxhash32", "xxhash64", "xxh3")


def _walk(parsed: Any, where: Span, read: Callable[[Any], Any]) -> Any:
    """`read(parsed)` with every failure of a lazy instance turned into ours."""
    try:
        return read(parsed)
    except ExhumeError:
        raise
    except FAILURES as error:
        raise translate(error, parsed._io, where) from error  # noqa: SLF001 - the runtime's own attribute


def parse_footer(tail: bytes, where: Span) -> Footer | None:
    """The footer at the end of `tail` (the last 53 bytes of a table, or fewer); None when no magic number is there.

    `where` is the span of `tail`.  Raises `StructureError` for handles that cannot be read, and the rule for a version
    that is not read.  Spec: table_format.md, RocksDB table/format.h.
    """
    if len(tail) < LEVELDB_FOOTER or tail[-8:] not in (LEVELDB_MAGIC, ROCKSDB_MAGIC):
        return None
    if tail[-8:] == ROCKSDB_MAGIC and len(tail) < ROCKSDB_FOOTER:
        return None
    parsed = parse(LeveldbFooter, tail, where)

    def read(footer: Any) -> Footer:
        if footer.is_leveldb:
            start = where.end - LEVELDB_FOOTER
            meta, index = _handle(footer.leveldb.metaindex), _handle(footer.leveldb.index)
            return Footer("leveldb", 0, "crc32c", meta, index, start, LEVELDB_FOOTER, footer.leveldb.padding)
        start = where.end - ROCKSDB_FOOTER
        if footer.version > NEWEST_VERSION:
            raise checks.BAD_VERSION.error(span=where, expected=f"0 to {NEWEST_VERSION}", actual=footer.version)
        number = int(footer.checksum_type)
        checksum = CHECKSUM_NAMES[number] if number < len(CHECKSUM_NAMES) else f"type-{number}"
        if footer.version < 6:
            body = footer.rocksdb
            meta, index = _handle(body.metaindex), _handle(body.index)
            return Footer("rocksdb", footer.version, checksum, meta, index, start, ROCKSDB_FOOTER, body.padding)
        sealed = footer.rocksdb6
        size = sealed.len_metaindex
        return Footer(
            "rocksdb", footer.version, checksum, Handle(start - BLOCK_TRAILER - size, size), None, start,
            ROCKSDB_FOOTER, sealed.padding, sealed.footer_checksum, sealed.base_context_checksum,
        )  # fmt: skip

    out: Footer = _walk(parsed, where, read)
    return out


def _handle(parsed: Any) -> Handle:
    return Handle(parsed.ofs_block.value, parsed.len_block.value)


def parse_version_edit(payload: bytes, where: Span) -> VersionEdit:
    """One record of a manifest; raises `StructureError` or `TruncatedError` for one that cannot be read to its end."""
    parsed = parse(LeveldbVersionEdit, payload, where)
    values: dict[str, Any] = {}
    pointers: list[tuple[int, bytes]] = []
    deleted: list[tuple[int, int]] = []
    added: list[TableFile] = []
    tags: list[int] = []
    family = next((f.body.value for f in parsed.fields if int(f.tag) == 200), 0)
    for field in parsed.fields:
        tag, body = int(field.tag), field.body
        tags.append(field.raw_tag.value)
        match tag:
            case 1:
                values["comparator"] = body.data.decode("utf-8", "backslashreplace")
            case 201:
                values["column_family_add"] = body.data.decode("utf-8", "backslashreplace")
            case 202:
                values["column_family_drop"] = True
            case 5:
                pointers.append((body.level.value, body.internal_key.data))
            case 6:
                deleted.append((body.level.value, body.number.value))
            case 7 | 100 | 102 | 103:
                added.append(_table_file(tag, body, family))
            case _ if tag in _COUNTERS:
                values[_COUNTERS[tag]] = body.value
    return VersionEdit(
        compact_pointers=tuple(pointers), deleted=tuple(deleted), added=tuple(added), column_family=family,
        tags=tuple(tags), **values,
    )  # fmt: skip


_COUNTERS = {
    2: "log_number",
    3: "next_file_number",
    4: "last_sequence",
    9: "previous_log_number",
    10: "min_log_number",
    203: "max_column_family",
    300: "atomic_group_left",
    800: "waterline",
}


def _table_file(tag: int, body: Any, family: int) -> TableFile:
    ranged = body.file if tag == 103 else body
    file = ranged.file if tag in (100, 103) else ranged
    low = high = None
    if tag != 7:
        low, high = ranged.smallest_sequence.value, ranged.largest_sequence.value
    return TableFile(
        file.level.value,
        file.number.value,
        file.len_file.value,
        file.smallest.data,
        file.largest.data,
        low,
        high,
        family,
    )


def parse_properties(payload: bytes, where: Span) -> dict[str, bytes]:
    """Names and raw values of a properties block (decompressed); raises `StructureError`."""
    parsed = parse(LeveldbProperties, payload, where)
    out: dict[str, bytes] = _walk(parsed, where, lambda p: {x.name: x.value for x in p.properties.properties})
    return out


def parse_filter(payload: bytes, where: Span) -> tuple[int, list[bytes]]:
    """`(base_lg, filters)` of a LevelDB filter block; raises `StructureError`."""
    if len(payload) < 5 or (len(payload) - 5 - int.from_bytes(payload[-5:-1], "little")) % 4:
        raise StructureError("a filter block without whole offsets", span=where)
    parsed = parse(LeveldbFilter, payload, where)

    def read(block: Any) -> tuple[int, list[bytes]]:
        return block.base_lg, [f.raw or b"" for f in block.filters]

    out: tuple[int, list[bytes]] = _walk(parsed, where, read)
    return out


def parse_index_delta(payload: bytes, where: Span) -> list[tuple[bytes, Handle]]:
    """`(key, handle)` of every entry of a RocksDB index block with delta-encoded handles; raises `StructureError`.

    Spec: RocksDB block_based/block.h, IndexBlockIter::DecodeCurrentValue.
    """
    parsed = parse(LeveldbIndexDelta, payload, where)

    def read(block: Any) -> list[tuple[bytes, Handle]]:
        out: list[tuple[bytes, Handle]] = []
        key, handle = b"", Handle(0, 0)
        for entry in block.entries.entries:
            shared = entry.len_shared.value
            if shared > len(key):
                raise StructureError("an index key shares more than there is", span=where)
            key = key[:shared] + entry.key_suffix
            if shared == 0:
                handle = _handle(entry.handle)
            else:
                raw = entry.raw_delta.value
                delta = (raw >> 1) ^ -(raw & 1)
                handle = Handle(handle.offset + handle.size + BLOCK_TRAILER, handle.size + delta)
            if handle.size < 0:
                raise StructureError("a block of negative size", span=where)
            out.append((key, handle))
        return out

    result: list[tuple[bytes, Handle]] = _walk(parsed, where, read)
    return result


def generated_block(payload: bytes, where: Span) -> LeveldbBlock:
    """A decompressed block in the generated class (oracle for the kernel, and for `explain`)."""
    return parse(LeveldbBlock, payload, where)


def generated_log(data: bytes, where: Span) -> LeveldbLog:
    """A log in the generated class (oracle for `log.py`)."""
    return parse(LeveldbLog, data, where)


def generated_batch(payload: bytes, where: Span) -> LeveldbWriteBatch:
    """A write batch in the generated class (oracle for `log.parse_batch`)."""
    return parse(LeveldbWriteBatch, payload, where)
