"""Converts the header of a shard and the keys of index rows between bytes and values.

A shard is a file with content; the index, a database, has a row for each file and for each record of a shard.  The
generated readers read both; keys are also written here.  Parts of keys sort as bytes in the order of their values: that
is why their integers and strings are encoded as they are here.

Spec: `docs/formats/data_bundle.md`, "Profile" (dacha's order-preserving encoders).
"""

from __future__ import annotations

from typing import Any

from exhume_ksy.facts.data_bundle_index_block import Tables
from exhume_ksy.facts.data_bundle_key import Escaped as EscapedFacts
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.data_bundle_key import Escaped, flat_record_key, read_file_key, read_varuint
from exhume_ksy.fast.data_bundle_shard import read_data_bundle_shard

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.layout_fields import FIXED_HEADER, OFS_DATA, SHARD_MAGIC, SHARD_START, HeaderNames
from exhume.formats.data_bundle.messages import ShardHeader
from exhume.formats.leveldb.wire import MAX_U64, WireError
from exhume.layout.fast import read
from exhume.tuples import NamedTuple

__all__ = [
    "CONFIG_KEY",
    "FILE_PREFIX",
    "FILE_STOP",
    "FIXED_HEADER",
    "OFS_DATA",
    "RECORD_PREFIX",
    "RECORD_STOP",
    "SHARD_MAGIC",
    "FileKey",
    "Tables",
    "build_escaped",
    "build_record_key",
    "build_varuint",
    "escape",
    "file_key",
    "parse_file_key",
    "parse_record_key",
    "parse_shard_header",
    "parse_table",
    "record_prefix",
    "shard_header_end",
]

# Fields of a shard header that are numbers, by the names in `ShardHeader`.
_NUMBERS = {
    HeaderNames.SHARD_INDEX: "shard_index",
    HeaderNames.SHARD_COUNT: "shard_count",
    HeaderNames.RECORD_SIZE: "record_size",
    HeaderNames.RECORD_ALIGNMENT: "record_alignment",
    HeaderNames.COMPRESSION_METHOD: "compression",
}


def shard_header_end(head: bytes, where: Span) -> int:
    """Return the offset at which the header message of a shard ends, from its first 12 bytes.

    Raises DBND-103 for another magic, DBND-305 for fewer bytes.
    """
    magic = head[: len(SHARD_MAGIC)]
    if magic != SHARD_MAGIC:
        expected = SHARD_MAGIC.decode()
        raise checks.SHARD_MAGIC.error(
            span=where.sub(0, len(magic)), field_path="magic", expected=expected, actual=magic
        )
    if len(head) < FIXED_HEADER:
        raise checks.SHARD_HEADER.error(
            "it is truncated", span=where, expected=f"{FIXED_HEADER} bytes", actual=counted(len(head), "bytes")
        )
    _, size, _ = SHARD_START.unpack(head)
    return FIXED_HEADER + int(size)


def parse_shard_header(data: bytes, where: Span) -> ShardHeader:
    """The header of a shard from its bytes up to the end of the message.

    Raises the rules for a shard header that cannot be read.  Spec: data_bundle.txt, Shard Files.
    """
    raw, _ = read(read_data_bundle_shard, data, where, checks.SHARD_HEADER)
    values: dict[str, int] = {}
    unknown: list[int] = []
    metadata = "not stated"
    for index, field in enumerate(raw.header.fields):
        number, value = field.wire.number, field.wire.value
        if number in _NUMBERS:  # the last of several counts
            if not isinstance(value, int):
                raise checks.SHARD_HEADER.error(
                    f"field {number} has wire type {field.wire.wire_type}",
                    span=where.sub(FIXED_HEADER, len(data)),
                    field_path=f"header.fields[{index}].wire",
                )
            values[_NUMBERS[HeaderNames(number)]] = value
        elif number == HeaderNames.INLINE_METADATA_TABLE:
            metadata = "inline"
        elif number == HeaderNames.METADATA_AT_EOF:
            metadata = "at end of file"
        elif number == HeaderNames.EXTERNAL_METADATA:
            metadata = "external" if isinstance(value, int) and value else "not stated"
        else:
            unknown.append(number)
    return ShardHeader(**values, metadata=metadata, data_offset=raw.ofs_data, unknown=tuple(unknown))


