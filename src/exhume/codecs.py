"""The only place that inflates: every decoder works under an output budget and says where the stream ended.

Each function takes the stored bytes and `max_size`, the most that may come out, and raises `CodecError` (corrupt, cut,
or followed by bytes that are not allowed) or `LimitExceededError`.  Formats turn these into their own rule with
`raise RULE.error(...) from error`.
"""

from __future__ import annotations

import functools
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from exhume.errors import CodecError, LimitExceededError, MissingDependencyError, UnsupportedFeatureError
from exhume.lightclass import dataclass

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_WINDOW_MAX = 1 << 27
"""Largest zstd window accepted (128 MiB, the limit of the zstd command line without --long)."""

ZS_LZMA2_DICTIONARY = 1 << 20

INFLATE_FIRST = 1 << 20
"""Bytes that ISA-L may put out in the first step."""

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decompressed bytes and how many stored bytes the stream used."""

    data: bytes
    consumed: int


def decompress(codec: str, data: Buffer, *, max_size: int, size: int | None = None) -> bytes:
    """Decodes a whole payload: the stream must end exactly at the end of `data`.

    `codec` is one of `CODECS`.  `size` is the decompressed size where the container states it (required for `lz4`,
    checked for the others).
    """
    decoded = decompress_prefix(codec, data, max_size=max_size, size=size)
    if decoded.consumed != len(data):
        raise CodecError(
            f"{codec}: bytes after the end of the compressed stream",
            expected=f"{decoded.consumed} bytes",
            actual=f"{len(data)} bytes",
        )
    return decoded.data


def decompress_prefix(codec: str, data: Buffer, *, max_size: int, size: int | None = None) -> Decoded:
    """Decodes the stream at the start of `data`; what follows it is left alone (padding, the next structure)."""
    decoder = _DECODERS.get(codec)
    if decoder is None:
        raise UnsupportedFeatureError(f"unknown codec {codec!r}", expected=f"one of {', '.join(CODECS)}")
    if size is not None and size > max_size:
        raise _over_budget(codec, max_size, size)
    decoded = decoder(data, max_size, size)
    if size is not None and len(decoded.data) != size:
        raise CodecError(
            f"{codec}: wrong decompressed size", expected=f"{size} bytes", actual=f"{len(decoded.data)} bytes"
        )
    return decoded


def _over_budget(codec: str, max_size: int, actual: Any = None) -> LimitExceededError:
    return LimitExceededError(
        f"{codec}: the payload decompresses to more than is allowed (raise --limit payload_size or expansion)",
        expected=f"at most {max_size} bytes",
        actual=actual,
    )


def _none(data: Buffer, max_size: int, size: int | None) -> Decoded:
    length = len(data) if size is None else size
    if length > max_size:
        raise _over_budget("none", max_size, length)
    if length > len(data):
        raise CodecError("none: the payload is cut short", expected=f"{length} bytes", actual=f"{len(data)} bytes")
    return Decoded(bytes(data[:length]), length)


def _zlib_family(name: str, wbits: int) -> Callable[[Buffer, int, int | None], Decoded]:
    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        engine = zlib.decompressobj(wbits)
        try:
            out = engine.decompress(data, max_size + 1)  # one byte past the budget tells "full" from "too much"
        except zlib.error as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        if len(out) > max_size:
            raise _over_budget(name, max_size)
        if not engine.eof:
            raise CodecError(f"{name}: the stream is cut short", actual=f"{len(data)} bytes without an end")
        return Decoded(out, len(data) - len(engine.unused_data))

    return decode


@functools.cache
def _igzip() -> Any:
    """ISA-L, which inflates about twice as fast as zlib; None where there is no build of it."""
    try:
        from isal import igzip_lib
    except ImportError:
        return None
    return igzip_lib


def _igzip_family(name: str, wbits: int, flag: str) -> Callable[[Buffer, int, int | None], Decoded]:
    """Inflating with ISA-L where it is there, else with zlib; both check what trailer the container has."""
    fallback = _zlib_family(name, wbits)

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        igzip = _igzip()
        if igzip is None:
            return fallback(data, max_size, size)
        engine = igzip.IgzipDecompressor(getattr(igzip, flag))
        # The engine takes a buffer of the limit's size at once, and gives it back when it is large: fresh pages for
        # every block.  So the first step is one that most payloads fit in and the allocator keeps.
        most = max_size + 1  # one byte past the budget tells "full" from "too much"
        first = min(most, max(INFLATE_FIRST, 4 * len(data)) if size is None else size + 1)
        try:
            out = engine.decompress(data, first)
            if len(out) == first < most and not engine.eof:
                out += engine.decompress(b"", most - first)
        except igzip.error as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        if len(out) > max_size:
            raise _over_budget(name, max_size)
        if not engine.eof:
            raise CodecError(f"{name}: the stream is cut short", actual=f"{len(data)} bytes without an end")
        return Decoded(out, len(data) - len(engine.unused_data))

    return decode


def inflated_size(data: Buffer, limit: int) -> int:
    """Decompressed bytes of a raw deflate stream, counted up to the first step past `limit`; nothing is kept.

    Raises `CodecError` for a corrupt stream.
    """
    igzip = _igzip()
    engine = zlib.decompressobj(-15) if igzip is None else igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)
    failures = (zlib.error,) if igzip is None else (zlib.error, igzip.error)
    total = 0
    rest: Buffer = data
    try:
        while not engine.eof and total <= limit:
            piece = engine.decompress(rest, 1 << 20)
            rest = engine.unconsumed_tail if igzip is None else b""
            total += len(piece)
            if not piece:
                break
    except failures as error:
        raise CodecError("deflate: corrupt stream", actual=str(error)) from error
    return total


class Stepwise:
    """Decodes a payload a step at a time, for readers that may not need all of it.

    What is decoded comes out as from `decompress_prefix`; damage behind it is not seen.
    """

    def __init__(self, codec: str, data: Buffer) -> None:
        """Takes `deflate` and `lzma2`."""
        if codec == "lzma2":
            self._engine = _lzma2_decoder()
        else:
            igzip = _igzip()
            self._engine = zlib.decompressobj(-15) if igzip is None else igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)
        self._codec = codec
        self._size = len(data)
        self._rest: Buffer = bytes(data) if isinstance(data, memoryview) else data

    @property
    def finished(self) -> bool:
        """Whether the stream's end has been reached."""
        return bool(self._engine.eof)

    @property
    def consumed(self) -> int:
        """Stored bytes of a finished stream."""
        return self._size - len(self._engine.unused_data)

    def more(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end.  Raises `CodecError` for a corrupt or cut stream."""
        if self.finished:
            return b""
        try:
            piece: bytes = self._engine.decompress(self._rest, size)
        except Exception as error:  # zlib.error, isal's, lzma.LZMAError: no common base
            raise CodecError(f"{self._codec}: corrupt stream", actual=str(error)) from error
        self._rest = getattr(self._engine, "unconsumed_tail", b"")  # zlib hands back what the others keep
        if not piece and not self.finished:
            raise CodecError(f"{self._codec}: the stream is cut short", actual=f"{self._size} bytes without an end")
        return piece


def _lzma_family(name: str, make: Callable[[], Any]) -> Callable[[Buffer, int, int | None], Decoded]:
    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        import lzma

        # One byte past what may come tells "full" from "too much".  A known size keeps the engine from taking a
        # buffer of 1 MiB for the last piece, most of it unused.
        most = max_size if size is None else size
        engine = make()
        try:
            out = engine.decompress(bytes(data) if isinstance(data, memoryview) else data, most + 1)
        except (lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        if len(out) > most:
            if size is None:
                raise _over_budget(name, max_size)
            raise CodecError(f"{name}: wrong decompressed size", expected=f"{size} bytes", actual="more")
        if not engine.eof:
            raise CodecError(f"{name}: the stream is cut short", actual=f"{len(data)} bytes without an end")
        return Decoded(out, len(data) - len(engine.unused_data))

    return decode


def _lzma2_decoder() -> Any:
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": ZS_LZMA2_DICTIONARY}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


def lzma2_size(data: Buffer) -> int:
    """Decompressed bytes of a raw LZMA2 stream, summed from its chunk headers (nothing is decoded).

    Raises `CodecError` when a chunk reaches past the end or the end marker is missing.
    """
    at, total, end = 0, 0, len(data)
    while at < end:
        control = data[at]
        if control == 0:
            return total
        if control >= 0x80:
            header = 6 if control >= 0xC0 else 5
            if at + header > end:
                break
            total += ((control & 0x1F) << 16) + (data[at + 1] << 8) + data[at + 2] + 1
            at += header + (data[at + 3] << 8) + data[at + 4] + 1
        elif control <= 2:
            if at + 3 > end:
                break
            stored = (data[at + 1] << 8) + data[at + 2] + 1
            total += stored
            at += 3 + stored
        else:
            raise CodecError("lzma2: invalid chunk header", actual=f"control byte 0x{control:02x}")
    raise CodecError("lzma2: the stream is cut short", actual=f"{end} bytes without an end marker")


def _lzma_decoder() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_AUTO)


def _bz2_decoder() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def zstd_frame_size(data: Buffer, max_size: int) -> int | None:
    """The decompressed size that a zstd frame states, or None; refuses what its header already betrays."""
    import zstandard

    try:
        header = zstandard.get_frame_parameters(data)
    except zstandard.ZstdError as error:
        raise CodecError("zstd: not a frame", actual=str(error)) from error
    if header.dict_id:
        raise UnsupportedFeatureError("zstd: the frame needs a dictionary", actual=f"dictionary {header.dict_id}")
    stated = header.content_size
    known = stated not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR)
    if known and stated > max_size:
        raise _over_budget("zstd", max_size, stated)
    if header.window_size > ZSTD_WINDOW_MAX and not (known and stated <= ZSTD_WINDOW_MAX):
        raise LimitExceededError(
            "zstd: window too large", expected=f"at most {ZSTD_WINDOW_MAX}", actual=header.window_size
        )
    return stated if known else None


def _zstd_one(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """One zstd frame (skippable frames in front of it are passed over)."""
    import zstandard

    at = _skip_zstd_skippable(data, 0)
    zstd_frame_size(memoryview(data)[at : at + 18], max_size)
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
    parts: list[bytes] = []
    total = 0
    view = memoryview(data)
    step = 1 << 16  # decompressobj has no output limit: feed it little enough that a bomb is seen in time
    while at < len(data):
        piece = view[at : at + step]
        try:
            out = engine.decompress(piece)
        except zstandard.ZstdError as error:
            raise CodecError("zstd: corrupt frame", actual=str(error)) from error
        total += len(out)
        if total > max_size:
            raise _over_budget("zstd", max_size)
        if out:
            parts.append(out)
        at += len(piece)
        if engine.eof:
            return Decoded(b"".join(parts) if len(parts) != 1 else parts[0], at - len(engine.unused_data))
        # A frame of constant bytes grows 2^14-fold and more; go on in small steps when little room is left.
        step = max(1024, min(1 << 16, (max_size - total) // 8192))
    raise CodecError("zstd: the frame is cut short", actual=f"{len(data)} bytes without an end")


def _skip_zstd_skippable(data: Buffer, at: int) -> int:
    while len(data) - at >= 8 and data[at + 1 : at + 4] == b"\x2a\x4d\x18" and data[at] & 0xF0 == 0x50:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if size > len(data) - at - 8:
            raise CodecError("zstd: a skippable frame is cut short", expected=f"{size} bytes")
        at += 8 + size
    return at


def zstd_sized(data: Buffer, size: int) -> bytes | None:
    """The one zstd frame at the start of `data`, decoded in one go; faster than `zstd_frames`, for the reader whose
    container tells the decompressed size and who does not care about what follows.

    None when that does not work out (another size, several frames, damage, a size out of proportion): `zstd_frames`
    then says what is there.
    """
    import zstandard

    if size > (1 << 20) + 256 * len(data):
        return None
    try:
        stated = zstd_frame_size(memoryview(data)[:18], size)
        if stated is not None and stated != size:
            return None
        out = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompress(data, max_output_size=size)
    except (CodecError, LimitExceededError, UnsupportedFeatureError, zstandard.ZstdError):
        return None
    return out if len(out) == size else None


def zstd_whole(data: Buffer, *, max_size: int) -> bytes | None:
    """The one zstd frame that `data` is, decoded in one call where that is safe; None otherwise (`zstd_frames` tells).

    One call leaves the interpreter to other threads from its start to its end, which `zstd_frames`, in pieces, does
    not.  The decoder writes into one buffer of 16 times what is stored, of which only what is used becomes memory.
    """
    import zstandard

    room = min(max_size, (1 << 16) + 16 * len(data))
    try:
        zstd_frame_size(memoryview(data)[:18], room)
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        return engine.decompress(data, max_output_size=room, allow_extra_data=False)
    except (CodecError, LimitExceededError, UnsupportedFeatureError, zstandard.ZstdError, MemoryError):
        return None


def zstd_frames(data: Buffer, *, max_size: int) -> Iterator[tuple[int, int, bytes]]:
    """Every concatenated zstd frame of `data` as `(start, end, decompressed)`; the sum stays within `max_size`."""
    at, total = 0, 0
    view = memoryview(data)
    while at < len(data):
        decoded = _zstd_one(view[at:], max_size - total, None)
        yield at, at + decoded.consumed, decoded.data
        total += len(decoded.data)
        at += decoded.consumed


def zstd_partial(data: Buffer, *, max_size: int) -> tuple[bytes, int, bool]:
    """What can be decoded of the zstd frame at the start of `data`: output, bytes used, whether it is the whole frame.

    For salvage only: nothing is raised but `LimitExceededError`; damage ends the output at the last whole block.
    """
    import zstandard

    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
    parts: list[bytes] = []
    total, at, view = 0, 0, memoryview(data)
    while at < len(data):
        piece = view[at : at + 256]  # little by little: output before the damage must not be lost with it
        try:
            out = engine.decompress(piece)
        except zstandard.ZstdError:
            break
        at += len(piece)
        total += len(out)
        if total > max_size:
            raise _over_budget("zstd", max_size)
        parts.append(out)
        if engine.eof:
            return b"".join(parts), at - len(engine.unused_data), True
    return b"".join(parts), at, False


def _zstd_all(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """All frames of a section, joined (an empty section is an empty payload)."""
    parts = [part for _, _, part in zstd_frames(data, max_size=max_size)]
    return Decoded(b"".join(parts) if len(parts) != 1 else parts[0], len(data))


def _snappy_size(data: Buffer) -> tuple[int, int]:
    """Declared size of a raw Snappy block and the length of that declaration."""
    value = shift = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise CodecError("snappy: bad length prefix")


def snappy_end(data: Buffer) -> tuple[int, int]:
    """`(stored_size, decompressed_size)` of the raw Snappy block at the start of `data`, from its element headers.

    The block has no end marker: it ends when the declared length is reached, whatever follows.
    """
    size, at = _snappy_size(data)
    end, out = len(data), 0
    while out < size:
        if at >= end:
            raise CodecError("snappy: the block is cut short", expected=f"{size} bytes", actual=f"{out} bytes")
        tag = data[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at : at + extra], "little")
                at += extra
            length += 1
            at += length
        elif kind == 1:
            length = ((tag >> 2) & 7) + 4
            at += 1
        else:
            length = (tag >> 2) + 1
            at += 2 if kind == 2 else 4
        out += length
        if at > end:
            raise CodecError("snappy: the block is cut short", expected=f"{size} bytes", actual=f"{out} bytes")
    if out != size:
        raise CodecError("snappy: elements pass the declared length", expected=f"{size} bytes", actual=f"{out} bytes")
    return at, size


def _snappy(data: Buffer, max_size: int, size: int | None) -> Decoded:
    import cramjam

    stated, _ = _snappy_size(data)
    if stated > max_size:
        raise _over_budget("snappy", max_size, stated)
    raw = bytes(data)
    try:  # as a rule nothing follows the block: finding its end first would cost more than decoding it
        return Decoded(bytes(cramjam.snappy.decompress_raw(raw)), len(raw))
    except Exception:
        pass
    used, _ = snappy_end(raw)
    try:
        out = bytes(cramjam.snappy.decompress_raw(raw[:used]))
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("snappy: corrupt block", actual=str(error)) from error
    return Decoded(out, used)


def _lz4_block(data: Buffer, max_size: int, size: int | None) -> Decoded:
    import cramjam

    if size is None:
        raise UnsupportedFeatureError("lz4: a block without its decompressed size cannot be decoded")
    if size == 0:
        if bytes(data) not in (b"", b"\0"):
            raise CodecError("lz4: corrupt block", expected="an empty block", actual=f"{len(data)} bytes")
        return Decoded(b"", len(data))
    out = bytearray(size)
    try:
        # Not `decompress_block`: it hides a short block by filling up with zeros.
        written = cramjam.lz4.decompress_block_into(bytes(data), out, output_len=size)
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("lz4: corrupt block", actual=str(error)) from error
    if written != size:
        raise CodecError("lz4: wrong decompressed size", expected=f"{size} bytes", actual=f"{written} bytes")
    return Decoded(bytes(out), len(data))


_Decoder = Callable[[Buffer, int, int | None], Decoded]

_DECODERS: dict[str, _Decoder] = {
    "none": _none,
    "deflate": _igzip_family("deflate", -15, "DECOMP_DEFLATE"),
    "zlib": _igzip_family("zlib", 15, "DECOMP_ZLIB"),
    "gzip": _zlib_family("gzip", 31),
    "lzma2": _lzma_family("lzma2", _lzma2_decoder),
    "lzma": _lzma_family("lzma", _lzma_decoder),
    "bz2": _lzma_family("bz2", _bz2_decoder),
    "zstd": _zstd_all,
    "zstd-frame": _zstd_one,
    "snappy": _snappy,
    "lz4": _lz4_block,
}

CODECS = tuple(_DECODERS)
"""Names that `decompress` takes.  `zstd`: any number of frames; `zstd-frame`: exactly one; `deflate`: raw RFC 1951;
`lzma2`: raw, 1 MiB dictionary; `lz4` and `snappy`: raw blocks."""


def compress(codec: str, data: Buffer, *, level: int | None = None, extreme: bool = False) -> bytes:
    """Encodes a whole payload.  `level` is the codec's own scale; None is its usual default."""
    match codec:
        case "none":
            return bytes(data)
        case "deflate" | "zlib" | "gzip":
            wbits = {"deflate": -15, "zlib": 15, "gzip": 31}[codec]
            engine = zlib.compressobj(6 if level is None else level, zlib.DEFLATED, wbits)
            return engine.compress(data) + engine.flush()
        case "lzma2":
            import lzma

            preset = (0 if level is None else level) | (lzma.PRESET_EXTREME if extreme else 0)
            return lzma.compress(
                bytes(data), format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": preset}]
            )
        case "lzma":
            import lzma

            return lzma.compress(bytes(data), preset=level)
        case "bz2":
            import bz2

            return bz2.compress(bytes(data), 9 if level is None else level)
        case "zstd" | "zstd-frame":
            import zstandard

            return zstandard.ZstdCompressor(level=3 if level is None else level).compress(bytes(data))
        case "snappy":
            return bytes(_cramjam().snappy.compress_raw(bytes(data)))
        case "lz4":
            return bytes(_cramjam().lz4.compress_block(bytes(data), store_size=False))
    raise UnsupportedFeatureError(f"unknown codec {codec!r}", expected=f"one of {', '.join(CODECS)}")


def deflate_fast(data: Buffer) -> bytes:
    """A raw deflate stream from ISA-L: about as small as zlib level 5, five times faster (zlib 5 without it)."""
    igzip = _igzip()
    if igzip is None:
        return compress("deflate", data, level=5)
    out: bytes = igzip.compress(data, igzip.ISAL_BEST_COMPRESSION, igzip.COMP_DEFLATE)
    return out


def lzma2_fast(data: Buffer) -> bytes:
    """A raw LZMA2 stream from preset 0e, fitted to records of text: a little smaller and a little faster.

    Records of any length follow each other, so nothing is aligned (`pb` 0) and what precedes a byte says more about it
    than its position does (`lc` 4).  The search may then stop at shorter matches.
    """
    import lzma

    preset = 0 | lzma.PRESET_EXTREME
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "lc": 4, "pb": 0, "nice_len": 20, "depth": 6}]
    return lzma.compress(bytes(data), format=lzma.FORMAT_RAW, filters=filters)


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError as error:
        raise MissingDependencyError("snappy and lz4 need the package cramjam") from error
    return cramjam


