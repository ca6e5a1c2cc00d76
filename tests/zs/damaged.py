"""Damaged ZS files for salvage: losses, finds, and places where the walk continues."""

from __future__ import annotations

from exhume.testing.damage import flip

from .build import PARTIAL, File, Place, entries, records
from .make_samples import deflate

UNFINISHED: Place = ((1 << 63) - 1, 0)


class Tree:
    """Five data blocks of two records below two leaves and a root, in the order in which a writer makes them."""

    def __init__(self, codec: bytes = b"none", junk: bytes = b"", metadata: bytes = b'{"of":"us"}') -> None:
        self.file = file = File(codec=codec, metadata=metadata)
        self.data: list[Place] = []
        self.leaves: list[Place] = []
        keys = [b"a", b"c", b"e", b"g", b"i"]
        for number, key in enumerate(keys):
            if number == 2 and junk:
                file.raw(junk)
            payload = records(key, key + b"?" * 20)
            self.data.append(file.block(0, payload, stored=deflate(payload) if codec == b"deflate" else None))
            if number in (2, 4):
                rows = [(keys[i], *self.data[i]) for i in ((0, 1, 2) if number == 2 else (3, 4))]
                leaf = entries(*rows)
                place = file.block(1, leaf, stored=deflate(leaf) if codec == b"deflate" else None)
                self.leaves.append(place)
        root = entries((b"a", *self.leaves[0]), (b"g", *self.leaves[1]))
        self.root = file.block(2, root, stored=deflate(root) if codec == b"deflate" else None)
        self.bytes = file.finish(self.root)

    def without(self, *places: Place) -> bytes:
        """The file with the last byte of the body of these blocks changed."""
        data = self.bytes
        for offset, size in places:
            data = flip(data, offset + size - 9)
        return data

    def unframed(self, *places: Place) -> bytes:
        """The file with these blocks overwritten by other bytes."""
        data = bytearray(self.bytes)
        for offset, size in places:
            data[offset : offset + size] = b"\xff" * size
        return bytes(data)


def _big(size: int) -> tuple[File, bytes]:
    file = File()
    places = [(b"a", file.data(b"a" * size)), (b"b", file.data(b"b" * 10))]
    return file, file.finish(file.index(1, *places))


def _entries(*rows: tuple[bytes, int, int]) -> bytes:
    """Two data blocks below an index that names more than there is."""
    file = File()
    first, second = file.data(b"a"), file.data(b"b")
    root = file.block(1, entries((b"", *first), (b"b", *second), *rows))
    return file.finish(root)


def _after_cut_index() -> bytes:
    """An index that names a block of no bytes, one that starts before the first and one that ends after the last."""
    return _entries((b"c", 130, 0), (b"d", 3, 12), (b"e", 1 << 40, 12))


def _odd_indexes() -> dict[str, bytes]:
    """A damaged block below indexes that name it, and other things."""
    file = File()
    first, second = file.data(b"aaaaaaaaaaaa"), file.data(b"b")
    good = [(b"", *first), (b"b", *second)]
    out = {}
    for name, odd in {
        "no byte": (first[0] + 5, 0), "one byte": (first[0] + 5, 1), "the header": (3, 12), "the far": (1 << 40, 12),
        "the same": first, "the end": (second[0] + 20, 30),
    }.items():  # fmt: skip
        for order, rows in (("last", [*good, (b"c", *odd)]), ("first", [(b"", *odd), *good])):
            made = File(body=bytearray(file.body), digest=file.digest)
            data = made.finish(made.block(1, entries(*rows)))
            out[f"index names {name} {order}"] = flip(data, first[0] + 4)
    made = File(body=bytearray(file.body), digest=file.digest)
    leaf = made.index(1, (b"", first), (b"b", second))
    data = made.finish(made.index(3, (b"", leaf)))
    return out | {"leaf of another level": flip(data, first[0] + 4)}


def _small() -> dict[str, bytes]:
    """The smallest blocks after other bytes, without an index that names them."""
    out = {}
    for name, payload in (("a record of no bytes", records(b"")), ("no record", b""), ("one byte", records(b"a"))):
        for size in (1, 2, 7):
            file = File()
            file.raw(b"\xff" * size)
            file.block(0, payload)
            out[f"{name} behind {size} bytes"] = file.finish(UNFINISHED, sha256=bytes(32), length=0)
            file.data(b"z")
            out[f"{name} behind {size} bytes, and more"] = file.finish(UNFINISHED, sha256=bytes(32), length=0)
    return out


