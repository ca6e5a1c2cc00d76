"""One broken stream for each rule, by its code, and further ones."""

from __future__ import annotations

import json
import random

from exhume.formats.clp_ir.layout import Encodings, build_metadata
from exhume.formats.kv_ir.layout import END, build_preamble, build_variable

from .streams import PATTERN, SMALL, START_MS, UNITS, WIDE, WIDE_UNITS, ZONE, at, delta, event, head, offset, variable_8
from .streams import wrapped as wrapped

METADATA = json.loads(build_metadata(wide=False, reference_ms=START_MS, pattern=PATTERN, zone=ZONE))


def _metadata(**changes: object) -> bytes:
    return _head(json.dumps({**METADATA, **changes}).encode())


def _head(metadata: bytes) -> bytes:
    return build_preamble(Encodings.FOUR_BYTE, metadata) + b"".join(UNITS) + END


def _units(*units: bytes) -> bytes:
    """A stream of these units, with sound ones around them."""
    return head() + b"".join(UNITS) + b"".join(units) + b"".join(UNITS[:3]) + END


def _wide(*units: bytes) -> bytes:
    return head(wide=True) + b"".join(WIDE_UNITS) + b"".join(units) + b"".join(WIDE_UNITS[:3]) + END


ZST = wrapped(SMALL)
_DRAW = random.Random(307)
_TEXTS = [event(delta(n), _DRAW.randbytes(90).hex().encode() + b" \x11\n", n) for n in range(2000)]
LONG = wrapped(head() + b"".join(_TEXTS) + END)
"""A frame of several blocks, which is read in several pieces, of few events."""

CASES = {
    "CLPIR-101": b"\xfd\x2f\xb5\x31" + SMALL[4:],
    "CLPIR-102": _metadata(VERSION="0.1.0"),
    "CLPIR-103": _metadata(VERSION="0.0.9"),
    "CLPIR-301": SMALL[:40],
    "CLPIR-301 inside its magic": SMALL[:3],
    "CLPIR-302": SMALL[:4] + b"\x02" + SMALL[5:],
    "CLPIR-303": SMALL[:-1],
    "CLPIR-303 eight bytes": WIDE[:-1],
    "CLPIR-304": SMALL[:-3],
    "CLPIR-304 inside a zstd frame": wrapped(SMALL[:-3]),
    "CLPIR-305": _units(b"\x55"),
    "CLPIR-305 in an event": _units(build_variable(1) + b"\x01"),
    "CLPIR-306 a time without a message": _units(delta(5)),
    "CLPIR-306": _units(variable_8(5)),
    "CLPIR-306 a time of the other encoding": _units(event(at(START_MS), b"x\n")),
    "CLPIR-306 a difference in eight bytes": _wide(event(delta(5), b"x\n", wide=True)),
    "CLPIR-307": LONG[: len(LONG) // 2] + b"\xff" * 99 + LONG[len(LONG) // 2 :],
    "CLPIR-308": ZST[:-5],
    "CLPIR-309": SMALL + b"more",
    "CLPIR-309 behind the frame": ZST + b"more",
    "CLPIR-309 inside the frame": wrapped(SMALL + b"more"),
    "CLPIR-401": _head(b'{"VERSION":"0.0.2",'),
    "CLPIR-401 an array": _head(b'["TIMESTAMP_PATTERN"]'),
    "CLPIR-402": _metadata(REFERENCE_TIMESTAMP=5),
    "CLPIR-402 no number": _metadata(REFERENCE_TIMESTAMP="now"),
    "CLPIR-403": _units(event(delta(50_000), b"\x12 and \x12\n", b"one")),
    "CLPIR-403 of the other kind": _units(event(delta(1), b"\x11\n", b"one")),
    "CLPIR-403 too many": _units(event(delta(1), b"none\n", 5)),
    "CLPIR-403 an escape at the end": _units(event(delta(1), b"x\\")),
    "CLPIR-404": _wide(event(at(1 << 60), b"far\n", wide=True)),
    "CLPIR-404 a sum": _units(event(delta((1 << 63) - 1), b"far\n"), event(delta(-(1 << 63) + 1), b"back\n")),
    "CLPIR-405": _units(event(delta(1), b"\xff \x12\n", b"\xfe")),
    "CLPIR-406": _metadata(TIMESTAMP_PATTERN="yyyy-MM-d H:m:s.A"),
    "CLPIR-407": _metadata(TZ_ID="Europe/Atlantis"),
    "CLPIR-408": _units(offset(86_400_000)),
    "an event lost in the middle": SMALL[: len(head()) + 5]
    + b"\xff"
    + SMALL[len(head()) + 6 :]
    + b"".join(UNITS)
    + END,
    "no preamble": b"\x77" * 5 + b"".join(UNITS) + END,
    "empty": b"",
}
"""Streams that break the rule that their name begins with, and others."""
