"""Converts the bytes of a shard's header to values, through the generated readers."""

from __future__ import annotations

from exhume_ksy.fast.data_bundle_shard import read_data_bundle_shard

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.layout_fields import FIXED_HEADER, OFS_DATA, SHARD_MAGIC, SHARD_START, HeaderNames
from exhume.formats.data_bundle.messages import ShardHeader
from exhume.layout.fast import read

__all__ = ["FIXED_HEADER", "OFS_DATA", "SHARD_MAGIC", "parse_shard_header", "shard_header_end"]

_NUMBERS = {
    HeaderNames.SHARD_INDEX: "shard_index",
    HeaderNames.SHARD_COUNT: "shard_count",
    HeaderNames.RECORD_SIZE: "record_size",
    HeaderNames.RECORD_ALIGNMENT: "record_alignment",
    HeaderNames.COMPRESSION_METHOD: "compression",
}


def shard_header_end(head: bytes, where: Span) -> int:
    """Where the header message of a shard ends, from its first 12 bytes; raises the identity rule."""
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
        if number in _NUMBERS:
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
