"""Reads and writes the Protocol Buffers messages of a bundle: values of index rows, and headers of shards.

A shard is a file with content, stored as records; its stream is the uncompressed content.  The index has a row for each
file and each record.
A field that is absent has its default; a known field of the wrong wire type, a cut value or a group is garbage
(`WireError`); unknown fields are kept in `unknown` and otherwise ignored.

Spec: data_bundle.txt, Index, Shard Files; `docs/formats/data_bundle.md`, "Profile"; protobuf.dev, "Encoding".
"""

from __future__ import annotations

from exhume.formats.data_bundle.layout_fields import (
    FIXED_HEADER,
    Compression,
    ConfigNames,
    FileNames,
    FileType,
    HeaderNames,
    RecordNames,
    build,
    build_shard_start,
    collect,
    key_of,
    names,
)
from exhume.formats.leveldb.wire import MAX_U64, WireError
from exhume.tuples import NamedTuple

MAGIC_TEXT = "daBundleV1"
"""The value of `BundleConfig.magic` in every bundle."""


# The fields of each message by their numbers, in the order of the values that its `build` passes.
_USER_DATA = names({}, {1: "type_url", 2: "value"})
_FILE = names(
    {
        FileNames.FILE_TYPE: "type",
        FileNames.SHARD_INDEX: "shard_index",
        FileNames.SHARD_UNCOMPRESSED_OFFSET: "offset",
        FileNames.UNCOMPRESSED_SIZE: "size",
        FileNames.CRC32C: "crc32c",
    },
    {FileNames.USER_DATA: "user_data"},
)
_RECORD = names(
    {
        RecordNames.SHARD_INDEX: "shard_index",
        RecordNames.SHARD_UNCOMPRESSED_OFFSET: "offset",
        RecordNames.SHARD_BYTE_OFFSET: "byte_offset",
        RecordNames.ALL_ZEROS: "all_zeros",
    }
)
# Fields that are written even if they are empty or 0, since their presence has a meaning.
_USER_DATA_KEY, _BYTE_OFFSET_KEY = key_of(_FILE, "user_data"), key_of(_RECORD, "byte_offset")
_CONFIG = names(
    {
        ConfigNames.BLOCK_SIZE: "block_size",
        ConfigNames.RECORD_SIZE: "record_size",
        ConfigNames.COMPRESSION_METHOD: "compression",
        ConfigNames.RAW_PACKED: "raw_packed",
    },
    {ConfigNames.VERSION_MAGIC: "magic"},
)
_HEADER = names(
    {
        HeaderNames.SHARD_INDEX: "shard_index",
        HeaderNames.SHARD_COUNT: "shard_count",
        HeaderNames.RECORD_SIZE: "record_size",
        HeaderNames.RECORD_ALIGNMENT: "record_alignment",
        HeaderNames.COMPRESSION_METHOD: "compression",
        HeaderNames.EXTERNAL_METADATA: "external_metadata",
    }
)


class UserData(NamedTuple):
    """A `google.protobuf.Any` that the creator of a bundle attached to a file."""

    type_url: str
    value: bytes

    def build(self) -> bytes:
        """The message."""
        return build(_USER_DATA, (self.type_url.encode("utf-8", "surrogateescape"), self.value))

    @classmethod
    def parse(cls, data: bytes) -> UserData:
        """Read the message."""
        values, _ = collect(data, _USER_DATA)
        return cls(values.get("type_url", b"").decode("utf-8", "surrogateescape"), values.get("value", b""))

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"type_url": self.type_url, "value_hex": self.value.hex()}


class FileMetadata(NamedTuple):
    """Value of a file row: where the content is in the uncompressed stream of a shard (`offset`, `size`), and its
    CRC-32C.

    `type` is a `FileType`; `unknown` are numbers of fields that are not known.
    """

    type: int = FileType.REGULAR_FILE
    shard_index: int = 0
    offset: int = 0
    size: int = 0
    crc32c: int = 0
    user_data: UserData | None = None
    unknown: tuple[int, ...] = ()

    @property
    def is_directory(self) -> bool:
        """Whether the row is a directory."""
        return self.type == FileType.DIRECTORY

    @property
    def strange(self) -> str:
        """Its type and fields, if they are not known: they are in no bundle that is written here. "" without any."""
        kind = () if self.type in tuple(FileType) else (f"type {self.type}",)
        return ", ".join((*kind, *(f"field {number}" for number in self.unknown)))

    def build(self) -> bytes:
        """The message."""
        numbers = (self.type, self.shard_index, self.offset, self.size, self.crc32c)
        if self.user_data is None:
            return build(_FILE, (*numbers, b""))
        return build(_FILE, (*numbers, self.user_data.build()), _USER_DATA_KEY)

    @classmethod
    def parse(cls, data: bytes) -> FileMetadata:
        """Read the message.  Raises `WireError` when it is garbage."""
        values, unknown = collect(data, _FILE)
        user = values.pop("user_data", None)
        if values.get("crc32c", 0) >> 32:
            raise WireError("a CRC of more than 32 bits", 0)
        return cls(
            values.get("type", 0), values.get("shard_index", 0), values.get("offset", 0), values.get("size", 0),
            values.get("crc32c", 0), None if user is None else UserData.parse(user), unknown,
        )  # fmt: skip


