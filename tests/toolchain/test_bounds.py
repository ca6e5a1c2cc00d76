"""Lengths, counts and places that cannot be true: what follows them is an error, and neither empty nor allocated.

A field that holds such a number is not always wrong by itself, for a file that was truncated is to open as far as it
goes.  So the error is at the field, or at the instance that follows the number, in Python and in the parser of the Web
IDE alike.  2^32 more than the true number is what JavaScript takes for the true one when it truncates sizes to 32 bits.
"""

from __future__ import annotations

import functools
import importlib
import re
import struct
import tempfile
import tracemalloc
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from exhume_ksy.debug._stream import KaitaiStream
from kaitaistruct import KaitaiStruct

from tests.toolchain import trees
from tools import ksy_facts

RANGE, EXPRESSION = "not in range, max", "not matching the expression"
SAMPLES = trees.ROOT / "tests" / "samples" / "ksy"


class Lie(NamedTuple):
    """A file with a number that is not true, and where that shows: paths of the tree, or of the specification.

    JavaScript does not name the field that rejects a number itself; `stated` is its message.
    """

    title: str
    schema: str
    data: bytes
    errors: list[str]
    stated: str = ""


def patched(name: str, *changes: tuple[int, bytes]) -> bytes:
    """A sample with other bytes in some places."""
    data = bytearray((SAMPLES / f"{name}.bin").read_bytes())
    for at, new in changes:
        at %= len(data)
        data[at : at + len(new)] = new
    return bytes(data)


def number(name: str, at: int) -> int:
    """The 64-bit number at a place of a sample."""
    return int(struct.unpack_from("<Q", (SAMPLES / f"{name}.bin").read_bytes(), at)[0])


def u4(value: int) -> bytes:
    return struct.pack("<I", value)


def u8(value: int) -> bytes:
    return struct.pack("<Q", value)


def varint(value: int) -> bytes:
    """A number in seven bits a byte, the lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def clp_s() -> list[Lie]:
    """The header: the length of the archive at 16, that of the metadata at 56."""
    found = []
    for value in (2**40, 2**32 + number("clp_s-compressed", 16), 2**64 - 1):
        data = patched("clp_s-compressed", (16, u8(value)))
        found.append(Lie(f"len_archive {value:#x}", "clp_s", data, ["/files"]))
    found += [
        Lie(f"len_archive {value:#x}, stored", "clp_s", patched("clp_s", (16, u8(value))), ["/sections/"])
        for value in (2**40, 2**32 + number("clp_s", 16), 2**64 - 1)
    ]
    data = patched("clp_s-compressed", (56, u4(2**32 - 1)))
    return [*found, Lie("len_metadata", "clp_s", data, ["/metadata"])]


def ark_split() -> list[Lie]:
    """The header: the place of the index at 19, its entries at 23; an entry: a message's place at 8, its size at 12."""
    at = struct.unpack_from("<I", (SAMPLES / "ark_split.bin").read_bytes(), 19)[0]
    return [
        Lie("ofs_index", "ark_split", patched("ark_split", (19, u4(2**32 - 1))), ["/index", "/indexBytes"]),
        Lie("num_indexed_items", "ark_split", patched("ark_split", (23, u4(238609294))), ["/index", "/indexBytes"]),
        Lie(
            "num_indexed_items beyond",
            "ark_split",
            patched("ark_split", (23, u4(238609295))),
            ["/types/file_header/"],
            RANGE,
        ),
        Lie("ofs_data", "ark_split", patched("ark_split", (at + 8, u4(2**32 - 1))), ["/index/0/data"]),
        Lie("len_data", "ark_split", patched("ark_split", (at + 12, u4(2**32 - 1))), ["/index/0/data"]),
    ]


def zs() -> list[Lie]:
    """The header: the place of the root at 16, its length at 24; an index block: the same of every block below."""
    found = []
    for name, at in (("ofs_root", 16), ("len_root", 24)):
        found += [
            Lie(f"{name} {value:#x}", "zs", patched("zs", (at, u8(value))), ["/root"])
            for value in (2**40, 2**32 + number("zs", at), 2**63 - 1)
        ]
    for index, at in enumerate((16, 24)):
        data = patched("zs", (at, u8(2**63 + 4096)))
        found.append(Lie(f"field {index} of the header", "zs", data, [f"/types/file_header/seq/{index}"], RANGE))
    beyond = varint(2**63 + 4096)
    for index, entry in enumerate((b"\0" + beyond + b"\x07", b"\0\x07" + beyond)):
        found.append(
            Lie(f"place {index} of a block", "zs_index_block", entry, [f"/types/entry/seq/{index + 2}"], EXPRESSION)
        )
    return found


