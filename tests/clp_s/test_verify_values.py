"""Many small tables checked by one call of the kernel: the findings are those of each table on its own."""

from __future__ import annotations

import random
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exhume.errors import Span
from exhume.formats.clp_s import verify, verify_values
from exhume.formats.clp_s.layout import NodeType, TimestampEncoding, TimestampRange
from exhume.formats.clp_s.read import blocks, windows
from exhume.formats.clp_s.read.streams import Streams
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.source import BytesSource
from exhume.native import KERNEL
from tests.clp_s.test_together import SOME, written
from tests.sizes import some

TIMES = [
    {"ts": f"2024-05-0{1 + number % 9}T01:02:03.{number:03}Z", f"k{number % 29}": "some text 7", "f": number / 2}
    for number in range(60)
]


LEAST, MOST = -(1 << 63), (1 << 63) - 1


def verified(data: bytes, quick: bool, *, alone: bool = False) -> list[str]:
    def nothing(archive: ClpSArchive) -> None:
        return None

    with open_archive(BytesSource(data, "x.clps")) as archive, pytest.MonkeyPatch.context() as patch:
        if alone:
            patch.setattr(verify, "small_tables", nothing)
        return [str(finding) for finding in archive.verify(quick=quick)]


def stored(folder: Path, found: list[dict[str, Any]], **options: Any) -> bytes:
    written(folder, found, **options)
    return (folder / "x.clps").read_bytes()


def kinds(folder: Path) -> Iterator[bytes]:
    yield stored(folder, SOME[:90], structurize_arrays=True)
    yield stored(folder, [{"s": f"word{number % 7}", f"k{number % 5}": number} for number in range(60)])
    yield stored(folder, TIMES, timestamp_key="ts")
    yield stored(folder, TIMES, timestamp_key="ts", version="0.4.1")


@pytest.mark.parametrize("quick", [False, True])
def test_findings_are_those_of_each_table(tmp_path: Path, quick: bool) -> None:
    rng = random.Random(7)
    for data in some(kinds(tmp_path)):
        assert verified(data, quick) == verified(data, quick, alone=True)
        for _ in range(3):
            hurt = bytearray(data)
            hurt[rng.randrange(100, len(hurt))] ^= 1 << rng.randrange(8)
            assert verified(bytes(hurt), quick) == verified(bytes(hurt), quick, alone=True)


def test_damage_in_a_stream_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    payload = Streams.stream_payload
    found: set[str] = set()
    for data in kinds(tmp_path):
        for _ in range(12):
            place, change = rng.randrange(1 << 30), rng.choice((b"\1", b"\x80", b"\xff" * 8))

            def hurt(archive: Streams, index: int, place: int = place, change: bytes = change) -> bytes:
                stream = bytearray(payload(archive, index))
                start = place % (len(stream) - 8)
                stream[start : start + len(change)] = bytes(a ^ b for a, b in zip(stream[start:], change, strict=False))
                return bytes(stream)

            monkeypatch.setattr(Streams, "stream_payload", hurt)
            alone = verified(data, False, alone=True)
            assert verified(data, False) == alone
            found.update(code for one in alone for code in re.findall(r"CLPS-\d+", one))
            monkeypatch.undo()
    assert found >= {"CLPS-348", "CLPS-401", "CLPS-402", "CLPS-405", "CLPS-412", "CLPS-413"}


def test_sound_tables_take_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if KERNEL is None:
        pytest.skip("the pure-Python kernel leaves every table to its caller")
    for found in (SOME, TIMES, [{f"k{number}": number for number in range(300)}]):
        data = stored(tmp_path, found, timestamp_key="ts")
        monkeypatch.setattr("exhume.formats.clp_s.read.tables.Table.load", None)
        monkeypatch.setattr("exhume.formats.clp_s.read.tables.Table.layout", None)
        assert verified(data, False) == verified(data, True) == []


@pytest.mark.parametrize(
    ("kind", "encoding", "begin", "end", "rule"),
    [
        (NodeType.TIMESTAMP, TimestampEncoding.EPOCH, 1, 2, (verify_values.INTEGERS, 1_000_000, 2_000_000)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, -5, 1 << 70, (verify_values.INTEGERS, -5, (1 << 63) - 1)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, 1 << 70, 1 << 71, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, 0.5, 2, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.FLOAT, TimestampEncoding.DOUBLE_EPOCH, 0, 1.0, (verify_values.REALS, 0, 0x3FF0000000000000)),
        (NodeType.FLOAT, TimestampEncoding.DOUBLE_EPOCH, (1 << 53) + 1, 1e300, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.FLOAT, TimestampEncoding.DOUBLE_EPOCH, 0, 1 << 1100, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.FLOAT, TimestampEncoding.EPOCH, 0, 1, None),
        (NodeType.DATE_STRING, TimestampEncoding.EPOCH, None, 1, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.VAR_STRING, TimestampEncoding.EPOCH, 0, 1, None),
        (NodeType.FLOAT, TimestampEncoding.DOUBLE_EPOCH, None, 1.0, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.FLOAT, TimestampEncoding.DOUBLE_EPOCH, 1.0, None, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, MOST, MOST, (verify_values.INTEGERS, MOST, MOST)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, MOST + 1, MOST + 1, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, LEAST, LEAST, (verify_values.INTEGERS, LEAST, LEAST)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, LEAST - 1, 3, (verify_values.INTEGERS, LEAST, 3)),
        (NodeType.INTEGER, TimestampEncoding.EPOCH, LEAST - 1, LEAST - 1, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.TIMESTAMP, TimestampEncoding.EPOCH, 1 << 60, 1 << 61, (verify_values.UNCHECKED, 0, 0)),
        (NodeType.TIMESTAMP, TimestampEncoding.EPOCH, -1 << 61, -1 << 60, (verify_values.UNCHECKED, 0, 0)),
    ],
)
def test_rules_of_ranges(kind: int, encoding: int, begin: Any, end: Any, rule: Any) -> None:
    found = TimestampRange(b"ts", (0,), encoding, begin, end)
    assert verify_values._rule(found, kind) == rule


