"""A database in ranges of its keys, which threads read as columns, independently of each other.

A run is a sequence of items in order of their keys: a table, or the sorted items of a log.  All runs of a column family
(a separate set of keys) are merged, and only then the newest version of a key is known.  A range has all versions of
its keys, so ranges can be merged in parallel.  To settle a version is to compute its value from merge operands or
references; a live version is the newest one of a key that is not deleted.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from exhume.errors import ExhumeError
from exhume.findings import Finding, Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.blocks import codec_name
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator
from exhume.formats.leveldb.deletions import Deletions, Span
from exhume.formats.leveldb.kernel import LeveldbRows, LogItems
from exhume.formats.leveldb.model import PUTS, Place, Role, Status, Version, VersionExtra, type_name
from exhume.formats.leveldb.table import KEY, Item, Table, merge_runs, parts_of, whole_keys
from exhume.formats.leveldb.values import SEQUENCE, Resolver, add_items, settle_chains, settle_older
from exhume.formats.leveldb.wire import key_text
from exhume.io.parallel import map_ordered
from exhume.io.values import LargeValue
from exhume.native.kernel import COMPILED
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.leveldb.directory import DatabaseDirectory
    from exhume.formats.leveldb.pykernel import State
    from exhume.formats.leveldb.wire import BlockIndex

T = TypeVar("T")
Run: TypeAlias = "LogItems | Table"
"""Sorted items of a log, or a table."""

SIZE = 1 << 18
"""Stored bytes of tables in one range."""

STRIDES = 8
"""Into so many parts each table divides a range, for the ranges of several tables to meet."""

PIECE = 256
"""Data blocks of a table that are surveyed in one go: about a megabyte."""

BEGINNING: State = (None, -1, -1)
"""The `State` before the first row: no key, no newer version."""
PUT_FLAGS = bytes(kind in PUTS for kind in range(256))
"""For each value type, 1 if it is known and sets the value of its key, else 0."""
_STATUSES = tuple(Status)  # by the kernel's numbers
_TOP = (1 << 64) - 1  # minus (sequence << 8 | type): newer versions sort first


class KeyRange(NamedTuple):
    """The user keys `start <= key < stop` of a column family, None for an open end."""

    family: int
    start: bytes | None = None
    stop: bytes | None = None


class Sources(NamedTuple):
    """What the versions of live files are made of.

    `families` has sorted items of logs and tables for each column family, in the order of their file numbers. With
    `live`, only live versions are wanted, and their types must be known. `resolver` makes values of merge operands and
    references; with `older`, also of those of versions that are not live.  Versions above `last_sequence` are not part
    of the state; `deletions` are the range deletions of column families that have any.
    """

    families: dict[int, list[Run]]
    last_sequence: int
    deletions: Mapping[int, Deletions]
    resolver: Resolver
    live: bool = False
    older: bool = False
    lean: bool = False
    """Whether large values are kept as extras, to be read in chunks."""
    report: Report | None = None
    """Receives findings about values; see `add_items`."""

    def resolve(self, rows: LeveldbRows, state: State = BEGINNING) -> State:
        """Determine the status of each version, and its value; see `LeveldbRows.resolve`.

        The rows have all versions of each of their keys.
        """
        state = rows.resolve(state, self.last_sequence, self.spans_of(rows.family))
        self._settle(rows)
        return state

    def ordered(self, family: int, items: Iterable[Item], order: Comparator) -> LeveldbRows:
        """All versions of a column family in the order of a comparator, each with its status and its value."""
        rows = LeveldbRows(family)
        state = self.last_sequence, self.spans_of(family)
        add_ordered(rows, items, order, *state, lean=self.lean, report=self.report)
        self._settle(rows)
        return rows

    def spans_of(self, family: int) -> list[Span]:
        """The ranges of keys in a column family that deletions reach over."""
        return self.deletions[family].spans if family in self.deletions else []

    def _settle(self, rows: LeveldbRows) -> None:
        """Resolve merge operands, then keep the live rows or settle the older versions."""
        if chains := rows.chains():
            settle_chains(rows, chains, self.resolver, keep=not self.live)
        if self.live:
            rows.choose(True, None, None, None)
        elif self.older:
            settle_older(rows, self.resolver)


def json_of(rows: LeveldbRows) -> bytes:
    """Return a line of JSON for each row, with the columns of an entity by their names."""
    return _json_lines(versions_of(rows)) if rows.extras else rows.json()


def json_parts(rows: LeveldbRows) -> Iterable[bytes]:
    """Return the text of `json_of` in chunks, for rows whose large values are extras."""
    return _json_parts(versions_of(rows)) if has_large(rows) else (json_of(rows),)


def _json_parts(found: list[Version]) -> Iterator[bytes]:
    """Yield the versions as JSON lines, large values in chunks."""
    from exhume.io.jsonout import dump_bytes, dump_pieces

    for one in found:
        if one.extra is None or one.extra.large is None or one.known_value is None:
            yield _json_lines([one])
        else:
            yield f'{{"key":{dump_bytes(one.key)},"value":'.encode()
            yield from (piece.encode("ascii") for piece in dump_pieces(one.extra.large))
            yield b"}\n"


def _json_lines(found: list[Version]) -> bytes:
    """Return one JSON line for each version; the value is null if it cannot be determined."""
    import json

    from exhume.io.jsonout import dump_bytes

    lines = []
    for one in found:
        shown = "null" if one.known_value is None else dump_bytes(one.value)
        columns = ""
        if one.columns is not None:
            named = (f"{json.dumps(key_text(name))}:{dump_bytes(value)}" for name, value in one.columns.items())
            columns = f',"columns":{{{",".join(named)}}}'
        lines.append(f'{{"key":{dump_bytes(one.key)},"value":{shown}{columns}}}\n')
    return "".join(lines).encode()


def plan_ranges(sources: Sources, start: bytes | None, stop: bytes | None, size: int = SIZE) -> Iterator[KeyRange]:
    """Divide the keys in `[start, stop)` into ranges of about `size` stored bytes, family by family.

    Ranges end at separators of the indexes.  Raises the error of a damaged index.
    """
    for family, runs in sources.families.items():
        low, held = start, 0  # where the range begins, and how many bytes it has so far
        before: bytes | None = None  # the separator before `key`: where the range can end
        # Without the compiled kernel, which reads whole ranges, a family is one range.
        strides = [_strides(run, start, stop, size // STRIDES) for run in runs] if COMPILED else []
        # By key: `stored` are the bytes of one run between the key before and this one.
        for key, stored in merge(*strides):
            if held >= size and before is not None and (low or b"") < before:
                if stop is not None and before >= stop:
                    break
                yield KeyRange(family, low, before)
                low, held = before, 0
            held += stored
            before = key
        yield KeyRange(family, low, stop)


def _strides(run: Run, start: bytes | None, stop: bytes | None, size: int) -> Iterable[tuple[bytes, int]]:
    """Keys in `[start, stop)` that have about `size` bytes between them, each with the bytes before it."""
    if isinstance(run, Table):
        index: BlockIndex = run.strict_index[run.numbers(start, stop)]
        return index.strides(size)
    low, high = _bounds(run, KeyRange(0, start, stop))  # a run has one column family, so its number is not needed
    return [(run[at][KEY], held) for at, held in run.cuts(low, high, size)]


def map_rows(
    make: Callable[[LeveldbRows], T], sources: Sources, start: bytes | None, stop: bytes | None, jobs: int
) -> Iterator[T]:
    """Apply `make` to the versions of live files, on `jobs` threads, and yield the results in order.  Raises at the
    first damage, after the results before it.

    From the first range with a possible finding on, the rest of its column family is read block by block.
    """

    def large(keys: KeyRange) -> list[T] | None:
        """Return the results of a range with blocks too large for memory; None if there is none, or it is damaged."""
        tables = [run for run in sources.families[keys.family] if isinstance(run, Table)]
        try:
            if not any(table.has_large(keys.start, keys.stop) for table in tables):
                return None
            return [make(rows) for rows in _one_by_one(sources, keys)]
        except ExhumeError:
            return None

    def made(keys: KeyRange) -> tuple[KeyRange, list[T] | None]:
        """Read one range of keys from all tables and logs; None if a block may have a finding or a type is unknown."""
        rows = LeveldbRows(keys.family)
        for run in sources.families[keys.family]:
            if isinstance(run, Table):
                if not run.add_to(rows, keys.start, keys.stop):
                    return keys, large(keys)
            else:
                add_items(rows, _between(run, keys), lean=sources.lean, report=sources.report)
        # A type other than those that set a value: reading block by block reports it at its place.
        sources.resolve(rows)
        return keys, None if sources.live and rows.cut(PUT_FLAGS) is not None else [make(rows)]

    # The family that is read block by block from here on.
    done = -1
    for keys, found in map_ordered(made, plan_ranges(sources, start, stop), jobs, leave=True):
        if keys.family == done:
            continue
        if found is None:
            done = keys.family
            yield from map(make, _one_by_one(sources, keys._replace(stop=stop)))
        else:
            yield from found


def _one_by_one(sources: Sources, keys: KeyRange) -> Iterator[LeveldbRows]:
    """Yield the versions in a range of keys, read block by block, so that damage is found.

    Raises at the first damage, after yielding the rows before it.
    """
    runs: list[Iterator[list[Item]]] = []
    for run in sources.families[keys.family]:
        if isinstance(run, Table):
            runs.append(_until(run.item_blocks(run.number, keys.start, keys.stop), keys))
        else:
            runs.append(parts_of(run, *_bounds(run, keys)))
    state = BEGINNING
    for items in whole_keys(merge_runs(list(runs)) if len(runs) > 1 else runs[0] if runs else ()):
        rows = LeveldbRows(keys.family)
        add_items(rows, items, lean=sources.lean, report=sources.report)
        state = sources.resolve(rows, state)
        odd = rows.cut(PUT_FLAGS) if sources.live else None  # (place, type) of the first version of an unknown type
        yield rows
        if odd is not None:
            place, value_type = odd
            checks.raise_rule(checks.VALUE_TYPE, span=rows.places[place].span, actual=value_type)


def add_ordered(
    rows: LeveldbRows,
    items: Iterable[Item],
    order: Comparator,
    last_sequence: int,
    ranges: Sequence[Span],
    *,
    lean: bool = False,
    report: Report | None = None,
) -> None:
    """Add versions in the order of a comparator, each with its status; keys without their timestamps, which are extras.

    `ranges` are those of `Sources.spans_of`, `lean` and `report` those of `add_items`.
    """
    from exhume.formats.leveldb.pykernel import LIVE, NEWER, NO_NEWER, STATUS, judge

    # (sort key, item), where the sort key is (invalid, rank, negative timestamp).
    keyed = [(order.sort_key(item[KEY]), item) for item in items]
    keyed.sort(key=lambda pair: (pair[0], pair[1][1:4]))  # in a key: newest first, then by rank and offset
    # Rows for `judge`: key, value, inverted, offset, place, status, next newer sequence number.  It sets the last two,
    # and does not read value, offset and place.  The key is without the timestamp: versions of one key have several.
    judged: list[list[Any]] = [[key[:2], b"", inverted, 0, 0, LIVE, NO_NEWER] for key, (_, inverted, *_) in keyed]
    judge(judged, (None, -1, -1), last_sequence, ranges)
    add_items(rows, [(order.user_key(item[KEY]), *item[1:]) for _, item in keyed], lean=lean, report=report)
    rows.mark([(row[STATUS], row[NEWER]) for row in judged])
    for (_, _, negative_timestamp), (key, inverted, *_) in keyed if order.timestamp else ():
        place = order.user_key(key), (_TOP - inverted) >> 8
        rows.extras[place] = rows.extras.get(place, VersionExtra())._replace(timestamp=-negative_timestamp)


def _bounds(items: Sequence[Item] | LogItems, keys: KeyRange) -> tuple[int, int]:
    """The positions of the first sorted item in a range of keys, and of the first after it."""
    low = 0 if keys.start is None else bisect_left(items, (keys.start,))  # which sorts before items of that key
    return low, len(items) if keys.stop is None else bisect_left(items, (keys.stop,))


def _between(items: list[Item] | LogItems, keys: KeyRange) -> list[Item]:
    """The sorted items in a range of keys."""
    low, high = _bounds(items, keys)
    return items[low:high]


def _until(blocks: Iterator[list[Item]], keys: KeyRange) -> Iterator[list[Item]]:
    """Yield the items of sorted blocks that are in a range of keys; blocks after it are not read."""
    for items in blocks:
        yield _between(items, keys)
        if keys.stop is not None and items and items[-1][KEY] >= keys.stop:
            return


def versions_of(rows: LeveldbRows) -> list[Version]:
    """The rows as versions."""
    found: list[Version] = rows.versions(Version, _STATUSES, places_of(rows.places), operation_of)
    if rows.extras:
        found = [one._replace(extra=rows.extras.get((one.key, one.sequence))) for one in found]
    return found


def unresolved_versions(rows: LeveldbRows) -> list[Version]:
    """The versions of some rows whose values cannot be determined."""
    if not tally_of(rows).statuses[Status.UNRESOLVED]:
        return []
    return [one for one in versions_of(rows) if one.status is Status.UNRESOLVED]


def rows_of(family: int, versions: Iterable[Version]) -> LeveldbRows:
    """Return versions of one column family as rows, in their order."""
    rows = LeveldbRows(family)
    found = list(versions)
    # Items: (key, inverted, rank, offset, value, place).
    rows.add_items(
        [
            (one.key, _TOP - (one.sequence << 8 | one.value_type), 0, one.entry_offset, one.value, one.place)
            for one in found
        ]
    )
    newer = (-1 if version.superseded_by is None else version.superseded_by for version in found)
    rows.mark([(_STATUSES.index(version.status), number) for version, number in zip(found, newer, strict=True)])
    rows.extras = {(version.key, version.sequence): version.extra for version in found if version.extra is not None}
    return rows


def has_large(rows: LeveldbRows) -> bool:
    """Whether a value is an extra, to be read in chunks."""
    return any(one.large is not None for one in rows.extras.values())


def chosen_rows(
    rows: LeveldbRows, live: bool, start: bytes | None, stop: bytes | None, part: bytes | None
) -> LeveldbRows:
    """The rows that `choose` leaves; large values are read in chunks.  Propagates errors from reading them."""

    def has(one: Version) -> bool:
        """Whether the value of a version contains `part`."""
        content = b"" if one.known_value is None else one.content
        return content.contains(part or b"") if isinstance(content, LargeValue) else (part or b"") in content

    large = has_large(rows)
    rows.choose(live, start, stop, None if large else part)
    return rows_of(rows.family, filter(has, versions_of(rows))) if part and large else rows


def unused_rows(
    family: int, items: list[Item], status: Status, report: Report | None = None, *, lean: bool = False
) -> LeveldbRows:
    """Versions that are not part of the state; `lean` and `report` are those of `add_items`."""
    rows = LeveldbRows(family)
    add_items(rows, items, lean=lean, report=report)
    rows.mark([(_STATUSES.index(status), -1)] * len(items))
    return rows


def operation_of(place: Place, offset: int) -> int | None:
    """Return the number of the operation at an offset in its batch, counted from 0; None in tables."""
    return None if place.operations is None else bisect_left(place.operations, offset)


def places_of(found: list[Any]) -> list[Place]:
    """Places of rows, from `LeveldbRows.places`: each a `Place`, or (table, handle of a block, its compression)."""
    out = []
    for one in found:
        if isinstance(one, Place):
            out.append(one)
        else:
            table, handle, compression = one
            out.append(table.place(handle, table.verdict, codec_name(compression)))
    return out


class RowCounts(NamedTuple):
    """Number of rows by status, type and verdict, and their sequence numbers as a column."""

    statuses: Counter[str]
    types: Counter[str]
    verdicts: Counter[str]
    sequences: bytes


def tally_of(rows: LeveldbRows) -> RowCounts:
    """Count rows by status, type and the verdict of their checksum."""
    found = RowCounts(Counter(), Counter(), Counter(), rows.numbers(SEQUENCE))
    kinds, at = rows.tally()
    for (status, kind), count in kinds.items():
        found.statuses[_STATUSES[status]] += count
        found.types[type_name(kind)] += count
    for place, count in zip(rows.places, at, strict=True):
        found.verdicts[place.checksum if isinstance(place, Place) else place[0].verdict] += count
    return found


def is_sound(database: DatabaseDirectory, jobs: int = 1) -> bool:
    """Whether everything that reading the live files meets is undamaged and in the order of bytes."""
    # Without the compiled kernel, `add_blocks` checks nothing: then no database counts as sound.
    if database.errors or not database.is_bytewise or not COMPILED:
        return False
    found: list[Finding] = []
    report = checks.collector(found.append)
    try:
        # Logs, footers and indexes are read here, the data blocks in threads.
        for file in database.logs(Role.LIVE):
            database.load_log(file, report)
        tables = [database.table(file) for file in database.tables(Role.LIVE)]
        for table in tables:
            table.check_footer(report)
        if any(finding.severity is not Severity.NOTE for finding in found):
            return False
        pieces = [(table, at) for table in tables for at in range(0, len(table.strict_index), PIECE)]
    except ExhumeError:
        return False
    surveys = map_ordered(lambda piece: _is_sound(*piece), pieces, jobs, leave=True)
    return all(surveys)


def _is_sound(table: Table, at: int) -> bool:
    """Whether `PIECE` blocks of a table from number `at` on, and the one after them, have no finding."""
    try:
        return table.add_blocks(LeveldbRows(), table.strict_index[at : at + PIECE + 1])
    except ExhumeError:
        return False


def beyond(prefix: bytes) -> bytes | None:
    """The first key after all keys that start with `prefix`; None when there is none."""
    cut = prefix.rstrip(b"\xff")  # no last byte can be higher than 0xff
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else None
