"""Messages added many at a time become the same splits as messages added one at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from exhume.errors import WriterError
from exhume.formats.ark.batches import MessageBatch, Messages
from exhume.formats.ark.writer import ArkWriter

Row = tuple[int, int, bytes]
"""Channel, time and bytes of a message."""


def guids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


def written(
    root: Path, rows: list[Row], columns: list[str], size: int | None, *, items: int, room: int, flush: bool = False
) -> dict[str, bytes] | tuple[str, str]:
    """The files of a log of these messages, added in batches of a size (None: one by one); or the error.

    Messages of the channel with the number n belong to the column `columns[n]`.
    """
    try:
        with ArkWriter(root, split_items=items, split_bytes=room, guids=guids()) as log:
            channels = {number: log.channel(f"/{number}", column=name) for number, name in enumerate(columns)}
            for at in range(0, len(rows), size or 1):
                part = rows[at : at + (size or 1)]
                if size is None:
                    ((number, time_ns, data),) = part
                    channels[number].column.add(channels[number].declaration, time_ns, data)
                else:
                    messages = Messages(MessageBatch.of(*(list(column) for column in zip(*part, strict=True))))
                    messages.add(channels, 0, len(part) // 2)
                    messages.add(channels, len(part) // 2, len(part))
                if flush and not (at + len(part)) % 60:
                    log.flush()
    except WriterError as error:
        return str(error.expected), str(error.actual)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def messages(number: int, channels: int, seed: int = 3) -> list[Row]:
    rng = random.Random(seed)
    return [(rng.randrange(channels), rng.getrandbits(64), rng.randbytes(rng.randint(1, 40))) for _ in range(number)]


@pytest.mark.parametrize("columns", [["main"], ["main"] * 5, ["a", "b", "a", "c", "b"]], ids=["1", "5", "5 in 3"])
@pytest.mark.parametrize(("items", "room"), [(1, 1 << 20), (50, 1 << 20), (50, 333), (1000, 41), (1 << 16, 1 << 20)])
def test_splits_are_the_same(columns: list[str], items: int, room: int, tmp_path: Path) -> None:
    """Where they end because of their items and because of their bytes, in one column and in several."""
    count = 40 if items == 1 or room < 100 else 210  # each split waits for the disk
    rows = messages(count, len(columns))
    one = written(tmp_path / "one", rows, columns, None, items=items, room=room)
    assert isinstance(one, dict)
    assert sum(name.startswith("splits/") for name in one) >= len(set(columns))
    for size in (7, count // 5, count):
        assert written(tmp_path / str(size), rows, columns, size, items=items, room=room) == one


def test_flushes_between_them(tmp_path: Path) -> None:
    rows = messages(600, 3)
    one = written(tmp_path / "one", rows, ["a", "b", "a"], None, items=100, room=900, flush=True)
    assert isinstance(one, dict)
    assert written(tmp_path / "many", rows, ["a", "b", "a"], 30, items=100, room=900, flush=True) == one


def test_more_channels_than_a_split_can_have(tmp_path: Path) -> None:
    rows = messages(3000, 300)
    one = written(tmp_path / "one", rows, ["main"] * 300, None, items=1 << 16, room=1 << 20)
    assert isinstance(one, dict)
    assert sum(name.startswith("splits/") for name in one) > 2
    assert written(tmp_path / "many", rows, ["main"] * 300, 1000, items=1 << 16, room=1 << 20) == one


@pytest.mark.parametrize("bad", [b"", bytes(2000)], ids=["empty", "too large"])
@pytest.mark.parametrize("at", [0, 299, 300, 450])
def test_the_first_message_that_fits_nowhere_is_reported(bad: bytes, at: int, tmp_path: Path) -> None:
    rows = messages(600, 2)
    rows[at] = (1, 5, bad)
    rows[500] = (0, 5, b"" if bad else bytes(3000))
    reported = written(tmp_path / "one", rows, ["a", "b"], None, items=100, room=1000)
    assert isinstance(reported, tuple)
    assert f"{len(bad) or 0}" in reported[1].replace(",", "")
    assert written(tmp_path / "many", rows, ["a", "b"], 300, items=100, room=1000) == reported
