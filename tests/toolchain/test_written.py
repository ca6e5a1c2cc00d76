"""What our writers write is what the schemas describe: every byte of it, read and written back by generated classes.

The writers are handwritten and the schemas are what everyone else reads the formats by, so each checks the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from tests.toolchain.pieces import pieces_of
from tests.toolchain.readwrite import roundtrip

pytestmark = pytest.mark.node

# The specification of each kind of whole file, by globs below the archive ("" is the archive itself).
CONTAINERS = {
    "zs": {"": "zs"},
    "caf": {"": "caf"},
    "clp-s": {"": "clp_s"},
    "ark": {"manifests/*": "ark_serializable_file", "splits/*": "ark_split"},
    "databundle": {"shard-*": "data_bundle_shard", "index/*.ldb": "leveldb_table", "index/*.log": "leveldb_log"},
}
NAMES = st.lists(st.text("abcxyz/é", min_size=1, max_size=6).map(lambda text: f"m{text}"), max_size=8, unique=True)
SMALL = settings(max_examples=15)


def check_written(format: str, write: Callable[[Path], None]) -> None:
    """Write an archive and hold every file, section and payload of it against its specification."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "archive")
        write(target)
        checked = 0
        for glob, schema in CONTAINERS[format].items():
            for file in sorted(target.glob(glob)) if glob else [target]:
                data = file.read_bytes()
                assert roundtrip(schema, data) == data, f"{schema}: {file.name}"
                checked += 1
        for schema, (where, data, args) in pieces_of(target):
            assert roundtrip(schema, data, *args) == data, f"{schema}: {where}"
            checked += 1
        assert checked


@SMALL
@given(
    records=st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"\0", b"\xff" * 9, b"a" * 300]), max_size=60),
    codec=st.sampled_from(["none", "deflate", "lzma"]),
    block_size=st.integers(1, 200),
    branching=st.integers(2, 5),
    short=st.booleans(),
)
def test_zs(records: list[bytes], codec: Any, block_size: int, branching: int, *, short: bool) -> None:
    def write(target: Path) -> None:
        with exhume.create(
            target, "zs", codec=codec, block_size=block_size, branching_factor=branching, short_keys=short
        ) as writer:
            for record in sorted(records) or [b""]:
                writer.add(record)

    check_written("zs", write)


@SMALL
@given(names=NAMES, data=st.binary(max_size=60), order=st.sampled_from(["sorted", "insertion"]))
def test_caf(names: list[str], data: bytes, order: Any) -> None:
    def write(target: Path) -> None:
        with exhume.create(target, "caf", order=order) as writer:
            for index, name in enumerate(names):
                writer.add_bytes(f"{name}-{index}".replace("/", "_"), data[index:])

    check_written("caf", write)


@SMALL
@given(names=NAMES, data=st.binary(max_size=3000), codec=st.sampled_from(["none", "snappy", "zlib"]))
def test_databundle(names: list[str], data: bytes, codec: Any) -> None:
    def write(target: Path) -> None:
        with exhume.create(target, "databundle", compression=codec, index_compression="none") as writer:
            for index, name in enumerate(names):
                writer.add(f"{name}-{index}".replace("/", "_"), data[index:] * (index + 1))

    check_written("databundle", write)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "plain", "took 12 ms at 10.5", "käse", "id=abc123 -7"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@SMALL
@given(events=st.lists(st.dictionaries(st.sampled_from(["msg", "n", "x", "nested"]), VALUES, max_size=4), max_size=12))
def test_clp_s(events: list[dict[str, object]]) -> None:
    def write(target: Path) -> None:
        with exhume.create(target, "clp-s") as writer:
            for event in events:
                writer.write(event)

    check_written("clp-s", write)


ARK_TYPES = "namespace test; schema Sample { uint64 number; byte_buffer data; }"


@SMALL
@given(
    messages=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2**62), st.binary(max_size=200)), max_size=20),
    compression=st.sampled_from([None, "lz4"]),
)
def test_ark(messages: list[tuple[str, int, bytes]], compression: Any) -> None:
    def write(target: Path) -> None:
        with exhume.create(target, "ark", compression=compression) as writer:
            for name in ("a", "b"):
                writer.channel(name, "test::Sample", ARK_TYPES)
            for name, time_ns, data in messages:
                writer.write(name, time_ns, {"number": len(data), "data": data})

    check_written("ark", write)
