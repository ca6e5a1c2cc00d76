"""Metadata of a table on its blocks: metaindex, properties, and the index, which is stored as columns.

The footer of a table leads to the metaindex, a block with the handles (positions) of other meta blocks by name, and to
the index, which has the handle of each data block.  Properties are named facts about a table.  The tables of RocksDB
that its users make and add to a database (ingestion) get one sequence number for all entries.

A table of a gigabyte has some hundred thousand data blocks, so keys and handles become Python objects only on request.

Spec: LevelDB doc/table_format.md; RocksDB table/format.h, block_based/.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain

from exhume.errors import FormatError
from exhume.findings import Check, CheckOutcome
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import comparator_of
from exhume.formats.leveldb.kernel import block_handles
from exhume.formats.leveldb.layout_facts import KEY_TAIL, user_key
from exhume.formats.leveldb.model import Verdict
from exhume.formats.leveldb.table_blocks import BlockFile, TableBlock, rule_of
from exhume.formats.leveldb.wire import BlockIndex, Handle
from exhume.io.caching import cached_property
from exhume.native import kernel
from exhume.tuples import NamedTuple


class _IndexShape(NamedTuple):
    """Layout of the index of a table."""

    top: Handle | None = None
    """The index block, or the block that names the parts of a two-level index; None if it cannot be read."""
    kind: int = 0
    """The property `INDEX_TYPE`; 0 is a single index block."""
    is_delta: bool = False
    """Whether handles are stored as differences from the one before (RocksDB)."""
    has_user_keys: bool = False
    """Whether keys are stored without sequence number and type."""


# Names of a meta block and of properties, as RocksDB writes them, and values of the latter.
PROPERTIES = "rocksdb.properties"
INDEX_TYPE = "rocksdb.block.based.table.index.type"
TWO_LEVELS = 2
"""The type of an index of two levels: index blocks, and a block with their handles."""
FIRST_KEYS = 3
"""The newest type of index that is read: with the first key of each block."""
EXTERNAL_VERSION = "rocksdb.external_sst_file.version"
STAMPED_VERSION = 2
"""The version of tables for ingestion whose entries all have the sequence number of the ingestion."""
GLOBAL_SEQUENCE = "rocksdb.external_sst_file.global_seqno"
"""The property with that sequence number, if ingestion wrote it into the table."""
TIMESTAMPS_KEPT = "rocksdb.user.defined.timestamps.persisted"
FAMILY_ID = "rocksdb.column.family.id"
NO_FAMILY = 0x7FFFFFFF
"""The number of the column family of a table that was made without one, for ingestion."""
LOOKED_AT = 64
"""Keys of an index that are examined for sequence numbers, if they are within `HEAD` bytes."""
HEAD = 16384  # bytes

_FEATURES = {
    "rocksdb.separate.key.value.in.data.block": "keys and values are stored apart",
    "rocksdb.udi.is.primary.index": "an index that the application defines",
}
"""Properties that state a layout that is not supported, if they are not zero, each with its description."""


def _fixed(value: bytes | None) -> int:
    """The value of a property that is a number of fixed size; 0 for an absent one."""
    return int.from_bytes((value or b"")[:8], "little")


class IndexedFile(BlockFile):
    """A table file with its index, meta blocks and properties.

    Thread-safe. `largest_sequence` is as stated in the manifest, None if unknown.
    """

    largest_sequence: int | None = None

    def metaindex(self, report: Report = checks.strict) -> dict[str, Handle]:
        """The handles of the meta blocks by name; empty, after a call of `report`, if the metaindex cannot be read."""
        footer = self.footer
        if footer is None:
            return {}
        block = self.read_block(footer.metaindex, report)
        out: dict[str, Handle] = {}
        if block is None:
            return out
        for key, value, at in self.split_block(block, report):
            try:
                out[key.decode("utf-8", "backslashreplace")] = layout.parse_handle(value, block.span.in_payload(at, at))
            except FormatError as error:
                checks.report_error(report, checks.HANDLE, error)
        return out

    def properties(self, report: Report = checks.strict) -> dict[str, bytes]:
        """Properties by name, raw (empty without such a block)."""
        handle = self.metaindex(report).get(PROPERTIES)
        if handle is None:
            return {}
        stamped = self._stamped_properties(handle)
        block = stamped or self.read_block(handle, report)
        if block is None:
            return {}
        return {key.decode("utf-8", "backslashreplace"): value for key, value, _ in self.split_block(block, report)}

    def _stamped_properties(self, handle: Handle) -> TableBlock | None:
        """The properties, if their checksum matches once the sequence number is zero that ingestion wrote into them.

        Older versions of RocksDB do that without a new checksum.  Spec: RocksDB table/meta_blocks.cc.
        """
        block = self.read_block(handle, checks.ignore)
        if block is None or block.verdict is not Verdict.BAD or block.codec != "none":
            return None
        entries = self.split_block(block, checks.ignore)
        if not entries:
            return None
        # An entry ends where the next starts, and with its value.
        ends = [*(at for _, _, at in entries[1:]), block.entries_end]
        for (key, value, _), end in zip(entries, ends, strict=True):
            if key == GLOBAL_SEQUENCE.encode() and any(value):
                data = block.data[: end - len(value)] + bytes(len(value)) + block.data[end:]
                if self.checksum_fits(handle, data):
                    return block._replace(verdict=Verdict.GOOD)
        return None

    def check_block(self, handle: Handle) -> Check:
        """The checksum of a block before the footer, computed and compared."""
        found = super().check_block(handle)
        if found.outcome is CheckOutcome.MISMATCH and handle == self.metaindex(checks.ignore).get(PROPERTIES):
            stamped = self._stamped_properties(handle) is not None
            return Check.compare(found.expected, found.expected, found.algorithm) if stamped else found
        return found

    @cached_property
    def global_sequence(self) -> int | None:
        """The sequence number that all entries have, of a table that was added by ingestion; else None.

        Spec: RocksDB table/block_based/block_based_table_reader.cc, GetGlobalSequenceNumber.
        """
        footer = self.footer_or_none()
        if footer is None or footer.family == "leveldb":
            return None
        facts = self.properties(checks.ignore)
        if _fixed(facts.get(EXTERNAL_VERSION)) != STAMPED_VERSION:
            return None
        # Where ingestion did not write it into the table, the manifest has it, as the largest of the table.
        return _fixed(facts.get(GLOBAL_SEQUENCE)) or self.largest_sequence or 0

    def check_features(self, report: Report) -> bool:
        """Return whether entries mean here what they mean in every table, by the properties.

        A feature that changes it is reported.
        """
        footer = self.footer
        if footer is None or footer.family == "leveldb":
            return True
        facts = self.properties(checks.ignore)
        span = self.source.span(0, self.source.size)
        # What a table for ingestion states: its version, and the sequence number that it got.
        version, stated = facts.get(EXTERNAL_VERSION), _fixed(facts.get(GLOBAL_SEQUENCE))
        if version is not None and not 1 <= _fixed(version) <= STAMPED_VERSION:
            report(checks.FEATURE, f"{EXTERNAL_VERSION} {_fixed(version)}", span=span)
            return False
        # The property has to agree with the manifest, and only tables of version 2 may have it.
        known = self.largest_sequence
        if stated and known is not None and (stated != known or version is None or _fixed(version) == 1):
            report(checks.GLOBAL_SEQUENCE, span=span, field_path=GLOBAL_SEQUENCE, expected=known, actual=stated)
        for name, what in _FEATURES.items():
            if name in facts and any(facts[name]):
                report(checks.FEATURE, what, span=span, field_path=name)
                return False
        if comparator_of(self.comparator_name(facts)).timestamp and facts.get(TIMESTAMPS_KEPT, b"\1") == b"\0":
            report(checks.FEATURE, "the timestamps of its keys were left out", span=span, field_path=TIMESTAMPS_KEPT)
            return False
        return True

    @staticmethod
    def comparator_name(facts: Mapping[str, bytes]) -> str:
        """The comparator that the properties name; empty where they name none."""
        return facts.get("rocksdb.comparator", b"").decode("utf-8", "backslashreplace")

    @cached_property
    def dictionary(self) -> bytes | None:
        """RocksDB's block `rocksdb.compression_dict`: what primed the codec of each data block."""
        footer = self.footer_or_none()
        if footer is None or footer.family == "leveldb":
            return b""
        handle = self.metaindex(checks.ignore).get("rocksdb.compression_dict")
        if handle is None:
            return b""
        block = self.read_block(handle, checks.ignore)
        return block.data if block is not None and block.verdict is not Verdict.BAD else None

    def index(self, report: Report = checks.strict) -> BlockIndex:
        """Return the separator and handle of each data block, in order. Two-level indexes are flattened."""
        shape = self._index_shape(report)
        if shape.top is None:
            return BlockIndex.of(())
        out = self._index_entries(shape.top, shape, report)
        if shape.kind == TWO_LEVELS:
            parts = (self._index_entries(part, shape, report) for part in out.handles)
            return BlockIndex.of(chain.from_iterable(parts))
        return out

    def _index_shape(self, report: Report) -> _IndexShape:
        """Return the layout of the index: its handle, type and encoding.

        The shape is empty (no handle) if the layout cannot be determined; the reason is then reported.
        """
        footer = self.footer
        if footer is None:
            return _IndexShape()
        if footer.family == "leveldb":
            return _IndexShape(footer.index_handle)
        # The metaindex also names range deletions and a dictionary, the properties the sequence number of all entries:
        # without them, strict reading would return other rows.
        noting = checks.RecordingReport(report)
        facts = self.properties(noting)
        if noting.unchecked:  # properties that could not be read may state another layout
            return _IndexShape()
        kind = _fixed(facts.get(INDEX_TYPE))
        if not self.check_features(report):
            return _IndexShape()
        if kind > FIRST_KEYS:
            span = self.source.span(0, self.source.size)
            report(checks.FEATURE, f"an index of type {kind}", span=span, field_path=INDEX_TYPE)
            return _IndexShape()
        top = footer.index_handle
        if top is None:
            top = self.metaindex(report).get("rocksdb.index")
            if top is None:
                span = self.source.span(footer.metaindex.offset, self.source.size)
                report(checks.HANDLE, "the metaindex names no index", span=span)
        is_delta = facts.get("rocksdb.index.value.is.delta.encoded", b"") == b"\1"
        has_user_keys = facts.get("rocksdb.index.key.is.user.key", b"") == b"\1"
        return _IndexShape(top, kind, is_delta, has_user_keys)

    def index_schema(self) -> str:
        """The specification of the blocks of the index."""
        shape = self._index_shape(checks.ignore)
        if not shape.is_delta:
            return "leveldb_block"
        return "leveldb_index_first_key" if shape.kind == FIRST_KEYS else "leveldb_index_delta"

    def partitions(self, report: Report = checks.ignore) -> list[tuple[str, Handle]]:
        """Blocks that only other index blocks name: parts of a two-level index and of a partitioned filter."""
        shape = self._index_shape(report)
        out: list[tuple[str, Handle]] = []
        if shape.top is not None and shape.kind == TWO_LEVELS:
            out += [("index-part", part) for part in self._index_entries(shape.top, shape, report).handles]
        of_filter = shape._replace(kind=0)  # the block that names the parts is like one of an index
        for name, handle in self.metaindex(report).items():
            if name.startswith("partitionedfilter."):
                out += [("filter-part", part) for part in self._index_entries(handle, of_filter, report).handles]
        return out

    def _index_entries(self, handle: Handle, shape: _IndexShape, report: Report) -> BlockIndex:
        """Return key and block handle of each entry of the index block at `handle`, of an index of this `shape`.

        Entries that cannot be parsed are reported and omitted; the index of an unreadable block is empty.
        """
        block = self.read_block(handle, report)
        if block is None:
            return BlockIndex.of(())
        if not shape.has_user_keys and block.verdict is Verdict.GOOD and self._has_plain_keys(block):
            report(checks.FEATURE, "keys without sequence numbers, so not of a database", span=block.span)
            return BlockIndex.of(())
        cut = bytes if shape.has_user_keys else user_key  # from a stored key to that of the user
        # Handles that RocksDB stores as differences have a layout of their own.
        if shape.is_delta:
            from exhume.formats.leveldb.layout_index import parse_index_delta, parse_index_first_key

            parse = parse_index_first_key if shape.kind == FIRST_KEYS else parse_index_delta
            try:
                return BlockIndex.of((cut(key), handle) for key, handle in parse(block.data, block.payload_span))
            except FormatError as error:
                checks.report_error(report, rule_of(error), error)
                return BlockIndex.of(())
        # The kernel parses an index without damage at once; otherwise each entry is parsed, to report the bad ones.
        with suppress(FormatError):
            columns = block_handles(block.data, block.entries_end, self.limits.structure_size, not shape.has_user_keys)
            if columns is not None:
                return BlockIndex.packed(*columns)
        entries = []
        for key, value, at in self.split_block(block, report):
            try:
                handle = layout.whole_handle(value) or layout.parse_handle(value, block.span.in_payload(at, at))
                entries.append((cut(key), handle))
            except FormatError as error:
                checks.report_error(report, checks.HANDLE, error)
        return BlockIndex.of(entries)

    def _has_plain_keys(self, block: TableBlock) -> bool:
        """Whether the first keys of a LevelDB index are too short for sequence numbers: then an application made the
        table, without a database.
        """
        if self.footer is None or self.footer.family != "leveldb":
            return False
        try:
            end = block.entries_end
        except FormatError:
            return False
        found, _, _ = kernel.block_entries(block.data, min(end, HEAD), self.limits.structure_size)
        return any(len(key) < KEY_TAIL.size for key, _, _ in found[:LOOKED_AT])

    @cached_property
    def strict_index(self) -> BlockIndex:
        """`index`, read once.  Raises at the first broken rule of footer and index."""
        return self.index(checks.strict) if self.check_footer(checks.strict) else BlockIndex.of(())
