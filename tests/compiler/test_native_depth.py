"""Extension modules and the stack: structures within structures are read and freed on the stack of any thread."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.compiler.emit.extension.depth import EVERY, guarded
from exhume.layout.foreign import Specification, compile_ksy
from tests.compiler import specs
from tests.conftest import ROOT
from tests.sizes import THOROUGH

pytestmark = pytest.mark.xdist_group("deep")
compiler = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")
NESTED = """meta: {id: nested, endian: le, encoding: ASCII}
seq: [{id: top, type: part}]
types:
  part:
    seq:
      - {id: many, type: u1}
      - {id: word, type: str, size: 1}
      - {id: parts, type: part, repeat: expr, repeat-expr: many}
    instances: {next: {pos: 0, type: part}}
"""
LINKS = 80
LONG = f"""meta: {{id: long, endian: le}}
seq: [{{id: rows, type: t{LINKS}, repeat: eos}}]
types:
  t0: {{seq: [{{id: end, type: u1}}, {{id: text, type: strz, encoding: ASCII}}]}}
""" + "".join(f"  t{n}: {{seq: [{{id: t, type: t{n - 1}}}]}}\n" for n in range(1, LINKS + 1))
READ = """
import gc, sys, threading
from exhume.layout.foreign import compile_ksy
from tests.compiler import specs

every = compile_ksy(f"{sys.argv[1]}/every.ksy", native=True)
nested, long = specs.part(every, "nested"), specs.part(every, "long")
failed = []


def deep(many):
    top = nested.read(b"\\1a" * many + b"\\0b").top
    part = top
    for _ in range(many):
        part = part.parts[0]
    assert part.word == "b" and repr(part) and part._parent.word == "a"
    return top, part


def work():
    for many in (10, 100, 190, 250, 400, 900):
        top, part = deep(many)
        above = part._parent  # which a program keeps
        del top, part
        gc.collect()
        while above._parent is not None:
            above = above._parent
        assert above.top.word == "a"
    try:
        nested.read(b"\\1a" * 5000)
    except ValueError as error:
        assert "more within each other than fit" in str(error), error
    else:
        raise AssertionError("it reads structures without an end")
    # A chain of instances, each within the last, and lists that a program nests.
    part = start = nested.read(b"\\0a").top
    for _ in range(4000):
        part = part.next
    part._parent = part._parent
    del part
    assert start.next.next.many == 0
    del start
    outer = None
    for _ in range(4000):
        value = nested.read(b"\\1a\\0b").top
        value.parts.append([outer])
        outer = value
    del value, outer
    gc.collect()
    data = b"\\7a\\0" * 100
    rows = long.read(data).rows
    assert len(rows) == 100
    part = rows[99]
    while hasattr(part, "t"):
        part = part.t
    assert part.text == "a"
    del rows, part


def watched():
    try:
        work()
    except BaseException as error:
        failed.append(error)


threading.stack_size(int(sys.argv[2]) << 10)
thread = threading.Thread(target=watched)
thread.start()
thread.join()
if failed:
    raise failed[0]
print("read")
"""


POINTED = """meta: {id: pointed, endian: le}
seq:
  - {id: scale, type: u1}
  - {id: points, type: point, repeat: eos}
types:
  point: {seq: [{id: x, type: u2}, {id: y, type: u2}]}
  head: {seq: [{id: scale, type: u1}]}
instances:
  first: {pos: 0, type: head}
