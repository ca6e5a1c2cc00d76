"""The language of specifications, one construct at a time: values are those of Kaitai's own classes.

Each case is a specification, the bytes of a file, and expressions over its root `r` with their values; one test asks
Kaitai's compiler for the same.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import os
import re
import subprocess
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kaitaistruct import BytesIO, KaitaiStream

from exhume.errors import SpecificationError, StructureError, TruncatedError
from exhume.layout.fast import LayoutError
from exhume.layout.foreign import Specification, compile_ksy
from tests.conftest import ROOT
from tests.sizes import some
from tools import nodejs
from tools.generate import relative_imports

ENUM_KEYS = ["1_0", " 1", "+1", "-0x1", "0o17", "0X1", "\u0663", "0x1_0", "1.5", "x", "", "9" * 500, "0x1" + "0" * 16]
"""Keys of enums that Kaitai's compiler does not take either."""


@dataclass(frozen=True)
class Case:
    """A specification without `meta`, a file, and expressions over its root with their values."""

    id: str
    spec: str
    data: str
    values: dict[str, Any]

    @property
    def text(self) -> str:
        return f"meta: {{id: one, endian: le, encoding: ASCII}}\n{self.spec}"

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex(self.data)


CASES = [
    # Names.
    Case(  # a type itself comes before one in it, and `::` is of no account before the name of an enum
        "names_in_expressions",
        "seq: [{id: a, type: p}]\n"
        "types:\n"
        "  p:\n"
        "    seq: [{id: b, type: 'p::q'}]\n"
        "    instances: {e: {value: '::k::one.to_i'}, f: {value: '::one::k::one.to_i'}, g: {value: 'p::k::one.to_i'},\n"
        "      h: {value: 'sizeof<p::q>'}, i: {value: 'sizeof<::q>'}, j: {value: 'sizeof<::p::q>'}}\n"
        "    types:\n"
        "      q: {seq: [{id: z, type: u1}]}\n"
        "      p: {types: {q: {seq: [{id: y, type: u4}]}}, enums: {k: {7: one}}}\n"
        "    enums: {k: {1: one}}\n"
        "  q: {seq: [{id: v, type: u2}]}\n"
        "enums: {k: {2: one}}",
        "01000000",
        {"r.a.b.y": 1, "[r.a.e, r.a.f, r.a.g]": [1, 2, 1], "[r.a.h, r.a.i, r.a.j]": [1, 2, 1]},
    ),
    Case(
        "names_outward",
        "seq: [{id: a, type: 'p::q::other'}, {id: b, type: '::p::q'}, {id: c, type: 'p::sizes(3)'},\n"
        "  {id: d, type: u1, enum: 'p::q::kinds'}, {id: e, type: p}]\n"
        "instances: {f: {value: 'p::q::kinds::two.to_i + a.as<p::other>.x'}, g: {value: 'sizeof<p::q::one::other>'}}\n"
        "types:\n"
        "  p:\n"
        "    seq: [{id: x, type: 'other::q'}, {id: y, type: '::other::w'}]\n"
        "    types: {q: {seq: [{id: z, type: u1}]}, other: {types: {r: {}}, seq: [{id: x, type: u1}]}}\n"
        "  other: {seq: [{id: w, type: u2}]}\n  w: {seq: [{id: v, type: u2}]}\n"
        "  sizes: {params: [{id: n, type: u1}], seq: [{id: k, size: n}]}\n"
        "enums: {kinds: {1: one, 2: two}}",
        "050601020302090a0b",
        {"r.a.x": 5, "r.b.z": 6, "r.c.k": b"\1\2\3", "int(r.d)": 2, "r.e.x.z": 9, "r.e.y.v": 0xB0A, "r.f": 7, "r.g": 2},
    ),
    # Where reading is.
    Case(
        "pos_in_value",
        "seq: [{id: n, size: 3}, {id: pad, size: need},\n"
        "  {id: z, type: u1}]\n"
        "instances: {need: {value: 4 - _io.pos % 4}, twice: {value: need * 2}}",
        "0203041415",
        {"r.need": 1, "bytes(r.pad)": b"\x14", "r.z": 0x15, "r.twice": 2},
    ),
    Case(
        "pos_in_value_after",
        "seq: [{id: n, size: 3}, {id: z, type: u1}]\ninstances: {here: {value: _io.pos * 10}}",
        "0203041415",
        {"r.here": 40},
    ),
    Case(
        "pos_of_instance_in_loop",
        "seq: [{id: n, type: u1, repeat: until, repeat-until: _ == first or _io.eof}]\n"
        "instances: {first: {value: _io.pos}}",
        "0909010907",
        {"list(r.n)": [9, 9, 1], "r.first": 1},
    ),
    Case(
        "pos_on_condition",
        "seq: [{id: a, type: u1}, {id: b, type: u1, if: a == 9 and mark > 0}, {id: c, type: u1}]\n"
        "instances: {mark: {value: _io.pos}}",
        "08090a",
        {"r.c": 9, "r.mark": 2},
    ),
    Case(
        "pos_in_substream",
        "seq: [{id: a, type: u1}, {id: s, size: 4, type: sub}, {id: t, type: sub}]\n"
        "types: {sub: {seq: [{id: x, type: u1}, {id: y, size: _io.pos}, {id: z, size: left}],\n"
        "  instances: {left: {value: _io.size - _io.pos}, all: {value: _io.size}}}}",
        "00010203040506070809101112",
        {
            "bytes(r.s.y)": b"\x02",
            "bytes(r.s.z)": b"\x03\x04",
            "bytes(r.t.y)": b"\x06\x07\x08\x09\x10\x11",
            "bytes(r.t.z)": b"\x12",
            "(r.s.all, r.t.all, r.s.left, r.t.left)": (4, 13, 2, 1),
        },
    ),
    Case(
        "pos_in_arguments_of_sized",
        "seq: [{id: a, type: u1}, {id: s, size: 4, type: 'sub(_io.pos)'}, {id: t, type: 'sub(_io.pos)'}]\n"
        "types: {sub: {params: [{id: p, type: u1}], seq: [{id: x, type: u1}]}}",
        "000102030405060708",
        {"(r.s.p, r.t.p)": (5, 5), "r.t.x": 5},
    ),
    Case(
        "pos_in_process",
        "seq: [{id: a, type: u1}, {id: b, size: 2, process: xor(_io.pos)}, {id: c, size: 1, process: rol(_io.pos)},\n"
        "  {id: d, type: sub, size: 1, process: xor(_io.pos)}]\ntypes: {sub: {seq: [{id: x, type: u1}]}}",
        "0001020304",
        {"bytes(r.b)": b"\x02\x01", "bytes(r.c)": b"\x30", "r.d.x": 1},
    ),
    Case(
        "spellings",
        "seq: [{id: n, type: u1}, {id: m, type: u1, enum: e}, {id: s, type: str, encoding: ASCII, size: 1}]\n"
        "enums: {e: {1: a, 2: b}}\ntypes: {t: {enums: {te: {7: q}}}}\ninstances:\n"
        '  nested: {value: \'f"{f"{n}{s + "x"}"}}{ n > 9 ? "}" : s }"\'}\n'
        "  escapes: {value: '\"\\101\\1011\\0x\\u00e9\\e\\\\\"'}\n  half: {value: .5 + .25e1}\n"
        "  rooted: {value: '::e::a.to_i + ::one::e::b.to_i + ::t::te::q.to_i'}\n"
        "  compared: {value: (n == 1) == (s == \"z\")}\n  list: {value: '[n + 1, 2,]', if: false}",
        "01027a",
        {"r.nested": "1zx}z", "r.escapes": "A\u0209\0x\u00e9\x1b\\", "r.half": 3.0, "r.rooted": 10, "r.compared": True},
    ),
    Case(
        "keys_out_of_range",
        "seq: [{id: k, type: u2}, {id: n, type: u1}, {id: c, size: n, process: xor(k)}, {id: d, size: n + 1,\n"
        "  process: xor(n + 5)}, {id: e, size: n, process: xor(k - 500)},\n"
        "  {id: f, size: n, process: xor(k), type: sub}]\n"
        "types: {sub: {seq: [{id: x, size-eos: true}]}}",
        "2c010003",
        {"(bytes(r.c), bytes(r.d), bytes(r.e), bytes(r.f.x))": (b"", b"\6", b"", b"")},
    ),
    Case(
        "pos_in_switch",
        "seq: [{id: a, type: u1}, {id: b, type: {switch-on: _io.pos, cases: {1: one, 2: two}}}, {id: c, size: 2,\n"
        "  type: {switch-on: _io.pos, cases: {2: one}}}]\n"
        "types: {one: {seq: [{id: x, type: u1}]}, two: {seq: [{id: y, type: u2}]}}",
        "0001020304",
        {"(r.b.x, r.c.x)": (1, 2)},
    ),
    Case(
        "pos_in_rules",
        "seq: [{id: a, type: u1, valid: {expr: _io.pos == 1}}, {id: b, type: b4, valid: {expr: _io.pos == 2}},\n"
        "  {id: c, type: b12, valid: {expr: _io.pos == 3}}, {id: d, type: u1, valid: {max: _io.pos}}]",
        "01020304",
        {"(r.a, r.b, r.c, r.d)": (1, 0, 0x203, 4)},
    ),
    Case(
        "pos_in_instances",
        "seq: [{id: a, type: u1}, {id: b, size: ahead}, {id: c, type: u1}]\n"
        "instances: {ahead: {pos: _io.pos + 2, type: u1}, late: {pos: _io.pos - 1, type: u1, if: _io.pos > 0},\n"
        "  many: {pos: 0, type: u1, repeat: until, repeat-until: _io.pos == 3}, sized: {pos: 1, size: _io.pos}}",
        "0001000203",
        {"r.ahead": 2, "bytes(r.b)": b"\x01\x00", "r.c": 2, "r.late": 2, "list(r.many)": [0, 1, 0], "len(r.sized)": 1},
    ),
    Case(
        "pos_of_another_stream",
        "seq: [{id: a, size: 4, type: sub}, {id: b, type: u1}]\n"
        "instances: {there: {value: a._io.pos}, other: {io: a._io, pos: _io.pos - 2, type: u1},\n"
        "  all: {value: a._io.size}}\n"
        "types: {sub: {seq: [{id: x, type: u1}, {id: y, type: u1}, {id: up, size: 0, if: _parent._io.pos > 3}]}}",
        "0102030405",
        {"r.there": 2, "r.other": 4, "r.all": 4, "r.a.up is None or bytes(r.a.up)": b""},
    ),
    Case(
        "stream_as_parameter",
        "seq: [{id: a, type: u1}, {id: b, size: 3, type: 'sub(_io)'}]\n"
        "types: {sub: {params: [{id: outer, type: io}], seq: [{id: x, type: u1}],\n"
        "  instances: {at: {value: outer.pos}, of: {io: outer, pos: 1, type: u1}, all: {value: outer.size}}}}",
        "0001020304",
        {"(r.b.at, r.b.of, r.b.all)": (4, 1, 5)},
    ),
    Case(
        "instance_without_pos",
        "seq: [{id: a, type: u1}, {id: b, type: u1, if: next > 1}, {id: c, type: u1}]\n"
        "instances: {next: {type: u1}, rest: {type: u1, repeat: eos}}",
        "0002030405",
        {"(r.next, r.b, r.c)": (2, 3, 4), "list(r.rest)": [5]},
    ),
    Case(
        "instance_in_another_stream_without_pos",
        "seq: [{id: a, size: 3, type: sub}, {id: b, type: u1}]\ninstances: {more: {io: a._io, type: u1}}\n"
        "types: {sub: {seq: [{id: x, type: u1}]}}",
        "01020304",
        {"(r.more, r.b)": (2, 4)},
    ),
    Case(
        "size_in_elements",
        "seq: [{id: a, type: u1}, {id: one, type: obj}, {id: many, type: obj, repeat: eos}]\n"
        "types: {obj: {seq: [{id: a, type: u1}], instances: {all: {value: _io.size}, end: {value: _io.size - a}}}}",
        "0001020304",
        {"r.one.all": 5, "[x.all for x in r.many]": [5, 5, 5], "[x.end for x in r.many]": [3, 2, 1]},
    ),
    Case(
        "elements_of_a_size",
        "seq: [{id: many, type: obj, size: 2, repeat: eos}]\n"
        "types: {obj: {seq: [{id: a, type: u1}], instances: {all: {value: _io.size}, b: {pos: 1, type: u1}}}}",
        "00010203",
        {"[(x.all, x.a, x.b) for x in r.many]": [(2, 0, 1), (2, 2, 3)]},
    ),
    Case(
        "eof",
        "seq: [{id: a, type: u1, repeat: until, repeat-until: _io.eof or _ == 0}, {id: b, type: u1, if: not _io.eof}]\n"
        "instances: {done: {value: _io.eof}}",
        "0100",
        {"list(r.a)": [1, 0], "r.b if hasattr(r, 'b') else None": None, "r.done": True},
    ),
    Case(
        "eof_with_bits_left",
        "seq: [{id: a, type: b4}, {id: b, type: b4, if: not _io.eof}, {id: c, type: b4, if: not _io.eof}]",
        "01",
        {"(r.a, r.b)": (0, 1), "r.c if hasattr(r, 'c') else None": None},
    ),
    Case(
        "eof_after_bits",
        "seq: [{id: a, type: b4le}, {id: b, size: 0, if: _io.eof}, {id: c, type: b4le, if: not _io.eof},\n"
        "  {id: d, size: 0}, {id: e, type: u1, if: not _io.eof}]",
        "01",
        {"(r.a, r.c)": (1, 0), "r.b if hasattr(r, 'b') else None": None, "r.e if hasattr(r, 'e') else None": None},
    ),
    Case(
        "pos_with_bits_left",
        "seq: [{id: a, type: b3}, {id: b, size: _io.pos}, {id: c, type: b9, if: _io.pos == 2}, {id: d, size: _io.pos}]",
        "2001ff800102030405",
        {"(r.a, len(r.b), r.c, len(r.d))": (1, 1, 511, 4)},
    ),
    Case(
        "bits_across_structures",
        "seq: [{id: a, type: half, repeat: expr, repeat-expr: 3}, {id: b, type: b4},\n"
        "  {id: c, type: u1}, {id: d, type: opt}]\n"
        "types: {half: {seq: [{id: x, type: b4}]},\n"
        "  opt: {seq: [{id: x, type: b3}, {id: y, type: u1, if: x == 0}, {id: z, type: b5}]}}",
        "1234567f",
        {
            "[x.x for x in r.a]": [1, 2, 3],
            "(r.b, r.c, r.d.x, r.d.y if r.d.x == 0 else None, r.d.z)": (4, 0x56, 3, None, 31),
        },
    ),
    Case(
        "bits_across_structures_in_choices",
        "seq: [{id: n, type: b2}, {id: a, type: {switch-on: n, cases: {1: two, 2: one_}}}, {id: b, type: b3},\n"
        "  {id: c, type: u1}, {id: d, type: b3}, {id: s, type: two, size: 1}, {id: e, type: two}]\n"
        "types: {two: {seq: [{id: x, type: b2}, {id: y, type: b2}]}, one_: {seq: [{id: x, type: u1}]}}",
        "5b8042a0b3e4",
        {"(r.n, r.a.x, r.a.y, r.b, r.c, r.d, r.s.x, r.s.y, r.e.x, r.e.y)": (1, 1, 2, 7, 0x42, 5, 2, 3, 3, 2)},
    ),
    Case(
        "choice_without_a_case_in_lists",
        "seq: [{id: a, type: {switch-on: 'codes[_index]', cases: {1: one_, 2: two}}, repeat: expr, repeat-expr: 4},\n"
        "  {id: b, type: u1}]\ninstances: {codes: {value: '[1, 9, 2, 9]'}}\n"
        "types: {one_: {seq: [{id: x, type: u1}]}, two: {seq: [{id: y, type: u2}]}}",
        "01020304",
        {"(len(r.a), r.a[0].x, r.a[1].y, r.b)": (2, 1, 0x302, 4)},
    ),
    Case(
        "columns_in_a_stream_that_knows_its_place",
        "seq: [{id: n, type: u1}, {id: a, type: row, repeat: expr, repeat-expr: 2}, {id: pad, size: need},\n"
        "  {id: z, type: u1}]\n"
        "instances: {need: {value: 4 - _io.pos % 4}, late: {value: _io.pos}}\n"
        "types: {row: {seq: [{id: x, type: u1}, {id: y, type: u1}], instances: {up: {value: _parent.need + x}}}}",
        "0001020304050607080910",
        {"(r.need, r.z, [(one.x, one.up) for one in r.a], r.late)": (3, 8, [(1, 4), (3, 6)], 9)},
    ),
    Case(
        "number_in_a_sized_choice",
        "seq: [{id: n, type: u1}, {id: a, size: 200, type: {switch-on: n, cases: {1: sub, _: u2}}},\n"
        "  {id: b, type: u1}]\n"
        "types: {sub: {seq: [{id: x, type: u1}]}}",
        "02030405",
        {"(r.a, r.b)": (0x403, 5)},
    ),
    Case(
        "same_instance_in_several_types",
        "seq: [{id: a, type: u1}, {id: b, size: v}, {id: c, type: sub}]\ninstances: {v: {value: _io.pos}}\n"
        "types: {sub: {seq: [{id: x, type: u1}, {id: y, size: v}], instances: {v: {value: x}}}}",
        "0001020304",
        {"(len(r.b), r.c.x, len(r.c.y), r.v)": (1, 2, 2, 1)},
    ),
    # Padding and what ends bytes.
    *(
        Case(
            f"pad_{'include' if include else 'leave'}_{pad:x}_{kind}",
            f"seq: [{{id: s, {what}, terminator: 0x2e, include: {str(include).lower()}, pad-right: {pad}}}]\n"
            "types: {sub: {seq: [{id: v, size-eos: true}]}}",
            "61622e2e2e20",
            {value: wanted if "type: str" not in what else wanted.decode()},
        )
        for include, pad, wanted in (
            (True, 0x2E, b"ab."),
            (False, 0x2E, b"ab"),
            (True, 0x20, b"ab."),
            (False, 0x62, b"ab"),
        )
        for kind, what, value in (
            ("bytes", "size: 6", "bytes(r.s)"),
            ("str", "size: 6, type: str", "r.s"),
            ("eos", "size-eos: true", "bytes(r.s)"),
            ("sub", "size: 6, type: sub", "bytes(r.s.v)"),
        )
    ),
    Case("pad_only", "seq: [{id: s, size: 4, type: strz, pad-right: 0}]", "61000000", {"r.s": "a"}),
    # Around a structure.
    Case(
        "root_of_recursive_root",
        "seq: [{id: n, type: u1}, {id: next, type: one, if: n != 0}]\n"
        "instances: {top: {value: _root.n}, up: {value: _parent.as<one>.n, if: n == 0}}",
        "020100",
        {"(r.top, r.next.top, r.next.next.top, r.next.next.up, r.next.next._root.n)": (2, 2, 2, 1, 2)},
    ),
    Case(
        "parent",
        "seq: [{id: n, type: u1}, {id: a, type: outer}]\n"
        "types: {outer: {seq: [{id: m, type: u1}, {id: b, type: inner}, {id: c, type: inner, parent: _parent},\n"
        "  {id: d, type: free, parent: false}]}, inner: {seq: [{id: x, type: u1}]}, free: {seq: [{id: y, type: u1}]}}",
        "0102030405",
        {
            "(r.a.b._parent.m, r.a.c._parent.n, r.a.d._parent)": (2, 1, None),
            "(r.a.b._root.n, r.a.d._root.n, r._parent)": (1, 1, None),
        },
    ),
    Case(
        "parent_in_elements",
        "seq: [{id: n, type: u1}, {id: a, type: row, repeat: expr, repeat-expr: n}]\n"
        "types: {row: {seq: [{id: x, type: u1}], instances: {sum: {value: x + _parent.n}, top: {value: _root.n}}}}",
        "020304",
        {"[(x.sum, x.top, x._parent.n, x._root.n) for x in r.a]": [(5, 2, 2, 2), (6, 2, 2, 2)]},
    ),
    Case(
        "sizeof",
        "seq: [{id: a, type: sub}, {id: b, type: sub, size: 7}, {id: c, type: b3}]\n"
        "instances: {s: {value: sizeof<sub>}, t: {value: a._sizeof}, u: {value: b._sizeof}, v: {value: _sizeof},\n"
        "  w: {value: bitsizeof<few>}, y: {value: sizeof<few>}, x: {value: sizeof<u8>}}\n"
        "types: {sub: {seq: [{id: x, type: u4}, {id: y, size: 2}], instances: {own: {value: _sizeof}}},\n"
        "  few: {seq: [{id: x, type: u1}, {id: y, type: b3}]}}",
        "00010203040500010203040506e0",
        {"(r.s, r.t, r.u, r.v, r.w, r.x, r.a.own, r.y)": (6, 6, 7, 14, 11, 8, 6, 2)},
    ),
    Case(
        "bits_of_both_orders",
        "seq: [{id: a, type: half}, {id: b, type: half}, {id: c, type: low}, {id: d, type: low}, {id: e, type: b4},\n"
        "  {id: f, type: u1}, {id: g, type: half, repeat: expr, repeat-expr: 2}, {id: h, type: b5le},\n"
        "  {id: i, type: b3le}]\n"
        "types: {half: {seq: [{id: q, type: b4}]}, low: {seq: [{id: q, type: b4le}]}}",
        "123456789abc",
        {
            "(r.a.q, r.b.q, r.c.q, r.d.q, r.e, r.f)": (1, 2, 4, 3, 5, 0x78),
            "([x.q for x in r.g], r.h, r.i)": ([9, 10], 0x1C, 5),
        },
    ),
    Case(
        "bits_of_both_orders_of_constant_number",
        "seq: [{id: a, type: b1, repeat: expr, repeat-expr: 2 * 4}, {id: b, type: b12le}, {id: c, type: b4le},\n"
        "  {id: d, type: t}, {id: e, type: b4}]\n"
        "types: {t: {meta: {bit-endian: le}, seq: [{id: x, type: b4}, {id: n, type: u1}]}}",
        "a52143056789",
        {"(list(r.a), r.b, r.c, r.d.x, r.d.n, r.e)": ([1, 0, 1, 0, 0, 1, 0, 1], 0x321, 4, 5, 0x67, 8)},
    ),
    Case(
        "sizeof_as_stated",  # conditions and the bits before a whole byte do not count
        "seq: [{id: k, type: u1, enum: e}, {id: a, type: mixed}, {id: b, type: b12}, {id: c, size: 1 + 1},\n"
        "  {id: d, type: u2, repeat: expr, repeat-expr: 2}]\nenums: {e: {1: x}}\n"
        "types: {mixed: {seq: [{id: x, type: b4}, {id: y, type: u1}, {id: z, type: b4, if: false}]},\n"
        "  some: {seq: [{id: x, contents: abc}, {id: y, size: 2 * 2}, {id: z, type: mixed, repeat: expr,\n"
        "  repeat-expr: 2}, {id: v, type: u2, if: _root.k == e::x}]}}\n"
        "instances: {s: {value: sizeof<mixed>}, t: {value: bitsizeof<some>}, u: {value: sizeof<some>},\n"
        "  v: {value: k._sizeof}, w: {value: b._sizeof}, x: {value: c._sizeof}, y: {value: 'd[0]._sizeof'},\n"
        "  z: {value: a.x._sizeof}}",
        "0102030405060708091011",
        {"(r.s, r.t, r.u, r.v, r.w, r.x, r.y, r.z)": (2, 104, 13, 1, 2, 2, 2, 1)},
    ),
    Case(
        "bytes_of_numbers",
        "seq: [{id: a, type: u1}]\n"
        "instances: {s: {value: '[a, 2].as<bytes>'}, t: {value: '[a, 300].max'}, u: {value: '[a + 0, 2].size'}}",
        "05",
        {"bytes(r.s)": b"\5\2", "(r.t, r.u)": (300, 2)},
    ),
    Case(
        "to_string",
        'to-string: f"n is {n}"\nseq: [{id: n, type: u1}, {id: s, type: sub}]\n'
        'types: {sub: {to-string: \'"<" + t + ">"\', seq: [{id: t, type: str, size: 2}]}}',
        "076162",
        {"str(r)": "n is 7", "str(r.s)": "<ab>"},
    ),
    # Choices.
    Case(
        "choice_between_streams",
        "seq: [{id: w, type: u1}, {id: p, size: 3, type: one_}, {id: q, size: 5, type: two}]\n"
        "instances: {stream: {value: '(w == 1 ? p : q)._io'}, room: {value: stream.size},\n"
        "  x: {io: '(w == 2 ? p._io : q._io)', pos: 1, type: u1}}\n"
        "types: {one_: {seq: [{id: x, type: u1}]}, two: {seq: [{id: y, type: u1}]}}",
        "000102030405060708",
        {"(r.room, r.x)": (5, 5)},
    ),
    Case(
        "choice_between_numbers",
        "seq: [{id: a, type: u1}, {id: b, type: f4}, {id: c, size: 'a == 1 ? 2 : 1'}]\n"
        "instances: {d: {value: 'a == 1 ? a : b'}, e: {value: 'a == 2 ? a : b'}, f: {value: 'a > 0 ? \"x\" : \"y\"'}}",
        "010000803f0708",
        {"(r.d, r.e, r.f, len(r.c))": (1, 1.0, "x", 2)},
    ),
    # Numbers.
    Case(
        "large_integers",
        "seq: [{id: a, type: u8, valid: '18446744073709551615'},\n"
        "  {id: b, type: s8, valid: {min: '-9223372036854775808'}}]\n"
        "instances: {c: {value: '0xffff_ffff_ffff_ffff'}, d: {value: '18446744073709551615'}, e: {value: a - 1}}",
        "ffffffffffffffff0000000000000080",
        {"(r.a, r.b, r.c, r.d, r.e)": (2**64 - 1, -(2**63), 2**64 - 1, 2**64 - 1, 2**64 - 2)},
    ),
    Case(
        "enums",
        "seq: [{id: a, type: u1, enum: pet}, {id: b, type: u1, enum: pet}, {id: c, type: b1, enum: pet},\n"
        "  {id: d, type: b7, enum: pet}, {id: e, type: u2, enum: pet, repeat: expr, repeat-expr: 2},\n"
        "  {id: f, type: 'sub(a)'}]\n"
        "instances: {g: {value: 'pet::dog'}, h: {value: a.to_i + 1}, i: {value: 7, enum: pet},\n"
        "  j: {value: a == pet::cat},\n"
        "  k: {pos: 1, type: u1, enum: pet}, l: {value: 'a == pet::cat ? pet::dog : pet::cat'}}\n"
        "enums: {pet: {1: cat, 2: dog}}\n"
        "types: {sub: {params: [{id: p, type: u1, enum: pet}], instances: {q: {value: p.to_i}}}}",
        "01098202000100",
        {
            "(r.a, r.b, r.c, r.d, list(r.e), r.f.p, r.f.q)": (1, 9, 1, 2, [2, 1], 1, 1),
            "(r.g, r.h, r.i, r.j, r.k, r.l)": (2, 2, 7, True, 9, 2),
            "(r.a.name, r.g.name, r.e[0].name, r.f.p.name, r.l.name)": ("cat", "dog", "dog", "cat", "dog"),
            "(type(r).Pet.dog.value, type(r).Pet(1).name)": (2, "cat"),
        },
    ),
    # Structures.
    Case(
        "process_of_structures",
        "seq: [{id: k, type: u1}, {id: a, size: 2, process: xor(k), type: sub, repeat: expr, repeat-expr: 2},\n"
        "  {id: b, terminator: 0, process: 'xor([1, 2])', type: sub}]\n"
        "types: {sub: {seq: [{id: x, type: u1}], instances: {all: {value: _io.size}, y: {pos: 1, type: u1}}}}",
        "010102030403020100ff",
        {
            "[(x.x, x.all, x.y) for x in r.a]": [(0, 2, 3), (2, 2, 5)],
            "(r.b.x, r.b.y, r.b.all)": (2, 0, 3),
        },
    ),
    Case(
        "switch_with_everything",
        "seq: [{id: n, type: u1}, {id: a, size: n, type: {switch-on: n, cases: {1: u1, 2: sub, _: other}},\n"
        "  repeat: expr, repeat-expr: 2}]\n"
        "types: {sub: {seq: [{id: x, type: u1}]}, other: {seq: [{id: y, size-eos: true}]}}",
        "046162636465666768",
        {"[bytes(x.y) for x in r.a]": [b"abcd", b"efgh"]},
    ),
    Case(
        "params_of_all_kinds",
        "seq: [{id: n, type: u1}, {id: a, type: 'sub(n, [1, 2], \"x\", 1.5, true, self_, _io)'},\n"
        "  {id: self_x, type: u1}]\n"
        "instances: {self_: {pos: 1, type: u1}}\n"
        "types: {sub: {params: [{id: p, type: u1}, {id: q, type: bytes}, {id: r, type: str}, {id: s, type: f4},\n"
        "  {id: t, type: bool}, {id: u, type: u1}, {id: v, type: io}], seq: [{id: x, size: p}],\n"
        "  instances: {w: {value: q.length + r.length}, z: {value: v.size}}}}",
        "010203",
        {"(r.a.p, bytes(r.a.q), r.a.r, r.a.s, r.a.t, r.a.u, r.a.w, r.a.z)": (1, b"\x01\x02", "x", 1.5, True, 2, 3, 3)},
    ),
    Case(
        "cast_lists",
        "seq: [{id: n, type: u1}]\n"
        "instances: {a: {value: '[].as<bytes>'}, b: {value: '[].as<u4[]>'}, c: {value: '[1, 2].as<u4[]>'},\n"
        "  d: {value: '[n, 300].as<u4[]>'}, e: {value: '(n == 1 ? [3].as<u4[]> : [].as<u4[]>).size'}}",
        "01",
        {"(bytes(r.a), r.b, r.c, r.d, r.e)": (b"", [], [1, 2], [1, 300], 1)},
    ),
    Case(
        "operators_in_parentheses",
        "seq: [{id: a, type: u1}, {id: b, type: u1}, {id: c, type: u1}]\n"
        "instances: {q: {value: a * (b % c)}, r: {value: a * (b / c)}, s: {value: a + (b - c)},\n"
        "  t: {value: a - (b - c)}, u: {value: 1e16 + (1.0 - 1e16)}, v: {value: -(a + b)}, w: {value: ~(a + b) * c},\n"
        "  x: {value: a / (b * c)},\n"
        "  y: {value: '0.1 + (0.2 + 0.3)'}, z: {value: a * (b * c)}}",
        "090704",
        {"(r.q, r.r, r.s, r.t, r.v, r.w, r.x, r.z)": (27, 9, 12, 6, -16, -68, 0, 252), "(r.u, r.y)": (0.0, 0.6)},
    ),
    Case(  # signs, sums of nothing and casts leave a float a float
        "quotients_of_floats",
        "seq: [{id: n, type: u1}]\n"
        "instances: {a: {value: -(1.0 / 4.0)}, b: {value: -(n * 1.0 / 2)}, c: {value: -((n + 0.0) / 2)},\n"
        "  d: {value: -(n.as<f8> / 2)}, e: {value: '-((true ? n : 2.5) / 2)'}, f: {value: -(1 / 4)}}",
        "05",
        {"(r.a, r.b, r.c, r.d, r.e, r.f)": (-0.25, -2.5, -2.5, -2.5, -2.5, 0)},
    ),
    Case(
        "the_same_stream_is_given",
        "seq: [{id: a, size: 2}, {id: b, type: sub}]\n"
        "types: {sub: {seq: [{id: x, type: u1}], instances: {\n"
        "  y: {pos: 1, io: _root._io, type: u1, repeat: until, repeat-until: _io.pos > 3},\n"
        "  z: {pos: 2, io: _io, size: 1, repeat: until, repeat-until: _io.eof},\n"
        "  w: {pos: 3, io: _root._io, size: _io.size - _io.pos}}}}",
        "0102030405",
        {"(r.b.y, [bytes(x) for x in r.b.z], bytes(r.b.w))": ([2, 3, 4], [b"\3", b"\4", b"\5"], b"\4\5")},
    ),
    Case(
        "nothing_behind_the_end",
        "seq: [{id: a, type: u1}]\n"
        "instances: {b: {pos: 9, type: u1, repeat: eos}, c: {pos: 9, type: u2, repeat: eos},\n"
        "  d: {pos: 9, type: u4be, repeat: expr, repeat-expr: a}, e: {pos: 9, type: sub, repeat: eos},\n"
        "  f: {pos: 9, size: 0}, g: {pos: 9, size-eos: true}, h: {pos: 9, size-eos: true, type: str},\n"
        "  i: {pos: 9, type: f8, repeat: expr, repeat-expr: 0}}\n"
        "types: {sub: {seq: [{id: x, type: u1}]}}",
        "00",
        {"[len(x) for x in (r.b, r.c, r.d, r.e, r.f, r.g, r.h, r.i)]": [0] * 8},
    ),
    Case(
        "numbers_have_no_terminator",
        "seq: [{id: a, type: b1}, {id: b, type: b3, terminator: 7, include: true}, {id: c, type: b4},\n"
        "  {id: d, type: u1, terminator: 0, repeat: eos, consume: false}]\n"
        "instances: {e: {pos: 0, type: u2, terminator: 0, eos-error: false}}",
        "b50001",
        {"(r.a, r.b, r.c, list(r.d), r.e)": (True, 3, 5, [0, 1], 0xB5)},
    ),
    Case(
        "bits_as_the_default_of_a_choice",
        "seq: [{id: a, type: u1}, {id: b, type: {switch-on: a, cases: {0: u1, _: b3}}}, {id: c, type: b5},\n"
        "  {id: d, type: {switch-on: _index, cases: {1: u1, _: b4}}, repeat: expr, repeat-expr: 4}, {id: e, type: u1}]",
        "01b51207340f",
        {"(r.a, r.b, r.c, r.d, r.e)": (1, 5, 0x15, [1, 7, 3, 4], 15)},
    ),
    Case(
        "bits_of_instances_without_pos",
        "seq: [{id: a, type: b5}, {id: b, type: row}, {id: c, type: b4, if: i < 8}, {id: d, type: u1},\n"
        "  {id: e, type: b2}]\n"
        "instances: {i: {type: b3}, j: {type: row, repeat: expr, repeat-expr: 2}, k: {type: b7}, l: {type: u1}}\n"
        "types: {row: {seq: [{id: x, type: b3}, {id: y, type: b7}]}}",
        "1122335f97a4b5c6d7e8f9",
        {
            "(r.a, r.b.x, r.b.y, r.i, r.c, r.d, r.e)": (2, 1, 17, 0, 12, 0x5F, 2),
            "[(x.x, x.y) for x in r.j], r.k, r.l": ([(2, 0x7A), (2, 0x2D)], 0x38, 0xD7),
        },
    ),
    Case(
        "bits_of_elements_of_instances",
        "seq: [{id: a, type: u1}]\n"
        "instances: {i: {pos: 0, type: half, repeat: expr, repeat-expr: 3}, k: {pos: 0, type: u1},\n"
        "  j: {pos: 1, type: {switch-on: _index, cases: {1: half, _: b3}}, repeat: expr, repeat-expr: 3},\n"
        "  l: {pos: 1, type: {switch-on: a, cases: {0: half, _: b3}}}}\n"
        "types: {half: {seq: [{id: x, type: b4}]}}",
        "12e45a",
        {"([one.x for one in r.i], r.k, r.j[0], r.j[1].x, r.j[2], r.l)": ([1, 2, 14], 18, 7, 2, 1, 7)},
    ),
    Case(
        "bits_before_structures_of_a_choice",
        "seq: [{id: i, type: {switch-on: _index, cases: {0: b3, _: sub}}, repeat: expr, repeat-expr: 3},\n"
        "  {id: z, type: b5}]\ntypes: {sub: {seq: [{id: x, type: b4}, {id: y, type: b4}]}}",
        "12e45a",
        {"(r.i[0], [(one.x, one.y) for one in r.i[1:]], r.z)": (0, [(9, 7), (2, 2)], 26)},
    ),
    Case(
        "eof_after_bits_of_a_structure",
        "seq: [{id: s, type: sub, size: 1}, {id: a, type: b4, if: not s._io.eof}]\n"
        "instances: {i: {pos: 0, type: u1, if: not _io.eof}, j: {value: _io.eof}, k: {value: s._io.eof}}\n"
        "types: {sub: {seq: [{id: x, type: b4}], instances: {y: {value: _io.eof}}}}",
        "1234",
        {"(r.s.x, r.s.y, r.a, r.j, r.k, r.i)": (1, False, 3, False, False, 0x12)},
    ),
    Case(
        "zeros_as_wide_as_characters",
        "seq: [{id: a, type: strz, encoding: utf_16_le}, {id: b, type: strz, encoding: UTF_32BE},\n"
        "  {id: c, type: strz, encoding: UTF-16}, {id: d, type: strz, encoding: utf-16le, size: 6}]",
        "41000000" + "0000004200000000" + "418200" + "430000004400",
        {"(r.a, r.b, r.c == b'\\x41\\x82'.decode('UTF-16'), r.d)": ("A", "B", True, "C")},
    ),
    Case(
        "eof_between_bits_of_instances",
        "seq: [{id: a, type: u1}]\n"
        "instances: {i: {pos: 0, type: b4, repeat: until, repeat-until: _io.eof},\n"
        "  j: {pos: 1, type: b2, repeat: until, repeat-until: _io.eof},\n"
        "  k: {pos: 1, type: b5, valid: {expr: not _io.eof}}, l: {pos: 1, type: b8, valid: {expr: _io.eof}}}",
        "12e4",
        {"(list(r.i), list(r.j), r.k, r.l)": ([1, 2, 14, 4], [3, 2, 1, 0], 28, 0xE4)},
    ),
    Case(
        "index_among_operators_of_repeat_until",
        "seq: [{id: a, type: u1, repeat: until, repeat-until: 9 - _index == 7}, {id: b, type: row, repeat: until,\n"
        "  repeat-until: _.x * _index == 12},\n"
        "  {id: c, type: {switch-on: _index, cases: {1: u1, 2: row}}, repeat: until,\n"
        "  repeat-until: 12 / (_index * 2 - 1) == 4}, {id: d, type: row, size: 2, repeat: until,\n"
        "  repeat-until: _.x % (7 - _index) == 1}]\ntypes: {row: {seq: [{id: x, type: u1}]}}",
        "0102030207060405060008000600",
        {
            "(list(r.a), [x.x for x in r.b], r.c[0], r.c[1].x, [x.x for x in r.d])": (
                [1, 2, 3],
                [2, 7, 6],
                4,
                5,
                [6, 8, 6],
            ),
        },
    ),
    Case(  # as bits are left, the stream has not ended, and what comes after them is empty
        "rows_after_bits_at_the_end",
        "seq: [{id: a, type: b3}, {id: b, size-eos: true, repeat: eos}]",
        "a0",
        {"(r.a, [bytes(x) for x in r.b])": (5, [b""])},
    ),
    Case(
        "positions_in_instances_that_arguments_request",
        "seq: [{id: a, type: u1}, {id: b, type: t(j0), repeat: expr, repeat-expr: 2}, {id: c, type: t(j1)},\n"
        "  {id: d, type: t(j2), size: 2}, {id: e, type: t(j3), process: xor(1), size: 1},\n"
        "  {id: f, type: {switch-on: a, cases: {1: t(j4)}}}, {id: g, type: u(_root.j5)}, {id: h, type: t(k0)},\n"
        "  {id: i, type: t(k1), repeat: expr, repeat-expr: 2}, {id: z, type: u1}]\n"
        "instances: {j0: {value: _io.pos}, j1: {value: _io.pos}, j2: {value: _io.pos}, j3: {value: _io.pos},\n"
        "  j4: {value: _io.pos}, j5: {value: _io.pos}, j6: {value: _io.pos}, k0: {type: u1}, k1: {type: u2}}\n"
        "types:\n"
        "  t: {params: [{id: p, type: s4}], seq: [{id: x, type: u1}]}\n"
        "  u: {params: [{id: p, type: s4}], seq: [{id: x, type: u1}, {id: y, type: t(_root.j6)}]}",
        "0102030405060708090a0b0c0d0e0f1011",
        {
            "[[x.p for x in r.b], r.c.p, r.d.p, r.e.p, r.f.p, r.g.p, r.g.y.p]": [[1, 1], 3, 6, 7, 7, 8, 9],
            "[r.h.p, r.h.x, [(x.p, x.x) for x in r.i], r.z]": [11, 12, [(0xE0D, 15), (0xE0D, 16)], 17],
        },
    ),
    Case(  # only parameters and expressions have such types
        "structures_named_as_types_without_bytes",
        "seq: [{id: a, type: any}, {id: b, type: 'p(a, 5)'}, {id: c, type: bool, size: 1}, {id: d, type: struct},\n"
        "  {id: e, type: {switch-on: a.x, cases: {1: io, 2: bytes}}}, {id: f, type: bytes, repeat: eos}]\n"
        "types:\n"
        "  any: {seq: [{id: x, type: u1}]}\n"
        "  bool: {seq: [{id: x, type: u1}]}\n"
        "  struct: {seq: [{id: x, type: u1}]}\n"
        "  io: {seq: [{id: x, type: u1}]}\n"
        "  bytes: {seq: [{id: x, type: u1}]}\n"
        "  p: {params: [{id: n, type: any}, {id: m, type: any}], seq: [{id: x, type: u1}]}",
        "01020304050607",
        {"[r.a.x, r.b.n.x, r.b.m, r.b.x, r.c.x, r.d.x, r.e.x], [x.x for x in r.f]": ([1, 1, 5, 2, 3, 4, 5], [6, 7])},
    ),
    Case(
        "text_of_a_choice_is_not_processed",
        "seq: [{id: a, type: row, repeat: eos}]\n"
        "types: {row: {seq: [{id: k, type: u1}, {id: x, size: 2, process: xor(1),\n"
        "  type: {switch-on: k, cases: {1: str, 2: strz, 3: t}}}]}, t: {seq: [{id: v, type: u1}]}}",
        "016162" + "026100" + "036162" + "046162",
        {"[x.x.v if x.k == 3 else x.x for x in r.a]": ["ab", "a", 0x60, b"`c"]},
    ),
    Case(  # a terminator and padding are those of the cases only
        "bytes_of_a_choice_without_a_match",
        "seq: [{id: a, type: row, repeat: expr, repeat-expr: 2}, {id: k, type: u1},\n"
        "  {id: z, size-eos: true, terminator: 0, type: *}]\n"
        "types: {row: {seq: [{id: k, type: u1}, {id: x, size: 3, pad-right: 0, type: *},\n"
        "  {id: y, size: 3, terminator: 0, type: *}]}, t: {seq: [{id: v, type: u1}]}}".replace(
            "*", "{switch-on: k, cases: {1: t, 2: str, 3: strz}}"
        ),
        "05610000620063" + "02610000620063" + "04640065",
        {"[(x.x, x.y) for x in r.a], r.z": ([(b"a\0\0", b"b\0c"), ("a", "b")], b"d\0e")},
    ),
]
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def compiled(case: Case, folder: Path) -> Specification:
    file = folder / "one.ksy"
    file.write_text(case.text, encoding="utf-8")
    return compile_ksy(file)


