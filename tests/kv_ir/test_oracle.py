"""The real serializer and deserializer (clp-ffi-py), and the real clp-s, on drawn events."""

from __future__ import annotations

import base64
import io
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.writer import KvIrWriter
from tests.oracles import Oracle, apart
from tests.real import REAL

SEEDS = range(20)
WORDS = [
    "alpha", "größe", "日本", "0x1f", "task_12", "3.14", "-5", "7", "1234567890123", "delta=0.5", "user@host:/p/q?x=1",
    '"q"', "a\\b", "\x01", "\x7f", "-1234567.8", "99999999.9", "0.12345678", "1.", ".5", "--3", "007", "\x11\x12\x13",
    "2147483648",
    "-2147483648", "e1", "=abc", "33554431.0", "3355443.3", "\n",
]  # fmt: skip
KEYS = ["a", "b", "k.x", "@e", "$d", "", "ü", "message", "level", "\\"]
SCALARS: list[Any] = [
    None, True, False, 0, -1, 127, 128, -129, 32767, 32768, -(1 << 31), 1 << 31, (1 << 63) - 1, -(1 << 63), 0.5, -0.0,
    1e300,
    1 / 3, 5e-324, 1.0, {}, [],
]  # fmt: skip


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with apart("clp_ffi_py", Path(__file__).with_name("ffi_worker.py")) as found:
        yield found


def text(rng: random.Random) -> str:
    """A string with or without spaces; some are long."""
    if rng.random() < 0.02:
        return rng.choice(string.ascii_letters) * rng.choice([255, 256, 65_535, 65_536])
    return rng.choice([" ", "", "  ", ","]).join(rng.choices(WORDS, k=rng.randint(0, 6)))


def value(rng: random.Random, depth: int, *, inside: bool = False) -> Any:
    """A value; within arrays only floats that six digits hold."""
    kind = rng.random()
    if depth and kind < 0.2:
        return pairs(rng, depth - 1, inside=inside)
    if depth and kind < 0.3:
        return [value(rng, depth - 1, inside=True) for _ in range(rng.randint(0, 3))]
    if kind < 0.6:
        return text(rng)
    found = rng.choice(SCALARS)
    return 2.5 if inside and isinstance(found, float) else found


def pairs(rng: random.Random, depth: int, *, inside: bool = False) -> dict[str, Any]:
    """Pairs; more names now and then, so that the trees of keys grow."""
    names = [rng.choice(KEYS) if rng.random() < 0.8 else f"n{rng.randint(0, 400)}" for _ in range(rng.randint(0, 4))]
    return {name: value(rng, depth, inside=inside) for name in names}


def events(seed: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Forty events of both kinds of pairs."""
    rng = random.Random(seed)
    return [(pairs(rng, 2), pairs(rng, 3)) for _ in range(40)]


def opened(data: Any) -> KvIrArchive:
    archive = exhume.open(data)
    assert isinstance(archive, KvIrArchive)
    return archive


@pytest.mark.parametrize("seed", SEEDS)
def test_reads_what_the_real_serializer_writes_and_writes_the_same(seed: int, oracle: Oracle, tmp_path: Path) -> None:
    given = events(seed)
    metadata = {"seed": seed, "ü": [1, {"b": None, "a": "x"}]} if seed % 2 else None
    stream = base64.b64decode(oracle.ask(write={"events": given, "metadata": metadata}))
    with opened(stream) as archive:
        assert list(archive.events()) == given
        assert archive.user_metadata == (metadata or {})
    assert list(exhume.verify(stream)) == []
    with KvIrWriter(tmp_path / "ours.clp", metadata=metadata) as writer:
        for auto, user in given:
            writer.write(user, auto)
    assert (tmp_path / "ours.clp").read_bytes() == stream


def test_the_real_deserializer_reads_ours(oracle: Oracle, tmp_path: Path) -> None:
    given = events(99)
    with KvIrWriter(tmp_path / "ours.clp", metadata={"a": 1}) as writer:
        for auto, user in given:
            writer.write(user, auto)
    stream = base64.b64encode((tmp_path / "ours.clp").read_bytes()).decode()
    assert [tuple(event) for event in oracle.ask(read=stream)] == given


CREATED = [path for path in REAL.glob("kv_ir/*.clps") if path.stat().st_size]


@pytest.mark.parametrize("path", CREATED, ids=lambda path: path.stem)
def test_archives_are_those_of_clp_s(path: Path, tmp_path: Path) -> None:
    """The schema tree, the dictionaries, the tables: everything but how zstd cut it into blocks."""
    stream = next(one for one in (path.with_suffix(".clp"), path.with_suffix(".clp.zst")) if one.exists())
    with exhume.open(path) as native:
        (properties,) = [entry.properties for entry in native.range_index]  # type: ignore[attr-defined]
        with exhume.create(tmp_path / "ours.clps", "clp-s", creator_id=properties["_archive_creator_id"]) as writer:
            writer.add_file(io.BytesIO(stream.read_bytes()), name=properties["_filename"])
        with exhume.open(tmp_path / "ours.clps") as ours:
            assert ours.header.original_size == native.header.original_size  # type: ignore[attr-defined]
            for section in native.sections():
                if section.name not in ("header", "metadata"):
                    assert ours.read_section(section.name) == native.read_section(section.name)
            assert ours.range_index == native.range_index  # type: ignore[attr-defined]
