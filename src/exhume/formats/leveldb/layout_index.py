"""Index blocks of RocksDB with delta-encoded handles: keys and handles are completed entry by entry.

An index block has an entry for each data block: a key that no key of the block is above, and the handle of the block
(offset and size).  Delta-encoded: most entries store only how the size differs from that of the block before.  The
functions take the decompressed block as `payload`, and its place as `where`.

Spec: RocksDB block_based/block.h, IndexBlockIter::DecodeCurrentValue; table/format.cc, IndexValue::DecodeFrom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exhume_ksy.fast.leveldb_index_delta import Entry, read_leveldb_index_delta
from exhume_ksy.fast.leveldb_index_first_key import read_leveldb_index_first_key

from exhume.errors import Span, StructureError
from exhume.formats.leveldb.layout import check_flags
from exhume.formats.leveldb.wire import MAX_U64, Handle
from exhume.layout.fast import reading
from exhume.tuples import NamedTuple


class _Entry(NamedTuple):
    """An entry as it is stored: `handle` is None if `change` states it; `span` is that of all of it, `counts`
    that of its lengths.  `shared`: bytes of the key that are those of the key before; `suffix`: its other bytes.
    """

    shared: int
    suffix: bytes
    handle: Handle | None
    change: int
    counts: Span
    span: Span


def parse_index_delta(payload: bytes, where: Span) -> list[tuple[bytes, Handle]]:
    """`(key, handle)` of every entry of an index block with delta-encoded handles; raises `StructureError`."""
    with reading(where):
        block = read_leveldb_index_delta(payload, 0, len(payload))[0]
        check_flags(block, len(payload), where)
        found = block.entries.entries

    def entries() -> Iterator[_Entry]:
        """Yield the entries, which the reader returns as columns (`found`)."""
        columns = (found.at, found.len_shared, found.key_suffix_start, found.key_suffix_end)
        for index, (at, shared, start, end) in enumerate(zip(*columns, strict=True)):
            # An entry that shares nothing with the key before, at a restart point, has a complete handle.
            handle = None if shared else Handle(found.handle_ofs_block[index], found.handle_len_block[index])
            spans = where.sub(at, start), where.sub(at, end)
            yield _Entry(shared, payload[start:end], handle, found.raw_delta[index], *spans)

    return _complete(entries(), "entries[{}]")


def parse_index_first_key(payload: bytes, where: Span) -> list[tuple[bytes, Handle]]:
    """The same of an index block that has the first key of each data block as well, which is left out."""
    with reading(where):
        block = read_leveldb_index_first_key(payload, 0, len(payload))[0]
        check_flags(block, len(payload), where)
        found: list[Entry] = [keyed.entry for keyed in block.entries.entries]

    def entries() -> Iterator[_Entry]:
        """Yield the entries, which the reader returns as objects (`found`)."""
        for entry in found:
            handle = None if entry.handle is None else Handle(entry.handle.ofs_block, entry.handle.len_block)
            yield _Entry(entry.len_shared, bytes(entry.key_suffix), handle, entry.raw_delta or 0, where, where)

    return _complete(entries(), "entries[{}].entry")


def _complete(entries: Iterable[_Entry], path: str) -> list[tuple[bytes, Handle]]:
    """Return the full key and handle of each entry.

    A key shares its first bytes with the previous key. A handle that is not stored starts right after the previous
    block; `change` is the zigzag-encoded difference of their sizes.
    """
    out: list[tuple[bytes, Handle]] = []
    key, handle = b"", Handle(0, 0)
    for index, one in enumerate(entries):
        if one.shared > len(key):
            raise StructureError(
                "an index key shares more bytes than the previous key has", span=one.counts,
                field_path=f"{path.format(index)}.len_shared", expected=f"at most {len(key)}", actual=one.shared,
            )  # fmt: skip
        key = key[: one.shared] + one.suffix
        if one.handle is not None:
            handle = one.handle
        else:
            size = handle.size + ((one.change >> 1) ^ -(one.change & 1))  # zigzag: 0, -1, 1, -2, 2 ...
            handle = Handle(min(handle.stop, MAX_U64), min(size, MAX_U64))  # beyond that there is no file anyway
        if handle.size < 0:
            raise StructureError(
                "a block of negative size", span=one.span, field_path=f"{path.format(index)}.raw_delta",
                actual=handle.size,
            )  # fmt: skip
        out.append((key, handle))
    return out


__all__ = ["parse_index_delta", "parse_index_first_key"]
