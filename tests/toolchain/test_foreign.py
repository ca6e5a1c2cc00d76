"""Specifications of others: covered as Kaitai reads them, refused with one clear line, and never run as code."""

from __future__ import annotations

import ast
import functools
import json
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, LimitExceededError, Span, SpecificationError, StructureError, TruncatedError
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.ksy_files import parse_yaml
from exhume.layout.schema import Explainer
from exhume.layout.trees import Field
from tests.compiler.specs import names_amiss
from tests.conftest import ROOT
from tests.sizes import size, some
from tests.toolchain import drawn_specs
from tests.toolchain.collection import KNOWN, PUBLIC, Collection
from tests.toolchain.damage import samples

OWN = Collection(ROOT / "tests/toolchain/foreign")
SEEDS = 20

SEQ, INSTANCES = "meta: {id: one}\nseq: ", "meta: {id: one}\ninstances: "
DEEP = "(" * 2000 + "1" + ")" * 2000
PATH = "on the import path"


@pytest.fixture(name="compiled")
def compiled_(tmp_path: Path) -> Any:
    """Compile the text of a specification."""

    def compiled(text: str, id: str = "one") -> Specification:
        file = tmp_path / f"{id}.ksy"
        file.write_text(text, encoding="utf-8")
        return compile_ksy(file)

    return compiled


@pytest.mark.node
@pytest.mark.parametrize("file", OWN.files, ids=lambda file: file.stem)
@pytest.mark.slow
def test_what_is_covered_is_read_as_kaitai_reads_it(file: Path) -> None:
    tried = OWN.compare(file, OWN.compiled(file), SEEDS)
    assert not tried.problem
    assert tried.whole > 0


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.skipif(PUBLIC is None, reason="KAITAI_FORMATS names no folder with the public collection")
def test_the_public_collection_is_read_as_kaitai_reads_it() -> None:
    collection = Collection(Path(str(PUBLIC)))
    covered, problems = 0, []
    for file in collection.files:
        try:
            specification = collection.compiled(file)
        except SpecificationError:
            continue
        for path, text in specification.texts.items():
            assert path == "_layout.py" or assert_only_reads(text)  # which is ours
            assert path == "_layout.py" or list(names_amiss(text)) == []
        covered += 1
        if file in collection.oracles and file.stem not in KNOWN:
            tried = collection.compare(file, specification, 2)
            problems += [f"{file.stem}: {tried.problem}"] if tried.problem else []
    assert problems == []
    assert covered / len(collection.files) > 0.95


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.conformance("kaitai-struct-compiler")
def test_specifications_drawn_from_a_grammar_are_read_as_kaitai_reads_them(tmp_path: Path) -> None:
    drawn_specs.write(tmp_path, 1, size(15, 5000))
    specs, inputs, problems = drawn_specs.compare(tmp_path, 2)
    assert problems == []
    assert specs >= 12
    assert inputs > 20 * specs


