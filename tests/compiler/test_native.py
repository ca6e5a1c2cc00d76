"""Extension modules: they give what interpreted readers give, and have nothing of a specification in their text."""

from __future__ import annotations

import copy
import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exhume_ksy.fast._layout import LayoutError

from exhume.compiler.emit.extension import check_vocabulary, extension
from exhume.compiler.refusal import UnsupportedError
from exhume.errors import TruncatedError
from exhume.layout import extensions
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.foreign_modules import NativeWarning
from tests.compiler import specs
from tests.toolchain.natively import compared, difference

pytestmark = pytest.mark.xdist_group("native")  # one process builds the extension module that most tests read with
compiler = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")
PAIRS = """meta: {id: pairs}
seq: [{id: many, type: u1}, {id: pairs, type: pair, repeat: expr, repeat-expr: many}]
types: {pair: {seq: [{id: key, type: u1}, {id: value, type: u1}]}}
"""

TREE = """meta: {id: tree, endian: le}
seq:
  - {id: head, type: head}
  - {id: rows, type: row, repeat: expr, repeat-expr: 3}
  - {id: points, type: point, repeat: eos}
types:
  head: {seq: [{id: deep, type: deep}], types: {deep: {seq: [{id: b, type: u2}], instances: {up: {value: _parent}}}}}
  row:
    seq: [{id: n, type: u1}, {id: leaves, type: leaf(_root), repeat: expr, repeat-expr: n}]
    instances: {first: {value: "_root.rows[0]"}, again: {pos: 0, type: head}}
  leaf: {params: [{id: top, type: tree}], seq: [{id: v, type: u1}, {id: text, type: str, size: 2, encoding: ASCII}]}
  point: {seq: [{id: x, type: u2}, {id: y, type: u2}]}
"""
TREES = {
    "tree": TREE,
    "bare": TREE.replace("id: tree", "id: bare")
    .replace("leaf(_root)", "leaf")
    .replace("params: [{id: top, type: tree}], ", ""),
}
"""Trees whose leaves are given the root, and whose leaves are not."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for extension modules, which are built in a hurry."""
    folder = tmp_path_factory.mktemp("extensions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXHUME_CACHE", str(folder))
        patch.setenv("EXHUME_NATIVE_FLAGS", os.environ.get("EXHUME_NATIVE_FLAGS", "-O0 -g0 -fwrapv"))
        yield folder


