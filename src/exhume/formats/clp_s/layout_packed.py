"""Packing of the numbers of an archive; the formats come from the specifications.

`NUM_...` is the number of items that precedes a list; other capitals are the fixed part of one item.

Spec: clp_s.txt, Files section; `docs/formats/clp_s.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from exhume_ksy.facts.clp_s_dictionary import ClpSDictionary
from exhume_ksy.facts.clp_s_dictionary_entries import ClassicMarks as ClassicMarks
from exhume_ksy.facts.clp_s_dictionary_entries import Entry
from exhume_ksy.facts.clp_s_dictionary_entries import Marks as Marks
from exhume_ksy.facts.clp_s_metadata import ClpSMetadata, Packet, TimestampDictionary, TimestampPattern, TimestampRange
from exhume_ksy.facts.clp_s_schema_ids import ClpSSchemaIds, Schema
from exhume_ksy.facts.clp_s_schema_ids import Entry as SchemaEntry
from exhume_ksy.facts.clp_s_schema_tree import ClpSSchemaTree, Node
from exhume_ksy.facts.clp_s_table import ClassicDecimalVariable as ClassicDecimalVariable
from exhume_ksy.facts.clp_s_table import ClassicVariable as ClassicVariable
from exhume_ksy.facts.clp_s_table import ClpColumn, DateColumn, FormattedFloatColumn, IntegerColumn, TimestampColumn
from exhume_ksy.facts.clp_s_table import ClpWord as ClpWord
from exhume_ksy.facts.clp_s_table import DecimalVariable as DecimalVariable
from exhume_ksy.facts.clp_s_table import ExponentSign as ExponentSign
from exhume_ksy.facts.clp_s_table import FloatFormat as FloatFormat
from exhume_ksy.facts.clp_s_table import FloatNotation as FloatNotation
from exhume_ksy.facts.clp_s_table_metadata import ClpSTableMetadata, Stream, Table

I64_MIN: Final = -(1 << 63)
I64_MAX: Final = (1 << 63) - 1

NUM_PACKETS: Final = struct.Struct(ClpSMetadata.prefix)
PACKET: Final = struct.Struct(Packet.prefix)
"""Type and size of the body that follows."""
NUM_RANGES: Final = struct.Struct(TimestampDictionary.prefix)
NUM_PATTERNS: Final = struct.Struct(TimestampDictionary.format.num_patterns)
PATTERN: Final = struct.Struct(TimestampPattern.prefix)
"""Id, and size of the text that follows."""
NUM_NODES: Final = struct.Struct(ClpSSchemaTree.prefix)
NUM_SCHEMAS: Final = struct.Struct(ClpSSchemaIds.prefix)
NUM_STREAMS: Final = struct.Struct(ClpSTableMetadata.prefix)
STREAM: Final = struct.Struct(Stream.packed)
OFS_STREAM: Final = struct.Struct(Stream.format.ofs_stream)
TABLE: Final = struct.Struct(Table.packed)
NUM_ENTRIES: Final = struct.Struct(ClpSDictionary.prefix)
ENTRY: Final = struct.Struct(Entry.prefix)
"""Size of the text that follows."""
NUM_VARIABLES: Final = struct.Struct(ClpColumn.format.num_variables)

# Bytes that a value takes in columns of the different types.
INTEGER_SIZE: Final = IntegerColumn.each.values
DATE_SIZE: Final = DateColumn.each.epochs + DateColumn.each.pattern_ids
TIMESTAMP_SIZE: Final = TimestampColumn.each.deltas + TimestampColumn.each.pattern_ids
FORMATTED_FLOAT_SIZE: Final = FormattedFloatColumn.each.values + FormattedFloatColumn.each.formats
WORD_SIZE: Final = ClpColumn.each.rows
VARIABLE_SIZE: Final = ClpColumn.each.variables


def pack_dictionary(entries: Sequence[bytes]) -> bytes:
    """The payload of a dictionary, without the preceding number of entries.

    Spec: Variable dictionary, Log-type dictionary, Array log-type dictionary.
    """
    return b"".join(ENTRY.pack(len(entry)) + entry for entry in entries)


def many(format: str, values: Sequence[int]) -> bytes:
    """Pack numbers that have the same `format`, a byte order and a letter."""
    return struct.pack(f"{format[0]}{len(values)}{format[1:]}", *values)


def pack_table_heads(num_tables: int) -> bytes:
    """The bytes between the lists of streams and tables: no schemas with separate columns, and the number of tables."""
    format = ClpSTableMetadata.format
    return struct.pack(format.num_separate_column_schemas, 0) + struct.pack(format.num_tables, num_tables)


@lru_cache(maxsize=256)
def node(size: int) -> struct.Struct:
    """The format of a node of the schema tree with a key of `size` bytes: parent id, size, key, type."""
    return struct.Struct(f"{Node.prefix}{size}s{Node.suffix[1:]}")


@lru_cache(maxsize=256)
def _schema(num_entries: int) -> struct.Struct:
    """The format of a whole schema with `num_entries` entries."""
    return struct.Struct(f"{Schema.prefix}{num_entries}{SchemaEntry.packed[1:]}")


def pack_schema(number: int, entries: Sequence[int], num_ordered: int) -> bytes:
    """One schema of the schema map."""
    return _schema(len(entries)).pack(number, len(entries), num_ordered, *entries)


def pack_range(key: bytes, ids: Sequence[int], encoding: int, begin: float, end: float, *, epochs: bool) -> bytes:
    """One range of the timestamp dictionary; `epochs`: its bounds are integers."""
    format = TimestampRange.format
    bounds = (format.begin_epoch, format.end_epoch) if epochs else (format.begin_double, format.end_double)
    return b"".join(
        [
            struct.pack(TimestampRange.prefix, len(key)),
            key,
            struct.pack(format.num_column_ids, len(ids)),
            many(format.column_ids, ids),
            struct.pack(format.encoding, encoding),
            *(struct.pack(one, bound) for one, bound in zip(bounds, (begin, end), strict=True)),
        ]
    )
