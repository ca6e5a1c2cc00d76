"""Bytes <-> values through the generated parsers; the only module here that imports `exhume_ksy`."""

from __future__ import annotations

from exhume_ksy.data_bundle_file_metadata import DataBundleFileMetadata
from exhume_ksy.data_bundle_key import DataBundleKey
from exhume_ksy.data_bundle_shard import DataBundleShard

from exhume.errors import FormatError, Span
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.messages import ShardHeader
from exhume.kaitai import parse

SHARD_MAGIC = b"daBS"
FIXED_HEADER = 12
_NUMBERS = {1: "shard_index", 2: "shard_count", 3: "record_size", 4: "record_alignment", 5: "compression"}


def shard_header_end(head: bytes, where: Span) -> int:
    """Where the header message of a shard ends, from its first 12 bytes; raises the identity rule."""
    if head[:4] != SHARD_MAGIC:
        raise checks.SHARD_MAGIC.error(span=where, expected="daBS", actual=head[:4])
    if len(head) < FIXED_HEADER:
        raise checks.SHARD_HEADER.error("it is cut short", span=where)
    return FIXED_HEADER + int.from_bytes(head[4:8], "little")


def parse_shard_header(data: bytes, where: Span) -> ShardHeader:
    """The header of a shard from its bytes up to the end of the message.

    Raises the rules for a shard header that cannot be read.  Spec: "Shard file header".
    """
    try:
        parsed = parse(DataBundleShard, data, where)
    except FormatError as error:
        raise checks.SHARD_HEADER.error(error.message, span=error.span, field_path=error.field_path) from error
    values: dict[str, int] = {}
    unknown: list[int] = []
    metadata = "not stated"
    for field in parsed.header.fields:
        number, wire = field.wire.number, int(field.wire.wire_type)
        if number in _NUMBERS:
            if wire != 0:
                raise checks.SHARD_HEADER.error(f"field {number} has wire type {wire}", span=where)
            values[_NUMBERS[number]] = field.wire.value.value
        elif number == 6:
            metadata = "inline"
        elif number == 7:
            metadata = "at end of file"
        elif number == 8:
            metadata = "external" if wire == 0 and field.wire.value.value else "not stated"
        else:
            unknown.append(number)
    return ShardHeader(**values, metadata=metadata, data_offset=parsed.ofs_data, unknown=tuple(unknown))


def generated_key(data: bytes, where: Span) -> DataBundleKey:
    """A row key in the generated class (oracle for `keys.py`)."""
    return parse(DataBundleKey, data, where)


def generated_file_metadata(data: bytes, where: Span) -> DataBundleFileMetadata:
    """A file row in the generated class (oracle for `messages.py`)."""
    return parse(DataBundleFileMetadata, data, where)
