"""One broken stream for each rule, by its code, and further ones."""

from __future__ import annotations

import json
import random

from exhume_ksy.facts.clp_kv_ir import Encodings, Tags

from exhume.formats.kv_ir.layout import END, build_integer, build_key, build_preamble, build_text, default_metadata
from exhume.formats.kv_ir.units import MAX_DEPTH

from .streams import HEAD, NULL, SMALL, TRUE, UNITS, apart, auto, event, user, wrapped

METADATA = json.loads(default_metadata())


def _metadata(**changes: object) -> bytes:
    return _head(json.dumps({**METADATA, **changes}).encode())


def _head(metadata: bytes) -> bytes:
    return build_preamble(Encodings.FOUR_BYTE, metadata) + b"".join(UNITS) + END


def _units(*units: bytes) -> bytes:
    """A stream of these units, with sound ones around them."""
    return HEAD + b"".join(UNITS) + b"".join(units) + UNITS[-1] + END


def _deep() -> bytes:
    nodes = [user(Tags.NODE_OBJECT, b"d")]
    nodes += [user(Tags.NODE_OBJECT, b"d", 6 + number) for number in range(1, MAX_DEPTH + 1)]
    return _units(*nodes)


ZST = wrapped(SMALL)
_DRAW = random.Random(307)
_TEXTS = [event([(2, build_integer(n))], [(1, build_text(_DRAW.randbytes(90).hex().encode()))]) for n in range(2000)]
LONG = wrapped(HEAD + b"".join(UNITS) + b"".join(_TEXTS) + END)
"""A frame of several blocks, which is read in several pieces, of few events."""

CASES = {
    "KVIR-101": b"\xfd\x2f\xb5\x31" + SMALL[4:],
    "KVIR-102": _metadata(VERSION="0.0.2", TIMESTAMP_PATTERN="%Y"),
    "KVIR-103": _metadata(VERSION="0.2.0"),
    "KVIR-301": SMALL[:40],
    "KVIR-301 inside its magic": SMALL[:3],
    "KVIR-302": SMALL[:4] + b"\x02" + SMALL[5:],
    "KVIR-303": SMALL[:-1],
    "KVIR-304": SMALL[:-3],
    "KVIR-305": _units(b"\x55"),
    "KVIR-305 in an event": _units(build_key(1, auto=False) + b"\x01"),
    "KVIR-306": _units(build_integer(7)),
    "KVIR-306 in a key": _units(bytes((Tags.NODE_TEXT,)) + build_text(b"x")),
    "KVIR-306 in a text": _units(event([], [(1, b"\x59" + build_integer(5))])),
    "KVIR-307": LONG[: len(LONG) // 2] + b"\xff" * 99 + LONG[len(LONG) // 2 :],
    "KVIR-308": ZST[:-5],
    "KVIR-309": SMALL + b"more",
    "KVIR-309 behind the frame": ZST + b"more",
    "KVIR-309 inside the frame": wrapped(SMALL + b"more"),
    "KVIR-320": _units(user(Tags.NODE_TEXT, b"x", 1)),
    "KVIR-321": _units(user(Tags.NODE_TEXT, b"message")),
    "KVIR-322": _units(event([], [(99, TRUE)])),
    "KVIR-322 the root": _units(event([(0, NULL)], [])),
    "KVIR-323": _units(build_key(4, auto=False) + build_key(2, auto=True) + build_integer(1) + TRUE),
    "KVIR-324": _units(event([], [(1, TRUE)])),
    "KVIR-325": _units(event([], [(4, TRUE), (4, TRUE)])),
    "KVIR-325 by another type": _units(
        user(Tags.NODE_INTEGER, b"message"), event([], [(1, build_text(b"")), (7, build_integer(1))])
    ),
    "KVIR-326": _units(event([], [(3, NULL), (4, TRUE)])),
    "KVIR-326 the other way round": _units(event([], [(4, TRUE), (3, NULL)])),
    "KVIR-401": _head(b"{nothing"),
    "KVIR-401 an array": _head(b"[]"),
    "KVIR-402": _metadata(USER_DEFINED_METADATA=5),
    "KVIR-403": _units(event([], [(1, apart(b"\x11"))])),
    "KVIR-403 too many variables": _units(event([], [(1, apart(b"x", 5))])),
    "KVIR-403 a text for a number": _units(event([], [(1, apart(b"\x11", b"5"))])),
    "KVIR-403 too many digits": _units(event([], [(1, apart(b"\x13", 12345 << 6))])),
    "KVIR-403 the end escaped": _units(event([], [(1, apart(b"x\\"))])),
    "KVIR-404": _units(event([], [(5, apart(b"[1"))])),
    "KVIR-404 an object": _units(event([], [(5, apart(b"{}"))])),
    "KVIR-405": _units(event([], [(1, build_text(b"\xff"))])),
    "KVIR-405 in a key": _units(auto(Tags.NODE_TEXT, b"\xc3")),
    "KVIR-501": _deep(),
    "cut in the middle": SMALL[: len(SMALL) // 2],
    "a new key lost": HEAD + b"".join([*UNITS[:2], *UNITS[3:]]) + END,
    "bytes lost in the middle": HEAD + b"".join(UNITS[:5]) + b"\xee" * 9 + b"".join(UNITS[5:]) + UNITS[8] * 3 + END,
    "keys lost in the middle": HEAD + b"".join(UNITS[:5]) + b"\xee" * 9 + b"".join(UNITS[6:]) + UNITS[8] * 3 + END,
    "the head lost": HEAD[60:] + b"".join(UNITS) + UNITS[8] * 3 + END,
}
