"""RocksDB's merge operators: which one a column family has according to OPTIONS, and what the built-in ones compute.

Spec: RocksDB utilities/merge_operators/; include/rocksdb/merge_operator.h; options/options_parser.cc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

MOST_OPTIONS = 1 << 20
"""The most bytes of OPTIONS that are read."""
_SECTION = re.compile(r'\[\s*CFOptions\s+"(.*)"\s*\]')
_OPTION = re.compile(r"\s*merge_operator\s*=\s*(.*?)\s*")
_LOG_FOLDER = re.compile(r"^[ \t]*wal_dir[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_U64 = 1 << 64
_ESCAPES = {"n": "\n", "r": "\r"}

Merge = Callable[[bytes | None, Sequence[bytes]], bytes | None]
"""Applies operands, oldest first, to a value (None: there is none); None when the operator fails."""


class Operator(NamedTuple):
    """The merge operator of a column family; `merge` is None for one that is not built into RocksDB."""

    name: str
    merge: Merge | None = None


def log_folder(options: str) -> str:
    """The directory of the logs according to a file OPTIONS; empty where it states none."""
    found = _LOG_FOLDER.search(options)
    return _unescaped(found[1]) if found else ""


def operators_of(options: str) -> dict[str, Operator]:
    """The merge operators in a file OPTIONS, by the name of the column family."""
    out: dict[str, Operator] = {}
    family: str | None = None
    for line in map(_without_comment, options.splitlines()):
        if line.lstrip().startswith("["):
            section = _SECTION.fullmatch(line.strip())
            family = section[1] if section else None
        elif family is not None and (found := _OPTION.fullmatch(line)) and found[1] not in ("", "nullptr"):
            out[family] = _operator(_unescaped(found[1]))
    return out


def _without_comment(line: str) -> str:
    found = re.match(r"(?:[^\\#]|\\.?)*", line)
    return found[0] if found else line


def _operator(text: str) -> Operator:
    """An operator as OPTIONS describes it: its name, or `{id=name;option=value;}`."""
    name, options = text, ""
    if text.startswith("{") and text.endswith("}"):
        first, _, options = text[1:-1].partition(";")
        name = first.removeprefix("id=")
    if name in _APPENDING:
        delimiter = _delimiter(options)
        return Operator(name, None if delimiter is None else _append(delimiter))
    return Operator(name, _MERGES.get(name))


def _delimiter(options: str) -> bytes | None:
    """The delimiter of an appending operator; None when the options are not understood."""
    if not options:
        return b","
    found = re.fullmatch(r"delimiter=(?:\{(.*)\}|([^;{}]*));?", options, re.DOTALL)
    if found is None:
        return None
    text = found[1] if found[1] is not None else found[2]
    return _unescaped(text.strip(" \t\n\v\f\r")).encode("utf-8", "surrogateescape")


def _unescaped(text: str) -> str:
    """The text that RocksDB reads; it does so for a whole line, and again for an option in it."""
    return re.sub(r"\\(.?)", lambda escape: _ESCAPES.get(escape[1], escape[1]), text)


def _append(delimiter: bytes) -> Merge:
    return lambda base, operands: delimiter.join([*([] if base is None else [base]), *operands])


def _add(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    numbers = (int.from_bytes(one, "little") for one in (base or b"", *operands) if len(one) == 8)
    return (sum(numbers) % _U64).to_bytes(8, "little")


def _max(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    return max([base or b"", *operands])


def _put(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    return operands[-1]


def _xor(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    out = base or b""
    for operand in operands:
        out = bytes(a ^ b for a, b in zip_longest(out, operand, fillvalue=0))
    return out


def _sort(base: bytes | None, operands: Sequence[bytes]) -> bytes | None:
    """Merge sorted lists of numbers; the operator of RocksDB ignores the value that was there."""
    left: list[int] = []
    for operand in operands:
        right: list[int] = []
        for part in operand.split(b","):
            number = re.match(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)", part)
            if number is None or not -(1 << 31) <= int(number[1]) < 1 << 31:
                return None  # RocksDB does not survive it
            right.append(int(number[1]))
        merged: list[int] = []
        at = 0
        for one in right:
            while at < len(left) and left[at] < one:
                merged.append(left[at])
                at += 1
            merged.append(one)
        left = merged + left[at:]
    return b",".join(b"%d" % one for one in left)


_APPENDING = ("StringAppendOperator", "stringappend", "StringAppendTESTOperator", "stringappendtest")
_MERGES: dict[str, Merge] = {
    "UInt64AddOperator": _add,
    "uint64add": _add,
    "MaxOperator": _max,
    "max": _max,
    "PutOperator": _put,
    "put": _put,
    "put_v1": _put,
    "BytesXOR": _xor,
    "bytesxor": _xor,
    "MergeSortOperator": _sort,
    "sortlist": _sort,
}
