"""Writes that have a batch of their own in a log: read in one go, with the same result as one by one."""

from __future__ import annotations

import functools
import gc
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import Span
from exhume.formats.leveldb import checks, kernel, pykernel
from exhume.formats.leveldb.batches import LoadedLog
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.log import BLOCK, LogReader
from exhume.formats.leveldb.model import Place, Role, Verdict
from exhume.formats.leveldb.replay import Replay
from exhume.formats.leveldb.wire import log_rank
from exhume.io.source import BytesSource
from exhume.io.values import LargeValue
from exhume.limits import DEFAULT_LIMITS
from exhume.native.kernel import COMPILED
from tests.leveldb.crafted import DELETE, MERGE, NOTE, PUT, SINGLE_DELETE, batch, fragments
from tests.scaling.archives import puts

ZSTD = (9, (7).to_bytes(4, "little"))
TIMESTAMPS = (10, bytes(4) + (2).to_bytes(2, "little"))
CONSTANT = ("000003.log", 3, Verdict.GOOD, True, (12,))


@functools.cache
def log(seed: int, count: int) -> bytes:
    """Mostly single writes; among them everything that is not one, and what is reported about a log."""
    dice = random.Random(seed)
    records: list[tuple[int, bytes]] = []
    sequence = 1
    for number in range(count):
        key, value = b"k%05d" % dice.randrange(300), dice.randbytes(dice.choice((0, 3, 60, 60, 60, 60, 20_000)))
        operations: list[tuple[Any, ...]] = [(DELETE, key) if dice.random() < 0.2 else (PUT, key, value)]
        if dice.random() < 0.2:
            odd = (PUT, key, value, 4), (MERGE, key, value), (NOTE, value), (SINGLE_DELETE, key), (PUT, b"more", value)
            operations = [*operations * dice.randrange(2), dice.choice(odd)]
        wrong = 2 if dice.random() < 0.02 else None
        records.append((1, batch(sequence, *operations, count=wrong)))
        if seed % 5 == 4 and number == count // 2:
            records.append(dice.choice((ZSTD, TIMESTAMPS)))
        sequence += max(1, sum(kind != NOTE for kind, *_ in operations))
    return fragments(records)


def loaded(data: bytes) -> LoadedLog:
    source = BytesSource(data, name="000003.log")
    file = DbFile("000003.log", "log", 3, Role.LIVE, len(data))
    return Replay(None, DEFAULT_LIMITS, None, lambda: False).load(source, file)


def shown(found: LoadedLog) -> tuple[Any, ...]:
    reported: list[Any] = []
    found.recorded.play(checks.collector(reported.append))
    error = found.error and str(found.error)
    items = {family: list(one) for family, one in found.items.items()}
    unused = [(status, family, list(one)) for status, family, one in found.unused]
    numbers = found.number, found.rule, found.evidence, found.last_sequence, found.records, found.kinds
    return numbers, items, unused, found.ranges, list(map(str, reported)), error


@pytest.mark.parametrize("seed", range(6))
def test_the_same_log_as_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(-seed)
    data = bytearray(log(seed, 100))
    assert len(data) > 2 * BLOCK
    for _ in range(seed % 4):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    if seed % 3 == 2:
        at = dice.randrange(len(data))
        data[at : at + 99] = bytes(99)
    found = shown(loaded(bytes(data)))
    assert found[0][4] > 5  # records
    monkeypatch.setattr(LogReader, "_pass_writes", lambda self, data, at, base: at)
    assert shown(loaded(bytes(data))) == found


@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=4))
def test_both_kernels_agree_on_anything(seed: int, damage: list[tuple[int, int]]) -> None:
    data = bytearray(log(seed, 8)[:BLOCK])
    for at, change in damage:
        data[at % len(data)] ^= change
    block = bytes(data)
    at = 0
    assert block
    fast, slow = kernel.LogItems(Place, CONSTANT), pykernel.LogItems(Place, CONSTANT)
    while at < len(block):
        found = fast.add_writes(block, at, 1 << 33)
        assert found == slow.add_writes(block, at, 1 << 33)
        at = max(at + 1, found[1]) + (at - found[1]) % 50
    assert list(fast) == slow[:]
    assert all(type(item[5]) is Place for item in fast)


