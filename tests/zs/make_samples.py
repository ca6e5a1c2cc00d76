"""Writes the project's own ZS samples: what the writer makes, and one broken file per rule."""

from __future__ import annotations

import zlib
from pathlib import Path

from exhume.formats.zs.writer import ZsWriter

from .build import PARTIAL, File, entries, records, simple

WORDS = sorted(
    f"{adjective} {noun}\t{number}".encode()
    for number, adjective in enumerate(("calm", "deep", "early", "late", "long", "quiet"))
    for noun in ("evening", "harbour", "letter", "river", "winter")
)
"""The records of the valid samples: 30 short lines."""

METADATA = {"corpus": "sample", "record-format": {"type": "separated-values", "separator": "\t"}}


def _two(file: File) -> tuple[tuple[int, int], tuple[int, int]]:
    return file.data(b"a", b"b"), file.data(b"c", b"d")


def _codec(codec: bytes) -> bytes:
    return simple(File(codec=codec))


def _blocks(*, second: bytes = b"", **changes: object) -> bytes:
    """Two data blocks under one index, with raw bytes after the root and header changes."""
    file = File()
    left, right = _two(file)
    root = file.index(1, (b"a", left), (b"c", right))
    file.raw(second)
    return file.finish(root, **changes)  # type: ignore[arg-type]


def _index_payload(payload: bytes) -> bytes:
    file = File()
    file.data(b"a")
    return file.finish(file.block(1, payload))


def _data_payload(payload: bytes) -> bytes:
    file = File()
    place = file.block(0, payload)
    return file.finish(file.index(1, (b"", place)))


def _over(*blocks: tuple[bytes, ...], keys: tuple[bytes, ...]) -> bytes:
    """Data blocks under one index with these keys."""
    file = File()
    places = [file.data(*block) for block in blocks]
    return file.finish(file.index(1, *zip(keys, places, strict=True)))


def _deflate(stored: bytes, payload: bytes) -> bytes:
    """A file with these stored bytes in its data block and an intact index."""
    file = File(codec=b"deflate")
    place = file.block(0, payload, stored=stored)
    index = entries((b"", *place))
    return file.finish(file.block(1, index, stored=deflate(index)))


