"""Explaining by a foreign specification costs what is shown, and shows the same as reading everything at once."""

from __future__ import annotations

import gc
import json
import tracemalloc
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from exhume.compiler.emit.modules import module_texts
from exhume.engines.explain import Selection, explain
from exhume.engines.explained import innermost
from exhume.errors import Span
from exhume.layout import tracing
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.schema import Explainer
from exhume.layout.trees import Field
from tests.forks import Forks
from tests.sizes import some
from tests.toolchain.test_ksy_language import CASES, Case

ROW = "row: {seq: [{id: n, type: u1}, {id: data, size: n}]}"
LISTS = [
    Case("to the end", f"seq: [{{id: rows, type: row, repeat: eos}}]\ntypes: {{{ROW}}}", "0061 0161 0261 62", {}),
    Case(
        "counted", f"seq: [{{id: rows, type: row, repeat: expr, repeat-expr: 3}}]\ntypes: {{{ROW}}}", "000161026162", {}
    ),
    Case(
        "until",
        f"seq: [{{id: rows, type: row, repeat: until, repeat-until: _.n == 0 or _index == 2}}, {{id: z, type: u1}}]\n"
        f"types: {{{ROW}}}",
        "01610261620003",
        {},
    ),
    Case(
        "one of several",
        "seq: [{id: rows, type: row, repeat: eos}]\n"
        "types:\n  row: {seq: [{id: k, type: u1}, {id: v, type: {switch-on: k, cases: {1: a, 2: u2, 3: strz}}}]}\n"
        "  a: {seq: [{id: x, type: b3}, {id: y, type: b5}]}",
        "0108 02ffff 03616200 0920",
        {},
    ),
    Case(
        "sized and decoded",
        "seq: [{id: rows, size: 3, type: row, repeat: expr, repeat-expr: 2},\n"
        "  {id: coded, size: 3, type: row, process: xor(1), repeat: eos}]\n"
        "types: {row: {seq: [{id: a, type: u1}, {id: more, type: u1, repeat: eos}]}}",
        "010203 040506 070809 0a0b0c",
        {},
    ),
    Case(
        "within each other",
        "seq: [{id: groups, type: group, repeat: eos}]\n"
        "types:\n  group: {seq: [{id: n, type: u1}, {id: rows, type: row, repeat: expr, repeat-expr: n}]}\n"
        "  row: {seq: [{id: of, type: u1, valid: {max: 9}}], instances: {twice: {value: of * _parent.n}}}",
        "020102 00 03010203 0109",
        {},
    ),
    Case(
        "elsewhere",
        "seq: [{id: ofs, type: u1}, {id: n, type: u1}]\n"
        "instances:\n  rows: {pos: ofs, type: row, repeat: expr, repeat-expr: n}\n  first: {value: 'rows[0].at'}\n"
        "types: {row: {seq: [{id: at, type: u1}], instances: {body: {pos: at, size: 2, io: _root._io}}}}",
        "0402 aabb 0207 0102030405",
        {},
    ),
    Case(
        "asked for by others",
        "seq: [{id: rows, type: row, repeat: expr, repeat-expr: 3}, {id: rest, size: 'rows[1].n'}]\n"
        "instances: {many: {value: rows.size}, last: {value: rows.last.n}}\n"
        f"types: {{{ROW}}}",
        "01610262620063 64",
        {},
    ),
    Case(
        "that look at those before",
        "seq: [{id: rows, type: 'row(_index)', repeat: eos}]\n"
        "types: {row: {params: [{id: i, type: s4}], seq: [{id: n, type: u1},\n"
        "  {id: data, size: 'i > 0 ? _parent.rows[i - 1].n : 1'}]}}",
        "0161 026100 616203 0100000061",
        {},
    ),
    Case(
        "given as a whole",
        "seq: [{id: rows, type: row, repeat: eos}]\ninstances: {second: {value: 'rows[1]'}, all: {value: rows}}\n"
        f"types: {{{ROW}}}",
        "0161 026162 00",
        {},
    ),
    Case(
        "by a header",
        "seq: [{id: size, type: u1}, {id: rows, type: row, repeat: eos}]\n"
        "types: {row: {seq: [{id: n, type: u1}, {id: data, size: _root.size}]}}",
        "02 016162 026364",
        {},
    ),
]
EACH = [*LISTS, *CASES]