# Invalid specifications.


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (SEQ + "[{id: a, type: u4}]", "{file}: u4 has no byte order, line 2, field one.a [EX-404]"),
        (
            SEQ + "[{id: a, size: 1, process: mine.own}]",
            "{file}: `process: mine.own` is not supported, line 2, field one.a [EX-404]",
        ),
        (
            SEQ + "[{id: a, typ: u1}]",
            "{file}: `typ` is not a key here: did you mean `type`?, line 2, field one.a: typ [EX-404]",
        ),
        (SEQ + "[{id: a, type: other}]", "{file}: no type other, line 2, field one.a [EX-404]"),
        (SEQ + "[{id: a, size: b}]", "{file}: one has no b, line 2, field one.a: size [EX-404]"),
        (
            SEQ + "[{id: a, type: u1}, {id: a, type: u1}]",
            "{file}: another field has the same name, line 2, field one.a [EX-404]",
        ),
        (
            INSTANCES + "{a: {value: b}, b: {value: a}}",
            "{file}: refers to itself, or is nested too deeply, line 2, field one.a: value [EX-404]",
        ),
        (SEQ + "{id: a}", "{file}: a list is expected, line 2, field one: seq [EX-404]"),
        (SEQ + "[{id: a, type: u2l}]", "{file}: no type u2l (did you mean 'u2le'?), line 2, field one.a [EX-404]"),
        (
            INSTANCES + "{a: {valu: 1}}",
            "{file}: `valu` is not a key here: did you mean `value`?, line 2, field one.a: valu [EX-404]",
        ),
        (
            SEQ + "[{id: a, size: 1, process: xr(1)}]",
            "{file}: `process: xr(1)` is not supported (did you mean 'xor'?), line 2, field one.a [EX-404]",
        ),
        (
            INSTANCES + f"{{a: {{value: {DEEP}}}}}",
            "{file}: an expression is nested too deeply, line 2, field one.a: value [EX-404]",
        ),
        (
            "meta: {id: one, imports: [two]}",
            f"{{file}}: the import two is not next to it or {PATH}, line 1, field meta: imports [EX-404]",
        ),
        (
            "meta: {id: one, imports: [/two]}",
            f"{{file}}: the import /two is not {PATH}, line 1, field meta: imports [EX-404]",
        ),
        (
            "meta: {id: one, imports: [../a]}",
            f"{{file}}: the import ../a is not next to it or {PATH}, line 1, field meta: imports [EX-404]",
        ),
        (
            "meta: {id: one, imports: ['a b']}",
            "{file}: the import 'a b' is no path of a specification, line 1, field meta: imports [EX-404]",
        ),
        (
            "meta: {id: one, imports: 2}",
            "{file}: `imports` is a list, line 1, field meta: imports [EX-404]",
        ),
        (SEQ + "[{type: u1, id: null}]", "{file}: `id` is missing, line 2, field one: seq[0] [EX-404]"),
        (SEQ + "[{id: a, type: {cases: {1: u1}}}]", "{file}: `switch-on` is missing, line 2, field one.a [EX-404]"),
        (
            SEQ + "[{id: a}]",
            "{file}: needs a `type`, `size`, `size-eos`, `terminator` or `contents`, line 2, field one.a [EX-404]",
        ),
        (SEQ + "[{id: a, size: 1, process: xor}]", "{file}: `xor` takes one argument, line 2, field one.a [EX-404]"),
        (
            SEQ + "[{id: a, size: b}, {id: b, type: u1}]",
            "{file}: b is used before it is read, line 2, field one.a [EX-404]",
        ),
        (
            "to-string: b\nmeta: {id: one, imports: []}",
            "{file}: one has no b, line 1, field one: to-string [EX-404]",
        ),
        (
            INSTANCES + "{a: {value: 1 +}}",
            "{file}: expression '1 +': its end was not expected, line 2, field one.a: value [EX-404]",
        ),
        (
            INSTANCES + "{a: {value: 1.to_s.as<>}}",
            "{file}: expression '1.to_s.as<>': a type is missing in `<>`, line 2, field one.a: value [EX-404]",
        ),
        (
            INSTANCES + "{a: {value: (1).to_s()}}",
            "{file}: `to_s` takes no arguments, line 2, field one.a: value [EX-404]",
        ),
        ("seq: []", "{file}: `meta: id` is missing, line 1 [EX-404]"),
        ("- a", "{file}: `meta: id` is missing, line 1 [EX-404]"),
        ("seq: []\nmeta:\n  title: a", "{file}: `meta: id` is missing, line 2 [EX-404]"),
        ("meta:\n  title: a\n  id: 7", "{file}: 7 is not a name, field meta: id, line 3 [EX-404]"),
        (
            "meta: {id: one}\n---\nmeta: {id: two}",
            "{file}: a second YAML document begins (`---`): a specification is one, line 2 [EX-404]",
        ),
        ("a: b: c", "{file}: the file is not YAML: mapping values are not allowed in this context, line 1 [EX-404]"),
        (
            "\0",
            "{file}: the file is not YAML: unacceptable character #x0000: control characters are not allowed [EX-404]",
        ),
        ("meta: {id: one, id: two}", "{file}: the key 'id' is given twice, line 1 [EX-404]"),
        ("meta: &a {id: one}\nseq: []", "{file}: anchors and aliases (`&`, `*`) are not supported, line 1 [EX-404]"),
        ("meta: !!python/name:os.system {id: one}", "{file}: tags (`!`) are not supported, line 1 [EX-404]"),
        ("meta: {id: one}\nx: " + "[" * 200 + "]" * 200, "{file}: the YAML is nested too deeply, line 2 [EX-404]"),
    ],
)
def test_a_specification_is_refused_in_one_line(compiled: Any, tmp_path: Path, text: str, stated: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        compiled(text)
    assert str(caught.value) == stated.replace("{file}", str(tmp_path / "one.ksy"))


def test_what_doubles_with_every_instance_is_refused(compiled: Any) -> None:
    doubling = "".join(f"  a{n}: {{value: a{n + 1} + a{n + 1}}}\n" for n in range(60))
    text = (
        f"meta: {{id: one}}\nseq: [{{id: x, type: u1}}, {{id: y, size: a0}}]\ninstances:\n{doubling}  a60: {{value: x}}"
    )
    with pytest.raises(SpecificationError, match="an expression that grows without end"):
        compiled(text)


def test_a_specification_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match="EX-601"):
        compile_ksy(tmp_path / "one.ksy")