@each
def test_values_are_those_of_kaitai(case: Case, tmp_path: Path) -> None:
    specification = compiled(case, tmp_path)
    roots = {"read": specification.read(case.bytes), "class": specification.module.One.from_bytes(case.bytes)}
    for how, r in some(roots.items()):
        assert {one: eval(one, {"r": r}) for one in case.values} == case.values, how


@each
def test_values_are_the_same_with_positions(case: Case, tmp_path: Path) -> None:
    r, _ = compiled(case, tmp_path).traced(case.bytes)
    requested = [one for one in case.values if ".name" not in one and not one.startswith("str(")]
    assert {one: eval(one, {"r": r}) for one in requested} == {one: case.values[one] for one in requested}


@pytest.mark.node
def test_values_are_what_kaitai_itself_computes(tmp_path: Path) -> None:
    files = []
    for case in CASES:
        (tmp_path / case.id).mkdir()
        files.append(tmp_path / case.id / "one.ksy")
        files[-1].write_text(case.text, encoding="utf-8")
    out = tmp_path / f"kaitai_says_{tmp_path.name}".replace("-", "_")
    command = [
        *nodejs.ensure_packages(),
        str(ROOT / "tools/ksc.mjs"),
        "each",
        "--imports",
        str(tmp_path),
        "--out",
        str(out),
    ]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=True)
    verdicts = json.loads(done.stdout)
    sys.path.insert(0, str(tmp_path))
    try:
        for number, case in enumerate(CASES):
            assert verdicts[str(files[number])] is None, case.id
            (out / f"n{number}").mkdir()
            text = (out / str(number) / "one.py").read_text(encoding="utf-8")
            (out / f"n{number}" / "one.py").write_text(relative_imports(text, {"one"}), encoding="utf-8")
            r = importlib.import_module(f"{out.name}.n{number}.one").One(KaitaiStream(BytesIO(case.bytes)))
            r._read()
            assert {one: eval(one, {"r": r}) for one in case.values} == case.values, case.id
    finally:
        sys.path.remove(str(tmp_path))