def compiled(case: Case, folder: Path) -> Specification:
    file = folder / "one.ksy"
    file.write_text(case.text, encoding="utf-8")
    return compile_ksy(file)


def reported(node: Field) -> tuple[Any, ...]:
    return node.path, node.type, node.span, repr(node.value), node.meaning, node.note, node.omitted


def flat(tree: Field) -> list[tuple[Any, ...]]:
    return [reported(node) for _, node in tree.walk()]


def explained(specification: Specification, data: bytes, *, at_once: bool = False, **how: Any) -> Field:
    explainer = Explainer(Span("x", 0, len(data)), **how)
    # At once: with every element of every list, for comparison.
    read = specification._traced(module_texts(specification.model, traced=True)) if at_once else specification.traced
    return explainer.explain_traced(specification.model.schemas["one"], read, data)


STARTS = tracing.STARTS, 2, 3
"""How many starts of elements are kept; the others are found again."""
BLOCKS = tracing.BLOCKS


def keep(monkeypatch: pytest.MonkeyPatch, starts: int) -> None:
    monkeypatch.setattr(tracing, "STARTS", starts)
    monkeypatch.setattr(tracing, "BLOCKS", min(BLOCKS, starts))


@pytest.mark.parametrize("case", EACH, ids=lambda case: case.id)
def test_trees_are_those_of_reading_at_once(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specification = compiled(case, tmp_path)
    for cut in range(len(case.bytes) + 1):
        data = case.bytes[:cut]
        known = flat(explained(specification, data, at_once=True, whole=True))
        for starts in STARTS:
            keep(monkeypatch, starts)
            assert flat(explained(specification, data, whole=True)) == known, starts
            assert flat(explained(specification, data, whole=True, stream=True)) == known, starts
    whole = explained(specification, case.bytes, at_once=True, whole=True)
    for at in some(range(len(case.bytes))):
        known = [reported(node)[:6] for node in innermost([whole], at)]
        for starts in STARTS:
            keep(monkeypatch, starts)
            found = explained(specification, case.bytes, window=(at, at + 1))
            assert [reported(node)[:6] for node in innermost([found], at)] == known, (at, starts)


@pytest.mark.parametrize("starts", STARTS)
def test_rows_that_are_found_together_keep_some_starts(
    tmp_path: Path, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than are found at a time, with a broken one at the end."""
    keep(monkeypatch, starts)
    specification = compiled(LISTS[0], tmp_path)
    data = b"".join(bytes((number % 7,)) + bytes(number % 7) for number in range(9000)) + b"\x05ab"
    found = explained(specification, data, whole=True, stream=True)
    [rows] = found.children
    assert len(rows.children) == 9001
    at = 0
    for number in range(9001):
        if number % 500 < 3 or number > 8990:
            span = rows.children[number].span
            assert span is not None
            assert span.start == at
        at += 1 + number % 7
    near = explained(specification, data, window=(4000, 4001))
    assert innermost([near], 4000)[-2].span == innermost([found], 4000)[-2].span


def test_a_list_without_numbers_has_no_elements(tmp_path: Path) -> None:
    numbers = "seq: [{id: a, type: u1, repeat: eos}, {id: b, type: u2, repeat: eos}]"
    found = explained(compiled(Case("none", numbers, "", {}), tmp_path), b"", whole=True)
    assert [(one.name, one.value) for one in found.children] == [("a", "0 elements"), ("b", "0 elements")]


def test_ranges_have_the_elements_in_them(tmp_path: Path) -> None:
    specification = compiled(LISTS[0], tmp_path)
    [found] = explain(b"\1a" * 5, selection=Selection(start=3, end=6), ksy=specification)
    assert found.stored is not None
    [rows] = found.stored.children
    assert ([row.name for row in rows.children], rows.omitted) == (["[0]", "[1]", "[2]", "[3]"], 1)
    assert found.note == ""
    specification = compiled(LISTS[6], tmp_path)
    [found] = explain(LISTS[6].bytes, selection=Selection(start=5, end=7), ksy=specification)
    assert found.note.startswith("elements outside the range were not read")


def test_the_document_is_the_same_in_pieces(tmp_path: Path, exhume_cli: Any) -> None:
    (tmp_path / "one.ksy").write_text(LISTS[0].text, encoding="utf-8")
    file = tmp_path / "file.bin"
    file.write_bytes(b"\1a" * 100 + b"\2")
    ran = exhume_cli("explain", "--ksy", tmp_path / "one.ksy", file, "--all", "--json")
    [section] = json.loads(ran.out)["sections"]
    [whole] = explain(file, selection=Selection(whole=True), ksy=compile_ksy(tmp_path / "one.ksy"))
    assert section == json.loads(json.dumps(whole.to_dict()))
    assert ran.code == 3
    lines = exhume_cli("explain", "--ksy", tmp_path / "one.ksy", file, "--all", "--ndjson")
    assert {**section, "format": "ksy:one"}.items() <= json.loads(lines.out).items()


FAILING = """
seq: [{id: rows, type: row, repeat: eos}]
types: {row: {seq: [{id: n, type: u1}], instances: {far: {pos: n * 100, type: u1}}}}
"""


def test_what_fails_while_it_is_printed_decides_about_the_exit_code(tmp_path: Path, exhume_cli: Any) -> None:
    (tmp_path / "one.ksy").write_text(f"meta: {{id: one}}{FAILING}", encoding="utf-8")
    for last, code in ((0, 0), (9, 3)):
        (tmp_path / "file.bin").write_bytes(bytes(99) + bytes([last]))
        assert (
            exhume_cli("explain", "--ksy", tmp_path / "one.ksy", tmp_path / "file.bin", "--all", "--json").code == code
        )


def peak(folder: Path, many: int, how: dict[str, Any]) -> int:
    """Peak memory of explaining, in a process of its own: what other tests leave does not count."""
    specification = compiled(LISTS[0], folder)
    data = b"\1a" * many
    explained(specification, data[:100], **how)
    gc.collect()
    gc.freeze()  # modules are not examined again and again
    tracemalloc.start()
    found = explained(specification, data, **how)
    for number, _ in enumerate(found.walk()):
        if number % 500 == 0:
            gc.collect()  # objects name their parents
    return tracemalloc.get_traced_memory()[1]


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    imports = "import json; from pathlib import Path; from tests.toolchain.test_lazy_explain import peak"
    with Forks(imports, "print(peak(Path(words[0]), int(words[1]), json.loads(words[2])))") as made:
        yield made


@pytest.mark.parametrize("how", [{"window": (200, 201)}, {}, {"stream": True}], ids=["byte", "first", "all"])
def test_memory_is_where_each_element_begins(tmp_path: Path, how: dict[str, Any], forks: Forks) -> None:
    how = {"whole": "stream" in how, **how}
    less, more = (int(forks.run(str(tmp_path), str(many), json.dumps(how)).out) for many in (1_000, 5_000))
    assert (more - less) / 4_000 < 40  # bytes; an object with its notes takes a thousand


def test_a_long_list_keeps_a_bounded_number_of_starts() -> None:
    width = 3
    walked = lambda index, at: count(at + width, width)  # noqa: E731
    one, many = (tracing.Places(None, 5, 0, walked) for _ in range(2))
    total = 3 * tracing.STARTS + 1
    for number in range(total):
        one.end(5 + width * (number + 1))
    for first in range(0, total, 5000):
        last = min(first + 5000, total)
        many.extend([5 + width * number for number in range(first, last)], 5 + width * last)
    for found in (one, many):
        assert len(found) == total
        assert len(found._starts) <= tracing.STARTS
        assert [found.start(at) for at in (0, 1, 77, total - 1, total)] == [
            5 + width * at for at in (0, 1, 77, total - 1, total)
        ]
        assert (found.starting(5 + width * 100, bisect_left), found.starting(5 + width * 100, bisect_right)) == (
            100,
            101,
        )