class Checked(SimpleNamespace):
    """In place of the kernel's tables: keeps which checks were given to it."""

    def __init__(self, archive: Any, *, prints: bool) -> None:
        super().__init__(archive=archive, prints=prints, requested=None, given=None)
        self.tables = SimpleNamespace(supply_checks=self.supply)

    def supply(self, numbered: int, rule_of: bytearray, rules: array[int]) -> None:
        self.given = numbered, list(rule_of), [tuple(rules[at : at + 3]) for at in range(0, len(rules), 3)]

    def runs(self, most_bytes: int, most_rows: int) -> list[tuple[int, int]]:
        self.requested = most_bytes, most_rows
        return [(0, 1), (1, 2), (2, 4)]

    def is_wide(self, first: int) -> bool:
        return first == 1


def ranged(types: list[int], *ranges: tuple[int, ...], numbered: int | None = None) -> Any:
    """An archive of nodes of these types, with a range from 1 to 2 for each group of nodes."""
    return SimpleNamespace(
        schema_tree=SimpleNamespace(types=types, log_event_idx=numbered),
        timestamp_ranges=[TimestampRange(b"ts", nodes, TimestampEncoding.EPOCH, 1, 2) for nodes in ranges],
        tables=(),
    )


def given(archive: Any) -> Any:
    """What the kernel is to check in an archive."""
    together: Any = verify_values.SmallTables(archive).kernel_tables
    return together.given


@pytest.fixture
def _kernel_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_values, "KernelTables", Checked)


INTEGER, TEXT = int(NodeType.INTEGER), int(NodeType.VAR_STRING)


@pytest.mark.usefixtures("_kernel_of_tables")
def test_each_node_has_one_rule() -> None:
    """Nodes that are absent, or of a type that has no range, are passed over; of several ranges, Python compares."""
    archive = ranged([INTEGER, TEXT, INTEGER, INTEGER], (0, 4, -1, 1, 2), (2,), numbered=3)
    made = verify_values.small_tables(archive)
    assert made is not None
    found: Any = made.kernel_tables
    one = (verify_values.INTEGERS, 1, 2)
    assert (found.archive, found.prints) == (archive, False)
    assert found.given == (3, [1, 0, 3, 0], [one, one, (verify_values.UNCHECKED, 0, 0)])
    assert made.first == 0, "without tables"
    assert given(ranged([])) == (-1, [], [])
    archive.tables = [SimpleNamespace(index=5)]
    assert made.first == 5
    assert list(made.runs()) == [(0, 1, False), (1, 2, True), (2, 4, True)]
    assert found.requested == (min(blocks.BLOCK_BYTES, windows.WORTHWHILE), 1_048_576)


@pytest.mark.usefixtures("_kernel_of_tables")
def test_nodes_beyond_the_rules_share_one() -> None:
    """A rule is a byte, and the last says that Python compares."""
    archive = ranged([INTEGER] * 260, *((node,) for node in range(260)))
    _, rule_of, rules = given(archive)
    assert rule_of == [*range(1, 255), *[255] * 6]
    assert rules == [(verify_values.INTEGERS, 1, 2)] * 254 + [(verify_values.UNCHECKED, 0, 0)]


def test_a_column_without_rows_hides_no_other() -> None:
    """Neither a column without rows nor one of a type that has no range ends the check of the others."""

    def column(kind: int, *values: int) -> Any:
        return SimpleNamespace(type=kind, rows=len(values), values=values, span=Span("x", 0, 8))

    columns = [column(INTEGER), column(TEXT, 7), column(INTEGER, 0, 3)]
    data: Any = SimpleNamespace(
        layout=SimpleNamespace(by_node={node: node for node in range(3)}),
        column_at=columns.__getitem__,
        table=SimpleNamespace(index=4, archive=ranged([], (0, 1, 2, 9))),
    )
    [finding] = verify_values.bounds(data)
    assert (finding.expected, finding.actual, finding.span) == ("1 to 2", "0 to 3", Span("x", 0, 8))
    assert "table 4" in finding.message
