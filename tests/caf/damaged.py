"""Damaged chunks for salvage: where it searches for the index, and what it reports about it."""

from __future__ import annotations

import struct
import zlib

from .make_samples import DATA, LONG, WHOLE, chunk, index_of

FOOTERS = {
    "zeros": bytes(4),
    "ones": b"\xff" * 4,
    "above": (len(WHOLE) + 3).to_bytes(4, "little"),
    "below": (len(WHOLE) - 3).to_bytes(4, "little"),
    "cut": len(WHOLE).to_bytes(4, "little")[:3],
    "followed": len(WHOLE).to_bytes(4, "little") + b"x" * 500,
    "the least": (35).to_bytes(4, "little"),
    "below the least": (34).to_bytes(4, "little"),
    "all": (len(DATA) + len(WHOLE)).to_bytes(4, "little"),
    "more than all": (len(DATA) + len(WHOLE) + 1).to_bytes(4, "little"),
}

FOUR = index_of(("a", 0, 10), ("b", 10, 20), ('c\\u0041\\"', 20, 30), ("d", 30, 64))


def _picture(size: int) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", bytes(13)) + part(b"tEXt", b"a" * size) + part(b"IEND", b"")


def _spread(apart: int) -> bytes:
    """Entries without the start of an index, `apart` bytes from each other."""
    first, second = b'"a":{"start_byte":0,"end_byte":20}', b'"b":{"start_byte":20,"end_byte":64}'
    return DATA + first + b"#" * apart + second + b"}}"


def _indexes() -> dict[str, bytes]:
    first, second = FOUR.index(b'"a"'), FOUR.index(b'"b"')
    return {
        "no colon after a name": FOUR.replace(b'"b":', b'"b";'),
        "a brace lost": FOUR.replace(b'end_byte":10}', b'end_byte":10)'),
        "first name broken": FOUR.replace(b'"a"', b'"a\xff'),
        "last entry broken": FOUR.replace(b'"d":', b'"d"!'),
        "two breaks": FOUR.replace(b'"b":', b'"b";').replace(b'"d":', b'"d"!'),
        "beheaded": b"#" * 20 + FOUR[20:],
        "beheaded to the second": b"#" * second + FOUR[second:],
        "beheaded, only the last": b"#" * FOUR.index(b'"d"') + FOUR[FOUR.index(b'"d"') :],
        "beheaded with blanks": b"#" * 9 + FOUR[first:].replace(b":", b" : ").replace(b",", b" , "),
        "beheaded, bad bytes in a name": b"#" * 20 + FOUR[20:].replace(b'"b"', b'"b\xc3"'),
        "no version": FOUR.replace(b'"format_version":"1.0",', b""),
        "version later": FOUR.replace(b'"1.0"', b'"2.0"'),
        "version long": FOUR.replace(b'"1.0"', b'"' + b"2" * 300 + b'"'),
        "version a number": FOUR.replace(b'"1.0"', b"1.0"),
    }  # fmt: skip


