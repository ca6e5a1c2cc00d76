"""VisiData opens archives in batch mode, and says in a line why it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import exhume
from tests.plugins.tools import run

pytestmark = [pytest.mark.conformance("visidata"), pytest.mark.slow]


@pytest.mark.parametrize(
    "name",
    [
        "zs/words-none.zs",
        "clp_s/demo.clps",
        "kv_ir/small.clp",
        "clp_ir/small.clp",
        "caf/sorted.caf",
        "leveldb/small",
        "data_bundle/zlib",
    ],
)
def test_an_archive_is_the_sheet_of_its_table(samples: Path, name: str, tmp_path: Path) -> None:
    run("vd", "-b", samples / name, "-o", tmp_path / "sheet.json")
    rows = json.loads((tmp_path / "sheet.json").read_text())
    with exhume.open(samples / name) as archive:
        table = archive.to_arrow().read_all()
    assert len(rows) == table.num_rows
    assert [column for column in table.column_names if column in rows[0]] == list(rows[0])
    for column in table.column_names:
        values = [row.get(column) for row in rows]
        wanted = table[column]
        if "timestamp" in str(wanted.type):
            wanted = wanted.cast("string")
        shown = [v.decode("utf-8", "backslashreplace") if isinstance(v, bytes) else v for v in wanted.to_pylist()]
        assert values == shown, column


def test_several_tables_are_listed(samples: Path, tmp_path: Path) -> None:
    run("vd", "-b", samples / "ark/log", "-o", tmp_path / "sheet.json")
    with exhume.ark.open(samples / "ark/log") as log:
        wanted = {name: table().schema.names for name, table in log.arrow_tables().items()}
    rows = json.loads((tmp_path / "sheet.json").read_text())
    assert [row["name"] for row in rows] == list(wanted)
    assert [row["cols"] for row in rows] == [len(names) for names in wanted.values()]


def test_other_files_are_rejected_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no archive")
    stated = run("vd", "-b", "-f", "exhume", tmp_path / "notes.txt", "-o", tmp_path / "out.json", code=None)
    assert "EX-101" in stated.stderr + stated.stdout
    assert "Traceback" not in stated.stderr + stated.stdout
    run("vd", "-b", tmp_path / "notes.txt", "-o", tmp_path / "out.json")
    assert "no archive" in (tmp_path / "out.json").read_text()