def _loop() -> bytes:
    file = File()
    data = file.data(b"a")
    at = file.end
    size = len(entries((b"", *data), (b"", at, 99))) + 10
    return file.finish(file.block(1, entries((b"", *data), (b"", at, size))))


def _repeats() -> dict[str, bytes]:
    tree = Tree()
    (start, size), (second, _) = tree.data[0], tree.data[1]
    block = tree.bytes[start : start + size]
    other = tree.bytes[second : second + size]
    return {
        "a block again": tree.bytes[:second] + block + tree.bytes[second:],
        "a block twice again": tree.bytes[:second] + block * 2 + tree.bytes[second:],
        "a block again and bytes less": tree.bytes[:second] + block + tree.bytes[second:-3],
        "a block again at the end": tree.bytes + other,
        "two blocks again at the end": tree.bytes + other + block,
        "the same records twice": _twice(),
        "the same records twice, and again": _twice() + _twice()[106:118],
        "codec lost, a block again": tree.bytes[:72]
        + b"mystery\0"
        + tree.bytes[80:second]
        + block
        + tree.bytes[second:],
    }


def _twice() -> bytes:
    """Two blocks of the same bytes in a file of the length in its header."""
    file = File()
    places = [(b"a", file.data(b"a")), (b"a", file.data(b"a"))]
    return file.finish(file.index(1, *places))


def _codecs() -> dict[str, bytes]:
    out = {}
    for codec in (b"none", b"deflate"):
        tree = Tree(codec)
        name = codec.decode()
        nonsense = bytearray(tree.bytes)
        nonsense[72:80] = b"mystery\0"
        out[f"codec lost, {name}"] = bytes(nonsense)
        out[f"codec and magic lost, {name}"] = bytes(16) + bytes(nonsense[16:])
        out[f"codec and first block lost, {name}"] = flip(bytes(nonsense), tree.data[0][0] + tree.data[0][1] - 9)
    file = File(codec=b"mystery")
    places = [(b"a", file.block(0, b"\x09\x01")), (b"b", file.data(b"b"))]
    out["codec lost and no records at first"] = file.finish(file.index(1, *places))
    file = File(codec=b"mystery")
    places = [(b"a", file.block(0, b"")), (b"b", file.data(b"b"))]
    out["codec lost and an empty block at first"] = file.finish(file.index(1, *places))
    file = File(codec=b"mystery")
    out["codec lost and an index first"] = file.finish(file.index(1, (b"", file.index(1, (b"", file.data(b"b"))))))
    file = File(codec=b"mystery")
    out["codec lost and no block"] = file.finish(UNFINISHED) + b"no block at all"
    return out


def _payloads() -> dict[str, bytes]:
    out = {}
    bad = {"cut": b"\x01a\x05b", "none": b"", "overlong": b"\x81\x00a", "unsorted": records(b"z", b"b")}
    for name, payload in bad.items():
        file = File()
        places = [(b"a", file.data(b"a")), (b"b", file.block(0, payload)), (b"c", file.data(b"c"))]
        out[f"records {name}"] = file.finish(file.index(1, *places))
    for name, stored in (("broken", b"\xff\xff\xff"), ("with more", deflate(records(b"b")) + b"x")):
        file = File(codec=b"deflate")
        places = []
        for key, body in ((b"a", deflate(records(b"a"))), (b"b", stored), (b"c", deflate(records(b"c")))):
            places.append((key, file.block(0, records(key), stored=body)))
        index = entries(*((key, *place) for key, place in places))
        out[f"stream {name}"] = file.finish(file.block(1, index, stored=deflate(index)))
    for name, keys in (("falling", (b"b", b"a")), ("equal", (b"a", b"a")), ("rising", (b"a", b"b"))):
        file = File()
        places = [(key, file.data(key, key)) for key in keys]
        out[f"blocks {name}"] = file.finish(file.index(1, *places))
    return out


