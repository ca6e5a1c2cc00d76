"""Payloads that are decompressed in chunks, with memory for one chunk, whatever their size.

`decompress` of the package keeps a payload as a whole; here stored bytes come in chunks, and so does the content.
`PayloadStream` reads a payload once, `StoredContent` any number of times, `ForwardReader` takes bytes and numbers from
chunks.  A payload is the stored form of one part of an archive, the content what it decompresses to.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from exhume.codecs.common import Buffer, over_budget
from exhume.counts import counted
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

PIECE: Final = 1 << 20
"""Most bytes of content in one yielded chunk."""
REACH: Final = 1 << 16
"""Bytes of content that a block of Snappy or LZ4 refers back to; encoders of Snappy reach no further either."""
FEED: Final = 1 << 9
"""Stored bytes of zstd frames that are decompressed at a time: they become 16 MiB at most."""

_ALL: Final = 1 << 63
"""More bytes than any content has."""

_CUT: Final = "{}: truncated stream"
"""The message about a payload that ends early; the codec is filled in."""


class PayloadStream:
    """The decompressed content of a payload, in chunks of at most `PIECE` bytes; it can be read once.

    `stored` are its stored bytes in chunks; `max_size` and `size` are those of `decompress`. Iterating raises
    `CodecError` for damage, another size, or bytes after the stream; `LimitExceededError` beyond `max_size`; and
    `UnsupportedFeatureError` for an unknown codec or a missing dictionary.
    """

    def __init__(
        self,
        codec: str,
        stored: Iterable[Buffer],
        *,
        max_size: int,
        size: int | None = None,
        trailing: bool = False,
    ) -> None:
        self.consumed: int = 0
        """Stored bytes that the stream took, once it has ended; before, those that were passed to its decoder."""
        # With `trailing`, bytes may follow the stream.
        self._codec, self._max_size, self._size, self._trailing = codec, max_size, size, trailing
        self._stored = iter(stored)
        if codec not in _READERS:
            raise UnsupportedFeatureError(f"unknown codec {codec!r}", expected=f"one of {', '.join(_READERS)}")

    def __iter__(self) -> Iterator[bytes]:
        """Yield the content in chunks.  Raises `CodecError` for damage and a wrong size, `LimitExceededError`."""
        total = 0
        for content in _READERS[self._codec](self):
            total += len(content)
            if total > self._max_size:
                raise over_budget(self._codec, self._max_size)
            if self._size is not None and total > self._size:
                raise self._wrong("more")
            for at in range(0, len(content), PIECE):
                yield content[at : at + PIECE]
        if self._size is not None and total != self._size:
            raise self._wrong(counted(total, "bytes"))
        left = 0 if self._trailing else sum(map(len, self._stored))
        if left:
            raise self._after(left)

    def _wrong(self, actual: str) -> CodecError:
        """The error of content whose size is not the stated one, but `actual`."""
        message = f"{self._codec}: wrong decompressed size"
        return CodecError(message, expected=counted(self._size or 0, "bytes"), actual=actual)

    def _after(self, left: int) -> CodecError:
        """The error of a stream that `left` bytes follow."""
        return CodecError(
            f"{self._codec}: bytes after the end of the compressed stream",
            expected=counted(self.consumed, "bytes"),
            actual=counted(self.consumed + left, "bytes"),
        )

    def _fed(self) -> Iterator[bytes]:
        """The stored bytes in chunks of at most `PIECE`, counted in `consumed` as they are yielded."""
        for piece in self._stored:
            for at in range(0, len(piece), PIECE):
                part = bytes(piece[at : at + PIECE])
                self.consumed += len(part)
                yield part

    def end(self, unused: int) -> None:
        """Note that the stream has ended, and that the last `unused` of the bytes so far are not part of it.

        Raises `CodecError` for such bytes if none may follow the stream.
        """
        self.consumed -= unused
        if unused and not self._trailing:
            raise self._after(unused + sum(map(len, self._stored)))

    def plain(self) -> Iterator[bytes]:
        """Bytes that are stored as they are."""
        yield from self._fed()

    def engine(self, make: Callable[[], Any]) -> Iterator[bytes]:
        """The output of a decompressor with the interface of the standard library, which `make` returns.

        Raises `CodecError`.
        """
        engine = make()
        for part in self._fed():
            rest = part
            while not engine.eof:  # until `part` is used up, which a step without output shows
                try:
                    piece = engine.decompress(rest, PIECE)
                except Exception as error:  # zlib.error, isal's, lzma.LZMAError, OSError: no common base
                    raise CodecError(f"{self._codec}: corrupt stream", actual=str(error)) from error
                rest = getattr(engine, "unconsumed_tail", b"")  # zlib returns what the others keep
                if piece:
                    yield piece
                else:
                    break  # it needs more stored bytes
            if engine.eof:
                self.end(len(engine.unused_data))
                return
        raise CodecError(_CUT.format(self._codec), actual=f"{counted(self.consumed, 'bytes')} without an end")

    def frames(self, one: bool) -> Iterator[bytes]:
        """The content of zstd frames: of the first only (`one`), or of all.  Raises `CodecError`."""
        from exhume.codecs.zstd import zstd_stream

        for used, content, is_end in zstd_stream(self._fed(), FEED):
            yield content
            if one and is_end:
                self.end(self.consumed - used)  # `used` are the stored bytes of the frame
                return
        if one:
            raise CodecError(_CUT.format(self._codec), actual=f"{counted(self.consumed, 'bytes')} without an end")

    def block(self, decode: Callable[[Iterator[bytes], PayloadStream], Iterator[bytes]]) -> Iterator[bytes]:
        """The content of a raw block of Snappy or LZ4, by `_snappy` or `_lz4`."""
        return decode(self._fed(), self)

    def lz4_frames(self) -> Iterator[bytes]:
        """The content of LZ4 frames.  Raises `CodecError`."""
        from exhume.codecs.blocks import lz4_frames

        return lz4_frames(ForwardReader(self._fed()).take)

    @property
    def size(self) -> int | None:
        """The size of the content that the container states."""
        return self._size


class StoredContent:
    """The content of a payload that is not kept in memory, but decompressed again for each use.

    `chunks(start, stop)` yields the stored bytes in that range, of `stored` in all; `max_size` and `size` are those of
    `decompress`.  Ranges of the content are found by decompressing everything before them.
    """

    codec: str

    def __init__(
        self,
        codec: str,
        chunks: Callable[[int, int], Iterator[Buffer]],
        stored: int,
        *,
        max_size: int,
        size: int | None = None,
    ) -> None:
        self.codec, self._chunks, self._stored, self._max_size = codec, chunks, stored, max_size
        self._size = stored if codec == "none" else size

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes `[start, stop)`, or all.  Propagates errors from iterating a `PayloadStream`."""
        if self.codec == "none":
            stop = self._stored if stop is None else stop
            yield from map(bytes, self._chunks(start, stop))
            return
        whole = self._chunks(0, self._stored)
        stream = PayloadStream(self.codec, whole, max_size=self._max_size, size=self._size)
        if start == 0 and stop is None:
            yield from stream
            return
        forward = ForwardReader(stream)
        forward.skip(start)
        yield from forward.pieces(_ALL if stop is None else stop - start)

    def tail(self, size: int) -> tuple[int, bytes]:
        """The size of the content, and its last `size` bytes.  Propagates errors from iterating a `PayloadStream`."""
        if self.codec == "none":
            return self._stored, b"".join(self.pieces(max(0, self._stored - size)))
        total, last = 0, b""
        for piece in self.pieces():
            total += len(piece)
            last = (last + piece)[-size:] if len(piece) < size else piece[-size:]
        return total, last


