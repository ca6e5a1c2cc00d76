"""Streams by hand: every unit in its bytes."""

from __future__ import annotations

from typing import Any

import zstandard
from exhume_ksy.facts.clp_kv_ir import Encodings, Tags

from exhume.formats.kv_ir.layout import (
    END,
    build_integer,
    build_key,
    build_log_type,
    build_node,
    build_preamble,
    build_real,
    build_text,
    build_variable,
    build_variable_text,
    default_metadata,
)

HEAD = build_preamble(Encodings.FOUR_BYTE, default_metadata({"host": "a1"}))
TRUE, FALSE = bytes((Tags.TRUE_VALUE,)), bytes((Tags.FALSE_VALUE,))
NULL, EMPTY = bytes((Tags.NULL_VALUE,)), bytes((Tags.EMPTY_OBJECT,))
APART = bytes((Tags.FOUR_BYTE_ENCODING,))


def auto(type: int, name: bytes, parent: int = 0) -> bytes:
    """A new key of the logger."""
    return build_node(type, parent, name, auto=True)


def user(type: int, name: bytes, parent: int = 0) -> bytes:
    """A new key of the user."""
    return build_node(type, parent, name, auto=False)


def event(autos: list[tuple[int, bytes]], users: list[tuple[int, bytes]]) -> bytes:
    """An event from nodes and values."""
    pairs = [build_key(node, auto=True) + value for node, value in autos]
    keys = [build_key(node, auto=False) for node, _ in users]
    return b"".join([*pairs, *keys, *(value for _, value in users)]) + (b"" if users else EMPTY)


def apart(log_type: bytes, *variables: int | bytes) -> bytes:
    """A string in encoded form."""
    parts = [build_variable_text(one) if isinstance(one, bytes) else build_variable(one) for one in variables]
    return APART + b"".join(parts) + build_log_type(log_type)


UNITS = [
    auto(Tags.NODE_OBJECT, b"level"),
    auto(Tags.NODE_INTEGER, b"num", 1),
    user(Tags.NODE_TEXT, b"message"),
    user(Tags.NODE_REAL, b"took"),
    event([(2, build_integer(20))],
          [(1, apart(b"Task \x12 took \x13 s, \x11 left", b"task_1", 0x4E91, -7)), (2, build_real(0.5))]),
    user(Tags.NODE_OBJECT, b"ctx"),
    user(Tags.NODE_BOOLEAN, b"ok", 3),
    user(Tags.NODE_ARRAY, b"tags", 3),
    event([(2, build_integer(-3000))], [(1, build_text("größe".encode())), (4, TRUE), (5, apart(b"[1,\x11]", 5))]),
    user(Tags.NODE_OBJECT, b"none"),
    event([], [(6, NULL), (3, EMPTY)]),
    event([(2, build_integer(1 << 40))], []),
]  # fmt: skip
"""The units of a small stream."""

SMALL = HEAD + b"".join(UNITS) + END

EVENTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"level": {"num": 20}}, {"message": "Task task_1 took 3.14 s, -7 left", "took": 0.5}),
    ({"level": {"num": -3000}}, {"message": "größe", "ctx": {"ok": True, "tags": [1, 5]}}),
    ({}, {"none": None, "ctx": {}}),
    ({"level": {"num": 1 << 40}}, {}),
]
"""What its events hold."""


def wrapped(data: bytes, *, checksum: bool = False) -> bytes:
    """A stream inside one zstd frame."""
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(data)
