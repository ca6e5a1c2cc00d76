"""Damaged archives for salvage: the recoverable parts of their tables and dictionaries."""

from __future__ import annotations

from exhume.testing.damage import flip

from . import build
from .build import Built, demo, i64, old, tiny, u64

NODES = [(-1, b"", 10), (0, b"log_event_idx", 11), (-1, b"", 5), (2, b"a", 0), (2, b"b", 0)]
SCHEMAS: list[tuple[int, list[int], list[int]]] = [(0, [1, 3], []), (1, [1, 4], [])]


def _table(schema: int, first: int, *values: int, step: int = 1) -> tuple[int, int, bytes]:
    return schema, len(values), i64(first, *[step] * (len(values) - 1)) + i64(*values)


STREAMS = [
    [_table(0, 0, 10, 11, 12), _table(1, 3, 13, 14)],
    [_table(0, 5, 15, 16), _table(1, 8, 18)],
    [_table(0, 9, 19)],
]
ORDERED = Built(nodes=NODES, schemas=SCHEMAS, streams=STREAMS)
"""Five tables in three streams; the record at position 7 is missing from the start."""


def _streams(*streams: list[tuple[int, int, bytes]], **changes: object) -> bytes:
    return ORDERED.replace(streams=list(streams), **changes).build()


def _stored_stream(number: int, stored: bytes | None, cut: int = 0) -> bytes:
    """The archive with a stream of other bytes of the same length, or with its last bytes overwritten."""
    parts = [ORDERED.compress(b"".join(data for _, _, data in stream)) for stream in STREAMS]
    part = parts[number]
    parts[number] = (part[: len(part) - cut] if stored is None else stored).ljust(len(part), b"\xff")[: len(part)]
    return ORDERED.replace(stored_sections={"/0": b"".join(parts)}).build()


def _gappy(runs: int) -> bytes:
    """Every second record is missing, `runs` times."""
    return _streams([_table(0, 0, *range(runs + 1), step=2)])


def _metadata(change: tuple[int, bytes]) -> bytes:
    at, new = change
    payload = ORDERED.payloads()["/table_metadata"]
    return ORDERED.replace(raw={"/table_metadata": payload[:at] + new + payload[at + len(new) :]}).build()


def _make() -> dict[str, bytes]:
    whole = ORDERED.build()
    junk = b"no frame at all, but bytes"
    stop = -(1 << 40)
    rows = 8 + 16 * len(STREAMS) + 16
    out = {
        "ordered": whole,
        "demo": demo().build(),
        "old": old().build(),
        "without order": tiny().build(),
        "header gone": bytes(64) + whole[64:],
        "header of demo gone": bytes(64) + demo().build()[64:],
        "header of old gone": bytes(64) + old().build()[64:],
        "packets gone": ORDERED.replace(stored_sections={"metadata": junk}).build(),
        "packets of demo gone": demo(stored_sections={"metadata": junk}).build(),
        "packets of old gone": old(stored_sections={"metadata": junk}).build(),
        "header and packets gone": bytes(64) + ORDERED.replace(stored_sections={"metadata": junk}).build()[64:],
        "tree gone": ORDERED.replace(stored_sections={"/schema_tree": junk}).build(),
        "everything gone": junk * 10,
        "one packet twice": tiny(extra_packets=[(0, b"\x81\xacnum_segments\x01")]).build(),
        "a packet of no known type": tiny(extra_packets=[(9, b"kept")]).build(),
        "wrong info and ranges": tiny(
            extra_packets=[(0, b"\x81\xacnum_segments\x02")], range_index=[{"s": 3, "e": 2, "f": {}}]
        ).build(),
        "wrong timestamps of demo": demo(ranges=[(b"ts", [3], 1, 0, 5)]).build(),
        "wrong patterns of old": old(patterns=[(0, b"%Q")]).build(),
        "all dictionaries gone": demo(
            stored_sections={"/var.dict": u64(6), "/log.dict": u64(2), "/array.dict": u64(2)}
        ).build(),
        "variables cut": demo(stored_sections={"/var.dict": u64(6) + build.zstd(u64(2) + b"a1" + u64(5))}).build(),
        "a table of no layout": ORDERED.replace(schemas=[*SCHEMAS, (5, [1, -9], [])]).build(),
        "a table of no schema": _streams(STREAMS[0], [(7, 1, i64(0) + i64(1))], STREAMS[2]),
        "all tables of no schema": ORDERED.replace(schemas=[(9, [1, 3], [])]).build(),
        "a table out of order": _streams(STREAMS[0], [(0, 2, i64(5, stop) + i64(1, 2)), _table(1, 8, 18)], STREAMS[2]),
        "a stream out of order": _streams(STREAMS[0], [(0, 2, i64(5, stop) + i64(1, 2))], STREAMS[2]),
        "all tables out of order": _streams([(0, 2, i64(5, stop) + i64(1, 2)), (1, 2, i64(5, stop) + i64(1, 2))]),
        "more records than bytes": _metadata((rows + 20, u64(99))),
        "fewer records than bytes": _metadata((rows + 20, u64(2))),
        "a stream that is later": _metadata((8 + 16, u64(3))),
        "a stream behind the end": _metadata((8 + 32, u64(1 << 30))),
        "a stream that is larger": _metadata((16, u64(1000))),
        "a stream that is smaller": _metadata((16, u64(20))),
        "negative positions": _streams([_table(0, -3, 1, 2, 3, 4, 5)]),
        "the first missing": _streams([_table(0, 1, 1, 2)]),
        "the first two missing": _streams([_table(0, 2, 1, 2)]),
        "no records": _streams([(0, 0, b"")]),
        "an empty table and another": _streams([(0, 0, b""), _table(1, 0, 1)]),
        "an empty stream and another": _streams([(0, 0, b"")], [_table(1, 0, 1)]),
        "one table without order": ORDERED.replace(
            schemas=[(0, [1, 3], []), (1, [4], [])], streams=[STREAMS[0][:1], [(1, 2, i64(1, 2))]]
        ).build(),
    }  # fmt: skip
    for number in range(3):
        out[f"stream {number} gone"] = _stored_stream(number, b"")
        out[f"stream {number} gone and its packets"] = flip(_stored_stream(number, b""), 70)
        out[f"end of stream {number} gone"] = _stored_stream(number, None, 12)
    out |= {f"{runs} runs missing": _gappy(runs) for runs in (1, 49, 50, 51, 52)}
    for name, data in (("ordered", whole), ("demo", demo().build())):
        size = len(data)
        out |= {f"{name} cut by {less}": data[: size - less] for less in (1, 10, 25, 60, 100, size // 2, size - 70)}
    return {f"salvage: {name}": data for name, data in out.items()}


DAMAGED = _make()
