"""Writes that have a batch of their own in a log: read in one go, with the same result as one by one."""

from __future__ import annotations

import gc
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.leveldb import checks, kernel, pykernel, replay
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.log import BLOCK
from exhume.formats.leveldb.model import Place, Role, Verdict
from exhume.formats.leveldb.replay import LoadedLog, Replay
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS
from exhume.native.kernel import COMPILED
from tests.leveldb.crafted import DELETE, MERGE, NOTE, PUT, SINGLE_DELETE, batch, fragments

ZSTD = (9, (7).to_bytes(4, "little"))
TIMESTAMPS = (10, bytes(4) + (2).to_bytes(2, "little"))
CONSTANT = ("000003.log", 3, Verdict.GOOD, True, (12,))


def log(seed: int, count: int) -> bytes:
    """Mostly single writes; among them everything that is not one, and what is said about a log."""
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
    told: list[Any] = []
    found.recorded.play(checks.collector(told.append))
    error = found.error and str(found.error)
    numbers = found.number, found.rule, found.evidence, found.last_sequence, found.records, found.kinds
    return numbers, found.items, found.unused, found.ranges, list(map(str, told)), error


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
    monkeypatch.setattr(replay, "single_writes", lambda block, at, *others: ([], at, -1, 0, 0))
    assert shown(loaded(bytes(data))) == found


@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=4))
def test_kernel_and_twin_agree_on_anything(seed: int, damage: list[tuple[int, int]]) -> None:
    data = bytearray(log(seed, 8)[:BLOCK])
    for at, change in damage:
        data[at % len(data)] ^= change
    block = bytes(data)
    at = 0
    assert block
    while at < len(block):
        found = kernel.single_writes(block, at, 1 << 33, 7, Place, CONSTANT)
        assert found == pykernel.single_writes(block, at, 1 << 33, 7, Place, CONSTANT)
        assert all(type(item[5]) is Place for item in found[0])
        at = max(at + 1, found[1]) + (at - found[1]) % 50


def test_most_writes_are_taken_in_one_go() -> None:
    block = fragments([(1, batch(9 + n, (PUT, b"k%d" % n, b"v") if n % 3 else (DELETE, b"k"))) for n in range(500)])
    items, stop, first, highest, kinds = kernel.single_writes(block, 0, 100, 7, Place, CONSTANT)
    assert (len(items), stop, first, highest, kinds) == (500, len(block), 9, 508, 3)
    assert items[1][:5] == (b"k1", (1 << 64) - 1 - (10 << 8 | 1), 9, 12, b"v")
    assert items[0][5] == Place("000003.log", 3, None, 100, 100 + 7 + 12 + 3, Verdict.GOOD, True, None, 9, 1, 0, (12,))
    if COMPILED:  # millions of them would be searched for garbage again and again
        assert not any(map(gc.is_tracked, [*items, *(item[5] for item in items)]))