# The first byte of a key is the number of its table; a stop is the first key after all those of a table.
CONFIG_KEY, FILE_PREFIX, RECORD_PREFIX = (bytes((table,)) for table in (Tables.CONFIG, Tables.FILES, Tables.RECORDS))
FILE_STOP, RECORD_STOP = bytes((Tables.FILES + 1,)), bytes((Tables.RECORDS + 1,))
_END, _ZERO = (bytes((0, marker)) for marker in EscapedFacts.marker)
"""The terminator of a byte string, and the escape of a zero byte in it."""


def build_varuint(value: int) -> bytes:
    """An unsigned integer in 1 to 9 bytes; raises `ValueError` beyond 64 bits.

    >>> [build_varuint(n).hex() for n in (0, 127, 128, 300, 16384)]
    ['00', '7f', '8080', '812c', 'c04000']
    """
    if 0 <= value < 0x80:
        return bytes((value,))
    if not 0 <= value <= MAX_U64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    # As many leading ones as bytes follow the first, then the bits of the value.
    size = min(9, -(-value.bit_length() // 7))
    out = bytearray(value.to_bytes(size, "big"))
    out[0] |= (0xFF << (9 - size)) & 0xFF
    return bytes(out)


def escape(value: bytes) -> bytes:
    """Escape the zero bytes in the start of a byte string."""
    return value.replace(b"\0", _ZERO)


def build_escaped(value: bytes) -> bytes:
    """A byte string with its terminator."""
    return value.replace(b"\0", _ZERO) + _END


class FileKey(NamedTuple):
    """The key of a file row: directory with slashes at both ends, and name."""

    directory: bytes
    name: bytes

    def build(self) -> bytes:
        """The bytes of the key."""
        return FILE_PREFIX + build_escaped(self.directory) + build_escaped(self.name)

    def start(self) -> bytes:
        """Prefix of the keys of all files in the directory; `build_escaped` of a name completes such a key."""
        return FILE_PREFIX + build_escaped(self.directory)

    @property
    def path(self) -> str:
        """Relative path with `/` between its parts; bytes that are not UTF-8 become lone surrogates."""
        return (self.directory.lstrip(b"/") + self.name).decode("utf-8", "surrogateescape")


def build_record_key(shard_index: int, offset: int) -> bytes:
    """The bytes of the key of a record row, by shard number and offset in its uncompressed stream."""
    return record_prefix(shard_index) + build_varuint(offset)


def record_prefix(shard_index: int) -> bytes:
    """Prefix of the keys of all records of a shard."""
    return RECORD_PREFIX + build_varuint(shard_index)


def file_key(path: str) -> FileKey:
    """The key of a relative path."""
    folder, _, name = path.rpartition("/")
    raw = folder.encode("utf-8", "surrogateescape")
    return FileKey(b"/" + raw + b"/" if raw else b"/", name.encode("utf-8", "surrogateescape"))


def parse_file_key(key: bytes) -> FileKey:
    """Split the key of a file row.  Raises `WireError`."""
    try:
        raw, end = read_file_key(key, 1, len(key))  # after the byte of the table
    except LayoutError as error:
        raise _refused(error) from error
    if end != len(key):
        raise WireError("bytes after the end of the key", end)
    return FileKey(_whole(raw.directory), _whole(raw.name))


def _whole(part: Escaped) -> bytes:
    """Return an escaped string: its chunks, which were separated by escaped zero bytes."""
    text: Any = part.text  # a range of the key: bytes, as the key is
    return text if part.more is None else b"\0".join((text, *(chunk.text for chunk in part.more)))


def parse_record_key(key: bytes) -> tuple[int, int]:
    """Shard number and offset of the key of a record row.  Raises `WireError`."""
    try:
        end, shard_index, offset = flat_record_key(key, 1, len(key))  # after the byte of the table
    except LayoutError as error:
        raise _refused(error) from error
    if end != len(key):
        raise WireError("bytes after the end of the key", end)
    return shard_index, offset


def _refused(error: LayoutError) -> WireError:
    """Return the error of a key for that of the generated reader."""
    return WireError(f"the key ends inside {error.path}" if error.short else str(error), error.offset)


def parse_table(key: bytes) -> int:
    """The number of the table that a key belongs to (its first part).  Raises `WireError`."""
    try:
        table, _ = read_varuint(key, 0, len(key))
    except LayoutError as error:
        raise _refused(error) from error
    return table