class RecordMetadata(NamedTuple):
    """Value of a record row: a record starts at `offset` of the stream and at `byte_offset` of the shard's file.

    `byte_offset` is None for a record of zeros (`all_zeros`), which stores nothing.
    """

    shard_index: int = 0
    offset: int = 0
    byte_offset: int | None = None
    all_zeros: bool = False
    unknown: tuple[int, ...] = ()

    def build(self) -> bytes:
        """Return the message; a row has either `byte_offset` or `all_zeros`, which is written even when it has its
        default.
        """
        if self.all_zeros:
            return build(_RECORD, (self.shard_index, self.offset, 0, True))
        return build(_RECORD, (self.shard_index, self.offset, self.byte_offset or 0, False), _BYTE_OFFSET_KEY)

    @classmethod
    def parse(cls, data: bytes) -> RecordMetadata:
        """Read the message; of `byte_offset` and `all_zeros` (a oneof of Protocol Buffers) the last one counts."""
        values, unknown = collect(data, _RECORD)
        # `values` has the fields in the order of their last occurrences.
        last = next((name for name in reversed(values) if name in ("byte_offset", "all_zeros")), None)
        byte_offset = values["byte_offset"] if last == "byte_offset" else None
        zeros = last == "all_zeros" and bool(values["all_zeros"])
        return cls(values.get("shard_index", 0), values.get("offset", 0), byte_offset, zeros, unknown)


class BundleConfig(NamedTuple):
    """Value of the configuration row.

    `block_size` is the alignment of records, `record_size` their uncompressed size in bytes; `raw_packed`: shards are
    stored without records.
    """

    magic: str = MAGIC_TEXT
    block_size: int = 0
    record_size: int = 0
    compression: int = 0
    raw_packed: bool = False
    unknown: tuple[int, ...] = ()

    def build(self) -> bytes:
        """The message."""
        numbers = (self.block_size, self.record_size, self.compression, self.raw_packed)
        return build(_CONFIG, (self.magic.encode(), *numbers))

    @classmethod
    def parse(cls, data: bytes) -> BundleConfig:
        """Read the message."""
        values, unknown = collect(data, _CONFIG)
        return cls(
            values.get("magic", b"").decode("utf-8", "backslashreplace"), values.get("block_size", 0),
            values.get("record_size", 0), values.get("compression", 0), bool(values.get("raw_packed", 0)), unknown,
        )  # fmt: skip


class ShardHeader(NamedTuple):
    """The header message of a shard, and where its data starts (absolute in the shard file).

    `metadata` says where the rows of its records are: in the index ("external"), or in places that are not read.
    """

    shard_index: int = 0
    shard_count: int = 0
    record_size: int = 0
    record_alignment: int = 0
    compression: int = 0
    metadata: str = "external"
    data_offset: int = 0
    unknown: tuple[int, ...] = ()

    def build(self) -> bytes:
        """The message (with `external_metadata` set)."""
        numbers = (self.shard_index, self.shard_count, self.record_size, self.record_alignment, self.compression)
        return build(_HEADER, (*numbers, True))

    def build_file_start(self) -> bytes:
        """Build magic, lengths, message, and zeros up to the first record; an alignment of 0 counts as 1."""
        message = self.build()
        start = align(FIXED_HEADER + len(message), max(1, self.record_alignment))
        return build_shard_start(message, start).ljust(start, b"\0")


def align(offset: int, alignment: int) -> int:
    """The next multiple of the alignment."""
    return -(-offset // alignment) * alignment


def compression_name(number: int) -> str:
    """The name of a compression method, `method-N` for an unknown one."""
    try:
        return Compression(number).name.lower()
    except ValueError:
        return f"method-{number}"


__all__ = [
    "MAGIC_TEXT",
    "MAX_U64",
    "BundleConfig",
    "Compression",
    "FileMetadata",
    "FileType",
    "RecordMetadata",
    "ShardHeader",
    "UserData",
    "align",
    "compression_name",
]