def deflate(data: bytes) -> bytes:
    """A raw deflate stream."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


def _reference(*extra: tuple[bytes, int, int], level: int = 1) -> bytes:
    """Two data blocks under one index whose entries end with `extra`."""
    file = File()
    left, right = _two(file)
    return file.finish(file.block(level, entries((b"a", *left), (b"c", *right), *extra)))


def _bad_crc() -> bytes:
    file = File()
    place = file.block(0, records(b"a", b"b"), crc=1)
    return file.finish(file.index(1, (b"a", place)))


def _wrong_length() -> bytes:
    file = File()
    left, right = _two(file)
    return file.finish(file.index(1, (b"a", left), (b"c", (right[0], right[1] + 1))))


def _unreferenced() -> bytes:
    file = File()
    left, _ = _two(file)
    return file.finish(file.index(1, (b"a", left)))


def _root(level: int) -> bytes:
    file = File()
    place = file.data(b"a")
    if level == 0:
        return file.finish(place)
    return file.finish(file.index(level, (b"a", place)))


def _root_in_index() -> bytes:
    file = File()
    place = file.data(b"a", b"b")
    root = file.index(1, (b"a", place))
    file.index(2, (b"a", root))
    return file.finish(root)


def _self_reference() -> bytes:
    file = File()
    place = file.data(b"a")
    at = file.end
    size = len(entries((b"a", *place), (b"b", at, 29))) + 10
    return file.finish(file.block(1, entries((b"a", *place), (b"b", at, size))))


LEAF = entries((b"", 106, 13))

BROKEN: dict[str, tuple[str, bytes]] = {
    "magic": ("ZS-101", b"QQQQQQQQ" + simple()[8:]),
    "unfinished": ("ZS-102", simple(File(magic=PARTIAL))),
    "codec-unknown": ("ZS-103", _codec(b"lzma2;dsize=2^21")),
    "codec-after-nul": ("ZS-103", _codec(b"none\0x")),
    "header-crc": ("ZS-201", _blocks(crc=0)),
    "block-crc": ("ZS-202", _bad_crc()),
    "data-sha256": ("ZS-203", _blocks(sha256=bytes(32))),
    "header-cut": ("ZS-301", simple()[:60]),
    "header-size-huge": ("ZS-301", _blocks(header_size=1 << 63)),
    "header-layout": ("ZS-302", _blocks(metadata_size=3)),
    "metadata-size-huge": ("ZS-302", _blocks(metadata_size=1 << 63)),
    "file-length": ("ZS-303", _blocks(length=1 << 40)),
    "block-cut": ("ZS-304", _blocks(second=b"\x20\x01")),
    "block-length-huge": ("ZS-304", _blocks(second=b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")),
    "block-length-overlong": ("ZS-305", _blocks(second=b"\x81\x00\x01")),
    "block-length-endless": ("ZS-305", _blocks(second=b"\xff" * 20)),
    "block-empty": ("ZS-306", _blocks(second=bytes(20))),
    "stream-corrupt": ("ZS-307", _deflate(b"\xff\xff\xff", records(b"a"))),
    "stream-cut": ("ZS-307", _deflate(deflate(records(b"a" * 40))[:-2], records(b"a"))),
    "stream-trailing": ("ZS-308", _deflate(deflate(records(b"a")) + b"hidden", records(b"a"))),
    "record-cut": ("ZS-309", _data_payload(records(b"a") + b"\x05b")),
    "record-length-cut": ("ZS-309", _data_payload(records(b"a") + b"\x85")),
    "entry-cut": ("ZS-310", _index_payload(LEAF[:-1])),
    "entry-key-cut": ("ZS-310", _index_payload(b"\x30abc")),
    "entry-empty-tail": ("ZS-310", _index_payload(LEAF + b"\x00")),
    "integer-overlong": ("ZS-311", _data_payload(b"\x81\x00a")),
    "integer-too-large": ("ZS-311", _index_payload(b"\x00" + b"\xff" * 9 + b"\x02" + b"\x0d")),
    "data-empty": ("ZS-312", _data_payload(b"")),
    "index-empty": ("ZS-313", _index_payload(b"")),
    "record-order": ("ZS-320", _over((b"z", b"a"), keys=(b"",))),
    "block-order": ("ZS-321", _over((b"a", b"z"), (b"b", b"c"), keys=(b"a", b"b"))),
    "key-order": ("ZS-322", _over((b"a", b"b"), (b"c", b"d"), (b"e",), keys=(b"a", b"c", b"b"))),
    "key-too-small": ("ZS-323", _over((b"a", b"c"), (b"d",), keys=(b"a", b"b"))),
    "first-key-too-small": ("ZS-323", b""),
    "key-too-large": ("ZS-324", _over((b"a", b"b"), (b"c",), keys=(b"a", b"d"))),
    "reference-dangling": ("ZS-330", _reference((b"d", 107, 13))),
    "reference-beyond-the-end": ("ZS-330", _reference((b"d", (1 << 63) - 1, 13))),
    "reference-level": ("ZS-331", _root(2)),
    "reference-to-itself": ("ZS-331", _self_reference()),
    "reference-twice": ("ZS-332", _reference((b"c", 120, 14))),
    "reference-length": ("ZS-333", _wrong_length()),
    "unreferenced": ("ZS-334", _unreferenced()),
    "root-offset": ("ZS-335", b""),
    "root-length": ("ZS-336", b""),
    "root-is-data": ("ZS-337", _root(0)),
    "root-is-extension": ("ZS-337", _root(64)),
    "root-referenced": ("ZS-338", _root_in_index()),
    "metadata-not-utf8": ("ZS-401", simple(File(metadata=b'{"\xff": 1}'))),
    "metadata-not-json": ("ZS-402", simple(File(metadata=b"{'a': 1}"))),
    "metadata-nan": ("ZS-402", simple(File(metadata=b'{"a": NaN}'))),
    "metadata-bom": ("ZS-402", simple(File(metadata=b"\xef\xbb\xbf{}"))),
    "metadata-nested": ("ZS-504", simple(File(metadata=b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"))),
    "metadata-not-object": ("ZS-403", simple(File(metadata=b"[1]"))),
    "metadata-key-twice": ("ZS-404", simple(File(metadata=b'{"a": 1, "a": 2}'))),
}
"""Name of the sample, the code that `verify` must find in it, and its bytes."""


def _first_key() -> bytes:
    """The first key of the second leaf is smaller than the records before it; no leaf shows that by itself."""
    file = File()
    one, two = file.data(b"a", b"m"), file.data(b"n", b"o")
    left = file.index(1, (b"a", one))
    right = file.index(1, (b"b", two))
    return file.finish(file.index(2, (b"a", left), (b"m", right)))


def _header_of(root: tuple[int, int]) -> bytes:
    file = File()
    left, right = _two(file)
    at, size = file.index(1, (b"a", left), (b"c", right))
    return file.finish((at + root[0], size + root[1]))


BROKEN["first-key-too-small"] = ("ZS-323", _first_key())
BROKEN["root-offset"] = ("ZS-335", _header_of((1, 0)))
BROKEN["root-length"] = ("ZS-336", _header_of((0, 1)))


def empty_between() -> bytes:
    """A data block without records between two others: it has no order that the next one could break."""
    return _over((b"b",), (), (b"c",), keys=(b"b", b"b", b"c"))


def no_data() -> bytes:
    """An index without entries, and a header that promises data."""
    file = File()
    return file.finish(file.block(1, b""), sha256=bytes(32))


def deep_index(level: int) -> bytes:
    """An index block of any level that cannot be read: what it refers to is not judged."""
    file = File()
    place = file.data(b"a")
    below = file.index(1, (b"", place))
    file.block(level, entries((b"", *below)), crc=3)
    return file.finish(below)


def beyond_unread_index() -> bytes:
    """The root's key is wrong, and below it one of two index blocks cannot be read."""
    file = File()
    one, two = file.index(1, (b"a", file.data(b"a"))), file.data(b"b")
    unread = file.block(1, entries((b"b", *two)), crc=3)
    return file.finish(file.index(3, (b"z", file.index(2, (b"a", one), (b"b", unread)))))