def _between() -> dict[str, bytes]:
    """Blocks without records and entries, and bytes outside any block, between the others."""
    out = {}
    for level in (63, 64, 255):
        file = File()
        places = [(b"a", file.data(b"a"))]
        file.block(level, entries((b"a", *places[0][1])))
        places.append((b"b", file.data(b"b")))
        out[f"level {level} between"] = file.finish(file.index(1, *places))
        broken = bytearray(out[f"level {level} between"])
        broken[places[0][1][0] + 2] ^= 1
        out[f"level {level} after damage"] = bytes(broken)
    for size in (1, 12, 300):
        tree = Tree(junk=b"\xff" * size)
        out[f"{size} bytes between"] = tree.bytes
        out[f"{size} bytes between, no root"] = tree.without(tree.root)
        out[f"{size} bytes between, next lost"] = tree.without(tree.data[2])
    return out


def _make() -> dict[str, bytes]:
    tree = Tree()
    data, (left, right), root = tree.data, tree.leaves, tree.root
    whole = tree.bytes
    out = {
        "first block": tree.without(data[0]),
        "middle block": tree.without(data[1]),
        "two blocks": tree.without(data[0], data[1]),
        "block and leaf": tree.without(data[2], left),
        "last block": tree.without(data[4]),
        "leaf": tree.without(left),
        "right leaf": tree.without(right),
        "right leaf and a block of it": tree.without(right, data[3]),
        "leaf and a block of the other": tree.without(left, data[3]),
        "leaf and root": tree.without(right, root),
        "root": tree.without(root),
        "root and a block": tree.without(root, data[1]),
        "root and two blocks": tree.without(root, data[0], data[3]),
        "all blocks": tree.without(*data),
        "everything": tree.without(*data, left, right, root),
        "block unframed": tree.unframed(data[1]),
        "two blocks unframed": tree.unframed(data[0], data[1]),
        "leaf unframed": tree.unframed(left),
        "last block, leaf and root unframed": tree.unframed(data[4], right, root),
        "root unframed": tree.unframed(root),
        "root and a block unframed": tree.unframed(root, data[3]),
        "deflated": Tree(b"deflate").bytes,
        "deflated, a block": Tree(b"deflate").without(Tree(b"deflate").data[2]),
        "header crc": flip(whole, 16 + 80 + 13),
        "digest in header": flip(whole, 45),
        "magic": bytes(8) + whole[8:],
        "header cut away": whole[tree.file.start :],
        "header length": whole[:8] + (1 << 40).to_bytes(8, "little") + whole[16:],
        "metadata length": whole[:88] + (1 << 40).to_bytes(8, "little") + whole[96:],
        "metadata no JSON": Tree(metadata=b"{nothing}").bytes,
        "index names too much": _after_cut_index(),
        "index names itself": _loop(),
        "unfinished": File(magic=PARTIAL).finish(UNFINISHED),
        "root of no bytes": tree.file.finish((root[0], 0)),
        "root of one byte": tree.file.finish((root[0], 1)),
        "root in the header": tree.file.finish((16, 20)),
        "root ends with the file but starts late": tree.file.finish((root[0] + 1, root[1])),
        "root is a leaf": tree.file.finish(left),
        "root is data": tree.file.finish(data[0]),
        **_repeats(), **_codecs(), **_payloads(), **_between(), **_odd_indexes(), **_small(),
    }  # fmt: skip
    cuts = {0, 1, 10, 16, 103, 104, 105, tree.file.start - 1, tree.file.start, tree.file.start + 1, len(whole) - 1}
    cuts |= {data[1][0] + 1, data[1][0] + 20, data[2][0], right[0], root[0], root[0] + 3}
    out |= {f"cut to {size}": whole[:size] for size in sorted(cuts)}
    for size in (4070, 4085, 4086, 4087, 5000, 70_000):
        file, big = _big(size)
        out[f"block of {size}"] = big
        out[f"block of {size}, cut"] = big[: file.start + size + 5]
        out[f"block of {size}, damaged"] = flip(big, file.start + 20)
        out[f"block of {size}, damaged, no index"] = flip(flip(big, file.start + 20), len(big) - 9)
    return {f"salvage: {name}": data for name, data in out.items()}


DAMAGED = _make()
