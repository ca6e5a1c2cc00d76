"""OPTIONS of several column families, next to older ones, missing and damaged: values that operands make are RocksDB's
where OPTIONS names their operator, and `unresolved` elsewhere.

Spec: RocksDB include/rocksdb/utilities/options_util.h.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.findings import Severity, Verdict
from exhume.formats.leveldb.model import Status
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.io.local import LocalTree
from tests.leveldb.crafted import MERGE, PUT, Crafted, batch
from tests.oracles import compared
from tests.sizes import THOROUGH

pytestmark = pytest.mark.conformance

OPERATORS = {
    "StringAppendOperator": b"text",
    "{id=StringAppendTESTOperator;delimiter=|;}": b"next",
    "MaxOperator": b"more",
    "BytesXOR": b"bits",
    "PutOperator": b"last",
    "nullptr": b"",
}
"""Merge operators, and an operand for each."""

PAIRS = (
    list(itertools.product(OPERATORS, repeat=2)) if THOROUGH else list(itertools.pairwise([*OPERATORS, *OPERATORS][:7]))
)
"""Operators of the two column families."""

Change = Callable[[Path], object]


def newest(path: Path) -> Path:
    """The newest OPTIONS of a database."""
    return max(path.glob("OPTIONS-*"))


def older(path: Path, text: str) -> None:
    """Put OPTIONS with a lower number there, which the engine wrote before."""
    (path / "OPTIONS-000001").write_text(text)


def without(path: Path) -> None:
    for file in path.glob("OPTIONS-*"):
        file.unlink()


def cut(path: Path) -> None:
    text = newest(path).read_bytes()
    newest(path).write_bytes(text[: text.index(b"[CFOptions")])


SOUND: dict[str, Change] = {
    "alone": lambda path: None,
    "an older one that names others": lambda path: older(path, '[CFOptions "default"]\n  merge_operator=PutOperator\n'),
    "an older one that is damaged": lambda path: older(path, "\0\xff[CFOptions"),
    "a temporary one": lambda path: (path / "000099.dbtmp").write_text("[CFOptions"),
}
"""Changes after which the newest OPTIONS is the one that the engine wrote."""

LOST: dict[str, Change] = {
    "missing": without,
    "empty": lambda path: newest(path).write_bytes(b""),
    "cut before the column families": cut,
    "zeros": lambda path: newest(path).write_bytes(bytes(newest(path).stat().st_size)),
    "no text": lambda path: newest(path).write_bytes(b"\xff\xfe" * 2000),
    "of no operator": lambda path: newest(path).write_text('[CFOptions "default"]\n  merge_operator=nullptr\n'),
}
"""Changes after which no operator is known."""


def crafted(path: Path, operators: tuple[str, ...], *, flushed: bool) -> Crafted:
    """A database of two column families with operators of their own: values, operands alone, and operands of values."""
    made = Crafted(path, ["other"])
    text = newest(path).read_text()
    parts = text.split("[CFOptions ")
    for number, operator in enumerate(operators, 1):
        lines = parts[number].splitlines(keepends=True)
        parts[number] = "".join(
            f"  merge_operator={operator}\n" if line.lstrip().startswith("merge_operator=") else line for line in lines
        )
    newest(path).write_text("[CFOptions ".join(parts))
    made.write(*(
        batch(100 + 10 * family, *records)
        for family, operator in enumerate(operators)
        for records in [[(PUT, b"plain", b"base", family), *(
            [] if operator == "nullptr" else [
                (MERGE, b"alone", OPERATORS[operator], family),
                (PUT, b"both", b"base", family),
                (MERGE, b"both", OPERATORS[operator], family),
            ])]]
    ))  # fmt: skip
    if flushed:
        made.flush()
    return made


def found(path: Path, family: int) -> tuple[dict[bytes, bytes], set[bytes]]:
    """The rows of a column family, and the keys whose value is not known."""
    with LevelDbArchive(LocalTree(path)) as archive:
        versions = [one for one in archive.database.versions() if one.column_family == family]
    rows = {one.key: one.value for one in versions if one.status is Status.LIVE}
    return rows, {one.key for one in versions if one.status is Status.UNRESOLVED}


@pytest.mark.parametrize("flushed", [False, True], ids=["log", "table"])
@pytest.mark.parametrize("operators", PAIRS)
def test_operators_of_column_families(operators: tuple[str, ...], flushed: bool, tmp_path: Path) -> None:
    made = crafted(tmp_path / "db", operators, flushed=flushed)
    expected = [made.engine(), made.engine("other")]
    for change in SOUND.values():
        change(made.path)
        assert [found(made.path, family) for family in (0, 1)] == [(rows, set()) for rows in expected]
        assert exhume.verify(made.path).verdict is Verdict.OK
        compared("databases")


@pytest.mark.parametrize("state", LOST)
@pytest.mark.parametrize("flushed", [False, True], ids=["log", "table"])
def test_without_operators_no_value_is_invented(state: str, flushed: bool, tmp_path: Path) -> None:
    made = crafted(tmp_path / "db", ("MaxOperator", "BytesXOR"), flushed=flushed)
    expected = [made.engine(), made.engine("other")]
    LOST[state](made.path)
    for family, rows in enumerate(expected):
        merged = {b"alone"} | (set() if flushed else {b"both"})  # a flush merges an operand with its base
        assert found(made.path, family) == ({key: rows[key] for key in rows if key not in merged}, merged)
    checked = exhume.verify(made.path)
    assert {one.code for one in checked if one.severity is Severity.UNCHECKED} == {"LDB-404"}
    assert checked.verdict is Verdict.INCOMPLETE
