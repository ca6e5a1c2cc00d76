"""Keys of index rows: parts whose bytes sort as their values do.

Pure functions; `parse_*` raise `WireError`.  They are written by hand because there is one key for every row: the
specification unfolds an integer into ten fields and a string into chunks, whose reader takes ten times as long.
`tests/data_bundle/test_twins.py` compares the two.

Spec: `docs/formats/data_bundle.md`, "Index rows" (dacha's order-preserving encoders).
"""

from __future__ import annotations

from typing import NamedTuple

from exhume.formats.leveldb.wire import MAX_U64, WireError

CONFIG, FILE, RECORD = 1, 2, 3
CONFIG_KEY = b"\x01"
FILE_PREFIX, FILE_STOP = b"\x02", b"\x03"
RECORD_PREFIX, RECORD_STOP = b"\x03", b"\x04"


def build_varuint(value: int) -> bytes:
    """An unsigned integer in 1 to 9 bytes; raises `ValueError` beyond 64 bits.

    >>> [build_varuint(n).hex() for n in (0, 127, 128, 300, 16384)]
    ['00', '7f', '8080', '812c', 'c04000']
    """
    if not 0 <= value <= MAX_U64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    size = max(1, -(-value.bit_length() // 7))
    if size >= 9:
        return b"\xff" + value.to_bytes(8, "big")
    lead = (0xFF << (8 - (size - 1))) & 0xFF if size > 1 else 0
    out = bytearray(value.to_bytes(size, "big"))
    out[0] |= lead
    return bytes(out)


def parse_varuint(data: bytes, at: int) -> tuple[int, int]:
    """The integer at `at` and the offset behind it."""
    if at >= len(data):
        raise WireError("the key ends inside an integer", at)
    first = data[at]
    if first < 0x80:
        return first, at + 1
    more = 8 if first == 0xFF else 8 - (~first & 0xFF).bit_length()
    end = at + 1 + more
    if end > len(data):
        raise WireError("the key ends inside an integer", at)
    high = first & (0x7F >> more) if more < 8 else 0
    return high << (8 * more) | int.from_bytes(data[at + 1 : end], "big"), end


def build_escaped(value: bytes) -> bytes:
    """A byte string with its terminator; zero bytes in it are escaped."""
    return value.replace(b"\0", b"\0\xff") + b"\0\0"


def parse_escaped(data: bytes, at: int) -> tuple[bytes, int]:
    """The byte string at `at` and the offset behind its terminator."""
    out = bytearray()
    start = at
    while True:
        zero = data.find(b"\0", at)
        if zero < 0 or zero + 1 >= len(data):
            raise WireError("the key ends inside a byte string", start)
        out += data[at:zero]
        marker = data[zero + 1]
        at = zero + 2
        if marker == 0:
            return bytes(out), at
        if marker != 0xFF:
            raise WireError("a zero byte in a key is followed by neither 00 nor ff", zero)
        out.append(0)


class FileKey(NamedTuple):
    """The key of a file row: directory with slashes at both ends, and name."""

    directory: bytes
    name: bytes

    def build(self) -> bytes:
        """The bytes of the key."""
        return self.start() + build_escaped(self.name)

    def start(self) -> bytes:
        """What the keys of all files of the directory start with; `build_escaped` of a name completes one."""
        return FILE_PREFIX + build_escaped(self.directory)

    @property
    def path(self) -> str:
        """Relative path with `/` between its parts; bytes that are not UTF-8 become lone surrogates."""
        return (self.directory.lstrip(b"/") + self.name).decode("utf-8", "surrogateescape")


class RecordKey(NamedTuple):
    """The key of a record row: shard number and offset in its uncompressed stream."""

    shard_index: int
    offset: int

    def build(self) -> bytes:
        """The bytes of the key."""
        return RECORD_PREFIX + build_varuint(self.shard_index) + build_varuint(self.offset)


def file_key(path: str) -> FileKey:
    """The key of a relative path."""
    folder, _, name = path.rpartition("/")
    raw = folder.encode("utf-8", "surrogateescape")
    return FileKey(b"/" + raw + b"/" if raw else b"/", name.encode("utf-8", "surrogateescape"))


def parse_file_key(key: bytes) -> FileKey:
    """Splits the key of a file row."""
    directory, at = parse_escaped(key, 1)
    name, at = parse_escaped(key, at)
    if at != len(key):
        raise WireError("bytes after the end of the key", at)
    return FileKey(directory, name)


def parse_record_key(key: bytes) -> RecordKey:
    """Splits the key of a record row."""
    shard, at = parse_varuint(key, 1)
    offset, at = parse_varuint(key, at)
    if at != len(key):
        raise WireError("bytes after the end of the key", at)
    return RecordKey(shard, offset)


def parse_table(key: bytes) -> int:
    """The number of the table that a key belongs to (its first part)."""
    return parse_varuint(key, 0)[0]
