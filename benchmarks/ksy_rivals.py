"""What construct (compiled) and dissect.cstruct read of some formats of `ksy.py`, with definitions of their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Work = Callable[[bytes], Any]
"""Reads everything, and examines every field."""


def _construct(name: str) -> Work:
    c: Any = importlib.import_module("construct")
    packet = c.Struct(
        "sec" / c.Int32ul, "usec" / c.Int32ul, "len" / c.Int32ul, "orig" / c.Int32ul, "body" / c.Bytes(c.this.len)
    )
    vector = c.Struct("x" / c.Float32l, "y" / c.Float32l, "z" / c.Float32l)
    triangle = c.Struct("normal" / vector, "vertices" / c.Array(3, vector), "abr" / c.Int16ul)
    text: Any = c.Bytes  # its strings are decoded one by one, which takes longer
    login = c.Struct(
        "type" / c.Int32sl, "pid" / c.Int32sl, "line" / text(32), "id" / text(4), "user" / text(32), "host" / text(256),
        "exit" / c.Int32ul, "session" / c.Int32sl, "sec" / c.Int32ul, "usec" / c.Int32sl, "addr" / text(16),
        "rest" / text(20),
    )  # fmt: skip
    whole = {
        "pcap": c.Struct("head" / c.Bytes(24), "packets" / c.GreedyRange(packet)),
        "stl": c.Struct("head" / c.Bytes(80), "many" / c.Int32ul, "triangles" / c.Array(c.this.many, triangle)),
        "utmp": c.Struct("records" / c.GreedyRange(login)),
    }[name]
    parse: Work = whole.compile().parse
    return parse


CSTRUCT = """
struct packet { uint32 sec; uint32 usec; uint32 len; uint32 orig; char body[len]; };
struct pcap { char head[24]; packet packets[EOF]; };
struct vector { float x; float y; float z; };
struct triangle { vector normal; vector vertices[3]; uint16 abr; };
struct stl { char head[80]; uint32 many; triangle triangles[many]; };
struct login { int32 type; int32 pid; char line[32]; char id[4]; char user[32]; char host[256]; uint32 exit;
  int32 session; uint32 sec; int32 usec; char addr[16]; char rest[20]; };
struct utmp { login records[EOF]; };
"""


def _dissect(name: str) -> Work:
    module: Any = importlib.import_module("dissect.cstruct")
    found: Work = getattr(module.cstruct().load(CSTRUCT), name)
    return found


NAMES = ("pcap", "stl", "utmp")
RIVALS: dict[str, dict[str, Callable[[], Work]]] = {
    "construct": {name: lambda name=name: _construct(name) for name in NAMES},  # type: ignore[misc]
    "dissect": {name: lambda name=name: _dissect(name) for name in NAMES},  # type: ignore[misc]
}
