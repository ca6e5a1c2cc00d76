"""Random logs, and what reading them must give: a plain sorted list."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter, Compression

REGISTRY = parse_idl("namespace test; schema Sample { uint64 number; byte_buffer data; }")
TYPE = "test::Sample"
CODECS: tuple[Compression, ...] = ("none", "lz4", "zstd", "bz2", "lzma")


def counted_guids(seed: int = 0) -> Callable[[], str]:
    """GUIDs that are the same in every run."""
    numbers = itertools.count(seed * 1_000_000 + 1)

    def make() -> str:
        return str(uuid.UUID(int=next(numbers) | 4 << 76 | 2 << 62))

    return make


@dataclass(frozen=True)
class Put:
    """One message that is written, or a flush (`channel` -1)."""

    channel: int
    time_ns: int
    size: int


@dataclass(frozen=True)
class Plan:
    """A log to write: codec per column, (column, latched) per channel, and what happens in order."""

    columns: tuple[Compression, ...]
    channels: tuple[tuple[int, bool], ...]
    puts: tuple[Put, ...]
    split_items: int
    split_bytes: int


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Columns, roll-overs, latched channels, times out of order and equal, flushes in between."""
    columns = tuple(draw(st.lists(st.sampled_from(CODECS), min_size=1, max_size=3)))
    channels = tuple(draw(st.lists(st.tuples(st.integers(0, len(columns) - 1), st.booleans()), min_size=1, max_size=5)))
    times = st.integers(0, 40) | st.integers(0, 2**64 - 1)
    one = st.builds(Put, st.integers(-1, len(channels) - 1), times, st.integers(0, 60))
    puts = draw(st.lists(one, max_size=40))
    return Plan(columns, channels, tuple(puts), draw(st.integers(1, 9)), draw(st.sampled_from([200, 1000, 1 << 20])))


def message(number: int, size: int) -> bytes:
    """The bytes of the `number`-th message."""
    return encoder_for(REGISTRY, TYPE).encode({"number": number, "data": bytes([number % 251]) * size})


Written = tuple[int, str, bytes]


def write_plan(plan: Plan, root: Path) -> Iterator[list[Written]]:
    """Write a plan; yield after each flush and at the end what is durable so far (in writing order)."""
    done: list[Written] = []
    with ArkWriter(
        root, name="random", split_items=plan.split_items, split_bytes=plan.split_bytes, guids=counted_guids()
    ) as log:
        columns = [log.column(f"column {n}", codec) for n, codec in enumerate(plan.columns)]
        channels = [
            log.channel(f"/channel/{n}", TYPE, REGISTRY, column=columns[column], latched=latched)
            for n, (column, latched) in enumerate(plan.channels)
        ]
        for number, put in enumerate(plan.puts):
            if put.channel < 0:
                log.flush()
                yield list(done)
                continue
            data = message(number, put.size)
            channels[put.channel].write(put.time_ns, data)
            done.append((put.time_ns, f"/channel/{put.channel}", data))
    yield done


def expected_order(plan: Plan) -> list[Written]:
    """What reading must give: time, then column, then split (in writing order), then the order within it."""
    rows = []
    for number, put in enumerate(plan.puts):
        if put.channel >= 0:
            rows.append((put.time_ns, plan.channels[put.channel][0], number, put))
    rows.sort(key=lambda row: row[:3])
    return [(time, f"/channel/{put.channel}", message(number, put.size)) for time, _, number, put in rows]