def leveldb() -> list[Lie]:
    """The footer's two handles, 48 bytes before the end; RocksDB 6 has the length of the metaindex only."""
    found = []
    table = (SAMPLES / "leveldb_table.bin").read_bytes()
    for value in (2**40, 2**32 + 8, 2**63 - 1):
        handles = {"place": varint(value) + varint(8), "length": varint(0) + varint(value)}
        for title, handle in handles.items():
            footer = (handle + handle).ljust(40, b"\0")
            data = table[:-48] + footer + table[-8:]
            shown = ["/metaindex/contents", "/metaBlocks", "/index/contents", "/dataBlocks"]
            found.append(Lie(f"{title} {value:#x}", "leveldb_table", data, shown))
    for index in range(2):
        handle = b"\x07" * index + varint(2**63 + 4096) + b"\x07" * (1 - index)
        found.append(Lie(f"part {index} of a handle", "leveldb_block_handle", handle, [f"/seq/{index}"], EXPRESSION))
    sealed = (SAMPLES / "leveldb_footer-rocksdb6.bin").read_bytes()[-53:]
    at = next(i for i in range(len(sealed)) if sealed[i : i + 4] == b"\x3e\x00\x7a\x00") + 12
    data = bytes(100) + sealed[:at] + u4(2**32 - 1) + sealed[at + 4 :]
    found.append(Lie("len_metaindex", "leveldb_table", data, ["/metaindex/contents", "/metaBlocks"]))
    return found


WRONG_CLAIMS = [*clp_s(), *ark_split(), *zs(), *leveldb()]


def python_errors(schema: str, data: bytes) -> list[str]:
    """Where reading all of a tree fails in Python, in the form of the JavaScript results."""
    kind = getattr(importlib.import_module(f"exhume_ksy.debug.{schema}"), trees.class_name(schema))
    found: list[str] = []
    seen: set[int] = set()

    def visit(value: Any, where: str) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                visit(item, f"{where}/{index}")
        if not isinstance(value, KaitaiStruct) or id(value) in seen:
            return
        seen.add(id(value))
        names = {name for name in vars(value) if not name.startswith("_")}
        names |= {name for name, item in vars(type(value)).items() if isinstance(item, property)}
        for name in sorted(names):
            path = f"{where}/{trees.camel(name)}"
            try:
                inner = getattr(value, name)
            except Exception as error:  # whatever Kaitai's own class raises is what is compared
                found.append(f"{path}: {error}")
            else:
                visit(inner, path)

    root = kind(KaitaiStream(BytesIO(data)))
    try:
        root._read()
    except Exception as error:  # as above
        found.append(str(error))
    visit(root, "")
    return found


@functools.cache
def javascript_errors() -> dict[str, str]:
    """The JavaScript parser's errors for every wrong number."""
    with tempfile.TemporaryDirectory() as folder:
        items = []
        for index, lie in enumerate(WRONG_CLAIMS):
            sample = Path(folder, str(index))
            sample.write_bytes(lie.data)
            items.append(trees.pure_item(lie.schema, sample))
        results = trees.run_pure(items)
    return {lie.title: str(result["error"] or "") for lie, result in zip(WRONG_CLAIMS, results, strict=True)}


def reported(errors: str, where: str) -> bool:
    """Whether an error is at a place, which ends there unless it ends with a slash."""
    return re.search(re.escape(where) + ("" if where.endswith("/") else r"\b"), errors) is not None


@pytest.mark.parametrize("lie", WRONG_CLAIMS, ids=lambda lie: f"{lie.schema}: {lie.title}")
def test_python_states_where_a_number_cannot_be_true(lie: Lie) -> None:
    importlib.import_module(f"exhume_ksy.debug.{lie.schema}")
    tracemalloc.start()
    try:
        errors = python_errors(lie.schema, lie.data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [where for where in lie.errors if not reported("\n".join(errors), where)] == []
    assert peak < 64 * len(lie.data) + 2**21, "memory as the number says, not as the file has"


@pytest.mark.node
@pytest.mark.xdist_group("twin")
@pytest.mark.parametrize("lie", WRONG_CLAIMS, ids=lambda lie: f"{lie.schema}: {lie.title}")
@pytest.mark.slow
def test_the_web_ide_states_where_a_number_cannot_be_true(lie: Lie) -> None:
    errors = javascript_errors()[lie.title]
    assert [where for where in lie.errors if not reported(errors, where)] == ([] if lie.stated == "" else lie.errors)
    assert lie.stated in errors


def test_what_is_patched_is_what_is_meant() -> None:
    """The patched places of the true files contain the values in the facts."""
    case = next(case for case in ksy_facts.cases("clp_s") if "stored" in case.title)
    assert struct.unpack_from("<Q", case.data, 16)[0] == len(case.data)
    for name in ("clp_s", "clp_s-compressed"):
        assert number(name, 16) == (SAMPLES / f"{name}.bin").stat().st_size
    assert number("zs", 16) + number("zs", 24) <= (SAMPLES / "zs.bin").stat().st_size