def test_most_writes_are_taken_in_one_go() -> None:
    block = fragments([(1, batch(9 + n, (PUT, b"k%d" % n, b"v") if n % 3 else (DELETE, b"k"))) for n in range(500)])
    items = kernel.LogItems(Place, CONSTANT)
    assert items.add_writes(block, 0, 100) == (500, len(block), 9, 508, 3)
    assert items[1][:5] == (b"k1", (1 << 64) - 1 - (10 << 8 | 1), log_rank(3, items[1][5].offset), 12, b"v")
    assert items[0][5] == Place("000003.log", 3, None, 100, 100 + 7 + 12 + 3, Verdict.GOOD, True, None, 9, 1, 0, (12,))
    if COMPILED:  # millions of them would be searched for garbage again and again
        found = items[:]
        assert not any(map(gc.is_tracked, [*found, *(item[5] for item in found)]))


@given(st.data(), st.integers(0, 400), st.binary(max_size=9), st.integers(1, 3))
def test_items_are_sorted_and_joined_alike(data: st.DataObject, count: int, shared: bytes, sizes: int) -> None:
    """Keys that share their beginning, that are equal, and that differ in zeros at their end."""
    dice = random.Random(data.draw(st.integers(0, 1 << 30)))
    both = kernel.LogItems(Place, CONSTANT), pykernel.LogItems(Place, CONSTANT)
    made: list[tuple[Any, ...]] = []
    for number in range(count):
        key = shared + bytes(dice.choice((0, 0, 1, 255)) for _ in range(dice.randrange(9 * sizes)))
        value: Any = LargeValue(9, lambda: iter(()), DEFAULT_LIMITS, Span("", 0, 9)) if number % 7 == 3 else key[::-1]
        made.append((key, (1 << 64) - 1 - dice.randrange(count), dice.randrange(9), number, value, str(number)))
    order = dice.choice((list, sorted, lambda made: sorted(made, reverse=True)))
    for found in both:
        found.append((b"first", 0, 0, 0, b"", "place"))
        more = type(found)(Place, CONSTANT)
        for item in order([(*item[:4], number) for number, item in enumerate(made)]):
            more.append(cast("Any", made[item[4]]))
        found.extend(more)
        found.sort()
        assert len(found) == count + 1
        assert found[:] == sorted(found[:], key=lambda item: item[:4])
    assert both[0][:] == both[1][:]
    assert both[0].cuts(1, count, 300) == both[1].cuts(1, count, 300)
    with pytest.raises(IndexError):
        both[0][count + 1]


def test_a_size_in_a_longer_form_is_read_as_one_by_one() -> None:
    body = (9).to_bytes(8, "little") + (1).to_bytes(4, "little") + b"\x01\x82\0k1\x01v"
    data = fragments([(1, batch(8, (PUT, b"k0", b"v"))), (1, body), (1, batch(10, (PUT, b"k2", b"v")))])
    items = loaded(data).items[0]
    assert [(item[0], item[4], item[5].span.end) for item in items] == [
        (b"k0", b"v", 25), (b"k1", b"v", 51), (b"k2", b"v", len(data)),
    ]  # fmt: skip
    assert kernel.LogItems(Place, CONSTANT).add_writes(data, 25, 0)[0] == 0


@pytest.mark.skipif(not COMPILED, reason="the pure-Python implementation keeps an object for each write")
def test_a_write_takes_at_most_60_bytes(tmp_path: Path) -> None:
    program = (
        "import sys; import exhume; "
        "from tests.sizes import peak_memory; exhume.open(sys.argv[1]).database.last_sequence(); print(peak_memory())"
    )
    peaks = []
    for count in (20_000, 120_000):
        puts(tmp_path / str(count), count)
        ran = subprocess.run(
            [sys.executable, "-c", program, tmp_path / str(count)], capture_output=True, text=True, check=True
        )
        peaks.append(int(ran.stdout))
    assert (peaks[1] - peaks[0]) / 100_000 < 60
