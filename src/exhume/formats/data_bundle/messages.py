"""The Protocol Buffers messages of a bundle, both ways.

A field that is absent has its default; a known field of the wrong wire type, a cut value or a group is garbage
(`WireError`); unknown fields are kept in `unknown` and otherwise ignored.

Spec: `docs/formats/data_bundle.md`, "Messages"; protobuf.dev, "Encoding".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from exhume.formats.data_bundle.layout_fields import ConfigNames, FileNames, RecordNames, collect, names
from exhume.formats.leveldb.wire import MAX_U64, WireError, build_bytes, build_varint

MAGIC_TEXT = "daBundleV1"


class Compression(enum.IntEnum):
    """How records are stored (not the numbers of LevelDB or RocksDB)."""

    UNKNOWN = 0
    NONE = 1
    SNAPPY = 2
    ZLIB = 3


class FileType(enum.IntEnum):
    """What a file row is about; `UNKNOWN` is read as a file."""

    UNKNOWN = 0
    REGULAR = 1
    DIRECTORY = 2


def _number(field: int, value: int) -> bytes:
    """A number of a field below 16; nothing for 0."""
    if value < 0x80:
        return bytes((field << 3, value)) if value else b""
    return bytes((field << 3,)) + build_varint(value)


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
_CONFIG = names(
    {
        ConfigNames.BLOCK_SIZE: "block_size",
        ConfigNames.RECORD_SIZE: "record_size",
        ConfigNames.COMPRESSION_METHOD: "compression",
        ConfigNames.RAW_PACKED: "raw_packed",
    },
    {ConfigNames.VERSION_MAGIC: "magic"},
)


@dataclass(frozen=True, slots=True)
class UserData:
    """A `google.protobuf.Any` that the creator of a bundle attached to a file."""

    type_url: str
    value: bytes

    def build(self) -> bytes:
        """The message."""
        raw = self.type_url.encode("utf-8", "surrogateescape")
        return (b"\x0a" + build_bytes(raw) if raw else b"") + (b"\x12" + build_bytes(self.value) if self.value else b"")

    @classmethod
    def parse(cls, data: bytes) -> UserData:
        """Reads the message."""
        values, _ = collect(data, _USER_DATA)
        return cls(values.get("type_url", b"").decode("utf-8", "surrogateescape"), values.get("value", b""))

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"type_url": self.type_url, "value_hex": self.value.hex()}


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """Value of a file row.  `offset` counts in the uncompressed stream of the shard."""

    type: int = FileType.REGULAR
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

    def build(self) -> bytes:
        """The message."""
        out = _number(1, self.type) + _number(2, self.shard_index) + _number(3, self.offset)
        out += _number(4, self.size) + _number(5, self.crc32c)
        return out + (b"\x32" + build_bytes(self.user_data.build()) if self.user_data is not None else b"")

    @classmethod
    def parse(cls, data: bytes) -> FileMetadata:
        """Reads the message."""
        values, unknown = collect(data, _FILE)
        user = values.pop("user_data", None)
        if values.get("crc32c", 0) >> 32:
            raise WireError("a CRC of more than 32 bits", 0)
        return cls(
            values.get("type", 0), values.get("shard_index", 0), values.get("offset", 0), values.get("size", 0),
            values.get("crc32c", 0), None if user is None else UserData.parse(user), unknown,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Value of a record row.  `byte_offset` is None for a record of zeros, which stores nothing."""

    shard_index: int = 0
    offset: int = 0
    byte_offset: int | None = None
    all_zeros: bool = False
    unknown: tuple[int, ...] = ()

    def build(self) -> bytes:
        """The message (members of the oneof are written even when they have their default)."""
        out = _number(1, self.shard_index) + _number(2, self.offset)
        if self.all_zeros:
            return out + b"\x20\x01"
        return out + b"\x18" + build_varint(self.byte_offset or 0)

    @classmethod
    def parse(cls, data: bytes) -> RecordMetadata:
        """Reads the message; of the two members of the oneof the last one counts."""
        values, unknown = collect(data, _RECORD)
        last = next((name for name in reversed(values) if name in ("byte_offset", "all_zeros")), None)
        byte_offset = values["byte_offset"] if last == "byte_offset" else None
        zeros = last == "all_zeros" and bool(values["all_zeros"])
        return cls(values.get("shard_index", 0), values.get("offset", 0), byte_offset, zeros, unknown)


@dataclass(frozen=True, slots=True)
class BundleConfig:
    """Value of the configuration row."""

    magic: str = MAGIC_TEXT
    block_size: int = 0
    record_size: int = 0
    compression: int = 0
    raw_packed: bool = False
    unknown: tuple[int, ...] = ()

    def build(self) -> bytes:
        """The message."""
        out = b"\x0a" + build_bytes(self.magic.encode()) + _number(2, self.block_size)
        return out + _number(3, self.record_size) + _number(4, self.compression) + _number(6, int(self.raw_packed))

    @classmethod
    def parse(cls, data: bytes) -> BundleConfig:
        """Reads the message."""
        values, unknown = collect(data, _CONFIG)
        return cls(
            values.get("magic", b"").decode("utf-8", "backslashreplace"), values.get("block_size", 0),
            values.get("record_size", 0), values.get("compression", 0), bool(values.get("raw_packed", 0)), unknown,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShardHeader:
    """The header message of a shard, and where its data start (absolute in the shard file)."""

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
        out = _number(1, self.shard_index) + _number(2, self.shard_count) + _number(3, self.record_size)
        return out + _number(4, self.record_alignment) + _number(5, self.compression) + b"\x40\x01"

    def build_file_start(self) -> bytes:
        """Magic, lengths, message and zeros up to the first record; alignment 0 counts as 1."""
        message = self.build()
        start = align(12 + len(message), max(1, self.record_alignment))
        head = b"daBS" + len(message).to_bytes(4, "little") + start.to_bytes(4, "little") + message
        return head.ljust(start, b"\0")


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
