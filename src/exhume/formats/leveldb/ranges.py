"""A database in ranges of its keys, which can be read independently of each other: for worker processes.

Only an undamaged database is divided, so that whatever is wrong is found and told in one place.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from exhume.errors import ExhumeError
from exhume.findings import Finding, Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.merge import merge_runs, resolve
from exhume.formats.leveldb.model import Role, Version
from exhume.formats.leveldb.table import Item

SIZE = 1 << 20
"""Stored bytes of tables in one range."""


class KeyRange(NamedTuple):
    """The user keys `start <= key < stop` of a column family, None for an open end.

    Without a family, the files that the database no longer uses.
    """

    family: int | None = None
    start: bytes | None = None
    stop: bytes | None = None


def is_sound(database: Database) -> bool:
    """Whether everything that reading the live files meets is undamaged and in the order of bytes."""
    if database.errors or not database.is_bytewise:
        return False
    found: list[Finding] = []
    report = checks.collector(found.append)
    try:
        for file in database.logs(Role.LIVE):
            database.load_log(file, report)
        return not any(f.severity is not Severity.NOTE for f in found) and all(
            database.survey(file).sound for file in database.tables(Role.LIVE)
        )
    except ExhumeError:
        return False


def plan_ranges(database: Database, size: int = SIZE) -> list[KeyRange]:
    """All keys of a sound database, in ranges of about `size` stored bytes, family by family; one range when that is
    all there is.
    """
    out: list[KeyRange] = []
    for family in database.live_state().families:
        sizes: list[tuple[bytes, int]] = []
        for file in database.tables(Role.LIVE):
            if file.column_family == family:
                sizes += [(key, handle.size) for key, handle in database.table(file).index()]
        edges: list[bytes | None] = [None]
        held = 0
        before: bytes | None = None  # the last key that may be in the block before, and so the first of what follows
        for key, stored in sorted(sizes):
            if held >= size and before != edges[-1]:
                edges.append(before)
                held = 0
            held += stored
            before = key
        out += [KeyRange(family, start, stop) for start, stop in pairwise([*edges, None])]
    return out


def versions_in(database: Database, keys: KeyRange, report: Report = checks.ignore) -> Iterator[Version]:
    """What `Database.versions` gives for these keys, of a sound database; `report` is told of files that are no longer
    used.
    """
    if keys.family is None:
        return chain.from_iterable(database.unreferenced(report))
    runs: list[Iterator[list[Item]]] = []
    for file in database.logs(Role.LIVE):
        items = database.load_log(file).items.get(keys.family, [])
        low = 0 if keys.start is None else bisect_left(items, (keys.start,))
        high = len(items) if keys.stop is None else bisect_left(items, (keys.stop,))
        if low < high:
            runs.append(iter([items[low:high]]))
    tables = (database.table(file) for file in database.tables(Role.LIVE) if file.column_family == keys.family)
    runs += [_until(table.item_blocks(table.number, keys.start, keys.stop), keys.stop) for table in tables]
    merged = merge_runs(list(runs)) if len(runs) > 1 else runs[0] if runs else iter(())
    state = database.live_state()
    ranges = [one for one in state.ranges if one.column_family == keys.family]
    return chain.from_iterable(resolve(merged, keys.family, state.last_sequence, ranges))


def _until(blocks: Iterator[list[Item]], stop: bytes | None) -> Iterator[list[Item]]:
    """The items of sorted blocks before a key."""
    for items in blocks:
        if stop is not None and items and items[-1][0] >= stop:
            yield items[: bisect_left(items, (stop,))]
            return
        yield items
