"""The lint of the specifications: ours are clean, and each thing it looks for is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.toolchain.trees import ROOT, node_or_skip
from tools import ksy_lint

GOOD = """\
meta:
  id: thing
  title: A thing
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - uleb128
  encoding: UTF-8
  endian: le
doc: |
  Describes a thing.
seq:
  - id: num_items
    type: uleb128
  - id: items
    type: item
    repeat: expr
    repeat-expr: num_items.value
instances:
  is_big:
    value: num_items.value > 4
types:
  item:
    doc: One item.
    seq:
      - id: len_body
        type: u2
        valid:
          max: _io.size
      - id: body
        size: len_body
    enums:
      color:
        0: red
        1:
          id: green
          doc: Not red.
"""

# (what to replace in GOOD, with what, words of the expected problem)
BAD = [
    ("meta:\n  id: thing\n  title: A thing", "meta:\n  title: A thing\n  id: thing", "/meta: key id stands too late"),
    ("  id: thing\n", "  id: things\n", "must be the file's name, thing"),
    ("  title: A thing\n", "", "title is missing"),
    ("  license: CC0-1.0\n", "", "license is missing"),
    ("CC0-1.0", "GPL-3.0-only", "must be one of CC0-1.0, MIT"),
    ("'0.11'", "0.10", "must be quoted"),
    ("    - archive\n    - log\n", "    - log\n    - archive\n", "must be sorted"),
    ("    - uleb128\n", "    - ../uleb128\n", "only bare names"),
    ("    - uleb128\n", "    - /common/uleb128\n", "only bare names"),
    ("    - uleb128\n", "    - uleb129\n", "there is no ksy/uleb129.ksy"),
    ("encoding: UTF-8", "encoding: utf8", "not spelled canonically"),
    ("  endian: le\n", "  endian: le\n  ks-opaque-types: true\n", "key ks-opaque-types is not allowed"),
    ("doc: |\n  Describes a thing.\n", "", "a type needs a doc"),
    ("    doc: One item.\n", "", "/types/item: a type needs a doc"),
    ("    doc: One item.\n", "    meta:\n      id: item\n    doc: One item.\n", "key id is not allowed here"),
    ("Describes a thing.", "Describes a \\thing.", "no backslash"),
    ("Describes a thing.", 'Describes """a thing.', "no triple quotes"),
    ("Describes a thing.", "Describes " + "a thing " * 10, "wrapped at 80 columns"),
    ("          doc: Not red.\n", "          doc: Not \\red.\n", "no backslash"),
    ("id: num_items\n", "id: numItems\n", "'numItems' is not lower_snake_case"),
    ("is_big:", "class:", "class is a Python keyword"),
    ("0: red", "0: 'None'", "'None' is not lower_snake_case"),
    ("0: red", "0: lambda", "lambda is a Python keyword"),
    ("0: red", "0xffffffffffffffff: red", "an enum key is an integer"),
    ("max: _io.size", "max: 0xdb4700000000000f", "quote integers above 2^53"),
    ("        size: len_body\n", "        size: len_body\n        process: custom_codec(1)\n", "a custom process"),
    ("      - id: len_body\n        type: u2\n", "      - type: u2\n        id: len_body\n", "key id stands too late"),
    ("        size: len_body\n", "        size: body_size\n", "size: body_size must be named len_"),
    ("repeat-expr: num_items.value", "repeat-expr: count", "repeat-expr: count must be named num_"),
    ("    value: num_items.value > 4\n", "    pos: start\n    size: 1\n", "pos: start must be named ofs_"),
    (
        "        size: len_body\n",
        "        type:\n          switch-on: 1\n          cases:\n            1: u1\n",
        "case _",
    ),
    ("instances:\n  is_big:\n    value: num_items.value > 4\n", "", None),
    (
        "types:\n  item:",
        "types:\n  uleb128:\n    doc: Mine.\n    seq: []\n  item:",
        "uleb128 is also a specification's",
    ),
    ("  - id: num_items\n", "\t- id: num_items\n", "tab"),
    ("doc: One item.\n", "doc: One item. \n", "trailing blanks"),
    ("meta:\n", "---\nmeta:\n", "no document marker"),
    ("  tags:\n    - archive\n    - log\n", "  tags:\n  - archive\n  - log\n", "a list is indented under its key"),
    ("    doc: One item.\n", "    doc: One item.\n    doc: Again.\n", "duplicated mapping key"),
    ("        type: u2\n", "        type: u2\n        colour: red\n", "key colour is not allowed here"),
]
# The same, found by the compiler, which is asked when nothing else is wrong.
COMPILED = [("type: u2\n", "type: no_such\n", "no_such"), ("id: len_body\n", "id: len_bodies\n", "len_body")]

