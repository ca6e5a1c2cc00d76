"""What `src/exhume` knows of a layout by itself although the specifications say it: places, formats, magics, enums.

Python is examined as a tree; Cython (`.pyx`, `.pxi`) line by line, for what is moved or counted by a width that is
spelled out, for slices, magics and the members of enums.

    python -m tests.toolchain.copies [FOLDER]

prints the finds, a line each.  The facts that belong in their place are in `exhume_ksy.facts`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from tests.toolchain.trees import facts_of, spec_ids
from tools import nodejs

SRC = nodejs.ROOT / "src" / "exhume"
BUFFERS = frozenset(
    [
        "data",
        "raw",
        "head",
        "tail",
        "stored",
        "payload",
        "contents",
        "content",
        "frame",
        "block",
        "buf",
        "buffer",
        "view",
        "window",
        "piece",
        "body",
        "chunk",
        "footer",
        "header",
        "key",
        "rest",
        "largest",
        "smallest",
    ]
)
"""What bytes are called: of anything else a slice is taken for text or a list."""

FORMATS = frozenset(("pack", "pack_into", "unpack", "unpack_from", "iter_unpack", "calcsize", "Struct"))

OTHERS = "a format of others, of which no specification stands here"
EXCEPTIONS = {
    ("codecs/blocks.py", ""): OTHERS,
    ("codecs/passing.py", ""): OTHERS,
    ("codecs/stored.py", ""): OTHERS,
    ("codecs/streams.py", ""): OTHERS,
    ("codecs/xz.py", ""): OTHERS,
    (
        "formats/ark/layout.py",
        "int.from_bytes(data, 'little')",
    ): "what a damaged header says at the places of its fields",
    ("formats/ark/rbuf/wire.py", "<{number}{letter}"): "numbers of a type that the archive declares itself",
    ("formats/ark/rbuf/streamed.py", "<{some}{letter}"): "numbers of a type that the archive declares itself",
    ("formats/ark/rbuf/encoder.py", "<{count}{letter}"): "numbers of a type that the archive declares itself",
    ("codecs/native.pxi", ""): OTHERS,
    ("native/json.pxi", "(size + 2) // 3 * 4"): "base64, which is printed",
    ("formats/ark/rbuf/native.pxi", "HEX[parts"): "the digits of a GUID, as text",
    ("formats/caf/native.pxi", "memcmp(text + i, CAF_"): "JSON, in the one form that the index has",
    ("formats/caf/locate.py", ""): "the parts that other programs put around a CAF: " + OTHERS,
    ("formats/leveldb/blocks.py", "[:size]"): "compares two keys as numbers, no field",
    ("formats/leveldb/comparators.py", ""): "keys that an application orders: " + OTHERS,
    ("formats/leveldb/ranges.py", "key[:2]"): "two items of a tuple, no bytes",
    ("formats/leveldb/table_index.py", "(value or b'')[:8]"): "a property that is a number, whose size its name tells",
    ("formats/leveldb/values.py", "int.from_bytes(one, 'little')"): "a value, as the operator of RocksDB reads it",
    ("formats/leveldb/values.py", "to_bytes(8, 'little')"): "a value, as the operator of RocksDB writes it",
    ("formats/leveldb/blocks.py", "contents[:8]"): "the size that RocksDB puts in front of LZ4 data: " + OTHERS,
    ("formats/zs/framing.py", ""): "records in a stream, each behind eight bytes with its length: " + OTHERS,
    ("formats/clp_s/layout_packed.py", "{size}s"): "the key of a node, whose size is a field before it",
    ("formats/clp_s/read/times.pxi", "digits"): "the nine digits of a second, as text",
    ("formats/clp_s/write/jsonscan.py", ""): "JSON",
    ("formats/clp_s/query/evaluate.py", "int.from_bytes"): "rows that match, a byte each, as one number",
    ("formats/clp_s/query/matches.py", "int.from_bytes"): "rows that match, a byte each, as one number",
    ("formats/clp_s/query/aggregate.pxi", "starts[256 * byte"): "a radix sort of numbers in memory",
    ("formats/clp_s/writer.py", "data[at:at + "): "the text that goes in",
    ("io/processes.py", "int.from_bytes(head, 'little')"): "the length of a message between processes, no archive",
    ("native/reals.pxi", ""): "a number as text",
    ("testing/contracts.py", ""): "reads at places that it makes up",
}
"""What stays, by file and code (all of a file where that is empty), each with its reason."""


@dataclass(frozen=True)
class Copy:
    """One piece of code that knows a layout."""

    file: str
    line: int
    kind: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.code}"


@cache
def enums() -> dict[str, dict[str, int]]:
    """The members of every enum of the specifications, by `schema.Name`."""
    return {
        f"{id}.{name}": {member.name: int(member) for member in one}
        for id in spec_ids()
        for name, one in facts_of(id).items()
        if isinstance(one, type) and issubclass(one, IntEnum)
    }


@cache
def magics() -> dict[bytes, str]:
    """The fixed bytes of the specifications, at least two of them that are not all zero, with their places."""
    found: dict[bytes, str] = {}
    for id in spec_ids():
        for name, kind in facts_of(id).items():
            fields = {**vars(kind), **vars(getattr(kind, "means", object))}
            for field, value in fields.items():
                for one in value if isinstance(value, tuple) else (value,):
                    if type(one) is int and one >= 1 << 32:  # a magic that is read as a number
                        found[one.to_bytes(8, "little")] = found[one.to_bytes(8, "big")] = f"{id}.{name}.{field}"
                    if isinstance(one, bytes) and len(one) > 1 and any(one):
                        found[one] = f"{id}.{name}.{field}"
    return found


def _number(node: ast.AST | None) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and (inner := _number(node.operand)) is not None:
        return -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _call(node: ast.Call) -> str | None:
    name = _name(node.func)
    if name == "from_bytes":
        return "bytes to a number"
    if name == "to_bytes" and node.args and _number(node.args[0]) is not None:
        return "a number to bytes"
    if name in FORMATS and node.args:
        format = node.args[0]
        parts = format.values if isinstance(format, ast.JoinedStr) else [format]
        if any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in parts):
            return "format"
    if name in ("frombuffer", "typed", "cast") and node.args:
        letter = node.args[-1]
        if isinstance(letter, ast.Constant) and isinstance(letter.value, str) and letter.value != "B":
            return "format"
    return None


def _span(node: ast.Subscript) -> str | None:
    if not isinstance(node.slice, ast.Slice) or _name(node.value) not in BUFFERS:
        return None
    lower, upper = node.slice.lower, node.slice.upper
    first, last = _number(lower), _number(upper)
    if first is not None and last is not None:
        return "span"
    added = isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add)
    if isinstance(upper, ast.BinOp) and added and lower is not None:
        size = _number(upper.right)
        return "span" if size is not None and size > 1 and ast.dump(upper.left) == ast.dump(lower) else None
    single = first if upper is None else last if lower is None else None
    if single is not None and abs(single) > 1:
        return "span"
    return None


def _width(node: ast.BinOp) -> str | None:
    """Bytes for each row or element: `8 * rows`."""
    if not isinstance(node.op, ast.Mult):
        return None
    parts = (node.left, node.right)
    sizes = [size for one in parts if (size := _number(one)) is not None]
    return "width" if len(sizes) == 1 and sizes[0] in (4, 8, 10, 16) else None


def _enum(node: ast.ClassDef) -> str | None:
    if not any(_name(base) in ("IntEnum", "IntFlag", "Enum") for base in node.bases):
        return None
    members = {
        _name(target).lower(): value
        for one in node.body
        if isinstance(one, ast.Assign) and (value := _number(one.value)) is not None
        for target in one.targets
    }
    for name, known in enums().items():
        same = [member for member, value in known.items() if members.get(member.lower()) == value]
        if len(same) > 1:
            return f"enum {name}"
    return None


def _table(node: ast.Dict) -> str | None:
    """A number for each of several members of an enum: a column of a table that a specification has."""
    keys = [one for one in node.keys if isinstance(one, ast.Attribute) and one.attr.isupper()]
    numbers = [one for one in node.values if _number(one) is not None]
    return "table" if len(keys) > 2 and len(keys) == len(numbers) == len(node.keys) else None


def _constant(node: ast.Constant) -> str | None:
    if isinstance(node.value, bytes):
        return next((f"magic {where}" for magic, where in magics().items() if magic in node.value), None)
    if isinstance(node.value, str):
        packed = node.value.replace(" ", "").lower()
        return next((f"magic {where}" for magic, where in magics().items() if magic.hex() in packed), None)
    return None


def _kind(node: ast.AST, format: bool) -> str | None:
    match node:
        case ast.Call():
            return _call(node)
        case ast.Subscript():
            return _span(node)
        case ast.BinOp():
            return _width(node) if format else None
        case ast.ClassDef():
            return _enum(node)
        case ast.Dict():
            return _table(node)
        case ast.Constant():
            return _constant(node)
    return None


_MOVED = re.compile(r"\b(?:memcpy|memcmp|memmove)\((?:[^()]|\([^()]*\))*, (?:[2-9]|1[0-6])\)")
_WIDTH = re.compile(r"\b(?:4|8|16) \* [A-Za-z_(<]|[\w)\]] \* (?:4|8|16)\b(?!\.)")
_SLICE = re.compile(rf"\b(?:{'|'.join(sorted(BUFFERS))})\[(?:\d*:-?[2-9]\d*|-?[2-9]\d*:\d*|\d+:\d+)\]")
_MEMBER = re.compile(r"^\s*(?:cdef enum:|DEF )?\s*(\w+) *= *(-?\d+|0x[0-9A-Fa-f]+)\s*(?:#.*)?$")


def native_copies(text: str, file: str = "formats/x.pxi") -> Iterator[Copy]:  # noqa: C901 - one kind after the other
    """The same of one file of Cython."""
    lines = [*text.split("\n"), ""]
    members: dict[str, tuple[int, int]] = {}
    strings: list[tuple[int, str]] = []
    quiet: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.line.strip().startswith(('"', "'")):
            quiet.update(range(token.start[0], token.end[0] + 1))  # what documents a function
        elif token.type == tokenize.STRING:
            strings.append((token.start[0], token.string))
        elif token.type == tokenize.NUMBER and token.string[:2].lower() == "0x":
            value = int(token.string, 16)
            if 1 << 24 <= value < 1 << 64 and any(value.to_bytes(8, order) in magics() for order in ("little", "big")):
                yield Copy(file, token.start[0], "magic", token.string)
    for number, line in enumerate(lines, 1):
        code = line.partition(" #")[0].strip()
        if number in quiet or code.startswith("#"):
            continue
        for kind, pattern in (("width", _MOVED), ("width", _WIDTH), ("span", _SLICE)):
            if pattern.search(code):
                yield Copy(file, number, kind, code)
                break
        if (found := _MEMBER.match(line)) is not None:
            members[found[1].lower()] = int(found[2], 0), number
    for number, literal in strings:
        meant = ast.literal_eval(literal) if literal[0] in "\"'bBrR" else ""
        if (magic := _constant(ast.Constant(meant))) is not None:
            yield Copy(file, number, magic, literal)
    for name, known in enums().items():
        same = [
            place
            for member, value in known.items()
            for own, (stated, place) in members.items()
            if stated == value and (own == member.lower() or own.endswith(f"_{member.lower()}"))
        ]
        if len(same) > 1:
            yield Copy(file, min(same), f"enum {name}", lines[min(same) - 1].strip())


def copies(text: str, file: str = "formats/x.py") -> Iterator[Copy]:
    """What the code of one module knows of a layout."""
    tree = ast.parse(text)
    docs = {
        id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if id(node) not in docs and (kind := _kind(node, file.startswith("formats/"))) is not None:
            code = f"class {node.name}" if isinstance(node, ast.ClassDef) else ast.unparse(node)
            yield Copy(file, getattr(node, "lineno", 0), kind, " ".join(code.split()))


def _files() -> list[str]:
    """The modules of `src/exhume`; the compiler apart, which makes all of what is looked for."""
    files = (path.relative_to(SRC).as_posix() for path in SRC.rglob("*.p*") if path.suffix in (".py", ".pyx", ".pxi"))
    return sorted(file for file in files if not file.startswith("compiler/"))


def folders() -> list[str]:
    """The folders of modules; the root is ''."""
    return sorted({file.rpartition("/")[0] for file in _files()})


@cache
def found() -> dict[str, list[Copy]]:
    """The copies in the modules, by folder."""
    out: dict[str, list[Copy]] = {folder: [] for folder in folders()}
    for file in _files():
        look = copies if file.endswith(".py") else native_copies
        out[file.rpartition("/")[0]] += look((SRC / file).read_text(encoding="utf-8"), file)
    return out


def excepted(one: Copy) -> tuple[str, str] | None:
    """The exception that allows it."""
    return next((key for key in EXCEPTIONS if key[0] == one.file and key[1] in one.code), None)


if __name__ == "__main__":
    for folder, several in found().items():
        for one in several:
            if folder.startswith("".join(sys.argv[1:])) and excepted(one) is None:
                print(one)  # noqa: T201 - that is what it is for
