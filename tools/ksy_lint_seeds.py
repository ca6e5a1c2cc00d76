"""Typical mistakes in a specification, what the lint says about each, and the table of them for the documentation.

    python -m tools.ksy_lint_seeds [--write]

Each mistake is planted alone in a small specification that is otherwise good.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import blocks, ksy_lint, nodejs

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
doc-ref: https://example.org/thing.html
seq:
  - id: num_items
    type: uleb128
    valid:
      expr: _.value <= _io.size - _io.pos
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
    -webide-representation: '{len_body:dec} bytes'
    seq:
      - id: len_body
        type: u2
        valid:
          max: _io.size
      - id: body
        size: len_body
        doc: What it holds.
      - id: color
        type: u1
        enum: color
        valid:
          in-enum: true
        doc: How it looks.
    enums:
      color:
        0: red
        1:
          id: green
          doc: Not red.
"""


@dataclass(frozen=True)
class Seed:
    """One mistake: what to replace in `GOOD`, with what, and words of what the lint says then."""

    mistake: str
    old: str
    new: str
    says: str


AFTER_VERSION = GOOD[GOOD.index("'0.11'") : GOOD.index("  is_big")]
PAIRS = "instances:\n  pairs:\n    pos: 0\n    type: u1\n    valid: 1\n    repeat: expr\n    repeat-expr: 2\n"
SEEDS = [
    Seed(
        "keys of meta in another order",
        "meta:\n  id: thing\n  title: A thing",
        "meta:\n  title: A thing\n  id: thing",
        "/meta: key id stands too late",
    ),
    Seed("an id that is not the file's name", "  id: thing\n", "  id: things\n", "must be the file's name, thing"),
    Seed("no title", "  title: A thing\n", "", "title is missing"),
    Seed("no license", "  license: CC0-1.0\n", "", "license is missing"),
    Seed("a license that the collection does not take", "CC0-1.0", "GPL-3.0-only", "must be one of CC0-1.0, MIT"),
    Seed("ks-version without quotes", "'0.11'", "0.10", "must be quoted"),
    Seed("tags out of order", "    - archive\n    - log\n", "    - log\n    - archive\n", "must be sorted"),
    Seed("an import from another folder", "    - uleb128\n", "    - ../uleb128\n", "only bare names"),
    Seed("an import that only the Web IDE has", "    - uleb128\n", "    - /common/uleb128\n", "only bare names"),
    Seed("an import that is not there", "    - uleb128\n", "    - uleb129\n", "there is no ksy/uleb129.ksy"),
    Seed("an encoding in another spelling", "encoding: UTF-8", "encoding: utf8", "not spelled canonically"),
    Seed(
        "a switch of the compiler in meta",
        "  endian: le\n",
        "  endian: le\n  ks-opaque-types: true\n",
        "key ks-opaque-types is not allowed",
    ),
    Seed("a specification without doc", "doc: |\n  Describes a thing.\n", "", "a type needs a doc"),
    Seed("a field that nothing explains", "        doc: What it holds.\n", "", "body: nothing says what the field is"),
    Seed("a type without doc", "    doc: One item.\n", "", "/types/item: a type needs a doc"),
    Seed(
        "a key of the root's meta in a type",
        "    doc: One item.\n",
        "    meta:\n      id: item\n    doc: One item.\n",
        "key id is not allowed here",
    ),
    Seed("a backslash in doc", "Describes a thing.", "Describes a \\thing.", "no backslash"),
    Seed("quotes in doc that end a docstring", "Describes a thing.", 'Describes """a thing.', "no triple quotes"),
    Seed(
        "a line of doc beyond 80 columns",
        "Describes a thing.",
        "Describes a thing a thing a thing a thing a thing a thing a thing a thing a thing a thing ",
        "wrapped at 80 columns",
    ),
    Seed(
        "a backslash in the doc of a member", "          doc: Not red.\n", "          doc: Not \\red.\n", "no backslash"
    ),
    Seed("an id in camelCase", "id: num_items\n", "id: numItems\n", "'numItems' is not lower_snake_case"),
    Seed("a keyword of Python as an id", "is_big:", "class:", "class is a Python keyword"),
    Seed("a member that is not an identifier", "0: red", "0: 'None'", "'None' is not lower_snake_case"),
    Seed("a keyword of Python as a member", "0: red", "0: lambda", "lambda is a Python keyword"),
    Seed("an enumeration key beyond 2^53", "0: red", "0xffffffffffffffff: red", "an enum key is an integer"),
    Seed(
        "an integer beyond 2^53 without quotes", "max: _io.size", "max: 0xdb4700000000000f", "quote integers above 2^53"
    ),
    Seed(
        "a custom process",
        "        size: len_body\n",
        "        size: len_body\n        process: custom_codec(1)\n",
        "a custom process",
    ),
    Seed(
        "keys of a field in another order",
        "      - id: len_body\n        type: u2\n",
        "      - type: u2\n        id: len_body\n",
        "key id stands too late",
    ),
    Seed(
        "a size that is not called len_",
        "        size: len_body\n",
        "        size: body_size\n",
        "size: body_size must be named len_",
    ),
    Seed(
        "a count that is not called num_",
        "repeat-expr: num_items.value",
        "repeat-expr: count",
        "repeat-expr: count must be named num_",
    ),
    Seed(
        "a place that is not called ofs_",
        "    value: num_items.value > 4\n",
        "    pos: start\n    size: 1\n",
        "pos: start must be named ofs_",
    ),
    Seed(
        "a switch with an undocumented fallback",
        "        size: len_body\n        doc: What it holds.\n",
        "        type:\n          switch-on: 1\n          cases:\n            1: u1\n",
        "case _",
    ),
    Seed(
        "a type with the name of a specification",
        "types:\n  item:",
        "types:\n  uleb128:\n    doc: Mine.\n    seq: []\n  item:",
        "uleb128 is also a specification's",
    ),
    Seed("a tab", "  - id: num_items\n", "\t- id: num_items\n", "tab"),
    Seed("trailing blanks", "doc: One item.\n", "doc: One item. \n", "trailing blanks"),
    Seed("a document marker", "meta:\n", "---\nmeta:\n", "no document marker"),
    Seed(
        "a list that is not indented",
        "  tags:\n    - archive\n    - log\n",
        "  tags:\n  - archive\n  - log\n",
        "a list is indented under its key",
    ),
    Seed(
        "a key given twice", "    doc: One item.\n", "    doc: One item.\n    doc: Again.\n", "duplicated mapping key"
    ),
    Seed(
        "a misspelt key",
        "        type: u2\n",
        "        type: u2\n        color: red\n",
        "key color is not allowed here",
    ),
    Seed("a type that is not there", "type: u2\n", "type: no_such\n", "no_such"),
    Seed("a length that does not name what it measures", "id: len_body\n", "id: len_bodies\n", "len_body"),
    Seed("a length without a bound", "        valid:\n          max: _io.size\n", "", "len_body has no valid: max"),
    Seed(
        "a count without a bound",
        "    valid:\n      expr: _.value <= _io.size - _io.pos\n",
        "",
        "num_items has no valid: max",
    ),
    Seed(
        "a length that is bounded below only",
        "          max: _io.size\n",
        "          min: 1\n",
        "len_body has no valid: max",
    ),
    Seed(
        "an offset without a bound",
        "instances:\n",
        "instances:\n  ofs_rest:\n    pos: 0\n    type: u4\n",
        "ofs_rest has no valid: max",
    ),
    Seed(
        "a bound, and a reason for not having one",
        "        type: u2\n",
        "        type: u2\n        -lint-ok: It is small.\n",
        "a bound and a reason for none",
    ),
    Seed(
        "an import that nothing uses",
        "    - uleb128\n",
        "    - uleb128\n    - other\n",
        "other is imported and not used",
    ),
    Seed(
        "a type that nothing uses",
        "types:\n",
        "types:\n  spare:\n    doc: Left over.\n    seq: []\n",
        "/types/spare: nothing uses this type",
    ),
    Seed(
        "a misspelt key of our own",
        "    -webide-representation:",
        "    -webide-represention:",
        "key -webide-represention is none of ours",
    ),
    Seed(
        "a misspelt key of our own on a field",
        "      - id: len_body\n",
        "      - id: len_body\n        -orig-di: length\n",
        "key -orig-di is none of ours",
    ),
    Seed(
        "a misspelt key of our own on a member",
        "          doc: Not red.\n",
        "          doc: Not red.\n          -checksums: CRC\n",
        "key -checksums is none of ours",
    ),
    Seed(
        "a key of the Web IDE on the wrong thing",
        "        type: u2\n",
        "        type: u2\n        -columns: true\n",
        "key -columns is none of ours",
    ),
    Seed("a ks-version too low for in-enum", "'0.11'", "'0.10'", "0.10 does not know in-enum"),
    Seed(
        "a ks-version too low for a repeated field's valid",
        AFTER_VERSION,
        AFTER_VERSION.replace("0.11", "0.9").replace("instances:\n", PAIRS),
        "0.9 does not know valid of what repeats",
    ),
    Seed(
        "no source for the specification",
        "doc-ref: https://example.org/thing.html\n",
        "",
        "/doc-ref: the specification that this is taken from",
    ),
    Seed(
        "a source without its address",
        "doc-ref: https://example.org/thing.html\n",
        "doc-ref: The Book of Things\n",
        "/doc-ref: the specification that this is taken from",
    ),
    Seed(
        "a specification's name for a field that is empty",
        "      - id: len_body\n",
        "      - id: len_body\n        -orig-id: ''\n",
        "len_body: -orig-id is a name or a list of names",
    ),
    Seed(
        "a list without a specification's name",
        "      - id: color\n",
        "      - id: color\n        -orig-id: []\n",
        "color: -orig-id is a name or a list of names",
    ),
    Seed(
        "a specification's name that is not a string",
        "          id: green\n",
        "          id: green\n          -orig-id: 7\n",
        "enums/color/1: -orig-id is a name or a list of names",
    ),
    Seed(
        "a specification's name that repeats the id",
        "      - id: color\n",
        "      - id: color\n        -orig-id: color\n",
        "color: -orig-id repeats the id",
    ),
    Seed(
        "a computed value that nothing explains",
        "instances:\n",
        "instances:\n  half:\n    value: num_items.value / 2\n",
        "/instances/half: nothing says what the field is",
    ),
    Seed(
        "a field that is only there to be checked",
        "instances:\n",
        "instances:\n  check_items:\n    value: num_items.value < 9\n",
        "check_items is no field of the format",
    ),
    Seed(
        "a field that is only there to read an instance",
        "      - id: color\n",
        "      - id: freeze_body\n        size: len_body\n        if: len_body > 9\n      - id: color\n",
        "freeze_body is no field of the format",
    ),
    Seed(
        "a field of no bytes",
        "      - id: color\n",
        "      - id: rest\n        size: 0\n        if: len_body > 9\n        doc: Nothing.\n      - id: color\n",
        "/types/item/seq/rest: a field of no bytes",
    ),
    Seed(
        "a check on a computed value",
        "    value: num_items.value > 4\n",
        "    value: num_items.value > 4\n    valid: false\n",
        "/instances/is_big: valid on a computed value",
    ),
    Seed(
        "numbers that only their doc names",
        "        enum: color\n        valid:\n          in-enum: true\n        doc: How it looks.\n",
        "        doc: 0 red, 1 green.\n",
        "its doc names the numbers 0, 1: give them an enumeration",
    ),
    Seed(
        "a switch on numbers without names",
        "        size: len_body\n        doc: What it holds.\n",
        "        type:\n          switch-on: len_body\n          cases:\n            1: u1\n            2: u2\n"
        "            _: u4\n        doc: What it holds.\n",
        "switches on the numbers 1, 2: give them an enumeration",
    ),
    Seed(
        "an enumeration that no field has",
        "        enum: color\n        valid:\n          in-enum: true\n",
        "",
        "/types/item/enums/color: no field has this enumeration",
    ),
    Seed(
        "a type with the name of a sibling field",
        "instances:\n",
        "instances:\n  item:\n    pos: 0\n    type: item\n",
        "/types/item: a sibling field has the same name",
    ),
    Seed("an instance whose id is a word of Go", "is_big:", "range:", "range is a reserved word"),
    Seed("an id that is a word of C++ and Java", "is_big:", "default:", "default is a reserved word"),
    Seed("an id that is a word of PHP", "  item:\n    doc", "  empty:\n    doc", "empty is a reserved word"),
    Seed("an id that is a word of Lua", "is_big:", "end:", "end is a reserved word"),
    Seed("an id that hides a method", "is_big:", "close:", "close hides a method"),
    Seed("an id that hides a constructor", "is_big:", "from_file:", "from_file hides a method"),
    Seed(
        "bulk data in the sequence of the file",
        "    repeat: expr\n    repeat-expr: num_items.value\n",
        "    repeat: eos\n",
        "seq reads all that is left",
    ),
    Seed(
        "the rest of a file in its sequence",
        "instances:\n",
        "  - id: rest\n    size-eos: true\ninstances:\n",
        "seq reads all that is left",
    ),
    Seed(
        "elements of an array that do not say what they are",
        "    -webide-representation: '{len_body:dec} bytes'\n",
        "",
        "item is repeated and has no -webide-representation",
    ),
    Seed(
        "a checksum over something other than a sibling field",
        "      - id: body\n",
        "      - id: sum\n        -checksum: CRC-32\n        -covers: bodies\n        type: u4\n      - id: body\n",
        "-covers names bodies, which is not a sibling field",
    ),
    Seed(
        "fields that a checksum is over, and no checksum",
        "      - id: body\n",
        "      - id: body\n        -covers: color\n",
        "-covers without -checksum",
    ),
    Seed(
        "a representation that names no field",
        "'{len_body:dec} bytes'",
        "'{length:dec} bytes'",
        "-webide-representation names length, and there is no length",
    ),
    Seed(
        "a representation that names no field of another type",
        "doc-ref: https",
        "-webide-representation: '{num_items.size:dec} items'\ndoc-ref: https",
        "names num_items.size, and there is no size",
    ),
    Seed(
        "a representation that goes beneath a number",
        "'{len_body:dec} bytes'",
        "'{len_body.value:dec} bytes'",
        "names len_body.value, and there is no value",
    ),
]


