"""Values of versions: what merge operands, entities of columns, and references to blob files make, also as rows.

A merge operand is a version of a key that changes the older value; the merge operator says how.  Which one a column
family (a separate set of keys) has is stated in the file OPTIONS; the built-in ones are computed here.  An entity
is a value with named columns.  To settle a version is to replace its stored bytes by the value that they stand for.  An
extra is a fact that few rows have, such as a large value, which is read in chunks.

Spec: RocksDB db/merge_helper.cc, db/wide/wide_column_serialization.h, db/blob/blob_index.h, db/seqno_to_time_mapping.cc
(timed puts); utilities/merge_operators/; include/rocksdb/merge_operator.h; options/options_parser.cc.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest

from exhume.counts import counted
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.large import LONG
from exhume.formats.leveldb.layout import LayoutError, read_leveldb_varint
from exhume.formats.leveldb.model import ELSEWHERE, Status, ValueTypes, VersionExtra, type_name
from exhume.formats.leveldb.table import Item
from exhume.io.values import LargeValue, whole
from exhume.tuples import NamedTuple

MOST_OPTIONS = 1 << 20
"""The most bytes of OPTIONS that are read."""
# Parts of OPTIONS: the heading of a column family, an option of one, the directory of the logs.  Compiled when used.
_SECTION = r'\[\s*CFOptions\s+"(.*)"\s*\]'
_OPTION = r"\s*(merge_operator|inplace_update_support)\s*=\s*(.*?)\s*"
_LOG_FOLDER = r"^[ \t]*wal_dir[ \t]*=[ \t]*(.*?)[ \t]*$"
_U64 = 1 << 64  # sums are 64-bit numbers that wrap around
_ESCAPES = {"n": "\n", "r": "\r"}  # another character after a backslash stands for itself

Merge = Callable[[bytes | None, Sequence[bytes]], bytes | None]
"""Applies operands, oldest first, to a base value (None: there is none); None when the operator fails."""


class Operator(NamedTuple):
    """The merge operator of a column family; `merge` is None for one that is not built into RocksDB."""

    name: str
    merge: Merge | None = None


def log_folder(options: str) -> str:
    """The directory of the logs according to a file OPTIONS; empty where it states none."""
    found = re.search(_LOG_FOLDER, options, re.MULTILINE) if options else None
    return _unescaped(found[1]) if found else ""


def operators_of(options: str) -> dict[str, Operator]:
    """The merge operators in a file OPTIONS, by the name of the column family."""
    named = _family_options(options, "merge_operator")
    return {family: _operator(_unescaped(value)) for family, value in named if value not in ("", "nullptr")}


def updated_in_place(options: str) -> set[str]:
    """The names of the column families whose values are updated in memory, according to a file OPTIONS."""
    return {family for family, value in _family_options(options, "inplace_update_support") if value in ("true", "1")}


def _family_options(options: str, name: str) -> Iterator[tuple[str, str]]:
    """An option of the column families: the name of each that states it, and the value as written."""
    family: str | None = None
    for line in map(_without_comment, options.splitlines()):
        if line.lstrip().startswith("["):
            section = re.fullmatch(_SECTION, line.strip())
            family = section[1] if section else None
        elif family is not None and (found := re.fullmatch(_OPTION, line)) and found[1] == name:
            yield family, found[2]


def _without_comment(line: str) -> str:
    """Return a line of OPTIONS up to `#`, unless that is escaped by a backslash."""
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


# The built-in merge operators: each is a `Merge`.


def _append(delimiter: bytes) -> Merge:
    """Return the operator that joins value and operands."""
    return lambda base, operands: delimiter.join([*([] if base is None else [base]), *operands])


def _add(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    """Add 64-bit numbers; RocksDB takes those of another size for 0."""
    numbers = (int.from_bytes(one, "little") for one in (base or b"", *operands) if len(one) == 8)
    return (sum(numbers) % _U64).to_bytes(8, "little")


def _max(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    return max([base or b"", *operands])


def _put(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    """The last operand replaces everything."""
    return operands[-1]


def _xor(base: bytes | None, operands: Sequence[bytes]) -> bytes:
    """Combine the bytes by exclusive or; shorter strings are extended by zeros."""
    out = base or b""
    for operand in operands:
        out = bytes(byte ^ other for byte, other in zip_longest(out, operand, fillvalue=0))
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


# Names that OPTIONS may have for the operators: those of classes, and identifiers.
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


Versions = Sequence[tuple[int, bytes | LargeValue]]
"""Types and bytes of versions of one key, newest first: merge operands, and last the version that they apply to."""
Resolver = Callable[[int, bytes, Versions], bytes | LargeValue | None]
"""Returns the value that versions of a key make in a column family; None when it cannot be determined."""
Blobs = Callable[[bytes, bytes], bytes | LargeValue]
"""Returns the value in a blob file that an entry of a key refers to; raises when it cannot be read."""

_WRITE_TIME = 8  # bytes after the value of a timed put
MOST_COLUMNS = 1 << 16  # of a plausible entity


def resolver_of(operators: Mapping[int, Operator], blobs: Blobs) -> Resolver:
    """Return a function that computes the value of a key from its stored versions.

    It uses the merge operators of the column families (by number) and the blob files (through `blobs`).  It propagates
    errors from reading a blob file, and raises `LimitExceededError` if merge operands apply to a value above the limit
    `payload_size`.
    """

    def resolve(family: int, key: bytes, versions: Versions) -> bytes | LargeValue | None:
        """Return the value of a key; None if it cannot be determined.

        `versions` has (type, stored value), newest first: merge operands, then at most one base value.
        """
        operands = [whole(value) for kind, value in versions if kind == ValueTypes.MERGE]
        base: bytes | LargeValue | None = None
        if len(operands) < len(versions):  # the last version is the base value
            kind, stored = versions[-1]
            if kind == ValueTypes.BLOB_INDEX:
                base = blobs(key, whole(stored))
            else:
                base = stored if kind == ValueTypes.VALUE else plain_value(kind, whole(stored))
            if base is None or not operands:
                return base
        operator = operators.get(family)
        if operator is None or operator.merge is None:
            return None
        return operator.merge(None if base is None else whole(base), operands[::-1])

    return resolve


def plain_value(kind: int, stored: bytes) -> bytes | None:
    """The value of a version that is neither a merge operand nor in a blob file; None when it cannot be determined."""
    match kind:
        case ValueTypes.VALUE:
            return stored
        case ValueTypes.VALUE_PREFERRED_SEQNO:
            return stored[:-_WRITE_TIME] if len(stored) >= _WRITE_TIME else None
        case ValueTypes.WIDE_COLUMN_ENTITY:
            columns = entity_columns(stored)
            return None if columns is None else columns.get(b"", b"")
        case _:
            return None


def entity_columns(stored: bytes) -> dict[bytes, bytes] | None:
    """Return the columns of an entity by name; None if the version is not 1 or the entity cannot be read.

    An entity is a version, a count, then (name, size of the value) of each column, sorted by name, then all values. The
    column without a name has the value that the key has for readers who know no columns.
    """
    end = len(stored)
    try:
        # Names have to ascend, and the values to fill the rest.
        version, at = read_leveldb_varint(stored, 0, end)
        count, at = read_leveldb_varint(stored, at, end)
        if version != 1 or count > min(end, MOST_COLUMNS):
            return None
        names: list[bytes] = []
        sizes: list[int] = []
        for _ in range(count):
            size, at = read_leveldb_varint(stored, at, end)
            if size > end - at or (names and stored[at : at + size] <= names[-1]):
                return None
            names.append(stored[at : at + size])
            size, at = read_leveldb_varint(stored, at + size, end)
            sizes.append(size)
    except LayoutError:
        return None
    # The values follow all names.
    if sum(sizes) != end - at:
        return None
    out: dict[bytes, bytes] = {}
    for name, size in zip(names, sizes, strict=True):
        out[name] = stored[at : at + size]
        at += size
    return out


SEQUENCE, KIND, STATUS, NEWER, AT, PLACE = range(6)
"""The columns of `LeveldbRows.numbers`."""

# Numbers of statuses, as rows have them.
_STATUSES = tuple(Status)
LIVE, UNRESOLVED, OPERAND = map(_STATUSES.index, (Status.LIVE, Status.UNRESOLVED, Status.OPERAND))
_DIRECT = bytes(kind for kind in range(256) if kind not in ELSEWHERE)  # types that store their value as it is
_TOP = (1 << 64) - 1  # items have this minus (sequence << 8 | type)

Found = list[tuple[int, bytes, list[tuple[int, bytes]]]]
"""Result of `LeveldbRows.chains`."""

Chain = tuple[int, bytes, Versions]
"""The number and the key of a row, and the versions that make its value."""


def settle_chains(rows: LeveldbRows, chains: Found, resolver: Resolver, *, keep: bool) -> None:
    """Resolve merge operands, entities and references of the current state (`chains` of the rows) to values.

    With `keep`, merge operands remain as rows of their own.
    """
    parts: Sequence[Chain] = _with_extras(rows, chains) if rows.extras else chains
    values = [(number, resolver(rows.family, key, versions)) for number, key, versions in parts]
    _keep_columns(rows, chains, values)
    rows.settle(_split_large(rows, parts, values), keep)


def _with_extras(rows: LeveldbRows, chains: Found) -> list[Chain]:
    """Return the chains with large values in the place of the empty ones that the rows have."""
    statuses, sequences = (array("q", rows.numbers(which)) for which in (STATUS, SEQUENCE))
    out: list[Chain] = []
    for number, key, versions in chains:
        found: list[tuple[int, bytes | LargeValue]] = []
        at = number
        for kind, stored in versions:
            while found and statuses[at] != OPERAND:  # rows between that are not part of the chain
                at += 1
            extra = rows.extras.get((key, sequences[at]), VersionExtra())
            found.append((kind, stored if extra.large is None else extra.large))
            at += 1
        out.append((number, key, found))
    return out


def _split_large(
    rows: LeveldbRows, chains: Sequence[Chain], values: list[tuple[int, bytes | LargeValue | None]]
) -> list[tuple[int, bytes | None]]:
    """Return (row, value) with an empty value in the place of each large one, which becomes an extra of the row.

    (Large values are never results of merge operands.)
    """
    out: list[tuple[int, bytes | None]] = []
    sequences: array[int] | None = None
    for (number, key, _), (_, value) in zip(chains, values, strict=True):
        if isinstance(value, LargeValue):
            sequences = array("q", rows.numbers(SEQUENCE)) if sequences is None else sequences
            place = key, sequences[number]
            rows.extras[place] = rows.extras.get(place, VersionExtra())._replace(large=value)
            value = b""
        out.append((number, value))
    return out


def _keep_columns(rows: LeveldbRows, chains: Found, values: list[tuple[int, bytes | LargeValue | None]]) -> None:
    """Keep the columns of live entities, whose value will be that of one column."""
    # Number and key, bytes of the version that the chain ends with, whether merge operands precede it, and value.
    entities = []
    for (number, key, versions), (_, value) in zip(chains, values, strict=True):
        kind, stored = versions[-1]
        if kind == ValueTypes.WIDE_COLUMN_ENTITY and value is not None:
            entities.append((number, key, stored, len(versions) > 1, value))
    if not entities:
        return
    sequences = array("q", rows.numbers(SEQUENCE))
    for number, key, stored, is_merged, value in entities:
        place = key, sequences[number]
        columns = entity_columns(stored)
        if is_merged:
            columns = merged_columns(columns, whole(value))
        rows.extras[place] = rows.extras.get(place, VersionExtra())._replace(columns=columns)


def merged_columns(columns: Mapping[bytes, bytes] | None, value: bytes) -> dict[bytes, bytes]:
    """Return the columns of an entity to which merge operands were applied; they change the column without a name.

    Spec: RocksDB include/rocksdb/merge_operator.h, `FullMergeV3`.
    """
    return {b"": value} | {name: one for name, one in (columns or {}).items() if name}


def settle_older(rows: LeveldbRows, resolver: Resolver) -> None:
    """Resolve references and entities of versions that are not live to values.

    A value that cannot be read stays empty, with the reason in `Version.unresolved`.
    """
    kinds = rows.numbers(KIND)[::8]  # the lowest byte of each 64-bit number: value types are below 256
    if not kinds.translate(None, _DIRECT):
        return
    statuses, newer, sequences = (array("q", rows.numbers(which)) for which in (STATUS, NEWER, SEQUENCE))
    keys, stored = _texts(rows, values=False), _texts(rows, values=True)
    settled: list[tuple[int, bytes | None]] = []
    for number, kind in enumerate(kinds):
        if kind not in ELSEWHERE or statuses[number] in (LIVE, UNRESOLVED):
            continue
        value = resolver(rows.family, keys[number], [(kind, stored[number])])
        settled.append((number, b"" if isinstance(value, LargeValue) else value or b""))
        place = keys[number], sequences[number]
        extra = rows.extras.get(place, VersionExtra())
        if isinstance(value, LargeValue):
            extra = extra._replace(large=value)
        elif value is None:
            extra = extra._replace(unresolved=f"a value of type {type_name(kind)} that cannot be read")
        elif kind == ValueTypes.WIDE_COLUMN_ENTITY:
            extra = extra._replace(columns=entity_columns(stored[number]))
        if extra != VersionExtra():
            rows.extras[place] = extra
    rows.settle(settled, False)
    rows.mark(list(zip(statuses, newer, strict=True)))  # `settle` made them live


def _texts(rows: LeveldbRows, *, values: bool) -> list[bytes]:
    """The keys of rows, or their values."""
    data, ends = rows.column(values)
    return [bytes(data[start:end]) for start, end in pairwise(array("q", ends))]


def add_items(rows: LeveldbRows, items: list[Item], *, lean: bool = False, report: Report | None = None) -> None:
    """Add items to rows; large values as a whole, or, if `lean`, as extras with an empty value.

    A value above the limit `payload_size` that would be added as a whole is reported, and is not known.  Without
    `report`, it raises `LimitExceededError`.
    """
    # Nearly all lists of items have no such value, and are added as they are.
    if any(type(value) is LargeValue or (lean and len(value) > LONG) for _, _, _, _, value, _ in items):
        items = _without_large(rows, items, lean, report)
    rows.add_items(items)


def _without_large(rows: LeveldbRows, items: list[Item], lean: bool, report: Report | None) -> list[Item]:
    """Return items whose values are all in memory; those that are not become extras of the rows.  See `add_items`."""
    made: list[Item] = []
    for key, inverted, rank, at, value, place in items:
        sequence, kind = divmod(_TOP - inverted, 256)
        # Operands and references are needed as a whole, unless they are above `payload_size` (not `fits`).
        is_large = type(value) is LargeValue and (kind == ValueTypes.VALUE or not value.fits)
        if lean and (is_large or (kind == ValueTypes.VALUE and len(value) > LONG)):
            rows.extras[key, sequence] = VersionExtra(large=LargeValue.of(value))
            value = b""
        elif report is not None and type(value) is LargeValue and not value.fits:
            report(
                checks.TOO_LARGE,
                "a value above payload_size",
                span=value.span,
                expected=f"at most {counted(value.most, 'bytes')} (limit payload_size)",
                actual=len(value),
            )
            rows.extras[key, sequence] = VersionExtra(unresolved="a value above the limit payload_size", large=value)
            value = b""
        made.append((key, inverted, rank, at, whole(value), place))
    return made
