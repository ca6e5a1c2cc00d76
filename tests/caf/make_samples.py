"""Writes the project's own CAF samples: what the writer makes, and one broken chunk per rule."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from exhume.formats.caf.chunk import build_index
from exhume.formats.caf.writer import create

DATA = b"Sphinx of black quartz, judge my vow. 0123456789 abcdefghijklm!!"
"""64 bytes, the data section of every broken sample."""

TREE = {
    "readme.txt": b"A chunk of a few files.\n",
    "empty": b"",
    "img/pixel.bin": bytes(range(256)),
    'img/größe <1> & "2".txt': "ünïcödé\n".encode(),
    "10": b"ten",
    "9": b"nine",
    "__proto__": b"kept",
    "log/2025/a.log": b"first line\nsecond line\n" * 20,
}


def chunk(index: bytes, data: bytes = DATA, footer: int | None = None) -> bytes:
    """A chunk from its parts; `footer` overrides the index size."""
    return data + index + struct.pack("<I", len(index) if footer is None else footer)


def index_of(*entries: tuple[str, object, object]) -> bytes:
    """An index in the writers' form with raw values for the offsets."""
    body = ",".join(f'"{name}":{{"start_byte":{start},"end_byte":{end}}}' for name, start, end in entries)
    return f'{{"format_version":"1.0","files":{{{body}}}}}'.encode()


WHOLE = index_of(("a.txt", 0, 20), ("dir/b.txt", 20, 64))

BROKEN: dict[str, tuple[str, bytes]] = {
    "too-small": ("CAF-101", b"\x23\0\0\0"),
    "footer-missing": ("CAF-102", DATA + WHOLE),
    "index-size-zero": ("CAF-103", chunk(WHOLE, footer=0)),
    "index-size-off-by-two": ("CAF-104", chunk(WHOLE, footer=len(WHOLE) - 2)),
    "version-3": ("CAF-105", chunk(WHOLE.replace(b'"1.0"', b'"3.0"'))),
    "no-files": ("CAF-106", chunk(b'{"format_version":"1.0","note":"12345"}')),
    "trailing-newline": ("CAF-107", chunk(WHOLE) + b"\n"),
    "trailing-comma": ("CAF-301", chunk(WHOLE.replace(b"64}", b"64,}"))),
    "nested-deep": ("CAF-302", chunk(WHOLE[:-1] + b',"x":' + b"[" * 200 + b"]" * 200 + b"}")),
    "duplicate-name": ("CAF-303", chunk(index_of(("x", 0, 20), ("y", 20, 30), ("x", 30, 64)))),
    "duplicate-key": ("CAF-304", chunk(WHOLE.replace(b'"start_byte":0,', b'"start_byte":1,"start_byte":0,'))),
    "unknown-member": ("CAF-305", chunk(WHOLE[:-1] + b',"Files":{}}')),
    "entry-null": ("CAF-306", chunk(WHOLE[:-2] + b',"n":null}}')),
    "offset-string": ("CAF-307", chunk(index_of(("a.txt", 0, 20), ("b", '"20"', 64)))),
    "offset-float": ("CAF-308", chunk(index_of(("a.txt", 0, 20), ("b", "20.0", 64)))),
    "end-before-start": ("CAF-309", chunk(index_of(("a.txt", 0, 64), ("b", 40, 30)))),
    "negative-start": ("CAF-310", chunk(index_of(("a.txt", 0, 64), ("b", -4, 30)))),
    "range-in-index": ("CAF-311", chunk(index_of(("a.txt", 0, 64), ("b", 60, 70)))),
    "range-past-end": ("CAF-312", chunk(index_of(("a.txt", 0, 64), ("b", 60, 1 << 60)))),
    "overlap": ("CAF-313", chunk(index_of(("a.txt", 0, 40), ("b", 30, 64)))),
    "gap": ("CAF-314", chunk(index_of(("a.txt", 0, 20), ("b", 30, 64)))),
    "inclusive-ends": ("CAF-315", chunk(index_of(("a", 0, 19), ("b", 20, 39), ("c", 40, 63)))),
    "dead-tail": ("CAF-316", chunk(index_of(("a.txt", 0, 20), ("b", 20, 60)))),
    "empty-outside": ("CAF-317", chunk(index_of(("a.txt", 0, 64), ("b", 9999, 9999)))),
    "indented": ("CAF-318", chunk(WHOLE.replace(b",", b",\n  "))),
    "collapsed-name": ("CAF-401", chunk(index_of(("caf\\ufffd", 0, 20), ("b", 20, 64)))),
    "bad-utf8": ("CAF-402", chunk(WHOLE.replace(b"a.txt", b"\xe9.txt"))),
    "lone-surrogate": ("CAF-403", chunk(index_of(("hi-\\ud83d", 0, 20), ("b", 20, 64)))),
    "unsafe-name": ("CAF-501", chunk(index_of(("../a.txt", 0, 20), ("ok", 20, 64)))),
    "file-and-directory": ("CAF-502", chunk(index_of(("a", 0, 20), ("a/b", 20, 64)))),
}
"""Name -> the rule that it breaks, and the bytes.  CAF-404 needs a chunk of 32 GiB: a sparse file in the tests."""