def project(folder: Path) -> Path:
    """Write a project with one good specification, its import and samples of both; return its folder."""
    (folder / "ksy").mkdir(parents=True)
    (folder / "tests/samples/ksy").mkdir(parents=True)
    shutil.copy(nodejs.ROOT / "pyproject.toml", folder)
    shutil.copy(nodejs.ROOT / "ksy/uleb128.ksy", folder / "ksy")
    (folder / "ksy/thing.ksy").write_text(GOOD, encoding="utf-8")
    for name in ("thing", "uleb128"):
        (folder / f"tests/samples/ksy/{name}.bin").write_bytes(b"\0")
    return folder


def verdicts(seeds: Sequence[Seed] = SEEDS) -> Iterator[tuple[Seed, list[str]]]:
    """Yield every mistake with what the lint says; Node.js reads all of them at once, and compiles the others.

    Raises:
        nodejs.NodeError: Node.js cannot be had.
    """
    node = nodejs.ensure_packages(install=False)
    with tempfile.TemporaryDirectory() as scratch:
        files = {}
        for number, seed in enumerate(seeds):
            root = project(Path(scratch, str(number)))
            files[seed] = root / "ksy" / "thing.ksy"
            files[seed].write_text(GOOD.replace(seed.old, seed.new, 1), encoding="utf-8")
        other = files[seeds[0]].with_name("uleb128.ksy")
        loaded = ksy_lint.read_specs([*files.values(), other], node)
        found: dict[Seed, list[str]] = {}
        for seed, file in files.items():
            root = file.parent.parent
            specs = {"thing": loaded[file], "uleb128": loaded[other]}
            found[seed] = list(ksy_lint.check_specs(root, specs, ksy_lint.forbidden_modules(root)))
        reported = ksy_lint.compiler_problems([file for seed, file in files.items() if not found[seed]], node)
        for seed, file in files.items():
            yield seed, found[seed] or reported[file]


def caught(seed: Seed, found: list[str]) -> str | None:
    """Return the line in which the lint reports the problem, or nothing when it does not."""
    return next((line for line in found if seed.says in line), None)


def table() -> str:
    """Return the table for the documentation."""
    rows = [(seed, caught(seed, found)) for seed, found in verdicts()]
    total = sum(line is not None for _, line in rows)
    lines = [f"{len(rows)} mistakes planted, {total} caught.\n", "| mistake | what the lint says |", "| --- | --- |"]
    for seed, line in rows:
        stated = " ".join(line.partition(": ")[2].replace("|", "\\|").split()) if line else ""
        stated = re.sub(r"/\S+/ksy/", "ksy/", stated)  # the folder is another each time
        lines.append(f"| {seed.mistake} | {f'`{stated}`' if line else 'nothing'} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Plant mistakes in a specification and see whether the lint reports it."
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/spec-driven.md")
    options = parser.parse_args(argv)
    try:
        text = table()
    except nodejs.NodeError as error:
        print(f"ksy-lint-seeds: {error}", file=sys.stderr)
        return 1
    print(text)
    if options.write:
        blocks.write_block("spec-driven.md", "ksy-lint-seeds", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