STORED_BLOCK = {"deflate": 65_535, "lzma2": 65_536, "zstd": 131_072}
"""Largest raw block of each codec."""


def store(codec: str, data: Buffer) -> bytes:
    """A valid stream of `codec` that holds `data` uncompressed, in raw blocks (`recode --stored`)."""
    view = memoryview(data)
    out = bytearray()
    match codec:
        case "none":
            out += view
        case "deflate" | "zlib":
            if codec == "zlib":
                out += b"\x78\x01"
            steps = range(0, len(view), STORED_BLOCK["deflate"]) or range(1)
            for start in steps:
                piece = view[start : start + STORED_BLOCK["deflate"]]
                last = start + len(piece) >= len(view)
                out += (
                    bytes([last])
                    + len(piece).to_bytes(2, "little")
                    + (len(piece) ^ 0xFFFF).to_bytes(2, "little")
                    + piece
                )
            if codec == "zlib":
                out += zlib.adler32(view).to_bytes(4, "big")
        case "lzma2":
            for start in range(0, len(view), STORED_BLOCK["lzma2"]):
                piece = view[start : start + STORED_BLOCK["lzma2"]]
                out += bytes([1 if start == 0 else 2]) + (len(piece) - 1).to_bytes(2, "big") + piece
            out.append(0)
        case "zstd":
            # Descriptor 0x00 + window byte 0x58 (2 MiB): what clp-s itself writes; no content size, no checksum.
            out += ZSTD_MAGIC + b"\x00\x58"
            for start in range(0, len(view), STORED_BLOCK["zstd"]) or range(1):
                piece = view[start : start + STORED_BLOCK["zstd"]]
                last = start + len(piece) >= len(view)
                out += (int(last) | len(piece) << 3).to_bytes(3, "little") + piece
        case "snappy":
            size = len(view)
            while size >= 0x80:
                out.append(size & 0x7F | 0x80)
                size >>= 7
            out.append(size)
            if len(view):
                length = len(view) - 1
                if length < 60:
                    out.append(length << 2)
                else:
                    width = (length.bit_length() + 7) // 8
                    out.append((59 + width) << 2)
                    out += length.to_bytes(width, "little")
                out += view
        case _:
            raise UnsupportedFeatureError(f"codec {codec!r} has no stored form")
    return bytes(out)