def dangling_before_the_end() -> bytes:
    """An index refers into the middle of a later block; after that block the file makes no sense."""
    file = File()
    root = file.block(1, entries((b"", file.start + 20, 12)))
    file.data(b"a" * 30)
    file.raw(bytes(20))
    return file.finish(root)


def hidden_disorder() -> bytes:
    """Data blocks out of order in the file, under two index blocks that are each in order."""
    file = File()
    blocks = {key: file.data(key) for key in (b"a", b"c", b"b", b"d")}
    left = file.index(1, (b"a", blocks[b"a"]), (b"b", blocks[b"b"]))
    right = file.index(1, (b"c", blocks[b"c"]), (b"d", blocks[b"d"]))
    return file.finish(file.index(2, (b"a", left), (b"b", right)))


def index_first() -> bytes:
    """A legal file whose index blocks precede their children."""
    sizes = [len(records(*block)) + 10 for block in ((b"a", b"b"), (b"c", b"d"))]
    file = File()
    leaf_size = len(entries((b"", 300, sizes[0]), (b"c", 300, sizes[1]))) + 10
    root_size = len(entries((b"", 100, leaf_size))) + 10
    leaf = (file.start + root_size, leaf_size)
    left = (leaf[0] + leaf_size, sizes[0])
    right = (left[0] + sizes[0], sizes[1])
    root = file.index(2, (b"", leaf))
    assert root == (file.start, root_size), (root, root_size)
    assert file.index(1, (b"", left), (b"c", right)) == leaf
    assert file.data(b"a", b"b") == left
    assert file.data(b"c", b"d") == right
    return file.finish(root)


def extended() -> bytes:
    """A legal file with extension bytes in the header and extension blocks all over."""
    file = File(extensions=b"for later", metadata=b' {"a": "\xc3\xa9"} ')
    file.block(64, b"anything")
    left = file.data(b"a", b"b")
    file.block(255, b"\xff" * 40)
    right = file.data(b"b", b"c")
    root = file.index(1, (b"", left), (b"b", right))
    file.block(65, b"")
    return file.finish(root)


def make(root: Path) -> None:
    """Write `zs/*.zs`, `zs/broken/*.zs` and one sample for each specification."""
    folder = root / "zs"
    (folder / "broken").mkdir(parents=True, exist_ok=True)
    for codec in ("none", "deflate", "lzma"):
        path = folder / f"words-{codec}.zs"
        with ZsWriter(
            path,
            metadata=METADATA,
            codec=codec,
            level="6" if codec == "deflate" else None,
            block_size=64,
            branching_factor=3,
            default_metadata=False,
            overwrite=True,
        ) as writer:
            writer.add_records(WORDS)
    (folder / "extended.zs").write_bytes(extended())
    (folder / "index-first.zs").write_bytes(index_first())
    for name, (_, data) in BROKEN.items():
        if len(data) < 10_000:
            (folder / "broken" / f"{name}.zs").write_bytes(data)
    (folder / "broken" / "hidden-disorder.zs").write_bytes(hidden_disorder())
    ksy = root / "ksy"
    (ksy / "zs.bin").write_bytes(extended())
    (ksy / "zs_data_block.bin").write_bytes(records(b"", b"a", b"b" * 200, b"b" * 200 + b"\0"))
    (ksy / "zs_index_block.bin").write_bytes(entries((b"", 106, 14), (b"b", 16_505, 300), (b"b\xff", 1 << 40, 1 << 20)))
