"""Values of versions as rows: what merge operands, entities and references make, and large values, which are extras.

Spec: RocksDB db/merge_helper.cc, db/wide/wide_column_serialization.h, db/blob/blob_index.h.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

from exhume.counts import counted
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.large import LONG
from exhume.formats.leveldb.model import ELSEWHERE, Extra, Status, ValueTypes, type_name
from exhume.formats.leveldb.table import Item
from exhume.formats.leveldb.values import Resolver, Versions, entity_columns
from exhume.io.values import LargeValue, whole

SEQUENCE, KIND, STATUS, NEWER, AT, PLACE = range(6)
"""The numbers of columns of numbers."""

_STATUSES = tuple(Status)
LIVE, UNRESOLVED, OPERAND = map(_STATUSES.index, (Status.LIVE, Status.UNRESOLVED, Status.OPERAND))
_DIRECT = bytes(kind for kind in range(256) if kind not in ELSEWHERE)
_TOP = (1 << 64) - 1

Found = list[tuple[int, bytes, list[tuple[int, bytes]]]]
"""What `LeveldbRows.chains` returns."""

Chain = tuple[int, bytes, Versions]
"""The number and the key of a row, and the versions that make its value."""


def settle_chains(rows: LeveldbRows, chains: Found, resolver: Resolver, *, keep: bool) -> None:
    """Resolve merge operands, entities and references of the current state to values; `keep`: see `settle`."""
    parts: Sequence[Chain] = _with_extras(rows, chains) if rows.extras else chains
    _keep_columns(rows, chains)
    values = [(number, resolver(rows.family, key, versions)) for number, key, versions in parts]
    rows.settle(_kept_apart(rows, parts, values), keep)


def _with_extras(rows: LeveldbRows, chains: Found) -> list[Chain]:
    """The chains with the values that are extras."""
    statuses, sequences = (array("q", rows.numbers(which)) for which in (STATUS, SEQUENCE))
    out: list[Chain] = []
    for number, key, versions in chains:
        found: list[tuple[int, bytes | LargeValue]] = []
        at = number
        for kind, stored in versions:
            while found and statuses[at] != OPERAND:
                at += 1
            extra = rows.extras.get((key, sequences[at]), Extra())
            found.append((kind, stored if extra.large is None else extra.large))
            at += 1
        out.append((number, key, found))
    return out


def _kept_apart(
    rows: LeveldbRows, chains: Sequence[Chain], values: list[tuple[int, bytes | LargeValue | None]]
) -> list[tuple[int, bytes | None]]:
    """The values in memory; the large ones, which no merge operands made, become extras."""
    out: list[tuple[int, bytes | None]] = []
    sequences: array[int] | None = None
    for (number, key, _), (_, value) in zip(chains, values, strict=True):
        if isinstance(value, LargeValue):
            sequences = array("q", rows.numbers(SEQUENCE)) if sequences is None else sequences
            place = key, sequences[number]
            rows.extras[place] = rows.extras.get(place, Extra())._replace(large=value)
            value = b""
        out.append((number, value))
    return out


def _keep_columns(rows: LeveldbRows, chains: Found) -> None:
    """Keep the columns of live entities, whose value will be that of one column."""
    entities = [one for one in chains if one[2][0][0] == ValueTypes.WIDE_COLUMN_ENTITY]
    if not entities:
        return
    sequences = array("q", rows.numbers(SEQUENCE))
    for number, key, versions in entities:
        place = key, sequences[number]
        rows.extras[place] = rows.extras.get(place, Extra())._replace(columns=entity_columns(versions[0][1]))


def settle_older(rows: LeveldbRows, resolver: Resolver) -> None:
    """Resolve references and entities of versions that are not live to values.

    One whose value cannot be read has none, and says so (`Version.unresolved`).
    """
    kinds = rows.numbers(KIND)[::8]
    if not kinds.translate(None, _DIRECT):
        return
    statuses, newer, sequences = (array("q", rows.numbers(which)) for which in (STATUS, NEWER, SEQUENCE))
    keys, stored = _texts(rows, values=False), _texts(rows, values=True)
    settled: list[tuple[int, bytes | None]] = []
    large: LargeValue | None
    for number, kind in enumerate(kinds):
        if kind not in ELSEWHERE or statuses[number] in (LIVE, UNRESOLVED):
            continue
        value = resolver(rows.family, keys[number], [(kind, stored[number])])
        large = value if isinstance(value, LargeValue) else None
        settled.append((number, b"" if isinstance(value, LargeValue) else value or b""))
        place = keys[number], sequences[number]
        extra = rows.extras.get(place, Extra())
        if large is not None:
            extra = extra._replace(large=large)
        elif value is None:
            extra = extra._replace(unresolved=f"a value of type {type_name(kind)} that cannot be read")
        elif kind == ValueTypes.WIDE_COLUMN_ENTITY:
            extra = extra._replace(columns=entity_columns(stored[number]))
        if extra != Extra():
            rows.extras[place] = extra
    rows.settle(settled, False)
    rows.mark(list(zip(statuses, newer, strict=True)))


def _texts(rows: LeveldbRows, *, values: bool) -> list[bytes]:
    """The keys of rows, or their values."""
    data, ends = rows.column(values)
    return [bytes(data[start:end]) for start, end in pairwise(array("q", ends))]


def add_items(rows: LeveldbRows, items: list[Item], *, lean: bool = False, report: Report | None = None) -> None:
    """Add items to rows; large values as a whole, or, if `lean`, as extras with an empty value.

    A value above the limit `payload_size` that would be added as a whole is reported, and is not known.  Without
    `report`, it raises `LimitExceededError`.
    """
    if any(type(item[4]) is LargeValue or (lean and len(item[4]) > LONG) for item in items):
        made = []
        for key, inverted, rank, at, value, place in items:
            sequence, kind = divmod(_TOP - inverted, 256)
            if lean and kind == ValueTypes.VALUE and (type(value) is LargeValue or len(value) > LONG):
                rows.extras[key, sequence] = Extra(large=LargeValue.of(value))
                value = b""
            elif report is not None and type(value) is LargeValue and not value.fits:
                report(
                    checks.TOO_LARGE,
                    "a value above payload_size",
                    span=value.span,
                    expected=f"at most {counted(value.most, 'bytes')} (limit payload_size)",
                    actual=len(value),
                )
                rows.extras[key, sequence] = Extra(unresolved="a value above the limit payload_size", large=value)
                value = b""
            made.append((key, inverted, rank, at, whole(value), place))
        items = made
    rows.add_items(items)
