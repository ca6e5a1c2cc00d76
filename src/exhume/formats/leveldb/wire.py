"""The small encodings of the LevelDB family: varints, length-prefixed bytes, handles, internal keys, columns of them.

`layout` reads them, and this module writes them.  Spec: LevelDB util/coding.cc, db/dbformat.h.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

from exhume.formats.leveldb.layout_facts import KEY_TAIL, TRAILER
from exhume.tuples import NamedTuple

_pack_tail = KEY_TAIL.pack  # bound once: it is called for every key that is written
MAX_U64 = (1 << 64) - 1
MAX_SEQUENCE = (1 << 56) - 1
"""Largest sequence number: 56 bits, the other eight hold the value type."""


class WireError(ValueError):
    """Bytes that do not hold what they should; `offset` is where it starts, relative to the data."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def add_varint(out: bytearray, value: int) -> None:
    """Add the shortest form of an unsigned integer; raise `ValueError` beyond 64 bits."""
    if not 0 <= value <= MAX_U64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def build_varint(value: int) -> bytes:
    """The shortest form of an unsigned integer; raises `ValueError` beyond 64 bits."""
    if 0 <= value < 0x80:
        return bytes((value,))
    out = bytearray()
    add_varint(out, value)
    return bytes(out)


def build_bytes(value: bytes) -> bytes:
    """A byte string after its varint length."""
    return build_varint(len(value)) + value


class Handle(NamedTuple):
    """Position of a block: file offset and size without the five bytes of trailer."""

    offset: int
    size: int

    @property
    def stop(self) -> int:
        """Where its trailer ends."""
        return self.offset + self.size + TRAILER.size

    def build(self) -> bytes:
        """The two varints."""
        return build_varint(self.offset) + build_varint(self.size)


class Keys(Sequence[bytes]):
    """Byte strings that follow one another in `data`: `bounds` has the offset of each, and the end of the last."""

    __slots__ = ("bounds", "data")

    def __init__(self, data: bytes, bounds: memoryview) -> None:
        self.data: bytes = data
        self.bounds: memoryview = bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, at: Any) -> Any:
        """Return the key at an index, or the keys of a slice, without a copy."""
        if isinstance(at, slice):
            chosen = range(len(self))[at]
            return Keys(self.data, self.bounds[chosen.start : chosen.start + len(chosen) + 1])
        if at < 0:
            at = range(len(self))[at]
        return self.data[self.bounds[at] : self.bounds[at + 1]]

    def __iter__(self) -> Iterator[bytes]:
        return map(self.data.__getitem__, map(slice, self.bounds, self.bounds[1:]))


class Handles(Sequence[Handle]):
    """Positions of blocks: a column of their offsets in the file, and one of their sizes without the trailers."""

    __slots__ = ("offsets", "sizes")

    def __init__(self, offsets: memoryview, sizes: memoryview) -> None:
        self.offsets: memoryview = offsets
        self.sizes: memoryview = sizes

    @classmethod
    def of(cls, handles: Iterable[Handle]) -> Handles:
        """The columns of single handles."""
        found = list(handles)
        offsets = array("Q", [handle.offset for handle in found])
        sizes = array("Q", [handle.size for handle in found])
        return cls(memoryview(offsets), memoryview(sizes))

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, at: Any) -> Any:
        """Return the handle at an index, or the handles of a slice."""
        if isinstance(at, slice):
            return Handles(self.offsets[at], self.sizes[at])
        return Handle(self.offsets[at], self.sizes[at])

    def __iter__(self) -> Iterator[Handle]:
        return map(Handle, self.offsets, self.sizes)


class BlockIndex(Sequence[tuple[bytes, Handle]]):
    """`(separator, handle)` of each data block of a table, in order, as columns.

    The separator is a user key: the last key of the block, or one between that and the first of the next block.
    """

    __slots__ = ("handles", "keys")

    def __init__(self, keys: Keys, handles: Handles) -> None:
        self.keys: Keys = keys
        self.handles: Handles = handles

    @classmethod
    def of(cls, entries: Iterable[tuple[bytes, Handle]]) -> BlockIndex:
        """Return the index of these pairs."""
        found = list(entries)
        keys = [key for key, _ in found]
        bounds = array("q", accumulate(map(len, keys), initial=0))
        return cls(Keys(b"".join(keys), memoryview(bounds)), Handles.of(handle for _, handle in found))

    @classmethod
    def packed(cls, keys: bytes, bounds: bytes, offsets: bytes, sizes: bytes) -> BlockIndex:
        """Return the index of columns as `block_handles` returns them, without a Python object per entry."""
        handles = Handles(memoryview(array("Q", offsets)), memoryview(array("Q", sizes)))
        return cls(Keys(keys, memoryview(array("q", bounds))), handles)

    def __len__(self) -> int:
        return len(self.handles)

    def __getitem__(self, at: Any) -> Any:
        """Return the key and the handle at an index, or the entries of a slice."""
        if isinstance(at, slice):
            return BlockIndex(self.keys[at], self.handles[at])
        return self.keys[at], self.handles[at]

    def __iter__(self) -> Iterator[tuple[bytes, Handle]]:
        return zip(self.keys, self.handles, strict=True)

    def strides(self, size: int) -> Iterator[tuple[bytes, int]]:
        """Separators that have about `size` stored bytes between them, each with the bytes of the blocks before it."""
        held = 0  # stored bytes since the last separator
        for number, stored in enumerate(self.handles.sizes):
            held += stored
            if held >= size:
                yield self.keys[number], held
                held = 0
        if held:  # the blocks at the end
            yield self.keys[-1], held


class InternalKey(NamedTuple):
    """User key, sequence number (56 bits) and value type (8 bits) of an entry."""

    user_key: bytes
    sequence: int
    value_type: int

    def build(self) -> bytes:
        """User key and the packed number, little-endian."""
        number = self.sequence  # in three parts: 4 bytes, 2, and 1
        return self.user_key + _pack_tail(self.value_type, number & 0xFFFFFFFF, number >> 32 & 0xFFFF, number >> 48)


_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte != 0x5C)
"""Bytes that `key_text` shows as they are: printable ASCII, except the backslash."""


def text_pieces(value: Iterable[bytes]) -> Iterator[bytes]:
    """The text of `key_text` of a byte string that comes in chunks, in chunks."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for piece in chain(value, (None,)):  # at None, the rest of an incomplete character
        text = decoder.decode(piece or b"", piece is None)
        yield key_text(text.encode("utf-8", "surrogateescape")).encode()


def key_text(key: bytes) -> str:
    r"""A key on one line; bytes that are not printable UTF-8 become `\xHH`, and backslashes are doubled."""
    rest = key.translate(None, _PLAIN)  # the other bytes; `odd` are the characters to escape
    if not rest:
        return key.decode("ascii")
    text = key.decode("utf-8", "surrogateescape").replace("\\", "\\\\")
    if rest.isascii():  # all are control characters, except the backslash, which was doubled
        odd: set[str] = set(rest.decode("ascii")) - {"\\"}
    else:
        odd = {char for char in text if not char.isprintable()}
    for char in odd:
        escape = "".join([f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")])
        text = text.replace(char, escape)
    return text


def log_rank(number: int, at: int) -> int:
    """Return the rank of the batch at `at` in the log `number`, in 63 bits; equal items sort by it (see `Item`).

    It is odd, so that it never equals that of a table's block, which is even.  Batches are more than 4 bytes apart.
    """
    return (min(number, (1 << 30) - 1) << 33) + 2 * min(at // 4, (1 << 32) - 1) + 1
