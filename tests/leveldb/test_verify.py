"""What verify reports of rare databases, as whole lists of findings: nothing is reported twice, nothing left out."""

from __future__ import annotations

import pytest
import zstandard

import exhume
from exhume.findings import Finding
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import Handle, build_varint
from exhume.io.tree import MemoryTree, Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, edit
from tests.leveldb.test_account import CASES, LEAD, LOG, OLD_LOG, TABLE, Case, embedded, files_of, reversed_order
from tests.leveldb.test_damage import (
    BLOOM,
    GOOD,
    KEY,
    OTHER,
    Change,
    Files,
    both,
    drop,
    flip_at,
    fragment,
    item,
    key_of,
    log,
    table_of,
)  # fmt: skip

SEAL = 5
"""Bytes of a block's compression type and checksum."""
COUNT = [(b"rocksdb.num.entries", b"\1")]
QUIET = both(log(b""), drop(OLD_LOG))
"""Logs that nothing is reported of, and that raise no sequence number."""
NUMBERED = build_block([item(b"k", 6, 99)])
"""A block whose entry has the last sequence number of the manifest, and a type that is not known: it is examined."""
ABOVE = build_block([item(b"k", 7, 99)])
BOMB = (build_varint(0) + build_varint(900) + b"\0" + b"k" * 900 + (build_varint(900) + b"\0\0") * 30 + bytes(4)
        + (1 + 2 + 1 + 900 + 4 * 29).to_bytes(4, "little") + b"\2\0\0\0")  # fmt: skip
"""A block whose keys take 27,000 bytes, with a restart point at its last entry."""


def retyped(offset: int, kind: int) -> Change:
    """Replace the compression type of a block of the table; its checksum then differs, too."""

    def change(files: Files) -> None:
        table = bytearray(files[TABLE])
        table[offset] = kind
        files[TABLE] = bytes(table)

    return change


def without_last(files: Files) -> None:
    """A manifest that states no last sequence number."""
    table = (1, 5, len(files[TABLE]), key_of(b"a"), item(b"k", 0)[0])
    files["MANIFEST-000004"] = build_log(
        [edit(log=6, last=6, following=7, tables=[table]).replace(b"\x04\x06", b"", 1)]
    )


Row = tuple[str, str, int, int]


def rows(found: list[Finding], lead: int = 0) -> list[Row]:
    """Code, file, start and end of findings, offsets less `lead`; 0 where a file is missing."""
    spans = [finding.span for finding in found]
    return [
        (finding.code, span.source, max(0, span.start - lead), max(0, span.end - lead))
        for finding, span in zip(found, spans, strict=True)
        if span is not None
    ]


def verified(target: Tree, limits: Limits = DEFAULT_LIMITS) -> list[Finding]:
    return list(exhume.verify(target, format="leveldb", limits=limits))


RARE: dict[str, tuple[Change, list[Row]]] = {
    "a damaged part of a filter": (
        table_of((GOOD, KEY), deleted=[(KEY, Handle(1, 5).build())], ranges=b"partitionedfilter.x"),
        [("LDB-202", TABLE, 1, 11), ("LDB-320", TABLE, 1, 11)]),
    "damaged properties": (
        both(table_of((GOOD, KEY), properties=COUNT), flip_at(TABLE, len(GOOD) + SEAL + 10)),
        [("LDB-202", TABLE, 26, 62)]),
    "a filter of an unknown codec": (
        both(table_of((GOOD, KEY), filter=BLOOM), retyped(len(GOOD) + SEAL + len(BLOOM), 77)),
        [("LDB-202", TABLE, 26, 45), ("LDB-106", TABLE, 26, 45)]),
    "an entry with the last sequence number": (table_of((NUMBERED, KEY)), [("LDB-403", TABLE, 0, 26)]),
    "an entry with a number above that": (
        table_of((ABOVE, KEY)), [("LDB-403", TABLE, 0, 26), ("LDB-322", TABLE, 0, 26)]),
    "a number of zero, where none is stated": (
        both(table_of((build_block([item(b"k", 0)]), item(b"k", 0)[0])), without_last, drop(LOG)),
        [("LDB-308", "MANIFEST-000004", 0, 65), ("LDB-115", LOG, 0, 0)]),
    "keys in the order of bytes, where the reverse is stated": (
        both(table_of((OTHER, key_of(b"a")), (GOOD, KEY)), reversed_order),
        [("LDB-317", TABLE, 26, 52), ("LDB-312", TABLE, 26, 52)]),
}  # fmt: skip
"""Changes of the small database, with what verify reports."""


@pytest.mark.parametrize("name", RARE)
def test_exactly_this_is_reported(name: str) -> None:
    change, expected = RARE[name]
    found = verified(MemoryTree(files_of(both(QUIET, change) if LOG not in name else change)))
    assert rows(found) == expected


def test_restart_points_after_a_limit_are_not_reported() -> None:
    """They lead to entries that were not read."""
    files = files_of(both(table_of((BOMB, KEY)), QUIET))
    assert "LDB-319" not in {one.code for one in verified(MemoryTree(files))}
    found = {one.code for one in verified(MemoryTree(files), Limits(structure_size=20_000))}
    assert ("LDB-502" in found, "LDB-319" in found) == (True, False)


def test_a_log_that_cannot_be_read_is_reported() -> None:
    """The last sequence number is then not known, so that no number is too high."""
    bomb = fragment(1, zstandard.compress(build_batch(9, [(PUT, b"k", bytes(100_000))])))
    files = files_of(both(table_of((ABOVE, KEY)), QUIET, log(fragment(9, b"\7\0\0\0") + bomb)))
    found = verified(MemoryTree(files), Limits(payload_size=100, expansion=2, expansion_floor=100))
    assert rows(found) == [("EX-501", LOG, 11, 11 + len(bomb)), ("LDB-403", TABLE, 0, 26)]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_offsets_are_those_in_the_larger_file(case: Case) -> None:
    files = files_of(case.change)
    found, shifted = verified(MemoryTree(files)), verified(embedded(files))
    assert rows(shifted, LEAD) == rows(found)
    assert [one.message for one in shifted] == [one.message for one in found]
