"""The damage matrix: every format against cuts, dead sectors, flips, swaps and repeats.

What a format can give back at best is stated per format (`untouched`): the items none of whose bytes, and none of the
structures they cannot do without, were damaged.  Salvage must give back at least those, never anything that was not
there, and what it writes must verify.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.recovery import SalvageReport
from exhume.testing import corrupt

Damage = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Item:
    """Something an archive holds, and the byte ranges of the damaged file that it depends on."""

    value: Any
    needs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """One format: how to build an archive, which file is damaged, what it holds, how to read what was salvaged."""

    format: str
    build: Callable[[Path], None]
    victim: str
    items: Callable[[Path], list[Item]]
    content: Callable[[Path], Counter[Any]]


# -- zs: a record needs its block; everything else is made anew ---------------------------------------------------


def build_zs(path: Path) -> None:
    rng = random.Random(1)
    with exhume.create(path, "zs", codec="deflate", block_size=300, branching_factor=4) as writer:
        records: Any = writer
        records.add_records(
            sorted(b"%06d %s" % (rng.randrange(10**6), rng.randbytes(12).hex().encode()) for _ in range(400))
        )


def items_zs(path: Path) -> list[Item]:
    with exhume.open(path) as archive:
        zs: Any = archive
        codec = (72, 88)  # without it the codec is tried out, which the shortest payloads may not settle
        return [Item(r.data, ((r.block.start, r.block.end), codec)) for r in zs.records_with_origin()]


def content_zs(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        zs: Any = archive
        return Counter(zs.records())


# -- caf: a member needs its bytes and its entry in the index -------------------------------------------------------


def build_caf(path: Path) -> None:
    rng = random.Random(2)
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(60):
            members.add_bytes(f"d{number % 5}/member-{number:02d}", rng.randbytes(rng.randrange(1, 120)))


def items_caf(path: Path) -> list[Item]:
    data = path.read_bytes()
    found = []
    with exhume.open(path) as archive:
        caf: Any = archive
        for name in caf.names():
            entry = caf.stat(name)
            at = data.index(f'"{name}":'.encode())
            end = data.index(b"}", at) + 1
            found.append(Item((name, caf.read_member(name)), ((entry.offset, entry.offset + entry.size), (at, end))))
    return found


def content_members(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        members: Any = archive
        return Counter((name, members.read_member(name)) for name in members.names())


# -- clp-s: a record needs its stream, the dictionaries and the three structures ------------------------------------


def build_clps(path: Path) -> None:
    with exhume.create(path, "clp-s", min_table_size=1) as writer:
        events: Any = writer
        for number in range(400):
            events.write({f"kind{number % 8}": f"took {number}.5 ms id=a{number}", "n": number})


def items_clps(path: Path) -> list[Item]:
    found = []
    with exhume.open(path) as archive:
        clps: Any = archive
        needs = []
        for name in ("/schema_tree", "/schema_ids", "/table_metadata", "/var.dict", "/log.dict"):
            span = clps.section_span(name)
            needs.append((span.start, span.end))
        metadata = (64, clps.header.files_base)
        for table in clps.tables:
            span = table.span
            lines = b"".join(table.load().renderer().lines(range(table.num_messages))).splitlines()
            found += [Item(line, ((span.start, span.end), metadata, *needs)) for line in lines]
    return found


def content_clps(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        clps: Any = archive
        return Counter(b"".join(clps.json_chunks()).splitlines())


CASES = [
    Case("zs", build_zs, "", items_zs, content_zs),
    Case("caf", build_caf, "", items_caf, content_members),
    Case("clp-s", build_clps, "", items_clps, content_clps),
]


def changes(data: bytes) -> Iterator[tuple[str, bytes, tuple[int, int] | None]]:
    """`(name, damaged, range of the original that was touched)`; the range is None when bytes moved."""
    size = len(data)
    for number in range(20):
        at = size * number // 20
        yield f"cut-{at}", data[:at], (at, size)
    for number in range(20):
        at = (size - 1) * number // 20
        yield f"sector-{at}", corrupt.zero_sector(data, at), (at, min(size, at + 512))
    for at in corrupt.sample_offsets(size, 100, seed=3):
        yield f"flip-{at}", corrupt.flip(data, at, 1 << at % 8), (at, at + 1)
    third, block = size // 3, max(1, size // 10)
    yield "swap", corrupt.swap(data, (third, third + block), (2 * third, 2 * third + block)), None
    yield "repeat", corrupt.duplicate(data, third, third + block), None


@pytest.fixture(scope="module", params=CASES, ids=[case.format for case in CASES])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, bytes, list[Item]]:
    chosen: Case = request.param
    path = tmp_path_factory.mktemp(chosen.format) / "archive"
    chosen.build(path)
    return chosen, path.read_bytes(), chosen.items(path)


def salvaged(data: bytes, format: str, out: Path) -> tuple[SalvageReport | None, str]:
    try:
        return exhume.salvage(data, out, format=format), ""
    except ExhumeError as error:
        return None, str(error)


def test_what_damage_did_not_touch_comes_back(case: tuple[Case, bytes, list[Item]], tmp_path: Path) -> None:
    chosen, data, items = case
    original = Counter(item.value for item in items)
    poorer = []
    for name, damaged, touched in changes(data):
        out = tmp_path / "out"
        report, why = salvaged(damaged, chosen.format, out)
        found: Counter[Any] = Counter()
        if report is None:
            assert "\n" not in why
        elif out.exists():
            assert report.verified, (name, report.findings)
            assert [f for f in exhume.verify(out, format=chosen.format) if f.severity is Severity.ERROR] == []
            found = chosen.content(out)
        if chosen.format == "zs":  # checksummed: not one record may differ from the original ones
            assert found <= original, (name, found - original)
        if touched is not None:
            start, end = touched
            best = Counter(i.value for i in items if all(b <= start or a >= end for a, b in i.needs))
            if not best <= found:
                poorer.append((name, sum((best - found).values()), sum(best.values()), why))
        out.unlink(missing_ok=True)
    assert poorer == []


def test_undamaged_archives_come_back_whole(case: tuple[Case, bytes, list[Item]], tmp_path: Path) -> None:
    chosen, data, items = case
    report = exhume.salvage(data, tmp_path / "out", format=chosen.format)
    assert report.complete, report.to_dict()
    assert chosen.content(tmp_path / "out") == Counter(item.value for item in items)


def test_every_byte_is_accounted_for(case: tuple[Case, bytes, list[Item]], tmp_path: Path) -> None:
    chosen, data, _ = case
    for cut in (len(data), len(data) * 2 // 3):
        report, _ = salvaged(data[:cut], chosen.format, tmp_path / f"out-{cut}")
        assert report is not None
        covered = bytearray(cut)
        for fate in report.spans:
            covered[fate.span.start : fate.span.end] = b"\1" * fate.span.size
        holes = covered.count(0)
        assert holes == 0, (chosen.format, cut, holes, [f.to_dict() for f in report.spans][:6])


def test_never_in_place(case: tuple[Case, bytes, list[Item]], tmp_path: Path) -> None:
    _, data, _ = case
    path = tmp_path / "archive"
    path.write_bytes(data)
    with pytest.raises(ExhumeError):
        exhume.salvage(path, path)
    assert path.read_bytes() == data
    shutil.rmtree(tmp_path, ignore_errors=True)