def test_without_pyyaml_the_extra_is_named(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(ImportError, match=r"pip install 'exhume\[ksy\]'.* \[EX-801\]"):
        compiled("meta: {id: one}")


def test_yaml_is_read_as_kaitai_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    stated = "a: 0x10\nb: 0b101\nc: 1_000\nd: 0o17\ne: 017\nyes: no\noff: on\nf: ~\ng: True\nh: 1:30\ni: 2020-01-01\n"
    stated += "j: 1e3\nk: 1.5\n0x1f: l\nm: '0x10'\nn: .5\no: -1\np:\nq: 0x0253_f2f4\n3.0: r\ntrue: s\n"
    file.write_text(stated, encoding="utf-8")
    assert parse_yaml(file) == {
        "a": 16, "b": 5, "c": 1000, "d": 15, "e": 17, "yes": "no", "off": "on", "f": None, "g": True, "h": "1:30",
        "i": "2020-01-01", "j": 1000.0, "k": 1.5, "31": "l", "m": "0x10", "n": 0.5, "o": -1, "p": None, "q": 0x253F2F4,
        "3.0": "r", "true": "s",
    }  # fmt: skip


def test_our_own_specifications_are_read_from_yaml_as_they_were_for_the_compiler() -> None:
    from exhume.layout.specifications import spec

    for file in some(sorted((ROOT / "ksy").glob("*.ksy"))):
        assert parse_yaml(file) == spec(file.stem), file


# What would like to be run.


@functools.cache  # most of a reader is the same whatever the specification says
def assert_only_reads(text: str) -> bool:
    """Holds generated code to what readers do: names that are known, and imports of what they need."""
    tree = ast.parse(text)
    allowed = {"len", "range", "max", "min", "int", "str", "bytes", "bool", "float", "sum", "memoryview", "isinstance"}
    allowed |= {
        "AttributeError",
        "UnicodeDecodeError",
        "ValueError",
        "hasattr",
        "property",
        "object",
        "list",
        "tuple",
        "super",
    }
    defined = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        if isinstance(node, ast.FunctionDef):
            every = (*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
            defined |= {one.arg for one in every if one is not None}
        if isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {"struct", "sys", "os", "zlib"}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or node.module in ("__future__", "array", "enum", "typing")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("__") or node.attr == "__init__", node.attr
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used <= defined | allowed, used - defined - allowed
    assert used.isdisjoint({"eval", "exec", "open", "compile", "__import__", "getattr", "globals"})
    return True


EVIL = [
    '"""\nraise SystemExit(99)\n"""',
    "'''\nraise SystemExit(99)\n'''",
    '\\"""\nraise SystemExit(99)\n#',
    '"); raise SystemExit(99) #',
    "'); raise SystemExit(99) #",
    "\\",
    '"',
    "a\nraise SystemExit(99)",
    "a\u2028raise SystemExit(99)",
    "a\x00b",
    "a\ud800b",
    "{__import__('os')._exit(99)}",
    "__class__",
    "__import__('os')._exit(99)",
    "a" * 5000,
    "x\r raise SystemExit(99)",
    "x\x0craise SystemExit(99)",
    "\N{BULLET}ident",
    "ﬁeld",
]
SLOTS = [
    ["meta", "id"], ["meta", "title"], ["meta", "encoding"], ["meta", "endian"], ["meta", "bit-endian"],
    ["meta", "imports", 0], ["doc"], ["doc-ref"], ["seq", 0, "id"], ["seq", 0, "doc"], ["seq", 0, "type"],
    ["seq", 0, "-orig-id"], ["seq", 0, "if"], ["seq", 0, "valid"], ["seq", 0, "enum"], ["seq", 1, "size"],
    ["seq", 1, "encoding"], ["seq", 1, "process"], ["seq", 1, "terminator"], ["seq", 1, "repeat"],
    ["seq", 1, "repeat-expr"],
    ["seq", 2, "contents"], ["seq", 2, "contents", 0], ["seq", 3, "type", "switch-on"],
    ["seq", 3, "type", "cases", "e::one"], ["seq", 3, "type", "cases", "*"], ["enums", "e", "1"],
    ["enums", "e", "*"], ["enums", "*"], ["enums", "e", "1", "id"], ["enums", "e", "1", "doc"],
    ["instances", "i", "value"], ["instances", "i", "doc"], ["instances", "*"], ["types", "*"], ["types", "t", "doc"],
    ["types", "t", "params", 0, "id"], ["types", "t", "params", 0, "type"], ["seq", 1, "valid", "expr"],
    ["seq", 0, "valid", "any-of", 0], ["types", "t", "seq", 0, "valid", "max"], ["seq", 0, "valid", "*"],
    ["seq", 0, "*"], ["*"],
    ["to-string"], ["types", "t", "-webide-representation"], ["instances", "s", "value"],
]  # fmt: skip


def harmless() -> dict[str, Any]:
    """A specification with something in every place."""
    return {
        "meta": {"id": "one", "title": "One", "endian": "le", "encoding": "UTF-8", "imports": []},
        "doc": "Doc.",
        "seq": [
            {
                "id": "a",
                "type": "u1",
                "doc": "Doc.",
                "enum": "e",
                "valid": {"any-of": ["e::one", "e::two"]},
            },
            {"id": "b", "type": "str", "size": "3", "if": "a != e::two", "valid": {"expr": "_ != 'zzz'"}},
            {"id": "c", "contents": ["x", 1]},
            {"id": "d", "type": {"switch-on": "a", "cases": {"e::two": "u1", "e::one": "t(1)"}}},
        ],
        "enums": {"e": {"1": {"id": "one", "doc": "Doc."}, "2": "two"}},
        "instances": {"i": {"value": "a.to_i + 1", "doc": "Doc."}, "s": {"value": '"text"'}},
        "types": {
            "t": {
                "doc": "Doc.",
                "params": [{"id": "p", "type": "u1"}],
                "seq": [{"id": "x", "type": "u1", "valid": {"min": 0, "max": 255}}],
            }
        },
    }


def put(spec: dict[str, Any], path: list[Any], value: str) -> dict[str, Any]:
    """The specification with a string at a place; `*` is a key that is the string itself."""
    here: Any = spec
    for number, step in enumerate(path[:-1]):
        if isinstance(here, dict) and not isinstance(here.get(step), (dict, list)):
            here[step] = [None] if isinstance(path[number + 1], int) else {}
        here = here[step]
    if path[-1] == "*":
        here[value] = next(iter(here.values()), "x")
    elif isinstance(here, list) and not here:
        here.append(value)
    else:
        here[path[-1]] = value
    return spec


@pytest.mark.slow
@pytest.mark.parametrize("path", SLOTS, ids=lambda path: ".".join(map(str, path)))
def test_no_text_of_a_specification_becomes_code(tmp_path: Path, path: list[Any]) -> None:
    quoted = [f'"{one}"' for one in EVIL] + [f"'{one}'" for one in EVIL]
    texts = EVIL if path[-1] in ("doc", "id", "*") else [*EVIL, *quoted]
    for text in some(texts[SLOTS.index(path) % size(5, 1) :: size(5, 1)]):  # each text in every fifth place
        file = tmp_path / "one.ksy"
        file.write_text(json.dumps(put(harmless(), path, text)), encoding="utf-8")  # JSON is YAML
        try:
            specification = compile_ksy(file)
        except SpecificationError as error:
            assert "\n" not in str(error)
            continue
        for name, one in some(specification.texts.items()):
            assert name == "_layout.py" or assert_only_reads(one)  # which is ours
        try:
            found = specification.read(b"\x01abcx\x01\x05\x05" * 3)
        except ExhumeError:
            continue
        assert found.i == 2 or path[0] == "instances"
        assert isinstance(found.s, (str, int)) or path == ["instances", "s", "value"]


def test_the_harmless_one_is_covered(compiled: Any) -> None:
    specification = compiled(json.dumps(harmless()))
    found = specification.read(b"\x01abcx\x01\x05")
    assert (found.a, found.b, bytes(found.c), found.d.x, found.d.p, found.i, found.s) == (
        1,
        "abc",
        b"x\x01",
        5,
        1,
        2,
        "text",
    )
    with pytest.raises(TruncatedError, match=r"at 4 .*field c: expected 2 bytes, found 1 byte"):
        specification.read(b"\x01abcx")
    with pytest.raises(StructureError, match=r"at 0 .*field a: expected \(1, 2\), found 9"):
        specification.read(b"\x09abcx\x01\x05")


# The tree.


def flat(tree: Field) -> list[Any]:
    """What the tree says of every field, in an order that does not depend on that of instances."""

    def reported(node: Field) -> tuple[Any, ...]:
        stated = (node.doc, node.doc_ref, node.meaning, node.omitted, node.checksum)
        return (node.path, node.type, repr(node.value), *stated)

    return sorted(reported(node) for _, node in tree.walk())


@pytest.mark.parametrize("file", sorted((ROOT / "ksy").glob("*.ksy")), ids=lambda file: file.stem)
@pytest.mark.bulk
def test_the_tree_is_that_of_kaitais_classes(file: Path) -> None:
    specification = compile_ksy(file)
    assert samples(file.stem)
    inputs = [data for data, arguments in samples(file.stem) if not arguments]  # `Explainer` passes no arguments
    for data in inputs[: size(2, len(inputs))]:
        where = Span("sample", 0, len(data))
        known = Explainer(where, whole=True).explain(file.stem, data)
        own = specification.explain(Explainer(where, whole=True), data)
        assert flat(own) == flat(known)
        spans = {node.path: node.span for _, node in own.walk()}
        for _, node in known.walk():  # Kaitai's classes do not record the positions of bit fields
            assert node.span is None or node.type.startswith("b") or spans[node.path] == node.span, node.path


TREE = """
meta: {id: one, endian: le}
doc: A file of others.
seq:
  - {id: num_rows, type: u1, doc: How many.}
  - {id: rows, type: row, repeat: expr, repeat-expr: num_rows}
  - {id: flag, type: b1}
  - {id: kind, type: b7, enum: kinds}
  - {id: coded, size: 2, process: xor(1), type: hidden}
types:
  row:
    seq:
      - {id: id, type: u2}
      - {id: len, type: u1, valid: {max: 3}}
      - {id: data, size: len}
    instances:
      first: {pos: 0, type: u1}
  hidden: {seq: [{id: class, type: u2}]}
enums: {kinds: {1: {id: good, doc: As it should be.}}}
"""


def tree(specification: Specification, data: bytes) -> dict[str, Field]:
    """The fields of a tree by their paths."""
    explained = specification.explain(Explainer(Span("x", 100, 100 + len(data))), data)
    return {node.path.removeprefix("one."): node for _, node in explained.walk()}


def test_the_tree_of_a_whole_file(compiled: Any) -> None:
    found = tree(compiled(TREE), b"\x02\x05\x00\x01a\x06\x00\x00\x81\x03\x03")
    places = {path: (node.span.start - 100, node.span.end - 100) for path, node in found.items() if node.span}
    assert places == {
        "one": (0, 11), "num_rows": (0, 1), "rows": (1, 8), "rows[0]": (1, 5), "rows[0].id": (1, 3),
        "rows[0].len": (3, 4), "rows[0].data": (4, 5), "rows[0].first": (0, 1), "rows[1]": (5, 8),
        "rows[1].id": (5, 7), "rows[1].len": (7, 8), "rows[1].data": (8, 8), "rows[1].first": (0, 1), "flag": (8, 9),
        "kind": (8, 9), "coded": (9, 11),
    }  # fmt: skip
    assert (found["kind"].value, found["kind"].meaning) == ("1 (good)", "As it should be.")
    assert (found["coded.class"].value, found["coded.class"].span) == (0x0202, None)
    assert not any(node.note for node in found.values())


@pytest.mark.parametrize(
    ("data", "broken", "note", "known"),
    [
        (b"\x02\x05\x00\x01a\x06", "rows[1].id", "expected 2 bytes, found 1 byte", "rows[0].data"),
        (b"\x02\x05\x00\x01a\x06\x00\x09", "rows[1].len", "expected at most 3, found 9", "rows[1].len"),
        (b"\x00\x81\x03", "coded", "expected 2 bytes, found 1 byte", "kind"),
    ],
)
def test_the_tree_goes_as_far_as_the_file(compiled: Any, data: bytes, broken: str, note: str, known: str) -> None:
    found = tree(compiled(TREE), data)
    assert found[broken].note == f"parsing stops here: {note}"
    assert found["one"].note.startswith(f"parsing stops here: {broken} at ")
    assert found[known].value is not None
    assert found[known].span is not None


def test_a_refused_value_has_its_place(compiled: Any) -> None:
    found = tree(compiled(TREE.replace("size: len}", "contents: [1, 2]}")), b"\x01\x05\x00\x02\x01\x03")
    span = found["rows[0].data"].span
    assert span is not None
    assert (span.start - 100, span.end - 100) == (4, 6)
    (place,) = [node.span for path, node in tree(compiled(TREE), b"\1\5\0\x09").items() if path == "rows[0].len"]
    assert place is not None
    assert (place.start - 100, place.end - 100) == (3, 4)


def test_unnamed_fields_have_types_and_leave_the_text_of_their_structure(compiled: Any) -> None:
    text = TREE.replace("id: flag, type: b1", "type: b1, doc: Nothing.").replace("seq:", "seq:\n  - {size: 1}", 1)
    found = tree(compiled(text), b"\0\0\x81\3\3")
    assert found["one"].doc == "A file of others."
    assert (found["_unnamed0"].type, found["_unnamed3"].type, found["_unnamed3"].doc) == ("bytes", "b1", "Nothing.")


def test_explain_by_a_specification(tmp_path: Path, exhume_cli: Any) -> None:
    spec, file, cut = tmp_path / "one.ksy", tmp_path / "file.bin", tmp_path / "cut.bin"
    spec.write_text(TREE, encoding="utf-8")
    file.write_bytes(b"\x01\x05\x00\x01a\x81\x03\x03")
    cut.write_bytes(b"\x01\x05\x00\x01")
    whole = exhume_cli("explain", "--ksy", spec, file)
    assert whole.code == 0
    assert b"rows[0]" not in whole.out
    assert b"How many." in whole.out
    broken = exhume_cli("explain", "--ksy", spec, cut, "--json")
    assert broken.code == 3
    assert b"parsing stops here: expected 1 byte, found 0 bytes" in broken.out
    assert json.loads(broken.out)["format"] == "ksy:one"
    assert exhume_cli("explain", "--ksy", spec, cut, "--html", tmp_path / "cut.html").code == 3
    page = (tmp_path / "cut.html").read_text(encoding="utf-8")
    assert '"verdict":""' in page
    inside = exhume_cli("explain", "--ksy", spec, file, "--offset", "1", "--json")
    assert json.loads(inside.out)["sections"][0]["section"]["offset"] == 1
    assert exhume_cli("explain", "--ksy", spec, file, "--coverage").code == 0
    cut.write_bytes(file.read_bytes() + b"more")
    assert b"unexplained: " in exhume_cli("explain", "--ksy", spec, cut, "--coverage").out
    assert exhume_cli("explain", "--ksy", spec, tmp_path).code == 1
    assert exhume_cli("explain", "--ksy", spec, tmp_path, "--recursive", "--coverage").code == 2
    [explained] = exhume.explain(file, ksy=compile_ksy(spec))
    assert explained.complete
    assert explained.stored is not None


def test_what_is_large_is_explained_on_request(tmp_path: Path, exhume_cli: Any) -> None:
    spec, file = tmp_path / "one.ksy", tmp_path / "file.bin"
    spec.write_text(SEQ + "[{id: a, size-eos: true}]", encoding="utf-8")
    file.write_bytes(bytes((8 << 20) + 1))
    assert b"8388609    a " in exhume_cli("explain", "--ksy", spec, file).out
    texts = "[{id: a, type: strz, encoding: ASCII, repeat: expr, repeat-expr: 2}, {id: b, size-eos: true}]"
    spec.write_text(SEQ + texts, encoding="utf-8")  # a list whose elements would all be kept
    requested = b"large: its fields are shown when this section, or all, is requested"
    assert requested in exhume_cli("explain", "--ksy", spec, file).out
    assert b"8388607    b " in exhume_cli("explain", "--ksy", spec, file, "--all").out


def test_compile_writes_a_package_that_needs_nothing_else(tmp_path: Path, exhume_cli: Any) -> None:
    spec, out = tmp_path / "one.ksy", tmp_path / "readers"
    spec.write_text(TREE, encoding="utf-8")
    ran = exhume_cli("compile", spec, "-o", out)
    assert (ran.code, ran.out.decode().splitlines()[0]) == (0, "one: 3 types of 1 specification")
    code = "from readers.one import read_one; print(read_one(bytes(4), 0, 4)[0].coded.class_)"
    command = [sys.executable, "-I", "-c", f"import sys; sys.path = [{str(tmp_path)!r}, *sys.path[:3]]; {code}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "257\n"
    assert exhume_cli("compile", spec, "-o", out).code == 1
    assert exhume_cli("compile", spec, "-o", out, "--overwrite").code == 0
    spec.write_text("meta: {id: one}\nseq: [{id: a, type: u4}]", encoding="utf-8")
    refused = exhume_cli("compile", spec)
    assert (refused.code, refused.err) == (1, f"exhume: {spec}: u4 has no byte order, line 2, field one.a [EX-404]\n")


# Reading.


def test_compressed_bytes_are_inflated_to_a_bound(compiled: Any) -> None:
    text = SEQ + "[{id: a, size-eos: true, process: zlib, type: t}]\ntypes: {t: {seq: [{id: x, type: u1}]}}"
    specification = compiled(text)
    assert specification.read(zlib.compress(b"\x07")).a.x == 7
    with pytest.raises(StructureError, match="a whole stream"):
        specification.read(zlib.compress(bytes(100))[:-3])
    with pytest.raises(StructureError, match=r"compressed bytes \(zlib\)"):
        specification.read(b"nothing")
    with pytest.raises(
        LimitExceededError, match=r", field a: expected at most \d+ bytes that are copied.* \[EX-501\]$"
    ):
        specification.read(zlib.compress(bytes(40 << 20)))


@pytest.mark.parametrize("value", ["1 << 999999999", "(n + 1) << 99999", "(n << 8000) * (n << 8000)"])
def test_numbers_above_a_budget_are_no_damage(compiled: Any, value: str) -> None:
    with pytest.raises(LimitExceededError, match=r"field a: expected a number of at most .*, found more \[EX-501\]$"):
        compiled(f"{SEQ}[{{id: n, type: u1}}, {{id: a, size: {value}}}]").read(b"\7")


def test_values_that_cannot_be_computed_are_named(compiled: Any, tmp_path: Path, exhume_cli: Any) -> None:
    compiled(SEQ + "[{id: n, type: u1}]\ninstances: {a: {value: 1 / n}, b: {value: a + 1}, c: {value: n + 1}}")
    spec, file = tmp_path / "one.ksy", tmp_path / "file.bin"
    file.write_bytes(b"\0")
    shown = exhume_cli("explain", "--ksy", spec, file)
    assert shown.code == 3
    assert shown.out.count(b"parsing stops here: a at 0: expected a value, found ZeroDivisionError") == 2
    info = exhume_cli("info", "--ksy", spec, file)
    assert info.code == 3
    assert info.out.count(b"cannot be read: a at 0: expected a value, found ZeroDivisionError") == 2
    printed = exhume_cli("cat", "--ksy", spec, file)
    assert (printed.code, json.loads(printed.out)) == (3, {"n": 0, "a": None, "b": None, "c": 1})
    assert printed.err.count("not printed: ") == printed.err.count("cannot be read: a at 0: expected a value") == 2
    file.write_bytes(b"\1")
    assert [exhume_cli(verb, "--ksy", spec, file).code for verb in ("explain", "info", "cat")] == [0, 0, 0]


@pytest.mark.slow
def test_elements_that_take_nothing_do_not_fill_the_memory(compiled: Any) -> None:
    types = "types: {t: {instances: {x: {value: 1}}}}"
    eos = compiled(f"meta: {{id: one}}\nseq: [{{id: a, type: t, repeat: eos}}]\n{types}")
    with pytest.raises(LimitExceededError, match="expected elements that take bytes, found more than 16384 that take"):
        eos.read(b"x")
    many = f"meta: {{id: one}}\nseq: [{{id: n, type: u8le}}, {{id: a, type: t, repeat: expr, repeat-expr: n}}]\n{types}"
    assert len(compiled(many).read((3).to_bytes(8, "little")).a) == 3
    assert len(compiled(many).read((1 << 14).to_bytes(8, "little")).a) == 1 << 14
    for read in (compiled(many).read, lambda data: list(compiled(many).batches(data, "a"))):
        with pytest.raises(LimitExceededError, match=r"field a\[16384\]: .* found more than 16384 that take none"):
            read(b"\xff" * 8)


def test_what_exceeds_stack_or_memory_is_not_damage(compiled: Any, tmp_path: Path) -> None:
    nested = compiled(f"{SEQ}[{{id: k, type: u1}}, {{id: next, type: one, if: k > 0}}]")
    assert nested.read(b"\1" * 500 + b"\0").next.next.k == 1
    with pytest.raises(LimitExceededError, match=r"expected structures that end, found more .* \[EX-501\]"):
        nested.read(b"\1" * 5000 + b"\0")

    class Full:
        def decode(self, data: bytes) -> bytes:
            raise MemoryError

    (tmp_path / "full.ksy").write_text("meta: {id: full}\nseq: [{id: x, size-eos: true, process: full}]")
    with pytest.raises(LimitExceededError, match=r"field x: expected enough memory, found too little \[EX-501\]"):
        compile_ksy(tmp_path / "full.ksy", process={"full": Full}).read(b"a")


EMPTY_ONES = """
meta: {id: one, endian: le}
seq:
  - {id: n, type: u2}
  - {id: lens, type: u1, repeat: expr, repeat-expr: n}
  - {id: blobs, FIELD, repeat: REPEAT}
types: {t: {params: [{id: len, type: u1}], seq: [{id: data, size: len}]}}
"""


@pytest.mark.parametrize("field", ["size: 'lens[_index]'", "type: 't(lens[_index])'"])
@pytest.mark.parametrize("repeat", ["eos", "expr, repeat-expr: n", "until, repeat-until: _io.eof"])
def test_a_list_of_any_length_may_have_elements_without_bytes(compiled: Any, field: str, repeat: str) -> None:
    specification = compiled(EMPTY_ONES.replace("FIELD", field).replace("REPEAT", repeat))
    many, empty = 17_000, (0, 5, 16_800)
    lens = bytes(index not in empty for index in range(many))
    data = many.to_bytes(2, "little") + lens + b"x" * sum(lens)
    sizes = [len(one if isinstance(one, bytes) else one.data) for one in specification.read(data).blobs]
    assert bytes(sizes) == lens
    assert len(specification.traced(data)[0].blobs) == many
    rows = [row for batch in specification.batches(data, "blobs") for row in batch.to_pylist()]
    assert [len(next(iter(row.values()))) for row in rows] == sizes


def test_parameters_are_given_in_order(compiled: Any) -> None:
    text = "meta: {id: one}\nparams: [{id: n, type: u1}, {id: s, type: str}]\nseq: [{id: a, size: n, if: s == 'x'}]"
    specification = compiled(text)
    assert specification.read(b"abc", 2, "x").a == b"ab"
    with pytest.raises(SpecificationError, match=r"one takes 2 parameters \(n, s\)"):
        specification.read(b"abc")


def test_keys_of_our_own_mean_nothing_elsewhere(compiled: Any) -> None:
    ours = "types: {t: {-scalar: x, -columns: true, -element: true, seq: [{id: x, type: u1, -ends: true}]}}"
    found = compiled(f"{SEQ}[{{id: a, type: t, repeat: eos}}]\n{ours}").read(b"\x07\x08")
    assert [one.x for one in found.a] == [7, 8]


def test_the_same_specification_yields_the_same_classes(compiled: Any) -> None:
    text = "meta: {id: one}\nseq: [{id: a, type: u1}]"
    assert type(compiled(text).read(b"a")) is type(compiled(text).read(b"b"))


def test_it_is_a_name_of_the_library() -> None:
    assert exhume.compile_ksy is compile_ksy
    assert "compile_ksy" in dir(exhume)


# Tables.

ROWS = """
meta: {id: one, endian: le, encoding: UTF-8}
seq:
  - {id: num_rows, type: u1}
  - {id: rows, type: row, repeat: expr, repeat-expr: num_rows}
  - {id: things, type: thing, repeat: expr, repeat-expr: 2}
  - {id: numbers, type: u2, repeat: expr, repeat-expr: 2}
  - {id: mixed, type: {switch-on: num_rows, cases: {2: row, 1: thing}}, repeat: expr, repeat-expr: 1}
types:
  row:
    seq:
      - {id: magic, contents: R}
      - {id: id, type: s2}
      - {id: kind, type: u1, enum: kinds}
      - {id: low, type: b4}
      - {id: flag, type: b1}
      - {id: rest, type: b3}
      - {id: at, type: pair}
      - {id: len, type: u1}
      - {id: name, type: str, size: len}
      - {id: data, size: 2}
    instances: {twice: {value: id * 2}, big: {value: '0x8000000000000000 + low'}}
  pair: {seq: [{id: x, type: u1}, {id: y, type: f4}]}
  thing:
    seq:
      - {id: name, type: strz}
      - {id: maybe, type: u2, if: name == "a"}
      - {id: many, type: u1, repeat: expr, repeat-expr: 2}
      - {id: part, type: pair, if: name == "a"}
enums: {kinds: {1: good}}
"""


def rows_of() -> tuple[bytes, list[dict[str, Any]]]:
    """A file for `ROWS`, and what the table of its rows holds."""
    rows = [(-1, 1, 0x5B, 7, "é"), (300, 9, 0xA0, 8, "")]
    reported, data = [], bytes([len(rows)])
    for id, kind, bits, x, name in rows:
        text = name.encode()
        data += b"R" + id.to_bytes(2, "little", signed=True) + bytes((kind, bits, x)) + struct.pack("<f", 1.5)
        data += bytes([len(text)]) + text + b"\x00\xff"
        reported.append(
            {
                "id": id, "kind": {1: "good"}.get(kind, str(kind)), "low": bits >> 4, "flag": bits >> 3 & 1 == 1,
                "rest": bits & 7, "at": {"x": x, "y": 1.5}, "len": len(text), "name": name, "data": b"\x00\xff",
                "twice": id * 2, "big": (1 << 63) + (bits >> 4),
            }
        )  # fmt: skip
    data += b"a\x00\x05\x00\x01\x02\x09" + struct.pack("<f", 0.5) + b"b\x00\x03\x04" + b"\x01\x00\x02\x00"
    return data + data[1 : 1 + 15], reported


@pytest.mark.parametrize(
    ("repeat", "kind"),
    [
        ("repeat: eos", "RowColumns"),
        ("repeat: expr, repeat-expr: 40", "RowColumns"),
        ("repeat: expr, repeat-expr: 16", "list"),
    ],
)
def test_fixed_rows_become_columns_unless_they_are_few(compiled: Any, repeat: str, kind: str) -> None:
    text = f"meta: {{id: one, endian: le}}\nseq: [{{id: rows, type: row, {repeat}}}]\n"
    rows = compiled(text + "types: {row: {seq: [{id: a, type: u2}]}}\n").read(bytes(80)).rows
    assert type(rows).__name__ == kind


def test_a_table_of_rows(compiled: Any, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    data, reported = rows_of()
    file = tmp_path / "file.bin"
    file.write_bytes(data)
    specification = compiled(ROWS)
    table = specification.to_arrow(file, "rows")
    assert table.to_pylist() == reported
    assert json.loads(table.schema.metadata[b"exhume.omitted"]) == {"magic": "always the same"}
    types = {
        one.name: str(one.type) for one in table.schema if one.name in ("id", "low", "flag", "len", "twice", "big")
    }
    assert types == {
        "id": "int16", "low": "uint8", "flag": "bool", "len": "uint8", "twice": "int64", "big": "uint64",
    }  # fmt: skip
    assert pa.types.is_dictionary(table.schema.field("kind").type)
    things = specification.to_arrow(file, "things").to_pylist()
    assert things == [
        {"name": "a", "maybe": 5, "many": [1, 2], "part": {"x": 9, "y": 0.5}},
        {"name": "b", "maybe": None, "many": [3, 4], "part": None},
    ]
    assert specification.to_arrow(file, "numbers").to_pylist() == [{"numbers": 1}, {"numbers": 2}]
    assert specification.to_arrow(data, "things[0].many").to_pylist() == [{"many": 1}, {"many": 2}]


@pytest.mark.parametrize(
    "seq", ["[{id: class, type: u1}]", "[{id: at, type: u1}]", "[{id: a, size: 1}, {id: a_end, type: u1}]"]
)
def test_names_that_are_no_columns_are_fields_of_objects(compiled: Any, seq: str) -> None:
    found = compiled(f"{SEQ}[{{id: rows, type: row, repeat: eos}}]\ntypes: {{row: {{seq: {seq}}}}}").read(b"\x01\x02")
    assert type(found.rows) is list


@pytest.mark.parametrize(
    ("path", "stated"),
    [
        ("row", r"no such field \(did you mean 'rows'\?\), field row \[EX-402\]"),
        ("num_rows", r"the field is not repeated, field num_rows \[EX-402\]"),
        ("rows[7].id", r"no element 7, field rows\[7\].id \[EX-402\]"),
        ("rows[0].at", "the field is not repeated"),
        ("rows[0]", "the field is not repeated"),
        ("", "the field is not repeated"),
    ],
)
def test_what_is_no_table(compiled: Any, path: str, stated: str) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(ExhumeError, match=f"^{stated}"):
        compiled(ROWS).to_arrow(rows_of()[0], path)


HOSTILE = {
    "elements of nothing, to the end": SEQ + "[{id: x, type: t, repeat: eos}]\ntypes: {t: {seq: []}}",
    "very many elements of nothing": SEQ + "[{id: x, type: t, repeat: expr, repeat-expr: 10 ** 11}]".replace(
        "10 ** 11", "100000000000") + "\ntypes: {t: {seq: []}}",
    "elements without an end": SEQ + "[{id: x, size: 0, repeat: until, repeat-until: 'false'}]",
    "a type in itself": SEQ + "[{id: x, type: t}]\ntypes: {t: {seq: [{id: y, type: t}]}}",
    "a shift": INSTANCES + "{x: {value: '(_io.size + 1) << 100000000000'}}",
    "the same bytes again and again":
        INSTANCES + "{y: {pos: 0, type: one, size-eos: true}, z: {pos: 0, type: one, size-eos: true}}",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.slow
def test_a_hostile_specification_has_bounds(what: str, tmp_path: Path, exhume_cli: Any) -> None:
    """Instances that double with each level are rejected, as are elements that no byte bounds."""
    (tmp_path / "one.ksy").write_text(HOSTILE[what])
    (tmp_path / "data").write_bytes(bytes(16))
    for words in ((), ("--coverage",), ("--json", "--all")):
        ran = exhume_cli("explain", tmp_path / "data", "--ksy", tmp_path / "one.ksy", *words)
        assert ran.code in (0, 1, 3, 4), ran.err
        if what == "the same bytes again and again" and not words:
            assert "more fields than are shown of bytes of this length" in ran.text
    assert exhume_cli("compile", tmp_path / "one.ksy").code in (0, 1)


FLAT = """
meta: {id: one, endian: be}
seq:
  - {id: n, type: s1}
  - {id: counted, type: row, repeat: expr, repeat-expr: n}
  - {id: rest, type: row, repeat: eos}
types:
  row: {seq: [{id: a, type: u2}, {id: b, size: 2}], instances: {c: {value: a + 1}, above: {value: _parent.n}}}
"""


def test_structures_of_one_size_are_read_together_and_refused_one_by_one(compiled: Any) -> None:
    specification = compiled(FLAT)
    for view in (bytes, memoryview):
        one = specification.module.One.from_bytes(view(b"\2\0\1ab\0\2cd\0\3ef"))
        assert [(row.a, bytes(row.b), row.c, row.above) for row in one.counted] == [(1, b"ab", 2, 2), (2, b"cd", 3, 2)]
        assert [(row.a, row._parent is one, row._io is one._io) for row in one.rest] == [(3, True, True)]
    assert [row.a for row in specification.module.One.from_bytes(b"\xff\0\7ab").rest] == [7]
    for data, where in ((b"\3\0\1ab\0\2cd\0\3e", "counted[2].b at 11"), (b"\1\0\1ab\0\2c", "rest[0].b at 7")):
        with pytest.raises(ValueError, match=re.escape(where)):
            specification.module.One.from_bytes(data)
    layout = sys.modules[specification.module.One.__mro__[1].__module__]
    run = layout.Run(0)
    run.steps = 3
    with pytest.raises(ValueError, match=re.escape("counted[2] at 9: expected at most")):
        specification.module.read_one(b"\3\0\1ab\0\2cd\0\3ef", 0, 13, run=run)


def test_structures_that_need_nothing_around_them_are_read_together(compiled: Any) -> None:
    point = "point: {seq: [{id: x, type: u1}, {id: y, type: s1}]}"
    group = "group: {seq: [{id: points, type: point, repeat: expr, repeat-expr: 2}]}"
    one = compiled(f"{SEQ}[{{id: groups, type: group, repeat: eos}}]\ntypes: {{{group}, {point}}}").module.One
    found = [[(point.x, point.y) for point in group.points] for group in one.from_bytes(bytes(range(8))).groups]
    assert found == [[(0, 1), (2, 3)], [(4, 5), (6, 7)]]


def test_instances_find_the_stream_where_reading_ended(tmp_path: Path) -> None:
    file = tmp_path / "ended.ksy"
    file.write_text(
        "meta: {id: ended}\nseq: [{id: x, type: row, repeat: eos}]\ninstances: {all: {value: _io.eof}}\n"
        "types: {row: {seq: [{id: v, type: u1}], instances: {pos: {value: _io.pos}}}}\n",
        encoding="utf-8",
    )
    specification = exhume.compile_ksy(file)
    for value in (specification.read(b"abc"), specification.module.Ended.from_bytes(b"abc")):
        assert [row.pos for row in value.x] == [3, 3, 3]
        assert value.all