def test_large_integers_need_no_quotes(tmp_path: Path) -> None:
    case = Case("", f"seq: [{{id: a, type: u8, valid: {2**64 - 1}}}]\ninstances: {{b: {{value: {2**64 - 1}}}}}", "", {})
    r = compiled(case, tmp_path).read(bytes([255] * 8))
    assert (r.a, r.b) == (2**64 - 1, 2**64 - 1)


WRONG = """\
meta:
  id: one
  endian: le
seq:
  - id: a
    type: u1
  - id: b
    type: sub
types:
  sub:
    params:
      - id: p
        type: u1
    seq:
      - id: x
        type: u1
        enum: pets
      - id: y
        size: x
instances:
  i:
    pos: 0
    type: u2
enums:
  pets:
    1: cat
"""


@pytest.mark.parametrize(
    ("old", "new", "stated"),
    [
        (
            "    type: sub\n",
            "    typ: sub\n",
            "{}: `typ` is not a key here: did you mean `type`?, line 8, field one.b: typ [EX-404]",
        ),
        (
            "endian: le",
            "endain: le",
            "{}: `endain` is not a key here: did you mean `endian`?, line 3, field one: meta: endain [EX-404]",
        ),
        (
            "params:",
            "parms:",
            "{}: `parms` is not a key here: did you mean `params`?, line 11, field one::sub: parms [EX-404]",
        ),
        (
            "    pos: 0\n",
            "    poss: 0\n",
            "{}: `poss` is not a key here: did you mean `pos`?, line 22, field one.i: poss [EX-404]",
        ),
        ("type: sub", "type: sbu(1)", "{}: no type sbu (did you mean 'sub'?), line 7, field one.b [EX-404]"),
        ("type: sub", "type: sub", "{}: sub takes 1 parameter, not 0, line 7, field one.b [EX-404]"),
        (
            "type: sub",
            "type: sub(1.5)",
            "{}: the parameter p of one::sub is an integer, not a float, line 7, field one.b [EX-404]",
        ),
        ("enum: pets", "enum: pet", "{}: no enum pet (did you mean 'pets'?), line 15, field one::sub.x [EX-404]"),
        ("type: sub", "type: sub(aa)", "{}: one has no aa (did you mean 'a'?), line 7, field one.b [EX-404]"),
        (
            "size: x",
            "size: x.to_s",
            "{}: a value of an enum has no `to_s` (did you mean 'to_i'?), line 19, field one::sub.y: size [EX-404]",
        ),
        (
            "size: x",
            "size: x",
            "{}: `size` is an integer, not a value of an enum, line 19, field one::sub.y: size [EX-404]",
        ),
        ("pos: 0", "pos: a == 1", "{}: `pos` is an integer, not a truth value, line 22, field one.i: pos [EX-404]"),
        (
            "    1: cat",
            "    1: cat\n    2: cat",
            "{}: two values have the same name, line 25, field one::pets [EX-404]",
        ),
        (
            "id: one",
            "id: one\n  ks-version: 0.12",
            "{}: `ks-version: 0.12` is newer than 0.11, the newest supported version, line 3, "
            "field one: meta: ks-version [EX-404]",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, old: str, new: str, stated: str) -> None:
    text = WRONG.replace(old, new)
    if "sub takes" not in stated and "type: sub" in text and "sub(" not in text:
        text = text.replace("type: sub\n", "type: sub(a)\n")
    file = tmp_path / "one.ksy"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecificationError) as caught:
        compile_ksy(file)
    assert str(caught.value) == stated.replace("{}", str(file))


@pytest.mark.parametrize(
    "field",
    [
        "type: u1, size: 3", "type: u1, encoding: ASCII", "type: u1, process: zlib", "type: u1, contents: [1]",
        "size: 1, encoding: ASCII", "size: 1, enum: e", "size: 1, size-eos: true", "type: t, enum: e",
        "type: t, encoding: ASCII", "type: t, parent: u", "type: t, parent: true", "contents: [1], valid: 1",
        "contents: [1], type: str", "contents: []", "size: e1", "type: u1, if: 1", "type: u1, pos: 1",
        "size: 1, doc: [a]", "type: u1le", "type: bytes, size: 1", "type: u1, valid: {}",
        "type: u1, valid: {eq: 1, min: 1}", "type: {switch-on: u, cases: {}}", "type: {switch-on: u, cases: {1: null}}",
        "type: {switch-on: u, cases: {1: u1}}, enum: e", "type: str, size: 1, encoding: ASCII, process: zlib",
        "size: 1, if: '[1, true].size == 1'", "size: '[].size'", "size: 1, if: '(u == 1 ? 1 : true) == 1'",
        "type: u1, valid: {any-of: []}", "type: u1, enum: e, valid: 1", "type: {switch-on: e1, cases: {1: u1}}",
        "type: u1, valid: {min: e1}", "size: e1 + 1", "size: 'e1 == 1 ? 1 : 2'", "type: p(e1)", "type: p(true)",
        "type: b1, valid: 1", "size: 1, valid: [1, 2]",
        "size: '[].as<u4>'", "size: '[1].as<str[]>.size'", "size: '[\"a\"].as<bytes>.length'",
        "type: q(_root)", "type: q(u)", "size: '(u == 1 ? e1 : g::b).to_i'", "size: '[e1, g::b].size'", "size: '08'",
        "size: 1, if: 1 < 2 == true", "size: 1, if: u == 1 == false", "size: '\"\\u41\".length'",
        "size: '\"\\q\".length'",
        "size: '\"\\x41\".length'", "size: 'f\"{e1}\".length'", "size: 'f\"{1.5}\".length'",
        "size: 'f\"{true}\".length'", "size: '\"\\7777777777\".length'", "size: '\"\\8\".length'",
        "size: 'f\"{u\".length'", "size: 'f\"a.length'", "size: 'f\"{}\".length'",
        "size: '\"a\".substring(0, 1,).length'",
        "type: u1, repeat: null", "size: 1, process: zlib()", "type: t()",
        "size: 2, process: 'xor([u, 2])'", "size: 2, process: 'xor([u + 1, 2])'", "size: '[1, u].size'",
        "size: '[u == 1 ? u : 2].size'", "size: '[\"a\".to_s(\"ASCII\")]'", "type: f4, valid: 1.5",
        "size: '[1.5, u].as<bytes>.length'", "size: sizeof<t>._sizeof", "size: d._sizeof",
        "size: 2, process: 'xor(1,)'", "type: 'p(1, , 2)'", "type: 'p(1)(2)'", "type: t, parent: null",
        "type: t, parent: nope",
        "type: {switch-on: u, cases: {1: str}}, size: 1, encoding: ASCII", "size: -e1", "size: u.to_i",
        "size: 0, process: u < 1", "size: 0, process: xor", "size: 0, process: 'xor(e1 == e1)'",
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused(tmp_path: Path, field: str) -> None:
    types = (
        "types: {t: {seq: []}, p: {params: [{id: x, type: u1}]}, q: {params: [{id: x, type: t}]}}\n"
        "enums: {e: {1: a}, g: {1: b}}"
    )
    case = Case("", f"seq: [{{id: u, type: u1}}, {{id: e1, type: u1, enum: e}}, {{id: f, {field}}}]\n{types}", "", {})
    with pytest.raises(SpecificationError):
        compiled(case, tmp_path)


@pytest.mark.parametrize(
    "param",
    [
        "type: strz", "type: u4le", "type: 'f8be[]'", "type: 'u1[][]'", "type: {switch-on: 1, cases: {1: u1}}",
        "enum: e", "type: str, enum: e", "type: 'u1[]', enum: e", "type: u1, size: 1", "type: nope",
        "type: u1, if: true",
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_refused(tmp_path: Path, param: str) -> None:
    case = Case("", f"params: [{{id: p, {param}}}]\nenums: {{e: {{1: a}}}}", "", {})
    with pytest.raises(SpecificationError, match=r"line 2, field one\.p"):
        compiled(case, tmp_path)


def test_the_size_of_a_type_has_a_bound(tmp_path: Path) -> None:
    many = "9" * 200
    types = [f"t{n}: {{seq: [{{id: x, type: t{n + 1}, repeat: expr, repeat-expr: {many}}}]}}" for n in range(30)]
    text = f"instances: {{v: {{value: sizeof<t0>}}}}\ntypes: {{{', '.join(types)}, t30: {{seq: [{{id: x, size: 1}}]}}}}"
    with pytest.raises(SpecificationError, match="the size of a type without a fixed size"):
        compiled(Case("", text, "", {}), tmp_path)


def test_a_comma_may_follow_the_last_argument_of_a_type(tmp_path: Path) -> None:
    text = "seq: [{id: a, type: 'p(2, [1, 2,],)'}]\ntypes: {p: {params: [{id: n, type: u1}, {id: m, type: bytes}]}}"
    assert compiled(Case("", text, "", {}), tmp_path).read(b"").a.n == 2


@pytest.mark.parametrize(
    ("spec", "stated"),
    [
        ("to-string: null", "an expression is expected, line 2, field one: to-string"),
        ("to-string: [a]", "an expression is expected, line 2, field one: to-string"),
        ("meta: {id: 5}", "5 is not a name"),
        ("instances: {a: {value: ''}}", "an expression is expected, line 2, field one.a: value"),
        *((f"enums: {{e: {{'{key}': a}}}}", "is not an integer of 64 bits") for key in ENUM_KEYS),
        ("enums: {e: {1: {id: a, docs: x}}}", "`docs` is not a key here: did you mean `doc`"),
        ("meta: {id: one, ks-opaque-types: 1}", "`ks-opaque-types` is true or false"),
        ("meta: {id: one, ks-debug: yes}", "`ks-debug` is true or false"),
    ],
)
def test_keys_of_enums_and_flags_are_checked(tmp_path: Path, spec: str, stated: str) -> None:
    file = tmp_path / "one.ksy"
    file.write_text(spec if spec.startswith("meta") else f"meta: {{id: one}}\n{spec}", encoding="utf-8")
    with pytest.raises(SpecificationError, match=stated):
        compile_ksy(file)


@pytest.mark.parametrize("doc", ["doc: [a]", "doc: {a: b}", "doc-ref: null", "types: {t: {doc: [a]}}"])
def test_a_documentation_is_text(tmp_path: Path, doc: str) -> None:
    with pytest.raises(SpecificationError, match=r"`doc(-ref)?` is a string, line 2, field one\S*: doc"):
        compiled(Case("", doc, "", {}), tmp_path)


@pytest.mark.parametrize(
    "spec",
    [
        "seq: [{id: a, type: b3le}, {id: b, type: b5}]",
        "seq: [{id: a, type: b3}, {id: b, type: u1, if: a == 0}, {id: c, type: b5le}]",
        "seq: [{id: a, type: b3}, {id: b, type: low}]\ntypes: {low: {seq: [{id: x, type: b5le}]}}",
        "seq: [{id: n, type: u1}, {id: a, type: b2, repeat: expr, repeat-expr: n}, {id: b, type: b4le}]",
        "seq: [{id: a, type: t, repeat: eos}]\ntypes: {t: {seq: [{id: x, type: b8}, {id: y, type: b4le}]}}",
        "seq: [{id: a, type: t}, {id: b, type: t}]\ntypes: {t: {seq: [{id: x, type: b8}, {id: y, type: b4le}]}}",
        "seq: [{id: n, type: u1}, {id: a, type: {switch-on: n, cases: {1: b4, 2: b4le}}}, {id: b, type: b4}]",
        "seq: [{id: a, type: b4}]\ninstances: {b: {type: b4le}}",
    ],
)
def test_bits_of_both_orders_within_a_byte_are_refused(tmp_path: Path, spec: str) -> None:
    with pytest.raises(SpecificationError, match=r"bits of both orders within a byte are not supported, line [23]"):
        compiled(Case("", spec, "", {}), tmp_path)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("0140", ("t", 1, "3", "4")),
        ("0139", ("u", 1, "at most 7", "9")),
        ("013710ff", ("v", 2, "at most 7", "271")),
        ("01370070ff", ("w", 3, "at most 7", "255")),
        ("0137", ("v", 2, "2 bytes", "0 bytes")),
        ("013710", ("v", 2, "2 bytes", "1 byte")),
        ("01370070", ("w", 4, "1 byte", "0 bytes")),
    ],
)
@pytest.mark.parametrize("optional", [False, True], ids=["together", "one by one"])
def test_bits_are_refused_at_their_byte(
    tmp_path: Path, data: str, place: tuple[str, int, str, str], optional: bool
) -> None:
    some = ", if: true" if optional else ""
    spec = (
        "seq: [{id: a, type: u1}, {id: t, type: b4, valid: 3}, {id: u, type: b4, valid: {max: 7}},\n"
        f"  {{id: v, type: b12, valid: {{max: 7}}{some}}}, {{id: w, type: b12, valid: {{max: 7}}}}]"
    )
    specification = compiled(Case("places", spec, data, {}), tmp_path)
    view = bytes.fromhex(data)
    for read in (specification.module.One.from_bytes, specification.traced):
        with pytest.raises(LayoutError) as caught:
            read(view)
        error = caught.value
        assert (error.path, error.offset, str(error.expected), str(error.found)) == place


@pytest.mark.parametrize(
    "valid", ["{min: 0}", "{max: 2}", "{expr: _ <= 2.5}", "{expr: limit <= 2.5}", "{min: limit}", "{max: n}"]
)
def test_what_is_no_number_is_within_no_range(tmp_path: Path, valid: str) -> None:
    spec = f"seq: [{{id: limit, type: f4}}, {{id: n, type: u1}}, {{id: f, type: f4, valid: {valid}}}]"
    specification = compiled(Case("nan", spec, "", {}), tmp_path)
    with pytest.raises(LayoutError) as caught:
        specification.module.One.from_bytes(bytes.fromhex("0000c07f050000c07f"))
    assert (caught.value.path, caught.value.offset) == ("f", 5)


@pytest.mark.parametrize("size", ["a._sizeof", "sizeof<t>", "a.x._sizeof"])
def test_a_choice_has_no_constant_size(tmp_path: Path, size: str) -> None:
    text = f"seq: [{{id: a, type: t}}]\ninstances: {{i: {{value: {size}}}}}\ntypes: {{t: {{seq: [{{id: k, type: u1}},\n"
    text += "  {id: x, size: 5, type: {switch-on: k, cases: {1: u1}}}]}}"
    with pytest.raises(SpecificationError, match=r"the size of a (type|value) without a fixed size"):
        compiled(Case("", text, "", {}), tmp_path)


def test_a_value_of_a_choice_is_refused_where_it_begins(tmp_path: Path) -> None:
    text = "seq: [{id: k, type: u1}, {id: x, size: 5, type: {switch-on: k, cases: {1: u1}}, valid: {expr: 'k > 1'}}]"
    with pytest.raises(StructureError, match=r"at 1 \(0x1\), field x"):
        compiled(Case("", text, "", {}), tmp_path).read(b"\1\2\3\4\5\6")


def test_an_argument_that_reads_between_a_size_and_its_bytes_is_refused(tmp_path: Path) -> None:
    text = "seq: [{id: s, type: t(i), size: 1}]\ninstances: {i: {type: u1}}\ntypes: {t: {params: [{id: p, type: u1}]}}"
    with pytest.raises(SpecificationError, match="an instance without `pos` as an argument of a structure with a size"):
        compiled(Case("", text, "", {}), tmp_path)


@pytest.mark.parametrize("field", ["type: u1", "size: 0", "type: t", "type: u2, repeat: expr, repeat-expr: 0"])
@pytest.mark.parametrize("stream", ["", "io: s._io, "])
@pytest.mark.parametrize("pos", ["-1", "~1", "0 - n"])
def test_a_position_before_the_stream_is_refused(tmp_path: Path, pos: str, stream: str, field: str) -> None:
    text = "seq: [{id: n, type: u1}, {id: s, size: 2, type: t}]\ntypes: {t: {}}\n"
    text += f"instances: {{i: {{{stream}pos: {pos}, {field}}}}}"
    r = compiled(Case("", text, "", {}), tmp_path).read(b"\1\2\3\4")
    for _ in range(2):
        with pytest.raises(LayoutError, match="expected a position in the stream, found -"):
            _ = r.i


@pytest.mark.parametrize("field", ["type: u1", "size: 1", "type: t, size-eos: true", "type: strz, encoding: ASCII"])
def test_rows_after_the_last_bits_are_missing(tmp_path: Path, field: str) -> None:
    text = f"seq: [{{id: a, type: b3}}, {{id: b, {field}, repeat: eos}}]\ntypes: {{t: {{seq: [{{id: x, type: u1}}]}}}}"
    specification = compiled(Case("", text, "", {}), tmp_path)
    with pytest.raises(TruncatedError, match=r"field b\[0\]"):
        specification.read(b"\xa0")
    assert len(specification.read(b"\xa0\1\0").b) > 0


# Arguments of the caller.


def test_opaque_types_and_routines_are_given(tmp_path: Path) -> None:
    other = tmp_path / "other.ksy"
    other.write_text("meta: {id: other}\nparams: [{id: n, type: u1}]\nseq: [{id: x, size: n}]", encoding="utf-8")

    class Add:
        def __init__(self, by: int, more: bytes = b"") -> None:
            self.by, self.more = by, more

        def decode(self, data: bytes) -> bytes:
            return bytes((one + self.by) % 256 for one in data) + self.more

    def read(data: bytes, size: int) -> tuple[str, int]:
        return data[:size].hex(), size

    case = Case(
        "",
        "seq: [{id: a, type: other(2)}, {id: b, type: mine(_io.pos - 2), size: 3}, {id: c, type: mine(1)},\n"
        "  {id: d, size: 2, process: 'my.add(a.n, [9])'}, {id: e, size: 2, process: add(_io.pos), type: t}]\n"
        "types: {t: {seq: [{id: x, type: u1}], instances: {all: {value: _io.size}}}}",
        "00010203040506070809",
        {},
    )
    (tmp_path / "one.ksy").write_text(case.text, encoding="utf-8")
    given: Any = {"types": {"other": compile_ksy(other), "mine": read}, "process": {"my.add": Add, "add": Add}}
    specification = compile_ksy(tmp_path / "one.ksy", **given)
    for r in (specification.read(case.bytes), specification.traced(case.bytes)[0]):
        assert (bytes(r.a.x), r.b, r.c, bytes(r.d), r.e.x, r.e.all) == (
            b"\0\1",
            "020304",
            "05",
            b"\x08\x09\x09",
            0x12,
            2,
        )
    with pytest.raises(SpecificationError, match="no type mine"):
        compile_ksy(tmp_path / "one.ksy", types={"other": given["types"]["other"]})


@pytest.mark.parametrize("repeat", ["expr, repeat-expr: 4", "eos", "until, repeat-until: _io.eof"])
def test_opaque_types_are_repeated(tmp_path: Path, repeat: str) -> None:
    (tmp_path / "one.ksy").write_text(
        f"meta: {{id: one}}\nseq: [{{id: n, type: u1}}, {{id: a, type: mine, repeat: {repeat}}}]", encoding="utf-8"
    )
    specification = compile_ksy(tmp_path / "one.ksy", types={"mine": lambda data: (data[0] * 2, 1)})
    for r in (specification.read(bytes(range(5))), specification.traced(bytes(range(5)))[0]):
        assert list(r.a) == [2, 4, 6, 8]
    with pytest.raises(StructureError, match="field a"):
        compile_ksy(tmp_path / "one.ksy", types={"mine": lambda data: (data[9], 1)}).read(bytes(range(5)))


@pytest.mark.parametrize("decoded", [5, [1, 2], "ab", None])
def test_routines_return_bytes(tmp_path: Path, decoded: Any) -> None:
    class Fixed:
        def decode(self, data: bytes) -> Any:
            return decoded

    (tmp_path / "one.ksy").write_text("meta: {id: one}\nseq: [{id: a, size: 1, process: mine}]", encoding="utf-8")
    with pytest.raises(StructureError, match=f"a bytes-like object is required, not '{type(decoded).__name__}'"):
        compile_ksy(tmp_path / "one.ksy", process={"mine": Fixed}).read(b"x")


@pytest.mark.parametrize("size", [-1, 3, "x", None])
def test_what_is_given_cannot_leave_the_stream(tmp_path: Path, size: Any) -> None:
    (tmp_path / "one.ksy").write_text("meta: {id: one}\nseq: [{id: a, type: mine, size: 2}]", encoding="utf-8")
    specification = compile_ksy(tmp_path / "one.ksy", types={"mine": lambda data: (data, size)})
    with pytest.raises(StructureError, match="field a: expected a size within the stream"):
        specification.read(b"abcd")


def test_imports_lead_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "a/b/one.ksy": "meta: {id: one, imports: [../two, ./c.d/three.x, /four, ../../a/two]}\n"
        "seq: [{id: p, type: two}, {id: q, type: three}, {id: r, type: four}]",
        "a/two.ksy": "meta: {id: two, imports: [b/c.d/three.x]}\nseq: [{id: x, type: three}]",
        "a/b/c.d/three.x.ksy": "meta: {id: three}\nseq: [{id: x, type: u1}]",
        "path/four.ksy": "meta: {id: four}\nseq: [{id: x, type: u1}]",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SpecificationError, match="the import /four is not on the import path"):
        compile_ksy(tmp_path / "a/b/one.ksy")
    monkeypatch.setenv("KSPATH", f"{tmp_path / 'none'}{os.pathsep}{tmp_path / 'path'}")
    r = compile_ksy(tmp_path / "a/b/one.ksy").read(bytes([1, 2, 3]))
    assert (r.p.x.x, r.q.x, r.r.x) == (1, 2, 3)


# Names.


def test_instances_may_be_named_as_what_structures_keep(tmp_path: Path) -> None:
    (tmp_path / "one.ksy").write_text("meta: {id: one}\nseq: [{id: a, type: u1}]\n", encoding="utf-8")
    kind = compile_ksy(tmp_path / "one.ksy").module.One
    ours = sorted({name[1:] for name in (*dir(kind), *dir(type(kind))) if name[0] == "_" and name[1] != "_"})
    assert {"fields", "from", "io", "native", "parent", "reader", "root"} <= set(ours)
    instances = "".join(f"  {name}: {{value: a + {number}}}\n" for number, name in enumerate(ours))
    text = f"meta: {{id: named}}\nseq: [{{id: a, type: u1}}]\ninstances:\n{instances}"
    (tmp_path / "named.ksy").write_text(text, encoding="utf-8")
    value = compile_ksy(tmp_path / "named.ksy").module.Named.from_bytes(b"\x07")
    assert [getattr(value, f"{name}_" if name == "from" else name) for name in ours] == [
        7 + number for number in range(len(ours))
    ]
    assert value._root is value
    assert repr(value) == "Named(a=7)"


@pytest.mark.parametrize(("id", "types"), [("none", "None_"), ('"true"', "True_"), ("tag", "Tag"), ("tag_", "Tag")])
def test_types_and_enums_of_one_name_are_two_classes(tmp_path: Path, id: str, types: str) -> None:
    """Kaitai's compiler makes Python that does not run of the first two, and of the others loses the enum."""
    names = f"types: {{{id}: {{seq: [{{id: x, type: u1}}]}}}}\nenums: {{{id}: {{1: first}}}}"
    text = f"meta: {{id: one}}\nseq: [{{id: a, type: {id}}}, {{id: b, type: u1, enum: {id}}}]\n{names}"
    (tmp_path / "one.ksy").write_text(text, encoding="utf-8")
    specification = compile_ksy(tmp_path / "one.ksy")
    one = specification.module.One
    found = one.from_bytes(b"\2\1")
    assert (found.a.x, found.b.name, type(found.a)) == (2, "first", getattr(one, types))
    assert type(found.b) is getattr(one, f"{types}2" if types.endswith("_") else f"{types}_")
    stub = ast.parse(specification.package["one.pyi"])
    (root,) = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    classes = [node.name for node in root.body if isinstance(node, ast.ClassDef)]
    assert len(set(classes)) == len(classes) == 2


def test_sums_use_structures_of_an_element(tmp_path: Path) -> None:
    text = (
        "meta: {id: one}\nseq: [{id: a, type: row, repeat: until, repeat-until: _io.pos + _.size.value > 4}]\n"
        "types: {row: {seq: [{id: size, type: size}]}, size: {seq: [{id: value, type: u1}]}}"
    )
    (tmp_path / "one.ksy").write_text(text, encoding="utf-8")
    found = compile_ksy(tmp_path / "one.ksy").read(b"\1\1\3")
    assert [one.size.value for one in found.a] == [1, 1, 3]


# The interface.


@pytest.mark.parametrize(
    "given",
    [
        bytearray, memoryview, lambda data: memoryview(bytearray(data)), lambda data: memoryview(data).cast("b"),
        lambda data: memoryview(data).cast("H"), lambda data: array("H", data), lambda data: memoryview(data)[::1],
        lambda data: memoryview(bytes(one for two in data for one in (two, 0)))[::2],
    ],
)  # fmt: skip
def test_elements_of_any_buffer_are_bytes(tmp_path: Path, given: Any) -> None:
    """Values stay as they were when a buffer is changed later."""
    text = "meta: {id: one}\nseq: [{id: a, type: u1}, {id: b, type: u2be}, {id: c, size: 1}]\n"
    (tmp_path / "one.ksy").write_text(
        text + "instances: {d: {pos: 3, type: s1}, e: {value: 'c > [1]'}}", encoding="utf-8"
    )
    kind = compile_ksy(tmp_path / "one.ksy").module.One
    data = given(b"\xff\xfe\xfd\xfc")
    whole = memoryview(data)
    for found in (kind.from_bytes(data), *([] if not isinstance(data, (bytearray, memoryview)) else [kind(data)])):
        if not whole.readonly:
            whole.cast("B")[:] = bytes(4)
            assert found.d == -4
            whole.cast("B")[:] = b"\xff\xfe\xfd\xfc"
        assert (found.a, found.b, found.c, found.d, found.e) == (255, 0xFEFD, b"\xfc", -4, True)


@pytest.mark.parametrize("given", ["abc", None, [1, 2], 3])
def test_what_is_not_bytes_is_not_damage(tmp_path: Path, given: Any) -> None:
    (tmp_path / "one.ksy").write_text("meta: {id: one}\nseq: [{id: a, type: u1}]\n", encoding="utf-8")
    kind = compile_ksy(tmp_path / "one.ksy").module.One
    with pytest.raises(TypeError, match="bytes-like"):
        kind.from_bytes(given)
    with pytest.raises(TypeError, match="bytes-like"):
        kind.from_io(io.StringIO("abc"))


@pytest.mark.parametrize("size", ["", ", size: 3", ", size: _root.n"])
def test_columns_of_rows_are_sliced_as_lists(tmp_path: Path, size: str) -> None:
    text = (
        f"meta: {{id: one}}\nseq: [{{id: n, type: u1}}, {{id: rows, type: row{size}, repeat: eos}}]\n"
        "types: {row: {seq: [{id: a, type: u1}, {id: b, type: u2be}]}}"
    )
    (tmp_path / "one.ksy").write_text(text, encoding="utf-8")
    rows = compile_ksy(tmp_path / "one.ksy").read(b"\3\1\0\2\3\0\4\5\0\6").rows
    assert [(one.a, one.b) for one in rows[1:]] == [(3, 4), (5, 6)]
    assert [one.a for one in rows[::-1]] == [5, 3, 1]
    assert [one.a for one in (rows[-1], rows[np.int64(0)])] == [5, 1]
    with pytest.raises(TypeError):
        rows["a"]
    with pytest.raises(IndexError):
        rows[3]


def test_the_interface_is_that_of_kaitais_classes(tmp_path: Path) -> None:
    case = next(one for one in CASES if one.id == "enums")
    module = compiled(case, tmp_path).module
    file = tmp_path / "file"
    file.write_bytes(case.bytes + b"more")
    with module.One.from_file(file) as r:
        assert (r.a, r.a is module.One.Pet.cat, isinstance(r.b, module.One.Pet), r.b) == (1, True, False, 9)
    with file.open("rb") as opened:
        opened.seek(1)
        assert module.One.from_io(opened).a == 9
        assert opened.tell() == 1 + len(case.bytes)
    assert module.One(io.BytesIO(case.bytes)).f.p is module.One.Pet.cat
    assert module.One(KaitaiStream(BytesIO(case.bytes))).f._parent.a == 1
    sub = module.One.Sub(module.One.Pet.dog, b"")
    assert (sub.p, sub._parent, sub._root) == (2, None, None)
    assert repr(r).startswith("One(a=Pet.cat, b=9, c=Pet.cat, d=Pet.dog, e=<2 elements>, f=Sub(...)")
    with pytest.raises(TypeError, match="Sub takes 1 parameter and a stream"):
        module.One.Sub(b"")
    mine: Any = type("Mine", (module.One,), {})
    assert type(mine.from_bytes(case.bytes)) is module.One
    with pytest.raises(EOFError, match="a at 0: expected 1 byte, found 0 bytes"):
        module.One.from_bytes(b"")
    with pytest.raises(ValueError, match="found 0 bytes") as caught:
        module.One.from_bytes(b"")
    assert (caught.value.path, caught.value.offset, caught.value.short) == ("a", 0, True)  # type: ignore[attr-defined]


@pytest.mark.parametrize("keys", ["k", "[k[0], 7]", "m"])
def test_lists_are_keys_as_for_the_runtime_of_kaitai(tmp_path: Path, keys: str) -> None:
    text = (
        "seq: [{id: k, type: u2, repeat: expr, repeat-expr: 2}, {id: m, type: s1, repeat: expr, repeat-expr: 2},\n"
        f"  {{id: a, size-eos: true, process: 'xor({keys}.as<bytes>)'}}]"
    )
    specification = compiled(Case("", text, "", {}), tmp_path)
    for rest in (b"", b"a", b"ab", b"abc"):
        data = b"\1\0\x07\1\5\xfe" + rest
        numbers = eval(keys, {"k": [1, 0x107], "m": [5, -2]})
        try:
            wanted = KaitaiStream.process_xor_many(rest, numbers)
        except ValueError:
            with pytest.raises(StructureError, match="range"):
                specification.read(data)
        else:
            assert bytes(specification.read(data).a) == wanted


def quoted(field: str) -> str:
    """A field with each of its values between quotes, so that YAML takes any expression."""
    return re.sub(r"([a-z-]+): (.*?)(?=, [a-z-]+: |$)", r"\1: '\2'", field)


@pytest.mark.parametrize(
    ("instance", "path"),
    [
        ("value: s.to_i", "i"),
        ("value: s.substring(0, 9).to_i(16)", "i"),
        ("value: many[7]", "i"),
        ("value: 5 / (many[0] - many[0])", "i"),
        ("value: many[0] << 99999", "i"),
        ("pos: many[5], type: u1", "i"),
        ("pos: 0, size: many[5]", "i"),
        ("pos: 0 - many[1], type: u1", "i"),
        ("pos: 0, type: u1, repeat: expr, repeat-expr: 100", "i[3]"),
        ("pos: 0, type: sub(many[9])", "i"),
        ("pos: 0, type: sub(1)", "i.x"),
        ("pos: 0, size: 2, process: xor(many[9])", "i"),
        ("pos: 0, size: 2, process: xor(many[1] * 200)", "i"),
        ("pos: 0, size: 0, process: zlib", "i"),
        ("pos: 0, type: u1, valid: 7", "i"),
        ("pos: 0, type: u1, if: absent.n == 1", "i"),
        ("value: absent.x", "i"),
    ],
)
def test_instances_raise_one_error(tmp_path: Path, instance: str, path: str) -> None:
    text = (
        "seq: [{id: s, type: str, size: 1}, {id: many, type: u1, repeat: expr, repeat-expr: 2},\n"
        "  {id: absent, type: sub(0), if: 'many[0] == 9'}]\n"
        f"instances: {{i: {{{quoted(instance)}}}}}\n"
        "types: {sub: {params: [{id: n, type: u1}], seq: [{id: x, size: n * 9}]}}"
    )
    module = compiled(Case("", text, "", {}), tmp_path).module
    r = module.One.from_bytes(b"x\1\2")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"expected .*, found") as caught:
            _ = r.i
        assert isinstance(caught.value, LayoutError)
        assert caught.value.path == path


@pytest.mark.parametrize(
    "field", ["size: many[9]", "type: sub(many[9])", "type: u1, repeat: expr, repeat-expr: many[9]"]
)
def test_fields_raise_the_same_error(tmp_path: Path, field: str) -> None:
    text = (
        "seq: [{id: many, type: u1, repeat: expr, repeat-expr: 2}, {id: all, type: row, repeat: eos}]\n"
        "types: {sub: {params: [{id: n, type: u1}]},\n"
        f"  row: {{seq: [{{id: a, type: u1}}, {{id: f, {quoted(field)}}}],\n"
        "  instances: {many: {value: _root.many}}}}"
    )
    module = compiled(Case("", text, "", {}), tmp_path).module
    with pytest.raises(LayoutError, match=r"index out of") as caught:
        module.One.from_bytes(b"x\1\2")
    assert (caught.value.path, caught.value.offset) == ("all[0].f", 3)


PARAMETERS = Case(
    "parameters",
    "params: [{id: n, type: u1}, {id: s, type: str}, {id: f, type: f8}, {id: b, type: bool}, {id: d, type: bytes},\n"
    "  {id: l, type: 'u1[]'}]\nseq: [{id: x, size: n}]",
    "0102",
    {},
)
RIGHT: dict[str, Any] = {"n": 1, "s": "a", "f": 2, "b": True, "d": b"", "l": [1]}


@pytest.mark.parametrize(("name", "value"), [("n", "1"), ("s", 1), ("f", "2"), ("b", "x"), ("d", "d"), ("l", 1)])
def test_parameters_have_their_types(tmp_path: Path, name: str, value: Any) -> None:
    specification = compiled(PARAMETERS, tmp_path)
    assert bytes(specification.read(PARAMETERS.bytes, *RIGHT.values()).x) == b"\1"
    wrong = {**RIGHT, name: value}.values()
    with pytest.raises(SpecificationError, match=f"the parameter {name} of one is .*: {type(value).__name__}"):
        specification.read(PARAMETERS.bytes, *wrong)
    cls = specification.module.One
    assert bytes(cls.from_bytes(PARAMETERS.bytes, *RIGHT.values()).x) == b"\1"
    with pytest.raises(TypeError, match=f"One: the parameter {name} is .*, not {type(value).__name__}"):
        cls.from_bytes(PARAMETERS.bytes, *wrong)


USED = """
from pathlib import Path

from readers.readings import Readings, read_readings

readings = Readings.from_file("bern.wx")
celsius: list[float] = [one.celsius for one in readings.readings]
station: str = readings.station
wind: Readings.Winds | int = readings.readings[0].wind
data = Path("bern.wx").read_bytes()
other, end = read_readings(data, 0, len(data))
count: int = other.num_readings + end
"""


@pytest.mark.slow
def test_packages_have_types(tmp_path: Path) -> None:
    """Packages and what uses them pass `mypy --strict`; a name that a specification does not have is an error."""
    for id, spec in {"readings": ROOT / "examples/ksy/readings.ksy"}.items():
        package = compile_ksy(spec).package
        assert {"py.typed", f"{id}.pyi", "_layout.pyi"} <= set(package)
        (tmp_path / "readers").mkdir()
        for path, content in package.items():
            (tmp_path / "readers" / path).write_bytes(content)
    several = Case("x", "enums: {e: {1: name, 2: class}}\nseq: [{id: import, type: u1, enum: e}]", "", {})
    (tmp_path / "others").mkdir()
    for path, content in compiled(several, tmp_path).package.items():
        (tmp_path / "others" / path).write_bytes(content)
    (tmp_path / "used.py").write_text(USED)
    (tmp_path / "wrong.py").write_text("from readers.readings import Readings\nReadings.from_bytes(b'').staton\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "readers", "others", "used.py", "wrong.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.findall(r"^(\S+): error: (.*)", ran.stdout, re.MULTILINE) == [
        ("wrong.py:2", '"Readings" has no attribute "staton"; maybe "station"?  [attr-defined]')
    ]