LONG = "n" * 59 + "…"
"""A name that is longer than what messages show of one."""

VARIANTS: dict[str, bytes] = {
    "long-overlap": chunk(index_of((LONG + "1", 0, 40), (LONG + "2", 30, 64))),
    "long-gap": chunk(index_of((LONG + "1", 0, 20), (LONG + "2", 30, 60))),
    "long-collapsed": chunk(index_of((LONG + "\\ufffd", 0, 64))),
    "long-surrogate": chunk(index_of((LONG + "\\ud83d", 0, 64))),
    "long-unsafe": chunk(index_of((LONG + "/../x", 0, 64))),
    "long-clash": chunk(index_of((LONG + "1", 0, 20), (LONG + "1/" + LONG + "2", 20, 64))),
    "inclusive-two": chunk(index_of(("a", 0, 31), ("b", 32, 63))),
    "inclusive-one": chunk(index_of(("a", 0, 63))),
    "inclusive-late": chunk(index_of(("a", 1, 31), ("b", 32, 63))),
    "inclusive-reversed": chunk(index_of(("b", 32, 63), ("a", 0, 31))),
    "inclusive-but-last": chunk(index_of(("a", 0, 31), ("b", 32, 62))),
    "gap-first": chunk(index_of(("a", 4, 64))),
    "gap-of-one": chunk(index_of(("a", 0, 20), ("b", 21, 40), ("c", 40, 64))),
    "same-range": chunk(index_of(("a", 0, 20), ("b", 0, 20), ("c", 20, 64))),
    "contained": chunk(index_of(("a", 0, 64), ("b", 10, 20), ("c", 60, 64))),
    "overlap-same-end": chunk(index_of(("a", 0, 40), ("b", 20, 40), ("c", 30, 64))),
    "overlap-empty-at-the-end": chunk(index_of(("a", 0, 40), ("b", 40, 40), ("c", 39, 64))),
    "unsafe-and-collapsed": chunk(index_of(("../a", 0, 20), ("b\\ufffd", 20, 64))),
    "empty-name": chunk(index_of(("", 0, 20), ("a/b", 20, 64))),
    "empty-inside": chunk(index_of(("a", 0, 40), ("b", 30, 30), ("c", 40, 64))),
    "clash-below": chunk(index_of(("a/b", 0, 20), ("a/b/c/d", 20, 40), ("a/b/c/e", 40, 64))),
    "version-3-and-gap": chunk(index_of(("a", 0, 20), ("b", 30, 64)).replace(b'"1.0"', b'"3.0"')),
    "trailing-and-gap": chunk(index_of(("a", 0, 20), ("b", 30, 64))) + b"more",
    "nothing-inside": chunk(index_of()),
}
"""More broken chunks, for what several rules together, or the words of a message, depend on."""


def write(path: Path, order: str, members: Sequence[tuple[str, bytes]]) -> None:
    """A chunk written by the writer."""
    with create(path, order=order, overwrite=True) as writer:  # type: ignore[arg-type]
        for name, data in members:
            writer.add_bytes(name, data)


def make(root: Path) -> None:
    """Write `caf/*.caf`, `caf/broken/*.caf` and `ksy/caf.bin` below `root`."""
    folder = root / "caf"
    (folder / "broken").mkdir(parents=True, exist_ok=True)
    write(folder / "sorted.caf", "sorted", list(TREE.items()))
    write(folder / "insertion.caf", "insertion", list(TREE.items()))
    write(folder / "empty.caf", "sorted", [])
    for name, (_, data) in BROKEN.items():
        (folder / "broken" / f"{name}.caf").write_bytes(data)
    files = {"hello.txt": (0, 6), "dir/world.txt": (6, 12)}
    (root / "ksy").mkdir(exist_ok=True)
    (root / "ksy" / "caf.bin").write_bytes(chunk(build_index(files), b"hello\nworld\n"))