def project(folder: Path) -> Path:
    """Writes the project of these tests."""
    (folder / "ksy").mkdir()
    (folder / "tests/samples/ksy").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / "ksy/uleb128.ksy", folder / "ksy")
    (folder / "ksy/thing.ksy").write_text(GOOD)
    for name in ("thing", "uleb128"):
        (folder / f"tests/samples/ksy/{name}.bin").write_bytes(b"\0")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one good specification, its import, and samples for both."""
    node_or_skip()
    return project(tmp_path)


@pytest.mark.node
@pytest.mark.slow
def test_our_specifications_are_clean() -> None:
    node_or_skip()
    assert ksy_lint.lint(ROOT) == []


@pytest.mark.node
@pytest.mark.slow
def test_a_good_specification_passes(root: Path) -> None:
    assert ksy_lint.lint(root) == []


@pytest.fixture(scope="module")
def linted(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the lint says of one project that has each bad specification under a name of its own."""
    node_or_skip()
    root = project(tmp_path_factory.mktemp("bad"))
    for number, (old, new, _) in enumerate(BAD):
        assert GOOD.count(old) >= 1
        text = GOOD.replace(old, new, 1).replace("id: thing\n", f"id: thing_{number}\n")
        (root / f"ksy/thing_{number}.ksy").write_text(text)
        (root / f"tests/samples/ksy/thing_{number}.bin").write_bytes(b"\0")
    return ksy_lint.lint(root)


@pytest.mark.node
@pytest.mark.xdist_group("lint")
@pytest.mark.parametrize("number", range(len(BAD)), ids=[str(b[2] or "no instances") for b in BAD])
def test_each_rule(linted: list[str], number: int) -> None:
    found = [line for line in linted if line.startswith(f"ksy/thing_{number}.ksy: ")]
    words = BAD[number][2]
    if words is None:
        assert found == []
    else:
        assert any(words in line for line in found), found


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "words"), COMPILED)
def test_the_compiler_is_asked(root: Path, old: str, new: str, words: str) -> None:
    (root / "ksy/thing.ksy").write_text(GOOD.replace(old, new, 1))
    found = ksy_lint.lint(root)
    assert any(words in line for line in found), found


@pytest.mark.node
@pytest.mark.parametrize("name", ["msgpack", "json", "numpy", "class", "exhume_ksy"])
def test_module_names_are_refused(root: Path, name: str) -> None:
    (root / f"ksy/{name}.ksy").write_text(GOOD.replace("id: thing", f"id: {name}"))
    (root / f"tests/samples/ksy/{name}.bin").write_bytes(b"\0")
    assert ksy_lint.lint(root) == [f"ksy/{name}.ksy: /meta/id: {name} is the name of a Python module we use"]


@pytest.mark.node
def test_root_in_an_imported_specification_is_refused(root: Path) -> None:
    text = (root / "ksy/uleb128.ksy").read_text().replace("group9.as<u8>", "_root.group9.as<u8>")
    (root / "ksy/uleb128.ksy").write_text(text)
    (found,) = ksy_lint.lint(root)
    assert "_root in an imported specification" in found


@pytest.mark.node
@pytest.mark.slow
def test_samples_and_their_arguments(root: Path) -> None:
    folder = root / "tests/samples/ksy"
    (folder / "thing.bin").rename(folder / "thing-small.bin")
    assert ksy_lint.lint(root) == []
    (folder / "thing-small.bin").unlink()
    (folder / "thing_other.bin").write_bytes(b"\0")
    assert ksy_lint.lint(root) == ["ksy/thing.ksy: sample: tests/samples/ksy/thing.bin is missing"]
    (folder / "thing.bin").write_bytes(b"\0")
    params = "params:\n  - id: limit\n    type: u4\nseq:\n  - id: num_items"
    (root / "ksy/thing.ksy").write_text(GOOD.replace("seq:\n  - id: num_items", params, 1))
    assert "thing.bin needs thing.args.json" in ksy_lint.lint(root)[0]
    (folder / "thing.args.json").write_text("[1, 2]")
    assert "2 arguments for 1 parameters" in ksy_lint.lint(root)[0]
    (folder / "thing.args.json").write_text("[1]")
    assert ksy_lint.lint(root) == []


@pytest.mark.node
def test_specifications_lie_flat(root: Path) -> None:
    (root / "ksy/common").mkdir()
    (root / "ksy/common/other.ksy").write_text(GOOD)
    (found,) = ksy_lint.lint(root)
    assert found.startswith("ksy/common/other.ksy: specifications lie flat")


@pytest.mark.node
@pytest.mark.slow
def test_command_line_says_how_many(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ksy_lint.main(["--root", str(root)]) == 0
    (root / "tests/samples/ksy/thing.bin").unlink()
    assert ksy_lint.main(["--root", str(root)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "ksy/thing.ksy: sample: tests/samples/ksy/thing.bin is missing\n"
    assert printed.err == "ksy-lint: no problems\nksy-lint: 1 problems\n"