@pytest.fixture(scope="module")
def every(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Specification:
    """The golden specifications, and two of trees, in one extension module."""
    folder = tmp_path_factory.mktemp("every")
    for name, text in TREES.items():
        (folder / f"{name}.ksy").write_text(text, encoding="utf-8")
    (folder / "every.ksy").write_text(
        f"meta: {{id: every, imports: [/{specs.EVERY.stem}, {', '.join(TREES)}]}}\nseq: [{{id: t, type: tree}}]\n",
        encoding="utf-8",
    )
    return compile_ksy(folder / "every.ksy", imports=[specs.GOLDEN], native=True)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.ksy"
    file.write_text(PAIRS, encoding="utf-8")
    return file


@compiler
@pytest.mark.slow
@pytest.mark.parametrize("file", specs.files(), ids=lambda file: file.stem)
def test_compiled_readers_yield_what_interpreted_ones_yield(file: Path, every: Specification) -> None:
    plain, native = (specs.part(every, file.stem, native=native) for native in (False, True))
    many, found = compared(plain, native, 12)
    assert not found
    assert many > 20


def test_every_reader_of_the_golden_specifications_has_a_compiled_form() -> None:
    assert extension(compile_ksy(specs.EVERY).texts).left == ()


@compiler
def test_numbers_that_do_not_fit_the_machine_are_reckoned_with_as_they_are(every: Specification) -> None:
    plain = compile_ksy(specs.GOLDEN / "computed.ksy")
    native = specs.part(every, "computed")
    most = b"\xff" * 16 + b"1234"
    assert difference(plain, native, most, []) == ""
    assert native.read(most).product == (2**32 - 1) * -1 * (2**64 - 1)
    with pytest.raises(LayoutError, match=r"far"):
        native.read(most).far  # noqa: B018 - its offset is past the end of any file


@compiler
def test_instances_of_values_that_a_program_changed_are_those_of_the_changed_values(every: Specification) -> None:
    plain = compile_ksy(specs.GOLDEN / "upward.ksy")
    native = specs.part(every, "upward")
    found = []
    for specification in (plain, native):
        item, other = specification.read(b"\2\5\1\3\0\4\0").groups[0].items.rest
        reported = [item.scaled, other.scaled, item.place]
        changed: list[tuple[int, str, Any]] = [(0, "raw", 2**70), (1, "raw", True), (1, "raw", "")]
        for one, name, value in (*changed, (0, "_root", SimpleNamespace(scale=9))):
            item = specification.read(b"\2\5\1\3\0\4\0").groups[0].items.rest[one]
            setattr(item, name, value)
            try:
                reported.append(item.scaled)
            except LayoutError as error:
                reported.append(str(error))
        item = specification.read(b"\2\5\1\3\0\4\0").groups[0].items.rest[0]
        del item.raw
        with pytest.raises(LayoutError, match="scaled") as raised:
            item.scaled  # noqa: B018
        found.append([*reported, str(raised.value)])
    assert found[0] == found[1]
    assert found[0][:5] == [11, 13, 5, 2**71 + 5, 7]


@compiler
def test_batches_and_columns_come_from_compiled_readers(cache: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    plain = compile_ksy(specs.GOLDEN / "wide_rows.ksy")
    native = compile_ksy(specs.GOLDEN / "wide_rows.ksy", native=True)
    assert native.native is not None
    assert native.native[0].left == ()
    assert compared(plain, native, 6)[1] == ""
    data = (b"\0\7" + bytes(4) + b"\1\1\x90\5\0\0\0\0hi\0" + bytes(4) + b"\5\1\3abc" + bytes(4)) * 60_000
    file = tmp_path / "mapped"
    file.write_bytes(data)  # large enough to be mapped
    columns = native.columns(file, "rows")
    assert hasattr(type(columns)._scan, "python")
    assert columns.title_valid.tolist() == plain.columns(data, "rows").title_valid.tolist()
    few = data[: 31 * 500]
    tables = plain.to_arrow(few, "rows"), native.to_arrow(few, "rows"), native.batches(few, "rows", rows=300).read_all()
    assert tables[0].to_pylist() == tables[1].to_pylist() == tables[2].to_pylist()
    with pytest.raises(TruncatedError, match=r"rows\[1500\]\.body"):
        native.batches(few + b"\0", "rows").read_all()


@compiler
def test_an_extension_module_is_built_once_and_found_again(cache: Path, pairs: Path) -> None:
    first = compile_ksy(pairs, native=True)
    assert first.native is not None
    built = first.native[1].stat().st_mtime_ns
    again = compile_ksy(pairs, native=True)
    assert again.native is not None
    assert again.native[1].stat().st_mtime_ns == built
    assert [pair.value for pair in again.read(bytes([2, 1, 10, 2, 20])).pairs] == [10, 20]
    assert again.read(bytes([2, 1, 10, 2, 20])).pairs.value.tolist() == [10, 20]


@compiler
def test_what_was_kept_is_used_only_for_the_same_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "outer.ksy").write_text("meta: {id: outer, imports: [inner]}\nseq: [{id: a, type: inner}]\n")
    (tmp_path / "far" / "inner.ksy").write_text("meta: {id: inner}\nseq: [{id: b, type: u1}]\n")

    def compiled() -> Specification:
        return compile_ksy(tmp_path / "outer.ksy", imports=[tmp_path / "far"], native=True)

    assert compiled().kept is None
    again = compiled()
    assert again.kept is not None
    assert again.read(b"\7").a.b == 7
    assert again.to_arrow is not None
    assert [one.id for one in again.model.schemas["inner"].seq] == ["b"]
    (tmp_path / "far" / "inner.ksy").write_text("meta: {id: inner}\nseq: [{id: b, type: s1}]\n")

    def build(text: str, folder: Path) -> Path:
        raise extensions.NotBuiltError("it takes long")

    with monkeypatch.context() as patch:
        patch.setattr(extensions, "build", build)
        with pytest.warns(NativeWarning, match="it takes long"):
            changed = compiled()
    assert changed.kept is None
    assert changed.read(b"\xff").a.b == -1
    (tmp_path / "inner.ksy").write_text("meta: {id: inner}\nseq: [{id: b, type: u1}]\n")  # found first
    assert compiled().read(b"\xff").a.b == 255
    for file in cache.glob("*.kept"):
        file.write_bytes(b"damaged")
    assert compiled().read(b"\xff").a.b == 255


@compiler
def test_a_package_on_disk_reads_with_its_extension_module(cache: Path, pairs: Path, tmp_path: Path) -> None:
    for path, content in compile_ksy(pairs, native=True).package.items():
        (tmp_path / "readers" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "readers" / path).write_bytes(content)
    code = "from readers.pairs import Pairs, read_pairs as read; print(type(read).__name__, Pairs.from_bytes(b'\\1ab').pairs[0])"  # noqa: E501
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "Reader Pair(key=97, value=98)\n"
    (tmp_path / "readers" / f"_native{extensions.SUFFIX}").write_bytes(b"of another Python")
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "function Pair(key=97, value=98)\n"


def test_without_a_compiler_readers_are_interpreted_and_the_reason_is_reported(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    monkeypatch.setenv("EXHUME_CACHE", str(tmp_path / "new"))
    with pytest.warns(NativeWarning, match="interpreted readers: there is no C compiler"):
        found = compile_ksy(pairs, native=True)
    assert found.native is None
    assert found.read(bytes([1, 5, 6])).pairs[0].value == 6


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize("how", ["open to others", "a link"])
def test_a_folder_that_others_can_write_to_is_not_used(
    how: str, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shared"
    (tmp_path / "own").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "own") if how == "a link" else folder.mkdir()
    if how != "a link":
        folder.chmod(0o777)
    monkeypatch.setenv("EXHUME_CACHE", str(folder))
    with pytest.warns(NativeWarning, match="not a folder that only you can write to"):
        assert compile_ksy(pairs, native=True).native is None


HOSTILE = """meta: {id: hostile, endian: le, encoding: ASCII}
doc: 'zebra system("rm"); \\n cdef extern from "unistd.h":'
seq:
  - {id: giraffe, type: u1, enum: elephants, doc: "*/ tiger();"}
  - {id: lion, contents: 'panther'}
  - {id: wolf, type: str, size: 3, encoding: 'UTF-8'}
  - {id: cobra, type: python, repeat: eos}
instances:
  whale: {value: '"dolphin\\"\\n include \\"shark.pxi\\""'}
types:
  python:
    seq: [{id: ferret, type: u2}, {id: badger, type: str, size: 1}]
    instances: {otter: {value: 'ferret > 5 ? "beaver" : "weasel"'}}
enums: {elephants: {1: mammoth}}
"""
BEASTS = (
    "zebra system unistd giraffe elephants tiger lion panther wolf cobra whale dolphin shark python ferret badger otter"
)


def test_no_text_of_a_specification_is_in_an_extension_module(tmp_path: Path) -> None:
    (tmp_path / "hostile.ksy").write_text(HOSTILE, encoding="utf-8")
    made = extension(compile_ksy(tmp_path / "hostile.ksy").texts)
    body = made.text[made.text.index("cdef object f0(") :]
    assert not re.search("|".join([*BEASTS.split(), "beaver", "weasel", "mammoth"]), body, re.IGNORECASE)
    assert "mammoth" not in repr(made.plan)
    assert ("constant", "beaver") in made.plan["values"]


@pytest.mark.parametrize(
    "text", ["v1 = system(v2)", 'v1 = "text"', "import v1", "v1 = #", "cdef extern from *:", "v1 = `v2`", "x = 1", "$"]
)
def test_a_text_with_other_words_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedError, match="what no extension has"):
        check_vocabulary(text)


INPUT = b"\1\2" + b"\2\1AB\2CD" + b"\0" + b"\1\x09EF" + bytes(range(16))


def _whole(value: Any) -> object:
    """The structure that a part is in, as values."""
    while value._parent is not None:
        value = value._parent
    rows = [[(one.v, one.text) for one in row.leaves] for row in value.rows]
    return value.head.deep.b, rows, [(one.x, one.y) for one in value.points]


def _parts(value: Any) -> list[Any]:
    """Every structure and list in a value, and itself."""
    rows = [part for row in value.rows for part in (row, row.leaves, *row.leaves)]
    return [value, value.head, value.head.deep, value.rows, value.points, *rows, *value.points]


@pytest.fixture(scope="module")
def trees(every: Specification) -> Callable[[str], Any]:
    """What reads a tree of a specification."""
    return lambda name: getattr(specs.part(every, name).module, name.capitalize()).from_bytes


@compiler
@pytest.mark.parametrize("name", ["tree", "bare"])
def test_a_part_that_is_kept_keeps_what_it_is_in(trees: Callable[[str], Any], name: str) -> None:
    """Whatever else a program did: all of it can be reached, and once it is not, all of it is freed."""
    read = trees(name)
    expected = _whole(read(INPUT))
    acts: list[Callable[[Any], object]] = [
        lambda value: value,
        lambda value: value.head.deep.up,
        lambda value: value.rows[1].first,
        lambda value: value.rows[2].again,
        lambda value: value.points.columns if hasattr(value.points, "columns") else value.points[1],
        lambda value: copy.copy(value.head),
        lambda value: setattr(value.rows[0], "_parent", value),
        lambda value: gc.collect(0),
    ]

    def run(times: int) -> None:
        for turn in range(times):
            value = read(INPUT)
            kept = [acts[turn % len(acts)](value), acts[turn // len(acts) % len(acts)](value)]
            parts = _parts(value)
            part = parts[turn % len(parts)]
            del value, parts, kept
            for one in [part] if hasattr(part, "_fields") else part:
                assert _whole(one) == expected

    run(500)
    gc.collect()
    before = sys.getallocatedblocks()
    run(2000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1500


@compiler
def test_parts_that_a_program_moves_stay_what_they_are(trees: Callable[[str], Any]) -> None:
    read = trees("tree")
    for turn in range(300):
        one, other = read(INPUT), read(INPUT)
        row = one.rows.pop(0)
        other.rows.append(row)
        other.rows[2].leaves[:] = row.leaves
        head, one.head = one.head, None
        if turn % 2:
            del one
        else:
            del other
        assert [leaf.text for leaf in row.leaves] == ["AB", "CD"]
        assert head._parent is row._parent
        assert len(row._parent.rows) == 2
        del row._parent
        assert head._parent.points[3].y == 0x0F0E
