"""What salvage says of every byte of a table, a log and a blob file, also within a larger file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from exhume.errors import Span
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.comparators import REVERSE
from exhume.formats.leveldb.model import BYTEWISE
from exhume.formats.leveldb.salvage import _is_structure, salvage
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import Handle, InternalKey, build_bytes, build_varint
from exhume.io.source import BytesSource, WindowSource
from exhume.io.tree import MemoryTree, Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport
from exhume.testing.damage import flip
from tests.leveldb.crafted import ENTITY, MERGE, batch, build_batch
from tests.leveldb.make_samples import PUT, build_database, edit
from tests.leveldb.test_damage import (
    GOOD,
    KEY,
    OTHER,
    Change,
    Files,
    blobs,
    both,
    drop,
    flip_at,
    fragment,
    key_of,
    log,
    put,
    recycled,
    table_of,
)  # fmt: skip

LOG, OLD_LOG, TABLE, ORPHAN, BLOB = "000006.log", "000003.log", "000005.ldb", "000099.ldb", "000009.blob"
REBUILT = "index and other structure of the file"
ABOUT = "what the log states about itself"
ZEROS = "zeros: never written, or overwritten"
NOTHING = "no block or record is found here"
NEWER = "the lost rows may have replaced or deleted rows that were written"
NO_MAGIC = "not a table: the magic number at its end is missing"
MIXED_UP = "table block checksum mismatch"
LEAD = 1000
"""Bytes of the larger file before the file in it."""

Row = tuple[int, int, str, str, str]
"""Start, end, outcome, content and reason of a span."""


class Case(NamedTuple):
    """A change of the small database, the file whose account is compared, that account, and what is counted as lost."""

    change: Change
    name: str
    account: list[Row]
    lost: dict[str, int] = {}  # noqa: RUF012 - never changed
    notes: tuple[str, ...] = ()
    mode: SalvageMode = SalvageMode.ARCHIVE


def tail(name: str, data: bytes) -> Change:
    """Append bytes to a file."""
    return lambda files: files.update({name: files[name] + data})


def cut(name: str, size: int) -> Change:
    """Keep the first bytes of a file; the last bytes go for a negative size."""
    return lambda files: files.update({name: files[name][:size]})


def reversed_order(files: Files) -> None:
    """Let the manifest name the reverse order of bytes; its largest key is the smallest one in bytes."""
    record = edit(log=6, last=6, following=7, tables=[(1, 5, len(files[TABLE]), key_of(b"k"), key_of(b"a"))])
    files["MANIFEST-000004"] = build_log(
        [record.replace(build_bytes(BYTEWISE.encode()), build_bytes(REVERSE.encode()))]
    )


TWO = (OTHER, key_of(b"a")), (GOOD, KEY)
WRITE = build_batch(7, [(PUT, b"k", b"v")])
"""A batch of 17 bytes."""
NOTE = fragment(130, b"xx")
"""A fragment of 9 bytes that is about the log."""
LONG = build_log([build_batch(7, [(PUT, b"pad", bytes(32768 - 6 - 7 - 12 - 1 - 4 - 3))])])
"""A log of one record, after which 6 bytes of its first block are left."""
IN_PLACE = put("OPTIONS-000009", b'[CFOptions "default"]\n  inplace_update_support=true\n')
HIDDEN = batch(7, (PUT, b"k", b"1"), (PUT, b"l", b"1"), (15, b"a", b"z"), (PUT, b"k", b"2"), (PUT, b"l", b"2"))
"""Updates that a range deletion hides if RocksDB made them in place."""

CASES = {
    "a table without bytes": Case(put(TABLE, b""), TABLE, [], {"tables": 1}, (
        f"{TABLE} is empty: the manifest states 474 bytes", NEWER)),
    "a table of one byte": Case(
        cut(TABLE, 1), TABLE, [(0, 1, "lost", "data", "table is too short to have its footer")],
        {"tables": 1, "spans": 1}, (f"{TABLE}: nothing of it can be read", NEWER)),
    "a table without its end": Case(cut(TABLE, 100), TABLE, [
        (0, 47, "recovered", "data", ""), (47, 100, "lost", "data", NO_MAGIC),
    ], {"ends of tables": 1, "spans": 1}, (f"{TABLE} ends 374 bytes earlier than the manifest states", NEWER)),
    "bytes that no block claims": Case(table_of(*TWO, gap=b"gap"), TABLE, [
        (0, 26, "recovered", "data", ""), (26, 29, "rebuilt", REBUILT, ""), (29, 55, "recovered", "data", ""),
        (55, 164, "rebuilt", REBUILT, ""),
    ]),
    "two blocks found without an index": Case(both(table_of(*TWO, gap=b"gap"), cut(TABLE, -8)), TABLE, [
        (0, 26, "recovered", "data", ""), (26, 29, "lost", "data", NOTHING), (29, 55, "recovered", "data", ""),
        (55, 103, "lost", "data", NOTHING), (103, 156, "lost", "data", NO_MAGIC),
    ], {"ends of tables": 1, "spans": 3}, (f"{TABLE} ends 8 bytes earlier than the manifest states", NEWER)),
    "the first of two blocks damaged": Case(both(table_of(*TWO), flip_at(TABLE, 12)), TABLE, [
        (0, 26, "lost", "data", MIXED_UP), (26, 52, "recovered", "data", ""), (52, 158, "rebuilt", REBUILT, ""),
    ], {"versions with a bad checksum": 1, "spans": 1}, (NEWER,)),
    "the second of two blocks damaged": Case(both(table_of(*TWO), flip_at(TABLE, 38)), TABLE, [
        (0, 26, "recovered", "data", ""), (26, 52, "lost", "data", MIXED_UP), (52, 158, "rebuilt", REBUILT, ""),
    ], {"versions with a bad checksum": 1, "spans": 1}, (NEWER,)),
    "a block whose index claims a part of the next": Case(
        table_of(*TWO, places=[Handle(0, len(OTHER) + 3)]), TABLE, [
            (0, 29, "lost", "data", MIXED_UP), (29, 52, "recovered", "data", ""), (52, 158, "rebuilt", REBUILT, ""),
        ], {"spans": 1}, (NEWER,)),
    "a block that begins behind the end": Case(table_of((GOOD, KEY), places=[Handle(5000, 10)]), TABLE, [
        (0, 115, "rebuilt", REBUILT, "")], {"spans": 1}, (NEWER,)),
    "footer filler that is not zero": Case(
        lambda f: f.update({TABLE: f[TABLE][:-10] + b"!" + f[TABLE][-9:]}), TABLE,
        [(0, 212, "recovered", "data", ""), (212, 474, "rebuilt", REBUILT, "")]),
    "a damaged table of no manifest": Case(
        lambda f: f.update({ORPHAN: flip(f[TABLE], 20)}), ORPHAN, [
            (0, 81, "lost", "orphan table", MIXED_UP), (81, 212, "recovered", "orphan table", ""),
            (212, 474, "rebuilt", REBUILT, ""),
        ], {"spans": 1}, mode=SalvageMode.RECORDS),
    "the reverse order of keys": Case(
        both(log(b""), table_of((GOOD, KEY), (OTHER, key_of(b"a"))), reversed_order), TABLE, [
        (0, 52, "recovered", "data", ""), (52, 158, "rebuilt", REBUILT, "")], notes=(
        f"the keys were ordered by the comparator {REVERSE}; they are written in the order of bytes",)),
    "a log that states something about itself": Case(
        log(NOTE + build_log([WRITE]) + NOTE + NOTE + build_log([build_batch(8, [])]) + NOTE), LOG, [
            (0, 9, "rebuilt", "data", ABOUT), (9, 33, "recovered", "data", ""), (33, 51, "rebuilt", "data", ABOUT),
            (51, 70, "recovered", "data", ""), (70, 79, "rebuilt", "data", ABOUT),
        ]),
    "a recycled log": Case(log(recycled(6, WRITE) + recycled(4, build_batch(5, [(PUT, b"k", b"v")]))), LOG, [
        (0, 28, "recovered", "data", ""), (28, 56, "ignored", "data", "from an earlier use of the file")]),
    "a log with filler": Case(log(LONG + bytes(6) + build_log([build_batch(8, [(PUT, b"after", b"1")])])), LOG, [
        (0, 32762, "recovered", "data", ""), (32762, 32768, "ignored", "data", "filler at the end of a block"),
        (32768, 32796, "recovered", "data", ""),
    ]),
    "a log with a damaged record between two": Case(
        log(build_log([WRITE]) + flip(build_log([build_batch(8, [])]), 0) + build_log([build_batch(8, [])])), LOG, [
            (0, 24, "recovered", "data", ""), (24, 43, "lost", "data", "log fragment checksum mismatch"),
            (43, 62, "recovered", "data", ""),
        ], {"spans": 1}, (NEWER,)),
    "a live log with zeros at its end": Case(tail(LOG, bytes(50)), LOG, [
        (0, 73, "recovered", "data", ""), (73, 123, "lost", "data", ZEROS)], {"spans": 1}, (NEWER,)),
    "an obsolete log, where older state is written": Case(tail(OLD_LOG, bytes(50)), OLD_LOG, [
        (0, 47, "recovered", "obsolete log", ""), (47, 97, "ignored", "obsolete log", ZEROS),
    ], mode=SalvageMode.RECORDS),
    "a log of no manifest": Case(both(tail(LOG, bytes(50)), drop("MANIFEST-000004")), LOG, [
        (0, 73, "recovered", "orphan log", ""), (73, 123, "ignored", "orphan log", ZEROS),
    ], {"manifests": 1}, (
        "the manifest is missing or damaged: which files belong to the database is not known",)),
    "a blob file": Case(blobs(), BLOB, [(0, 108, "recovered", "data", "")]),
    "a blob file with a damaged record": Case(both(blobs(), flip_at(BLOB, 55)), BLOB, [
        (0, 30, "recovered", "data", ""), (30, 76, "lost", "data", NOTHING), (76, 108, "recovered", "data", ""),
    ], {"values that cannot be determined": 1, "spans": 1}, (NEWER,)),
    "a blob file with a damaged header": Case(both(blobs(), flip_at(BLOB, 0)), BLOB, [
        (0, 76, "lost", "data", NOTHING), (76, 108, "recovered", "data", ""),
    ], {"values that cannot be determined": 1, "spans": 1}, (NEWER,)),
    "updates in place behind a range deletion": Case(both(IN_PLACE, log(build_log([HIDDEN]))), LOG, [
        (0, 44, "recovered", "data", "")], notes=(
        "a range deletion may hide rows that were written: "
        f"{LOG}: value may be hidden by a range deletion at 0 (0x0): 'k' [LDB-114]",)),
}  # fmt: skip


def files_of(change: Change) -> Files:
    """The files of the small database with a change."""
    files = build_database()
    change(files)
    return files


def embedded(files: Files) -> Tree:
    """The same database, each of whose files is a part of a larger one."""
    larger = {name: BytesSource(b"?" * LEAD + data + b"?" * LEAD, name) for name, data in files.items()}
    return MemoryTree({name: WindowSource(larger[name], LEAD, LEAD + len(data)) for name, data in files.items()})


def rows(report: SalvageReport, name: str, lead: int = 0) -> list[Row]:
    """The account of a file, its offsets less `lead`."""
    return [
        (span.start - lead, span.end - lead, str(outcome), content, reason)
        for span, outcome, content, reason in ((s.span, s.outcome, s.content, s.reason) for s in report.spans)
        if span.source == name
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_byte_has_its_outcome(case: Case, tmp_path: Path) -> None:
    report = salvage(MemoryTree(files_of(case.change)), tmp_path / "out", mode=case.mode)
    assert rows(report, case.name) == case.account
    assert (dict(report.lost), tuple(report.notes)) == (case.lost, case.notes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_offsets_are_those_in_the_larger_file(case: Case, tmp_path: Path) -> None:
    report = salvage(embedded(files_of(case.change)), tmp_path / "out", mode=case.mode)
    assert rows(report, case.name, LEAD) == case.account
    assert dict(report.lost) == case.lost


COLUMNS = b"\1\2\0" + build_varint(4) + build_bytes(b"color") + build_varint(3) + b"tartred"
"""An entity: the value `tart`, and the column `color` with `red`."""


@pytest.mark.parametrize("limits", [DEFAULT_LIMITS, Limits(payload_size=100, structure_size=100)])
def test_lines_have_values_of_any_size(limits: Limits, tmp_path: Path) -> None:
    """Those above `payload_size` too, and `null` where a value is not known: a merge operand has no value below it."""
    entries = [(b"k", 5, PUT, b"x" * 300), (b"m", 4, MERGE, b"y" * 300), (b"w", 3, ENTITY, COLUMNS)]
    block = build_block([(InternalKey(key, number, kind).build(), value) for key, number, kind, value in entries])
    files = files_of(table_of((block, InternalKey(b"w", 3, ENTITY).build())))
    report = salvage(MemoryTree(files), tmp_path / "out", mode=SalvageMode.RECORDS, limits=limits)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    found: list[Any] = [(v["key"]["text"], v["type"], v["value"], v.get("columns")) for v in lines]
    assert [one for one in found if one[0] in ("k", "m", "w")] == [
        ("k", "value", {"text": "x" * 300}, None),
        ("m", "merge", None, None),
        ("m", "merge", {"text": "y" * 300}, None),
        ("w", "wide-columns", {"text": "tart"}, {"": {"text": "tart"}, "color": {"text": "red"}}),
    ]
    assert dict(report.lost) == {"values that cannot be determined": 1}


@pytest.mark.parametrize(("start", "end", "is_structure"), [
    (0, 10, True), (20, 30, True), (0, 11, False), (19, 30, False), (12, 18, False), (0, 30, False),
])  # fmt: skip
def test_structure_ends_where_content_begins(start: int, end: int, is_structure: bool) -> None:
    """A warning about bytes next to a block is not about its content."""
    source = WindowSource(BytesSource(bytes(1100), "x"), LEAD, 1100)
    span = Span("x", LEAD + start, LEAD + end)
    content = [(10, 20, Outcome.RECOVERED, "")]
    assert _is_structure(source, content, Outcome.REBUILT, span) is is_structure
    assert not _is_structure(source, content, Outcome.LOST, span)
