"""Streams by hand: every unit in its bytes."""

from __future__ import annotations

import struct

import zstandard
from exhume_ksy.facts.clp_ir import Tags

from exhume.formats.clp_ir.layout import Encodings, build_metadata
from exhume.formats.kv_ir.layout import END, build_log_type, build_preamble, build_variable, build_variable_text
from tests.kv_ir.streams import wrapped as wrapped

START_MS = 1_700_000_000_000
PATTERN, ZONE = "yyyy-MM-dd HH:mm:ss,SSS", "Europe/Berlin"


def head(*, wide: bool = False, pattern: str = PATTERN, zone: str = ZONE) -> bytes:
    """The preamble of a stream."""
    encoding = Encodings.EIGHT_BYTE if wide else Encodings.FOUR_BYTE
    raw = build_metadata(wide=wide, reference_ms=START_MS, pattern=pattern, zone=zone)
    return build_preamble(encoding, raw)


def variable_8(value: int) -> bytes:
    """A variable of eight bytes."""
    return bytes((Tags.VARIABLE_8,)) + struct.pack(">q", value)


def delta(value: int) -> bytes:
    """The time since the event before, in the shortest form."""
    for bits, tag, form in ((7, Tags.DELTA_1, ">b"), (15, Tags.DELTA_2, ">h"), (31, Tags.DELTA_4, ">i")):
        if -(1 << bits) <= value < 1 << bits:
            return bytes((tag,)) + struct.pack(form, value)
    return bytes((Tags.DELTA_8,)) + struct.pack(">q", value)


def at(value: int) -> bytes:
    """A time of its own."""
    return bytes((Tags.TIMESTAMP,)) + struct.pack(">q", value)


def flushed(*pieces: bytes) -> bytes:
    """A zstd frame that is not ended, each piece in blocks of its own, as loggers write when they flush."""
    made = zstandard.ZstdCompressor().compressobj()
    return b"".join(made.compress(one) + made.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for one in pieces)


def offset(value: int) -> bytes:
    """A change of the offset from UTC."""
    return bytes((Tags.UTC_OFFSET_CHANGE,)) + struct.pack(">q", value)


def event(time: bytes, log_type: bytes, *variables: int | bytes, wide: bool = False) -> bytes:
    """An event; `time` is a token."""
    number = variable_8 if wide else build_variable
    parts = [build_variable_text(one) if isinstance(one, bytes) else number(one) for one in variables]
    return b"".join(parts) + build_log_type(log_type) + time


UNITS = [
    event(delta(0), b" INFO Task \x12 took \x13 s, \x11 left\n", b"task_1", 0x4E91, -7),
    event(delta(300), "größe \\\x11\n".encode()),
    event(delta(-40_000), b""),
    event(delta(1 << 20), b" ERROR \\\\x\n"),
    event(delta(1 << 33), b" INFO done\nat \x12\n", b"a1"),
]  # fmt: skip
WIDE_UNITS = [
    event(at(START_MS), b" INFO Task \x12 took \x13 s, \x11 left\n", b"task_1", 314 << 8 | 2 << 4 | 1, -7, wide=True),
    event(at(START_MS + 300), "größe \\\x11\n".encode(), wide=True),
    event(at(START_MS - 39_700), b"", wide=True),
    event(at(START_MS - 39_700 + (1 << 20)), b" ERROR \\\\x\n", wide=True),
    event(at(START_MS - 39_700 + (1 << 20) + (1 << 33)), b" INFO done\nat \x12\n", b"a1", wide=True),
]  # fmt: skip

EVENTS = [
    (START_MS, b" INFO Task task_1 took 3.14 s, -7 left\n"),
    (START_MS + 300, "größe \x11\n".encode()),
    (START_MS - 39_700, b""),
    (START_MS - 39_700 + (1 << 20), b" ERROR \\x\n"),
    (START_MS - 39_700 + (1 << 20) + (1 << 33), b" INFO done\nat a1\n"),
]
"""What the events of both hold."""

SMALL = head() + b"".join(UNITS) + END
WIDE = head(wide=True) + b"".join(WIDE_UNITS) + END
STREAMS = {"four": SMALL, "eight": WIDE, "four, zstd": wrapped(SMALL), "eight, zstd": wrapped(WIDE)}
