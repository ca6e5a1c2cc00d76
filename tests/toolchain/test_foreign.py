"""Specifications of others: covered as Kaitai reads them, refused with one clear line, and never run as code."""

from __future__ import annotations

import ast
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

import exhume
from exhume.errors import ExhumeError, SpecificationError, StructureError, TruncatedError
from exhume.ksy import Specification, compile_ksy, parse_yaml
from tests.conftest import ROOT
from tests.toolchain.collection import KNOWN, PUBLIC, Collection

OWN = Collection(ROOT / "tests/toolchain/foreign")
SEEDS = 20

SEQ, INSTANCES = "meta: {id: one}\nseq: ", "meta: {id: one}\ninstances: "
DEEP = "(" * 2000 + "1" + ")" * 2000
PATH = "on the import path"


@pytest.fixture(name="compiled")
def compiled_(tmp_path: Path) -> Any:
    """Compiles the text of a specification."""

    def compiled(text: str, id: str = "one") -> Specification:
        file = tmp_path / f"{id}.ksy"
        file.write_text(text, encoding="utf-8")
        return compile_ksy(file)

    return compiled


@pytest.mark.node
@pytest.mark.parametrize("file", OWN.files, ids=lambda file: file.stem)
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
        for text in specification.texts.values():
            assert_only_reads(text)
        covered += 1
        if file in collection.oracles and file.stem not in KNOWN:
            tried = collection.compare(file, specification, 2)
            problems += [f"{file.stem}: {tried.problem}"] if tried.problem else []
    assert problems == []
    assert covered / len(collection.files) > 0.95


# What is no specification.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SEQ + "[{id: a, type: u4}]", "u4 has no byte order in {file} [one.a]"),
        (SEQ + "[{id: a, size: 1, process: mine.own}]", "`process: mine.own` is not covered in {file} [one.a]"),
        (SEQ + "[{id: a, typ: u1}]", "`typ` is not covered in {file} [one.a]"),
        (SEQ + "[{id: a, type: other}]", "no type other in {file} [one.a]"),
        (SEQ + "[{id: a, size: b}]", "one has no b in {file} [one.a]"),
        (SEQ + "[{id: a, type: u1}, {id: a, type: u1}]", "there is another field of this name in {file} [one.a]"),
        (INSTANCES + "{a: {type: u1}}", "an instance without `pos` is not covered in {file} [one.a]"),
        (INSTANCES + "{a: {value: b}, b: {value: a}}", "refers to itself, or is nested too deeply in {file} [one]"),
        (INSTANCES + f"{{a: {{value: {DEEP}}}}}", "an expression is nested too deeply in {file} [one.a: value]"),
        ("meta: {id: one, imports: [two]}", f"the import two is not beside it or {PATH} in {{file}} [meta: imports]"),
        ("meta: {id: one, imports: [/two]}", f"the import /two is not {PATH} in {{file}} [meta: imports]"),
        (
            "meta: {id: one, imports: [../a]}",
            "the import '../a' is no path below a folder in {file} [meta: imports]",
        ),
        ("seq: []", "`meta: id` is missing in {file}"),
        ("- a", "`meta: id` is missing in {file}"),
        ("a: b: c", "this is no YAML: mapping values are not allowed in this context, line 1 in {file}"),
        ("meta: {id: one, id: two}", "the key 'id' is given twice, line 1 in {file}"),
        ("meta: &a {id: one}\nseq: []", "anchors and aliases (`&`, `*`) are not covered, line 1 in {file}"),
        ("meta: !!python/name:os.system {id: one}", "tags (`!`) are not covered, line 1 in {file}"),
        ("meta: {id: one}\nx: " + "[" * 200 + "]" * 200, "the YAML is nested too deeply, line 2 in {file}"),
    ],
)
def test_a_specification_is_refused_in_one_line(compiled: Any, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        compiled(text)
    assert str(caught.value) == "EX-404: " + said.replace("{file}", str(tmp_path / "one.ksy"))


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
    with pytest.raises(ImportError, match=r"EX-801: .*pip install 'exhume\[ksy\]'"):
        compiled("meta: {id: one}")


def test_yaml_is_read_as_kaitai_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    said = "a: 0x10\nb: 0b101\nc: 1_000\nd: 0o17\ne: 017\nyes: no\noff: on\nf: ~\ng: True\nh: 1:30\ni: 2020-01-01\n"
    said += "j: 1e3\nk: 1.5\n0x1f: l\nm: '0x10'\nn: .5\no: -1\np:\nq: 0x0253_f2f4\n3.0: r\ntrue: s\n"
    file.write_text(said, encoding="utf-8")
    assert parse_yaml(file) == {
        "a": 16, "b": 5, "c": 1000, "d": 15, "e": 17, "yes": "no", "off": "on", "f": None, "g": True, "h": "1:30",
        "i": "2020-01-01", "j": 1000.0, "k": 1.5, "31": "l", "m": "0x10", "n": 0.5, "o": -1, "p": None, "q": 0x253F2F4,
        "3.0": "r", "true": "s",
    }  # fmt: skip


def test_our_own_specifications_are_read_from_yaml_as_they_were_for_the_compiler() -> None:
    from exhume.schema import spec

    for file in sorted((ROOT / "ksy").glob("*.ksy")):
        assert parse_yaml(file) == spec(file.stem), file


# What would like to be run.


def assert_only_reads(text: str) -> None:
    """Holds generated code to what readers do: names that are known, and imports of what they need."""
    tree = ast.parse(text)
    allowed = {"len", "range", "max", "min", "int", "str", "bytes", "bool", "float", "sum", "memoryview", "isinstance"}
    allowed |= {"AttributeError", "UnicodeDecodeError", "ValueError", "property", "object", "list", "tuple", "super"}
    defined = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        if isinstance(node, ast.FunctionDef):
            defined |= {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        if isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {"struct", "sys", "os", "zlib"}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or node.module in ("__future__", "array", "typing")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("__") or node.attr == "__init__", node.attr
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used <= defined | allowed, used - defined - allowed
    assert used.isdisjoint({"eval", "exec", "open", "compile", "__import__", "getattr", "globals"})


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
    ["seq", 3, "type", "cases", "1"], ["seq", 3, "type", "cases", "*"], ["enums", "e", "1"],
    ["enums", "e", "*"], ["enums", "*"], ["enums", "e", "1", "id"], ["enums", "e", "1", "doc"],
    ["instances", "i", "value"], ["instances", "i", "doc"], ["instances", "*"], ["types", "*"], ["types", "t", "doc"],
    ["types", "t", "params", 0, "id"], ["types", "t", "params", 0, "type"], ["seq", 0, "valid", "expr"],
    ["seq", 0, "valid", "any-of", 0], ["seq", 0, "valid", "max"], ["seq", 0, "valid", "*"], ["seq", 0, "*"], ["*"],
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
                "valid": {"any-of": [1, 2], "max": 9, "expr": "_ > 0"},
            },
            {"id": "b", "type": "str", "size": "3", "if": "a != e::two"},
            {"id": "c", "contents": ["x", 1]},
            {"id": "d", "type": {"switch-on": "a", "cases": {"e::two": "u1", "1": "t(1)"}}},
        ],
        "enums": {"e": {"1": {"id": "one", "doc": "Doc."}, "2": "two"}},
        "instances": {"i": {"value": "a.to_i + 1", "doc": "Doc."}, "s": {"value": '"text"'}},
        "types": {"t": {"doc": "Doc.", "params": [{"id": "p", "type": "u1"}], "seq": [{"id": "x", "type": "u1"}]}},
    }


