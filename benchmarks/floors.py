"""The floor of a verb: CPU seconds of reading the file, of the decompressor or compressor, and of the checksum alone.

    python -m benchmarks.floors FORMAT WORK ARCHIVE

WORK is `read`, `verify` or `write` (for ZS also `write lzma`), which compresses the archive's content again.  The
compressed spans are located before the clock starts; nothing is parsed while it runs.  Formats without compression and
checksums (CAF, Ark without compression) have only the reading, and none for `write`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import exhume
from exhume.codecs import compress, decompress, decompress_prefix
from exhume.codecs.checksums import Hasher, crc32c, crc64_xz, sha256
from exhume.formats.data_bundle.messages import compression_name
from exhume.formats.leveldb.blocks import codec_name
from exhume.formats.zs.encode import Codec, compressor

PIECE = 1 << 20
MOST = 1 << 31
ZSTD = b"\x28\xb5\x2f\xfd"


Compressor = Callable[[bytes], bytes]
Checksum = Callable[[bytes], int]


class Payload(NamedTuple):
    """What a format compresses as one: its codec, its stored bytes, and how we would compress it again."""

    codec: str
    stored: bytes
    again: Compressor


def zs(archive: Any) -> Iterator[Payload]:
    """Data blocks of a ZS file, without their level bytes."""
    codecs: dict[str, Codec] = {"none": "none", "deflate": "deflate", "lzma2": "lzma"}
    again = compressor(codecs[archive.file.decoder])
    for block in archive.file.walk(archive.header.blocks_offset):
        if block.is_data:
            yield Payload(archive.file.decoder, bytes(block.body)[1:], again)


def clp_s(archive: Any) -> Iterator[Payload]:
    """The sections of a clp-s archive, and its streams of tables."""
    again = partial(compress, "zstd", level=3)
    for place in archive.files:
        if place.name.endswith(".dict"):
            yield Payload("zstd", place.part(8).read(), again)
        elif place.name not in ("/0", "/tables"):
            yield Payload("zstd", place.read(), again)
    for number in range(len(archive.table_metadata.streams)):
        yield Payload("zstd", archive.stream_place(number).read(), again)


def databundle(archive: Any) -> Iterator[Payload]:
    """The records of a bundle."""
    for number in archive.shard_files():
        shard = archive.view.shard(number)
        codec = compression_name(shard.header.compression)
        again = partial(compress, codec)
        for place, bound in zip(shard.places, shard.bounds, strict=True):
            if place is not None:
                yield Payload(codec, shard.source.read_at(place, bound - place), again)


def leveldb(archive: Any) -> Iterator[Payload]:
    """The data blocks of a database's tables."""
    for file in archive.database.tables():
        table = archive.database.table(file)
        for _, (offset, size) in table.index():
            stored = table.source.read_at(offset, size + 5)
            codec = codec_name(stored[size])
            yield Payload(codec, stored[:size], partial(compress, codec))


def stream(archive: Any) -> Iterator[Payload]:
    """An IR stream, which is one zstd frame or as it is."""
    stored = archive.source.read_at(0, archive.source.size)
    codec = "zstd" if stored[:4] == ZSTD else "none"
    yield Payload(codec, stored, partial(compress, codec))


PAYLOADS: dict[str, Callable[[Any], Iterator[Payload]]] = {
    "zs": zs, "clp-s": clp_s, "databundle": databundle, "leveldb": leveldb, "kv-ir": stream,
    "clp-ir": stream,
}  # fmt: skip
"""The payloads of each format that compresses; others store bytes as they are."""

STORED: dict[str, Checksum] = {"zs": crc64_xz, "leveldb": crc32c}
"""Checksums of stored bytes, by format: readers compute them too."""

PLAIN: dict[str, Checksum] = {"databundle": crc32c}
"""Checksums of stored bytes, by format."""


def floor(format: str, work: str, path: Path) -> float | None:
    """CPU seconds; None where there is nothing to do."""
    found: list[Payload] = []
    if format in PAYLOADS:
        with exhume.open(path, format=format) as archive:
            found = list(PAYLOADS[format](archive))
    sums = _Sums(STORED.get(format), PLAIN.get(format), sha256() if format == "zs" and work != "read" else None)
    if work.startswith("write"):
        if work == "write lzma":
            found = [one._replace(again=compressor("lzma")) for one in found]
        return _written(found, sums) if found else None
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    begin = time.process_time()
    buffer = bytearray(PIECE)
    for name in files:
        with name.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    for one in found:
        sums.add(one.stored, _plain(one))
    return time.process_time() - begin


def _written(found: list[Payload], sums: _Sums) -> float:
    pairs = [(one, _plain(one)) for one in found]
    begin = time.process_time()
    for one, plain in pairs:
        sums.add(one.again(plain), plain)
    return time.process_time() - begin


class _Sums:
    """The checksums of a format: of stored bytes, of decompressed bytes, and over all of it."""

    def __init__(self, stored: Checksum | None, plain: Checksum | None, digest: Hasher | None) -> None:
        self._stored, self._plain, self._digest = stored, plain, digest

    def add(self, stored: bytes, plain: bytes) -> None:
        """Compute them for a payload."""
        if self._stored is not None:
            self._stored(stored)
        if self._plain is not None:
            self._plain(plain)
        if self._digest is not None:
            self._digest.update(plain)


def _plain(one: Payload) -> bytes:
    """The decompressed bytes, without the padding after the stream of a record."""
    if one.codec == "zlib":
        return bytes(decompress_prefix(one.codec, one.stored, max_size=MOST).data)
    return decompress(one.codec, one.stored, max_size=MOST)


def main() -> int:
    """Print the seconds, or a dash."""
    format, work, path = sys.argv[1:]
    seconds = floor(format, work, Path(path))
    print("-" if seconds is None else seconds)
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4:
        sys.exit(main())
