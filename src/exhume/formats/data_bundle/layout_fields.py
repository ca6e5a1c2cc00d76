"""Reads the fields of Protocol Buffers messages by name, through the generated reader, and writes them.

A message is a series of fields; each has a key (eight times the field's number, plus a wire type: 0 for an integer, 2
for bytes) and a value.  This module adds what a schema cannot express: that the last of several fields with the same
number counts, and how unknown ones are treated.

Spec: protobuf.dev, "Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from exhume_ksy.facts.data_bundle_config import Names as ConfigNames
from exhume_ksy.facts.data_bundle_field import WireTypes
from exhume_ksy.facts.data_bundle_file_metadata import FileTypes as FileType
from exhume_ksy.facts.data_bundle_file_metadata import Names as FileNames
from exhume_ksy.facts.data_bundle_record_metadata import Names as RecordNames
from exhume_ksy.facts.data_bundle_shard import DataBundleShard
from exhume_ksy.facts.data_bundle_shard_header import CompressionMethods as Compression
from exhume_ksy.facts.data_bundle_shard_header import Names as HeaderNames
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.data_bundle_field import ByteString, read_data_bundle_field
from exhume_ksy.fast.leveldb_varint import read_leveldb_varint

from exhume.formats.leveldb.wire import WireError, add_varint, build_bytes

__all__ = [
    "FIXED_HEADER",
    "OFS_DATA",
    "SHARD_MAGIC",
    "SHARD_START",
    "Compression",
    "ConfigNames",
    "FileNames",
    "FileType",
    "HeaderNames",
    "RecordNames",
    "build",
    "build_shard_start",
    "collect",
    "key_of",
    "names",
]

SHARD_MAGIC = DataBundleShard.magic  # daBS
OFS_DATA = DataBundleShard.at.ofs_data
"""(start, end) of the field of a shard that states where its data starts."""
FIXED_HEADER = OFS_DATA[1]
"""Bytes of a shard before its header message."""
SHARD_START: Final = struct.Struct(DataBundleShard.prefix)
"""Magic, size of the header message, offset of the data."""

_VARINT: Final = int(WireTypes.VARINT)

Names = Mapping[int, str]
"""Field names by the key that precedes a field: eight times its number, plus its wire type."""


def names(numbers: Mapping[int, str], texts: Mapping[int, str] | None = None) -> Names:
    """Return the names of fields by their keys: `numbers` are fields that hold integers, `texts` those that hold bytes,
    both by field number.
    """
    found = {number << 3 | WireTypes.VARINT: name for number, name in numbers.items()}
    found |= {number << 3 | WireTypes.BYTES: name for number, name in (texts or {}).items()}
    return dict(sorted(found.items()))


def key_of(known: Names, name: str) -> int:
    """The key of the field of that name, which must be there."""
    return next(key for key, one in known.items() if one == name)


def build(known: Names, values: Iterable[int | bytes], always: int | None = None) -> bytes:
    """The message with these values, in the order of `known`.

    Values that are 0 or empty are left out, except that of the key `always`.
    """
    out = bytearray()
    for key, value in zip(known, values, strict=True):
        if value or key == always:
            out.append(key)
            if isinstance(value, bytes):
                out += build_bytes(value)
            else:
                add_varint(out, value)
    return bytes(out)


def build_shard_start(message: bytes, data_offset: int) -> bytes:
    """The start of a shard, up to the end of the header message."""
    return SHARD_START.pack(SHARD_MAGIC, len(message), data_offset) + message


def collect(data: bytes, known: Names) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Known fields by name, ordered by their last occurrence, and the numbers of unknown ones.

    Raises `WireError` when the data is not a message, and for a known field with another wire type.
    """
    values: dict[str, Any] = {}
    unknown: list[int] = []
    at, end, index = 0, len(data), 0
    try:
        while at < end:
            value: Any
            start, key = at, data[at]  # the keys of known fields take one byte
            name = known.get(key)
            if name is not None and key & 7 == _VARINT:  # nearly all fields are known numbers: they need no object
                value, at = _number(data, at + 1, end)
            else:
                field, at = read_data_bundle_field(data, at, end)
                name = known.get(field.key)
                value = field.value.data.bytes if isinstance(field.value, ByteString) else field.value
            if name is None:
                _check_type(field.number, field.wire_type, known, start, at)
                unknown.append(field.number)
            else:
                # Removed first, so that the order is that of the last occurrences.
                values.pop(name, None)
                values[name] = value
            index += 1
    except LayoutError as error:
        if error.path == "key":
            error.expected = f"a field number and wire type {', '.join(map(str, map(int, WireTypes)))}"
        error.within(f"fields[{index}]")
        raise WireError(str(error), error.offset) from error
    return values, tuple(unknown)


def _number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The value of a field that holds a number, and where the field ends."""
    try:
        return read_leveldb_varint(data, at, end)
    except LayoutError as error:
        error.within("value")
        raise


def _check_type(number: int, wire: int, known: Names, start: int, stop: int) -> None:
    """Raise `LayoutError` if a field whose key is not known has the number of a known one, but another wire type."""
    for key in known:
        if key >> 3 == number:
            raise LayoutError("wire_type", start, stop, f"wire type {key & 7} of field {number}", wire)