def put(spec: dict[str, Any], path: list[Any], value: str) -> dict[str, Any]:
    """The specification with a text at a place; `*` is a key that is the text itself."""
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
    for text in EVIL if path[-1] in ("doc", "id", "*") else [*EVIL, *quoted]:
        file = tmp_path / "one.ksy"
        spec = yaml.safe_dump(put(harmless(), path, text), allow_unicode=False, sort_keys=False, width=1 << 20)
        file.write_text(spec, encoding="utf-8")
        try:
            specification = compile_ksy(file)
        except SpecificationError as error:
            assert "\n" not in str(error)
            continue
        for one in specification.texts.values():
            assert_only_reads(one)
        try:
            found = specification.read(b"\x01abcx\x01\x05\x05" * 3)
        except ExhumeError:
            continue
        assert found.i == 2 or path[0] == "instances"
        assert isinstance(found.s, (str, int)) or path == ["instances", "s", "value"]


def test_the_harmless_one_is_covered(compiled: Any) -> None:
    specification = compiled(yaml.safe_dump(harmless(), sort_keys=False))
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
    with pytest.raises(TruncatedError, match=r"offset 4 .*\[c\]: expected 2 bytes, found 1 bytes"):
        specification.read(b"\x01abcx")
    with pytest.raises(StructureError, match=r"offset 0 .*\[a\]: expected \(1, 2\), found 9"):
        specification.read(b"\x09abcx\x01\x05")


# What is read.


def test_compressed_bytes_are_inflated_to_a_bound(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SEQ + "[{id: a, size-eos: true, process: zlib, type: t}]\ntypes: {t: {seq: [{id: x, type: u1}]}}"
    specification = compiled(text)
    assert specification.read(zlib.compress(b"\x07")).a.x == 7
    with pytest.raises(StructureError, match="a whole stream"):
        specification.read(zlib.compress(bytes(100))[:-3])
    with pytest.raises(StructureError, match=r"compressed bytes \(zlib\)"):
        specification.read(b"nothing")
    layout = __import__("sys").modules[specification.module.__name__.rpartition(".")[0] + "._layout"]
    monkeypatch.setattr(layout, "MOST_INFLATED", 1000)
    with pytest.raises(StructureError, match="at most 1000 bytes once inflated"):
        specification.read(zlib.compress(bytes(100_000)))


def test_elements_that_take_nothing_do_not_fill_the_memory(compiled: Any) -> None:
    types = "types: {t: {instances: {x: {value: 1}}}}"
    eos = compiled(f"meta: {{id: one}}\nseq: [{{id: a, type: t, repeat: eos}}]\n{types}")
    with pytest.raises(StructureError, match="expected elements that take bytes, found one that takes none"):
        eos.read(b"x")
    many = f"meta: {{id: one}}\nseq: [{{id: n, type: u8le}}, {{id: a, type: t, repeat: expr, repeat-expr: n}}]\n{types}"
    assert len(compiled(many).read((3).to_bytes(8, "little")).a) == 3
    with pytest.raises(StructureError, match="found 1048576 that take none"):
        compiled(many).read(b"\xff" * 8)


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


def test_the_same_specification_gives_the_same_classes(compiled: Any) -> None:
    text = "meta: {id: one}\nseq: [{id: a, type: u1}]"
    assert type(compiled(text).read(b"a")) is type(compiled(text).read(b"b"))


def test_it_is_a_name_of_the_library() -> None:
    assert exhume.compile_ksy is compile_ksy
    assert "compile_ksy" in dir(exhume)