class ForwardReader:
    """Content that comes in chunks, read forwards; `at` is the position of the next byte in it."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._data, self._from = b"", 0  # the chunks held, joined, and where the next byte is in them
        self.at: int = 0

    def has(self, size: int) -> bool:
        """Whether this many bytes follow; they are then held."""
        if len(self._data) - self._from >= size:
            return True
        held, have = [self._data[self._from :]], len(self._data) - self._from
        while have < size and (more := next(self._pieces, None)) is not None:
            held.append(more)
            have += len(more)
        self._data, self._from = b"".join(held), 0
        return have >= size

    def some(self, size: int) -> bytes:
        """One to `size` of the next bytes: those of the chunks held, at most `PIECE`; empty at the end."""
        if not self.has(1):
            return b""
        found = self._data[self._from : self._from + min(size, PIECE)]
        self._from += len(found)
        self.at += len(found)
        return found

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or all that follow, without moving past them."""
        self.has(size)
        return self._data[self._from : self._from + size]

    def take(self, size: int) -> bytes:
        """The next `size` bytes, or all that follow."""
        found = self.peek(size)
        self._from += len(found)
        self.at += len(found)
        return found

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, or all that follow, in chunks."""
        while size and (part := self.some(size)):
            size -= len(part)
            yield part

    def skip(self, size: int) -> int:
        """Pass over the next `size` bytes, or all that follow; return how many there were."""
        return sum(map(len, self.pieces(size)))

    def number(self, size: int) -> int:
        """A little-endian number.  Raises `CodecError`."""
        if not self.has(size):
            raise CodecError("truncated block")
        found = self._data[self._from : self._from + size]
        self._from += size
        self.at += size
        return int.from_bytes(found, "little")

    def left(self) -> int:
        """Number of bytes that were taken from the chunks and not read yet."""
        return len(self._data) - self._from


class _Window:
    """Decompressed content that was not yielded yet, and the part before it that copies can refer to."""

    def __init__(self) -> None:
        self._made = bytearray()
        self._given = 0  # bytes of `_made` that were yielded
        self.total = 0  # bytes decompressed so far, including those dropped from `_made`

    def add(self, data: bytes) -> None:
        """Add literals."""
        self._made += data
        self.total += len(data)

    def copy(self, offset: int, size: int) -> None:
        """Add `size` bytes that start `offset` bytes before the end.

        Raises `CodecError` if they start before the content, and `LimitExceededError` if they were dropped already.
        """
        made = self._made
        if not 0 < offset <= self.total:
            raise CodecError("a copy refers to bytes before the start of the block", actual=offset)
        if offset > len(made):
            raise LimitExceededError(
                "a copy refers too far back to be decompressed in chunks (raise the limit payload_size)",
                expected=f"at most {len(made)}", actual=offset,
            )  # fmt: skip
        start = len(made) - offset
        if offset >= size:
            made += made[start : start + size]
        else:  # a copy that reaches into itself: the last `offset` bytes repeat
            made += (made[start:] * (size // offset + 1))[:size]
        self.total += size

    def full(self) -> Iterator[bytes]:
        """Yield the content that fills a chunk, keeping what later copies can refer to."""
        if len(self._made) - self._given >= PIECE:
            yield from self.rest()
            del self._made[: max(0, len(self._made) - REACH)]
            self._given = len(self._made)

    def rest(self) -> Iterator[bytes]:
        """All that was not yielded."""
        for at in range(self._given, len(self._made), PIECE):
            yield bytes(self._made[at : at + PIECE])
        self._given = len(self._made)


_STEP: Final = 1 << 16
"""Bytes of a long match that are added before full chunks are yielded, so that a match does not take much memory."""


def _snappy(pieces: Iterator[bytes], stream: PayloadStream) -> Iterator[bytes]:
    """Decode a raw Snappy block in chunks.  Raises `CodecError` for damage."""
    held, made = ForwardReader(pieces), _Window()
    # The size of the content: a varint of at most five bytes.
    stated = shift = 0
    while True:
        byte = held.number(1)
        stated |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
        if shift > 28:  # five bytes were read
            raise CodecError("snappy: bad length prefix")
    # Each element is a literal (kind 0), or a copy with an offset of 11, 16 or 32 bits.
    while made.total < stated:
        tag = held.number(1)
        kind = tag & 3
        if kind == 0:
            length = (tag >> 2) + 1
            if length > 60:  # its length is in the next one to four bytes
                length = held.number(length - 60) + 1
            while length:
                made.add(part := held.some(length))
                if not part:
                    raise CodecError("snappy: truncated block")
                length -= len(part)
                yield from made.full()
        elif kind == 1:  # 4 to 11 bytes; the upper three bits of the tag are the highest of the offset
            made.copy(tag >> 5 << 8 | held.number(1), ((tag >> 2) & 7) + 4)
        else:  # 1 to 64 bytes
            made.copy(held.number(2 if kind == 2 else 4), (tag >> 2) + 1)
        yield from made.full()
    if made.total != stated:
        raise CodecError("snappy: elements exceed the declared length", expected=counted(stated, "bytes"))
    yield from made.rest()
    stream.end(held.left())


def _lz4(pieces: Iterator[bytes], stream: PayloadStream) -> Iterator[bytes]:
    """Yield a decompressed LZ4 block in chunks, keeping only the window that copies can refer to.

    A block is a sequence of tokens, each with literals and a match, which copies earlier output (see `_with_prefix` in
    blocks.py).  Raises `CodecError` for damage, `UnsupportedFeatureError` if the size is not known.
    """
    held, made = ForwardReader(pieces), _Window()

    def extended(length: int) -> int:
        """A length from its four bits in the token; if 15, the bytes that follow are added, up to one below 255."""
        more = 255 if length == 15 else 0
        while more == 255:
            more = held.number(1)
            length += more
        return length

    if stream.size is None:
        raise UnsupportedFeatureError("lz4: a block without its decompressed size cannot be decoded")
    while held.has(1):
        token = held.number(1)
        length = extended(token >> 4)
        while length:
            made.add(part := held.some(length))
            if not part:
                raise CodecError("lz4: truncated block")
            length -= len(part)
            yield from made.full()
        if not held.has(1):  # the last sequence has only literals
            break
        offset, size = held.number(2), extended(token & 15) + 4  # a match has at least four bytes
        while size:
            made.copy(offset, step := min(size, _STEP))
            size -= step
            yield from made.full()
        yield from made.full()
    yield from made.rest()


def _inflater(wbits: int, flag: str) -> Callable[[], Any]:
    """Return a maker of engines: of isal if installed (`flag` names its constant), else of zlib (`wbits`)."""

    def make() -> Any:
        """Make a decompressor: isal's, which is faster, if it is installed, else zlib's."""
        from exhume.codecs.deflate import igzip_lib

        igzip = igzip_lib()
        return zlib.decompressobj(wbits) if igzip is None else igzip.IgzipDecompressor(getattr(igzip, flag))

    return make


def _from_xz(name: str) -> Callable[[], Any]:
    """Return a maker of engines that calls `name` in the module `xz`, which is only imported then."""

    def make() -> Any:
        """Make a decompressor of the module `xz`, which is imported only when one is needed."""
        from exhume.codecs import xz

        return getattr(xz, name)()

    return make


# Window bits of zlib: -15 for a raw stream, 15 for one with a zlib header, 31 with a gzip header.
_READERS: Final[dict[str, Callable[[PayloadStream], Iterator[bytes]]]] = {
    "none": PayloadStream.plain,
    "deflate": lambda stream: stream.engine(_inflater(-15, "DECOMP_DEFLATE")),
    "zlib": lambda stream: stream.engine(_inflater(15, "DECOMP_ZLIB")),
    "gzip": lambda stream: stream.engine(lambda: zlib.decompressobj(31)),
    "lzma2": lambda stream: stream.engine(_from_xz("lzma2_decoder")),
    "lzma": lambda stream: stream.engine(_from_xz("container_decoder")),
    "bz2": lambda stream: stream.engine(_from_xz("bz2_decoder")),
    "zstd": lambda stream: stream.frames(False),
    "zstd-frame": lambda stream: stream.frames(True),
    "snappy": lambda stream: stream.block(_snappy),
    "lz4": lambda stream: stream.block(_lz4),
    "lz4-frame": PayloadStream.lz4_frames,
}