def zstd_frame(pieces: Iterable[Buffer], level: int = 3) -> Iterator[bytes]:
    """One zstd frame over pieces that are not held together, in pieces itself; nothing at all when they are empty.

    The frame states no content size and no checksum, like those of clp-s.
    """
    import zstandard

    engine: Any = None
    for piece in pieces:
        if len(piece):
            if engine is None:
                engine = zstandard.ZstdCompressor(level=level, write_content_size=False).compressobj()
            out = engine.compress(piece)
            if out:
                yield out
    if engine is not None:
        yield engine.flush()


def inflate_file(file: BinaryIO, name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """The content of a file in pieces of at most `size` bytes; gzip and zstd are recognised and decompressed.

    Concatenated gzip members and zstd frames are one content.  Raises `CodecError` for damage, and whatever `file`
    raises.
    """
    import gzip

    head = file.read(4)
    while len(head) < 4 and (more := file.read(4 - len(head))):
        head += more
    joined = io.BufferedReader(_Joined(head, file), size)
    stream: Any = joined
    if head[:2] == b"\x1f\x8b":
        stream = gzip.GzipFile(fileobj=joined)
    elif head == ZSTD_MAGIC:
        import zstandard

        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        stream = engine.stream_reader(joined, read_across_frames=True)
    try:
        while piece := stream.read(size):
            yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CodecError(f"{name}: corrupt gzip stream", actual=error) from error
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            raise CodecError(f"{name}: corrupt zstd stream", actual=error) from error
        raise


class _Joined(io.RawIOBase):
    """Bytes already read, then the rest of the file they came from."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__()
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data, self._head = self._head, b""
        data = data or self._file.read(len(buffer))
        if len(data) > len(buffer):
            data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