def _entries() -> dict[str, bytes]:
    return {
        "hidden twice": index_of(("x", 0, 20), ("y", 20, 30), ("x", 30, 40), ("x", 40, 64)),
        "hidden, and the name is taken": index_of(("x", 0, 20), ("x (first occurrence)", 20, 30), ("x", 30, 64)),
        "hidden, and two names are taken": index_of(
            ("x", 0, 20), ("x (first occurrence)", 20, 30), ("x (occurrence 2)", 30, 31), ("x", 31, 64)
        ),
        "hidden and past the end": index_of(("x", 0, 9999), ("y", 0, 30), ("x", 30, 64)),
        "hidden and long": index_of((LONG * 3, 0, 20), (LONG * 3, 20, 64)),
        "lost and long": index_of((LONG * 3, 0, 20), (LONG * 3 + "2", 20, 9999)),
        "recovered and long": index_of((LONG * 3, 0, 20), (LONG * 3 + "2", 20, 64)),
        "several lost": index_of(("z", 60, 9999), ("a", 0, 20), ("b", 40, 30), ("c", '"1"', 3)),
        "all lost": index_of(("a", 9999, 9999), ("b", 40, 30)),
        "concurrent": index_of(("c", 0, 16), ("a", 0, 5), ("b", 0, 10), ("d", 16, 64)),
        "concurrent, later": index_of(("a", 0, 8), ("c", 8, 64), ("b", 8, 24)),
        "concurrent twice": index_of(("a", 0, 8), ("b", 0, 16), ("c", 16, 32), ("d", 16, 64)),
        "concurrent with the same end": index_of(("a", 0, 20), ("b", 0, 30), ("c", 0, 30), ("d", 30, 64)),
        "concurrent with an empty one": index_of(("e", 0, 0), ("a", 0, 20), ("b", 0, 30), ("d", 30, 64)),
        "concurrent with one of one byte": index_of(("e", 0, 1), ("a", 0, 20), ("b", 20, 64)),
        "sorted": index_of(("b", 0, 20), ("a", 20, 64)),
        "of neither order": index_of(("c", 20, 30), ("a", 30, 64), ("b", 0, 20)),
        "gaps all over": index_of(("a", 2, 20), ("b", 30, 50)),
        "gap of one at the end": index_of(("a", 0, 63)) + b" " * 10,
        "no files": index_of(),
    }


def _make() -> dict[str, bytes]:
    picture, other = _picture(10), _picture(40)
    inner = chunk(WHOLE)
    outer = index_of(("nested.caf", 0, len(inner)), ("after", len(inner), len(inner) + 10))
    later = index_of(("a.txt", 0, 20))
    data = inner + b"0123456789"
    prefix = b'{"format_version":"1.0","files":{'
    out = {f"footer {name}": DATA + WHOLE + tail for name, tail in FOOTERS.items()}
    out |= {name: chunk(index) for name, index in {**_indexes(), **_entries()}.items()}
    out |= {f"{name}, no footer": DATA + index for name, index in _indexes().items()}
    out |= {f"index cut after {size}": (DATA + FOUR)[: len(DATA) + size] for size in
            (0, 1, 17, 33, 34, 60, 67, 68, 90, 110, 150, len(FOUR) - 2, len(FOUR) - 1)}  # fmt: skip
    out |= {f"{apart} bytes between entries": _spread(apart) for apart in (0, 1, 4095, 4096, 4097)}
    out |= {f"cut to {size}": chunk(WHOLE)[:size] for size in (0, 3, 4, 5, 38, 39, 40)}
    out |= {
        "a chunk inside, beheaded": data + b"#" * 40 + outer[40:] + len(outer).to_bytes(4, "little"),
        "a chunk inside, no footer": data + outer,
        "a chunk inside, index cut": data + outer[:90],
        "two indexes": DATA + WHOLE + later,
        "two indexes, the last broken": DATA + WHOLE + later.replace(b'"a.txt":', b'"a.txt";'),
        "starts without entries": DATA + WHOLE + prefix * 5,
        "many starts": DATA + WHOLE + prefix * 70,
        "just enough starts": DATA + WHOLE + prefix * 63,
        "one start too many": DATA + WHOLE + prefix * 64,
        "other JSON behind": DATA + WHOLE + b'{"files": 3}',
        "pictures": picture + other,
        "pictures and bytes": b"??" + picture + b"!!!" + other + b".",
        "pictures and the start of an index": picture + b"!!!" + other + prefix + b'"a":{"st',
        "bytes and the start of an index": DATA + prefix + b'"a":{"st',
        "bytes and a broken start": DATA + prefix + b"}}}" + b"x" * 20,
        "bytes": b"of no use to anybody " * 3,
    }
    return {f"salvage: {name}": made for name, made in out.items()}


DAMAGED = _make()
WINDOWED = ("footer zeros", "index cut after 150", "no colon after a name, no footer", "bytes")
"""Those that are examined again in windows that are smaller than the index."""