"""

SPECS = {
    "nested": NESTED,
    "long": LONG,
    "pointed": POINTED,
    "named": POINTED.replace("id: pointed", "id: named").replace(
        "{id: y, type: u2}", "{id: name, type: strz, encoding: ASCII}"
    ),
    "pointed_parts": POINTED.replace("id: pointed", "id: pointed_parts").replace(
        "point: {seq: [", "point: {seq: [{id: part, type: head}, "
    ),
    "whole": "meta: {id: whole}\nseq: [{id: part, type: part}]\ntypes: {part: {seq: [{id: x, type: u1}]}}\n",
}


@compiler
@pytest.mark.parametrize("kilobytes", [128, 256, 512, 8192] if THOROUGH else [128, 8192])
def test_structures_within_structures_fit_any_stack(folder: Path, every: Specification, kilobytes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder), str(kilobytes)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr[-2000:]


def test_readers_that_go_deep_examine_the_stack() -> None:
    chain = {n: {n - 1} if n else set() for n in range(10 * EVERY)}
    assert len(guarded(chain)) == 10
    assert guarded({0: {1}, 1: {2}, 2: {1}, 3: {0, 3}}) == {1, 2, 3}


def test_a_long_chain_of_types_is_guarded(folder: Path) -> None:
    from exhume.compiler.emit.extension import extension

    text = extension(compile_ksy(folder / "long.ksy").texts).text
    assert text.count("\n    deeper()") >= LINKS // EVERY


MANY = 200_000
"""Rows whose structures take some 30 MB: much more than is free in a process that ran other tests."""


@compiler
def test_rows_of_columns_outlive_what_they_are_in(every: Specification) -> None:
    """They keep it, and all of it is freed without the collector where no instance refers to a part of it."""
    read = specs.part(every, "pointed").module.Pointed.from_bytes
    data = b"\3" + bytes(range(200))

    def run(times: int) -> None:
        for turn in range(times):
            points = read(data).points
            row = next(iter(points))
            assert not gc.is_tracked(row)
            rows = list(points)
            del points
            part = rows[turn % 50]
            if turn % 3 == 0:
                assert part._parent.first.scale == 3
            del rows
            assert part._parent.scale == 3
            assert row._parent is part._parent

    run(300)
    gc.collect()
    before = sys.getallocatedblocks()
    run(3000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1500


@compiler
def test_what_waits_for_a_part_is_freed_without_the_collector(every: Specification) -> None:
    """A program that drops a structure before a list in it leaves nothing to the collector."""
    module = specs.part(every, "named").module
    data = b"\3" + b"\1\2A\0" * 50

    def read() -> Any:
        return module.Named.from_bytes(data)

    ways: list[Callable[[], Any]] = [lambda: read().points, lambda: list(read().points), lambda: read().points[7]]
    gc.collect()
    gc.disable()
    try:
        read()
        before = sys.getallocatedblocks()
        for turn in range(3000):  # what waits is freed when the next files are read
            ways[turn % 3]()
        assert sys.getallocatedblocks() - before < 1500
        rows, (row, *_) = ways[0](), ways[1]()
        assert not gc.is_tracked(rows[0])
        assert not gc.is_tracked(row)
        parent = row._parent
        del row, _
        assert len(parent.points) == 50  # in use again
        for _ in range(2):
            ways[2]()
        assert gc.is_tracked(rows[0])  # it was examined often enough
        assert [row._parent.scale for row in rows] == [3] * 50
        del rows, parent
        read()
        assert gc.collect() > 50
    finally:
        gc.enable()
    rows = ways[0]()
    gc.collect()
    assert gc.is_tracked(rows[0])  # the collector examined all objects
    del rows
    assert gc.collect() > 50


@compiler
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the size of a process is read from /proc")
def test_memory_of_structures_goes_back_to_the_system(every: Specification) -> None:
    """All but a few blocks, after the last structure of a tree is freed; structures that a program keeps are intact."""
    read = specs.part(every, "pointed_parts").module.PointedParts.from_bytes
    data = b"\3" + b"".join(n.to_bytes(4, "little") + b"\7" for n in range(MANY))

    def size() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGESIZE")

    kept = [row.part for row in list(read(data[:50_001]).points)[::1000]]
    start = size()
    rows = list(read(data).points)
    grown = size() - start
    assert grown > 20 << 20
    del rows
    gc.collect()
    assert size() - start < grown / 2
    for turn in range(3):
        rows = list(read(data).points)
        assert [row.part.scale for row in rows[turn::50_000]] == [n % 256 for n in range(turn, MANY, 50_000)]
        part = rows[-1].part
        del rows
        assert (part._parent.x, part._parent.y) == (MANY - 1 >> 8, 0x700)
        assert len(part._parent._parent.points) == MANY
    assert [(one.scale, one._parent.x) for one in kept] == [(n % 256, n >> 8) for n in range(0, 10_000, 1000)]


@compiler
def test_the_collector_starts_for_structures_alone(every: Specification) -> None:
    """Structures that only the collector frees start it, where a program makes nothing else that it counts."""
    module = specs.part(every, "whole").module
    most, usual = 0, gc.get_threshold()
    gc.set_threshold(700)  # Python's own
    try:
        for turn in range(20_001):
            whole = module.Whole.from_bytes(b"\7")
            whole.part._parent = whole
            if turn % 2000 == 0:
                most = max(most, sum(type(one) is module.Whole for one in gc.get_objects()))
    finally:
        gc.set_threshold(*usual)
    assert 0 < most < 5000
