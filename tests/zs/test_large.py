"""Large blocks and records, which are read in chunks, give what small ones do.

Spec: zs.txt, "Blocks", "Key invariants".
"""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.codecs.passing import PIECE
from exhume.errors import ExhumeError
from exhume.formats.zs import blocks, large, references
from exhume.limits import Limits
from tests.broken import broken
from tests.sizes import some
from tests.zs.build import File
from tests.zs.make_samples import BROKEN


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make nearly every block large, and nearly every record long."""
    monkeypatch.setattr(blocks, "LARGE", 40)
    monkeypatch.setattr(large, "PIECE", 16)
    monkeypatch.setattr(references, "EDGE_SIZE", 8)
    return monkeypatch


def findings(data: bytes) -> list[tuple[Any, ...]]:
    return [(one.code, one.severity, one.span) for one in exhume.verify(data, format="zs")]


def stated(data: bytes, **bounds: Any) -> list[Any]:
    """The results of reading: records with their places, the text, counts, the table, or the error."""
    out: list[Any] = []
    try:
        with exhume.zs.open(data) as archive:
            out.append([(one.data, one.ordinal, one.span) for one in archive.records_with_origin(**bounds)])
            out.append(archive.count(**bounds))
            out.append([record for part in archive.map_blocks(list, **bounds) for record in part])
            out.append(archive.to_arrow(**bounds).read_all().column(0).to_pylist())
            for shape in ({}, {"terminator": b"--"}, {"length_prefixed": "u64le"}, {"length_prefixed": "uleb128"}):
                text = io.BytesIO()
                out.append((archive.dump(text, **bounds, **shape), text.getvalue()))
    except ExhumeError as error:
        out.append((error.code, error.span))
    return out


@pytest.mark.parametrize("name", BROKEN)
def test_damage_is_found_alike(name: str, tiny: pytest.MonkeyPatch) -> None:
    _, data = BROKEN[name]
    found, read = findings(data), stated(data)
    tiny.undo()
    assert found == findings(data)
    assert read == stated(data)


def test_findings_state_the_same_of_large_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broken archive, and all that is reported; every block is large, and records are short."""
    compared = 0
    for name, case in some(broken("zs").items()):
        with case.target(tmp_path / name) as target:
            if not isinstance(target, bytes):
                continue
            found = [one.to_dict() for one in exhume.verify(target, format="zs")]
            with monkeypatch.context() as patch:
                patch.setattr(blocks, "LARGE", 1)
                assert [one.to_dict() for one in exhume.verify(target, format="zs")] == found, name
        compared += len(found)
    assert compared > 100


@pytest.mark.parametrize("codec", ["none", "deflate", "lzma"])
def test_records_are_the_same(codec: Any, tmp_path: Path, tiny: pytest.MonkeyPatch) -> None:
    chance = random.Random(codec)
    made = [bytes(chance.choices(b"ab", k=chance.choice((0, 1, 5, 15, 16, 17, 40, 200)))) for _ in range(300)]
    made += [b"b" * 300, b"b" * 300, b"b" * 300 + b"a", b"b" * 320]
    path = tmp_path / "made.zs"
    with exhume.create(path, "zs", codec=codec, block_size=700) as made_writer:
        writer: Any = made_writer
        writer.add_records(sorted(made))
    data = path.read_bytes()
    ranges: list[dict[str, bytes]] = [{}, {"prefix": b"b" * 20}, {"start": b"b" * 299}, {"stop": b"b" * 300}]
    ranges += [{"start": a, "stop": b} for a, b in zip(sorted(made)[:40:9], sorted(made)[60::9], strict=False)]
    read = [stated(data, **one) for one in ranges]
    assert findings(data) == []
    tiny.undo()
    assert read == [stated(data, **one) for one in ranges]


def test_the_order_of_long_records_that_begin_alike() -> None:
    """Records are compared completely, even if they are longer than the part kept in memory."""
    alike = b"x" * (PIECE + 9)
    rest = b"a" * PIECE
    for first, second in ((b"a", b""), (b"", b"a"), (b"aa", b"ab"), (b"ab", b"aa"), (rest + b"b", rest), (rest, rest)):
        file = File()
        block = file.data(b"w", alike + first, alike + second, alike + second)
        after = file.data(alike + second + b"c")
        data = file.finish(file.index(1, (b"", block), (alike + second + b"b", after)))
        usual = list(exhume.verify(data, format="zs"))
        limited = list(exhume.verify(data, format="zs", limits=Limits(payload_size=1 << 20)))
        assert [(one.code, one.span) for one in limited if one.code != "ZS-501"] == [
            (one.code, one.span) for one in usual
        ]
        assert any(one.code == "ZS-320" for one in usual) == (first > second)


def test_a_long_record_takes_the_memory_of_a_chunk(tmp_path: Path) -> None:
    path = tmp_path / "made.zs"
    with exhume.create(path, "zs", codec="deflate", level=1) as made:
        writer: Any = made
        writer.add_records([b"a", bytes(40 << 20).replace(b"\0", b"b"), b"c"])

    class Out:
        size = 0

        def write(self, data: bytes | memoryview) -> None:
            self.size += len(data)

    with exhume.zs.open(path) as archive:
        tracemalloc.start()
        try:
            out = Out()
            assert archive.dump(out) == out.size == (40 << 20) + 5
            assert archive.count() == 3
            assert [one for one in archive.verify() if one.is_problem] == []
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 40 << 20


@pytest.mark.parametrize("to", ["parquet", "csv", "jsonl"])
def test_exports_leave_out_records_above_the_limit(to: str, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path, few = tmp_path / "made.zs", ("--limit", "payload_size=1M")
    long = b"x" * (2 << 20)
    with exhume.zs.create(path) as writer:
        for record in (b"a", b"b" + long, b"c", b"d" + long, b"e"):
            writer.add(record)
    ran = exhume_cli("export", path, "--to", to, "-o", tmp_path / to, *few)
    assert (ran.code, "lost: records above the limit payload_size [ZS-501]: 2" in ran.err) == (3, True)
    assert "3 rows" in ran.err
    assert (tmp_path / to).stat().st_size < 10_000
    with exhume.zs.open(path, limits=Limits(payload_size=1 << 20)) as archive:
        reader = archive.to_arrow()
        with pytest.raises(ExhumeError, match="ZS-501"):
            reader.read_all()
    assert exhume_cli("export", path, "--to", to, "-o", tmp_path / "all").code == 0
