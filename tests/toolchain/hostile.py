# ruff: noqa: E501 - specifications on one line each
"""Specifications that request more than a machine has, and what one costs: compiled, read, made into tables, explained.

    python -m tests.toolchain.hostile "types that double"

runs one and prints the CPU seconds of each step, the peak of memory in MB, and what was reported.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.sizes import THOROUGH, peak_memory, size

HEAD = "meta: {id: one, endian: le, encoding: ASCII}\n"
PACKED = zlib.compress(bytes(20 << 20))
WHOLE = "{io: _root._io, pos: 0, size-eos: true%s}"


def types(many: int, last: str, *, lazy: bool = False) -> str:
    """Types that each have two of the next."""
    out = [HEAD, "seq: [{id: a, type: t0}]\n", "types:\n"]
    for number in range(many):
        pair = f"a: {{pos: 0, type: t{number + 1}}}, b: {{pos: 0, type: t{number + 1}}}"
        seq = f"seq: [{{id: a, type: t{number + 1}}}, {{id: b, type: t{number + 1}}}]"
        out.append(f"  t{number}: {{{f'instances: {{{pair}}}' if lazy else seq}}}\n")
    return "".join(out) + f"  t{many}: {{seq: [{{id: x, {last}}}]}}\n"


def chain(how: str, many: int, last: str) -> str:
    """Instances that are each made of the next, as `how` says."""
    made = "".join(f"  a{n}: {{value: '{how.replace('@', f'a{n + 1}')}'}}\n" for n in range(many))
    return f"instances:\n{made}  a{many}: {{value: {last}}}\n"


def listed(how: str, many: int) -> str:
    """Many of something, numbered."""
    return "".join(how.replace("@", str(number)) for number in range(many))


def each(instances: str, seq: str = "") -> str:
    """An element of one byte with instances, repeated to the end, after other fields."""
    return f"seq: [{seq}{{id: e, type: t, repeat: eos}}]\ntypes: {{t: {{seq: [{{id: x, type: u1}}], instances: {instances}}}}}\n"


def grown(how: str) -> str:
    """Elements that each compute `m` of the next."""
    part = f"params: [{{id: m, type: u8}}], seq: [{{id: x, type: u1}}], instances: {{next: {{value: '{how}'}}}}"
    return f"seq: [{{id: g, type: 't(_index == 0 ? 1 : g[_index - 1].next)', repeat: eos}}]\ntypes: {{t: {{{part}}}}}\n"


def value(text: str) -> str:
    """One computed instance."""
    return f"seq: [{{id: a, type: u1}}]\ninstances: {{v: {{value: '{text}'}}}}\n"


HOSTILE: dict[str, tuple[str, bytes]] = {
    "instances of itself": ("seq: [{id: a, type: u1}]\ninstances: {p: {pos: 0, type: one}, q: {pos: 0, type: one}}", b"abcd"),
    "sized instances of itself":
        ("instances: {p: {pos: 0, size-eos: true, type: one}, q: {pos: 0, size-eos: true, type: one}}", b"abcd"),
    "types that double": (types(40, "size: 0"), b"abcd"),
    "lazy types that double": (types(40, "type: u1", lazy=True), b"abcd"),
    "the size of types that double": (types(60, "type: u1") + "instances: {v: {value: sizeof<t0>}}", b"abcd"),
    "a type in itself": ("seq: [{id: x, type: t}]\ntypes: {t: {seq: [{id: y, type: t}]}}", b"abcd"),
    "the root in itself": ("seq: [{id: x, type: one}]", b"abcd"),
    "types in each other":
        ("seq: [{id: x, type: t}]\ntypes: {t: {seq: [{id: y, type: u}]}, u: {seq: [{id: y, type: t}, {id: z, type: t}]}}", b""),
    "values of each other": ("instances: {a: {value: 'b.as<u1> + 1'}, b: {value: 'a.as<u1> + 1'}}", b"abcd"),
    "a value of the root": ("seq: [{id: a, type: u1}]\ninstances: {r: {value: _root}, s: {value: _root}}", bytes(100)),
    "lists of the root":
        (f"instances: {{b: {{value: '[{listed('_root, ', 8)}]'}}, c: {{value: '[{listed('_root, ', 8)}]'}}}}", bytes(100)),
    "parents": (
        "seq: [{id: x, type: t}]\ntypes: {t: {seq: [{id: a, type: u1}, {id: y, type: t, if: a != 0}], "
        "instances: {sum: {value: '_parent.as<t>.sum + 1'}}}}", b"\1" * 4000,
    ),
    "decoding the whole file for each element": (each(f"{{w: {WHOLE % ', process: xor(1)'}}}"), bytes(size(20_000, 64_000))),
    "rotating the whole file for each element": (each(f"{{w: {WHOLE % ', process: rol(1)'}}}"), bytes(64_000)),
    "decoding the whole file again and again":
        (f"instances:\n{listed('  w@: {pos: 0, size-eos: true, process: xor(@)}' + chr(10), 60)}", bytes(4 << 20)),
    "inflating again and again": (f"instances:\n{listed('  w@: {pos: 0, size-eos: true, process: zlib}' + chr(10), size(100, 300))}", PACKED),
    "inflating twenty fields": (
        "seq:\n" + listed("  - {id: l@, type: u4}\n  - {id: z@, size: l@, process: zlib}\n", 20),
        (len(PACKED).to_bytes(4, "little") + PACKED) * 20,
    ),
    "inflating what is in elements": (
        "seq: [{id: e, type: t, repeat: eos}]\ntypes: {t: {seq: [{id: l, type: u4}, {id: z, size: l, process: zlib, "
        "type: u}]}, u: {seq: [{id: n, type: u1, repeat: eos, valid: {max: 9}}]}}",
        (len(PACKED).to_bytes(4, "little") + PACKED),
    ),
    "copies of the whole file": (f"instances:\n{listed('  w@: {pos: 0, size-eos: true}' + chr(10), size(100, 300))}", bytes(1 << 20)),
    "texts of the whole file": (f"instances:\n{listed('  w@: {pos: 0, size-eos: true, type: str}' + chr(10), 300)}", b"a" * (1 << 20)),
    "numbers of the whole file":
        (f"instances:\n{listed('  w@: {pos: 0, type: u2be, repeat: eos}' + chr(10), size(100, 300))}", bytes(size(1 << 13, 1 << 14))),
    "texts that double": ("seq: [{id: s, type: str, size-eos: true}]\n" + chain("@ + @", 60, "s + s"), b"abcd" * 100),
    "formats that double": ("seq: [{id: s, type: str, size-eos: true}]\n" + chain('f"{@}{@}"', 60, "s + s"), b"abcd" * 100),
    "numbers that double": ("seq: [{id: s, type: u8}]\n" + chain("@ * @", 60, "s * s"), b"\xff" * 8),
    "numbers from element to element": (grown("m * 128"), bytes(400_000)),
    "sums from element to element": (grown("m + m"), bytes(400_000)),
    "sums that double": ("seq:\n  - {id: x, type: u1}\n" + listed("  - {id: y@, size: a0}\n", 300) + chain("@ + @", 11, "x"), bytes(5)),
    "rules that double":
        ("seq: [{id: a, type: u1, valid: {expr: 'a0 > 0'}, repeat: eos}]\n" + chain("@ + @", 40, "1"), bytes(2000)),
    "shifts":
        ("seq: [{id: s, type: u8}]\ninstances: {x: {value: '1 << s'}, y: {value: 's << s'}, z: {value: '1 << 99999999999'}}", b"\xff" * 8),
    "digits": ("seq: [{id: s, type: str, size-eos: true}]\ninstances: {x: {value: s.to_i(16)}, y: {value: s.to_i}}", b"f" * 1_000_000),
    "elements of nothing": (
        "seq: [{id: n, type: u8}, {id: x, type: t, repeat: expr, repeat-expr: n}]\ntypes: {t: {instances: {x: {value: 1}}}}",
        b"\xff" * 8,
    ),
    "bytes of nothing": ("seq: [{id: n, type: u8}, {id: x, size: 0, repeat: expr, repeat-expr: n}]", b"\xff" * 8),
    "elements of elements of nothing": (
        "seq: [{id: x, type: t, repeat: expr, repeat-expr: 10000}]\ntypes: {t: {seq: [{id: x, type: u, repeat: expr, "
        "repeat-expr: 10000}]}, u: {seq: [{id: x, size: 0}]}}", b"abcd",
    ),
    "elements without an end": ("seq: [{id: x, size: 0, repeat: until, repeat-until: 'false'}]", b"abcd"),
    "an instance without an end":
        ("instances: {x: {pos: 0, type: t, repeat: until, repeat-until: 'false'}}\ntypes: {t: {seq: [{id: a, size: 0}]}}", b"abcd"),
    "a type of many fields of nothing":
        ("seq: [{id: x, type: t, repeat: expr, repeat-expr: 10000}]\ntypes:\n  t:\n    seq:\n" + listed("      - {id: a@, size: 0}\n", 600), b""),
    "columns of nothing": (
        "seq: [{id: x, type: t, repeat: eos}]\ntypes:\n  t:\n    seq:\n      - {id: q, type: u1}\n" + listed("      - {id: a@, size: 0}\n", 600),
        bytes(size(2000, 8000)),
    ),
    "columns of structures of structures": (
        "seq: [{id: r, type: t0, repeat: eos}]\ntypes:\n"
        + "".join(f"  t{n}: {{seq: [{listed(f'{{id: a@, type: t{n + 1}}}, ', 30)}]}}\n" for n in range(4))
        + "  t4: {seq: [{id: x, type: u1}]}\n", bytes(5000),
    ),
    "tables of structures of structures": (
        "seq: [{id: r, type: t0, repeat: expr, repeat-expr: 2}]\ntypes:\n"
        + "".join(f"  t{n}: {{seq: [{listed(f'{{id: a@, type: t{n + 1}, if: false}}, ', 30)}]}}\n" for n in range(9))
        + "  t9: {seq: [{id: x, type: u1}]}\n", bytes(500),
    ),
    "tables of what is around": (
        "seq: [{id: r, type: t, repeat: expr, repeat-expr: 1000}]\ntypes: {t: {seq: [{id: x, type: u1}], instances: {"
        + listed("a@: {value: _parent}, ", 20) + "}}}", bytes(1000),
    ),
    "one text in every row": (each("{m: {value: _root.s}}", "{id: s, type: str, size: 60000}, "), b"a" * 64_000),
    "one list in every row":
        (each("{m: {value: _root.s}}", "{id: s, type: u1, repeat: expr, repeat-expr: 60000}, "), b"a" * 64_000),
    "the largest of all for each element":
        (each("{m: {value: _root.s.max}}", f"{{id: s, type: u1, repeat: expr, repeat-expr: {size(10_000, 30_000)}}}, "), bytes(size(15_000, 40_000))),
    "the reverse of all for each element":
        (each("{m: {value: '_root.s.reverse + _root.s.reverse'}}", "{id: s, type: str, size: 30000}, "), b"a" * 40_000),
    "comparing all for each element": (
        each("{m: {value: _root.s == _root.r}}", "{id: s, type: str, size: 30000}, {id: r, type: str, size: 30000}, "),
        b"a" * 70_000,
    ),
    "scanning all for each element":
        (each("{m: {io: _root._io, pos: 0, terminator: 0x7f}, n: {io: _root._io, pos: 0, terminator: 0x7f, eos-error: false}}"), bytes(size(8000, 20_000))),
    "huge numbers": (
        "seq: [{id: a, size: 99999999999999999999999999}]\ninstances:\n  b: {pos: 99999999999999999999999999, size: 1}\n"
        "  c: {pos: -5, type: u1}\n  d: {pos: 0, size: -5}\n  e: {pos: 0, type: u4, repeat: expr, repeat-expr: 99999999999999999999}\n"
        "  f: {pos: 0, type: b64, repeat: expr, repeat-expr: 1000000000}\n  g: {pos: -99999999999999999999, size: 4}\n", b"abcd",
    ),
    "a thousand million bits": ("seq: [{id: f, type: b1, repeat: expr, repeat-expr: 1000000000}]", bytes(4000)),
    "long names within each other": (
        f"seq: [{{id: p, type: t}}]\ntypes: {{t: {{instances: {{{'a' * 200}: {{pos: 0, type: t}}, {'b' * 200}: {{pos: 0, type: t}}}}}}}}", b"abcd",
    ),
    "long docs": (f"doc: {'x' * 500_000}\nseq: [{{id: p, type: u1, repeat: eos, doc: {'y' * 300_000}}}]", bytes(1000)),
    "a representation of braces": (
        f"seq: [{{id: p, type: t, repeat: eos}}]\ntypes: {{t: {{-webide-representation: '{'{a' * 400}{{a:{'b' * 100}', seq: [{{id: a, type: u1}}]}}}}",
        bytes(2000),
    ),
    "a long expression": (value("+".join(["a"] * 9000)), bytes(5)),
    "parentheses": (value("(" * 9000), bytes(5)),
    "signs": (value("-" * 19_000 + "a"), bytes(5)),
    "negations": (value("not " * 4900 + "true"), bytes(5)),
    "choices": (value("true ? 1 : " * 1800 + "1"), bytes(5)),
    "members": (value("_root" + "._root" * 3000 + ".a"), bytes(5)),
    "a long list": (value(f"[{'a,' * 9000}1]"), bytes(5)),
    "a format of many parts": (value('f"' + "{a}" * 6000 + '"'), bytes(5)),
    "an open format": (value('f"' + "a" * 15_000 + '{"'), bytes(5)),
    "an open text": (value('"' + "\\\\" * 9000), bytes(5)),
    "many long expressions": ("seq: [{id: x, type: u1}]\ninstances:\n" + listed(f"  a@: {{value: '{'+'.join(['x'] * 900)}'}}\n", 500), bytes(5)),
    "many fields": ("seq:\n" + listed("  - {id: a@, type: u1}\n", 20_000), bytes(5)),
    "fields of one type": ("seq:\n" + listed("  - {id: a@, type: u1}\n", 1_000), bytes(5)),
    "many types": ("types:\n" + listed("  t@: {}\n", 20_000), bytes(5)),
    "types of many fields": (
        "types:\n" + listed("  t@: {seq: [{id: a, type: t1, if: _io.eof}, {id: b, type: u1, if: _parent._io.size == 1}, "
        "{id: c, type: u2}, {id: d, size: b}]}\n", 490), bytes(5),
    ),
    "types of one name": ("types:\n" + "".join(f"  a{'_' * (n // 20)}b{'_' * (n % 20)}c: {{}}\n" for n in range(size(250, 400))), bytes(5)),
    "values of an enum": ("enums:\n  e:\n" + listed("    @: a@\n", size(8_000, 24_000)), bytes(5)),
    "cases": (
        "seq:\n - {id: a, type: u1}\n - id: b\n   repeat: eos\n   type:\n     switch-on: a\n     cases:\n"
        + listed("      1@: u1\n", 9000) + "      _: u1\n", bytes(5000),
    ),
    "allowed values": ("seq:\n - {id: a, type: u1, repeat: eos, valid: {any-of: [0, " + listed("1@, ", 4000) + "0]}}\n", bytes(5000)),
    "long contents": ("seq:\n - {id: a, contents: [" + "1," * 40_000 + "1]}\n", bytes(5000)),
    "deep YAML": ("x: " + "[" * 300 + "]" * 300, bytes(5)),
    "much YAML": (f"doc: {'x' * (3 << 20)}", bytes(5)),
    "choices of choices": ("seq: [{id: a, type: {switch-on: 1, cases: {1: {switch-on: 1, cases: {1: u1}}}}}]", bytes(5)),
    "surrogates": ('doc: "\\ud800"\nseq: [{id: a, type: u1, doc: "\\udfff"}]', bytes(5)),
    "lists of lists":
        ("seq: [{id: a, type: u1, repeat: eos}]\n" + chain("[@, @, @, @]", 15, "a"), bytes(100)),
}  # fmt: skip
"""What a specification says after its head, and the file that is read by it."""


ALIKE = {
    "rotating the whole file for each element": "decoding the whole file for each element",
    "texts of the whole file": "copies of the whole file",
    "tables of structures of structures": "columns of structures of structures",
    "lazy types that double": "instances of itself",
    "negations": "signs",
    "one list in every row": "one text in every row",
    "comparing all for each element": "the reverse of all for each element",
    "sums that double": "rules that double",
    "sums from element to element": "numbers from element to element",
    "a format of many parts": "a long list",
}
"""Those that `make test` leaves out, and the one of the same kind that it tries."""


@functools.cache
def outcome(spec: Path) -> Any:
    """The readers of a specification, or why there are none; the cost of compiling it is that of one step."""
    import exhume

    try:
        return exhume.compile_ksy(spec)
    except exhume.ExhumeError as error:
        return error


def compiled(spec: Path) -> Any:
    """The readers of a specification; raises why there are none."""
    if isinstance(found := outcome(spec), Exception):
        raise found
    return found


def rows_of(spec: Path, data: Path) -> int:
    """The rows of a table of the first list; 0 without a list."""
    made = compiled(spec)
    repeated = [one.id for one in made.model.schemas["one"].fields() if one.repeat]
    return int(made.to_arrow(data, repeated[0]).num_rows) if repeated else 0


def explain(spec: Path, data: Path) -> Any:
    """Explain a file with all its fields, by the readers that were compiled for the first step."""
    from exhume.cli.main import invoke
    from exhume.layout import foreign

    once = mock.patch.object(foreign, "compile_ksy", lambda path, **_: compiled(Path(path)))
    with contextlib.nullcontext() if THOROUGH else once:
        return invoke(["explain", "--ksy", str(spec), str(data), "--all", "--json"])


def steps(spec: Path, data: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done with a specification, by name; errors of ours are what it is about."""
    from exhume.cli.main import invoke
    from exhume.errors import ExhumeError
    from exhume.layout.fast import RAISED

    def ours(work: Callable[[], Any]) -> Callable[[], Any]:
        def worked() -> Any:
            try:
                return work()
            except ExhumeError as error:
                return str(error)

        return worked

    def read() -> None:
        """Read a file, and request everything in it."""
        waiting = collections.deque([compiled(spec).read(data)])
        seen = 0
        while waiting and (seen := seen + 1) < 20_000:
            one = waiting.popleft()
            for name in (*getattr(type(one), "_fields", ()), *vars(type(one))) if hasattr(one, "_io") else ():
                if name.startswith("_"):
                    continue
                try:
                    found = getattr(one, name)
                except RAISED:
                    continue
                waiting += found[:5000] if isinstance(found, list) else [found]

    if THOROUGH:  # the others compile, too
        yield "compile", lambda: invoke(["compile", str(spec), "-o", str(spec.parent / "readers")])
    yield "read", ours(read)
    yield "table", ours(lambda: rows_of(spec, data))
    if THOROUGH:  # the next one does the same and more
        yield "explain", lambda: invoke(["explain", "--ksy", str(spec), str(data)])
    if THOROUGH or not isinstance(outcome(spec), Exception):  # it would only be refused once more
        yield "explain --all --json", lambda: explain(spec, data)


def cost(name: str) -> dict[str, Any]:
    """CPU seconds by step, the peak of memory, and the text on stderr."""
    import pyarrow  # noqa: F401 - which takes its time, whatever is done with it

    rest, data = HOSTILE[name]
    found: dict[str, Any] = {"seconds": {}, "codes": []}
    with tempfile.TemporaryDirectory() as folder:
        spec, file = Path(folder, "one.ksy"), Path(folder, "data")
        spec.write_text(HEAD * (not rest.startswith("meta")) + rest, encoding="utf-8")
        file.write_bytes(data)
        out, err = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        stated = sys.stderr
        try:
            before = peak_memory()
            for step, work in steps(spec, file):
                began = time.process_time()
                found["codes"].append(str(work())[:3000])
                found["seconds"][step] = round(time.process_time() - began, 2)
                sys.stdout.seek(0)
                sys.stdout.truncate()
            found["peak"] = (peak_memory() - before) >> 20
            stated.flush()
            stated.seek(0)
            found["stated"] = stated.read()
        finally:
            sys.stdout, sys.stderr = out, err
    return found


if __name__ == "__main__":
    print(json.dumps(cost(sys.argv[1])))  # noqa: T201 - what it is for
