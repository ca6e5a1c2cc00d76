"""pyarrow, pandas, Polars and DuckDB read an open archive of every format in one line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest

import exhume
from exhume.archive import Archive, MemberArchive
from exhume.errors import MissingDependencyError
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.clp_ir.reader import ClpIrArchive
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.zs.reader import ZsArchive
from tests.archives import label, own_archives


def one_channel(root: Path) -> Path:
    """An Ark log of one channel."""
    with ArkWriter(root) as log:
        channel = log.channel("/n", "N", "schema N { uint64 number; string name; arraylist<uint8> list; }")
        for number in range(20):
            channel.write(number, {"number": number, "name": f"n{number}", "list": [number] * (number % 3)})
    return root


def archives() -> list[Path]:
    return [path for path in own_archives() if path.parent.name != "ark"] + [Path("ark")]


@pytest.fixture(params=archives(), ids=label)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = one_channel(tmp_path / "log") if request.param == Path("ark") else request.param
    with exhume.open(path) as opened:
        yield opened


def first_column(archive: Archive) -> tuple[str, list[Any]]:
    """A column of the archive's table, and its values by the format's own reader."""
    match archive:
        case ZsArchive():
            return "record", list(archive.records())
        case ClpSArchive():
            name = archive.to_arrow().schema.names[0]
            if name in ("ts", "t"):
                return name, []
            return name, [event.get(name) for event in archive.events()]
        case ArkArchive():
            return "number", [message.value["number"] for message in archive.messages() if message.value]
        case ClpIrArchive():
            return "message", [event.message.decode("utf-8", "replace") for event in archive.events()]
        case KvIrArchive():
            return "message", [user.get("message") for _, user in archive.events()]
        case LevelDbArchive():
            return "value", [value for _, value in archive.database.scan()]
        case MemberArchive():
            return "name", list(archive.names())
    raise AssertionError(archive)


def fetched(relation: Any) -> Any:
    """The rows of a DuckDB relation."""
    return relation.fetchall()


def test_every_tool_reads_it(archive: Archive) -> None:
    name, wanted = first_column(archive)
    table = pyarrow.table(archive)
    table.validate(full=True)
    frame = polars.DataFrame(archive)
    pandas_frame = pandas.DataFrame.from_arrow(archive)
    assert fetched(duckdb.sql("SELECT count(*) FROM archive")) == [(table.num_rows,)]
    assert frame.shape == (table.num_rows, table.num_columns) == pandas_frame.shape
    assert frame.columns == table.column_names == list(pandas_frame.columns)
    if wanted:
        assert table[name].to_pylist() == frame[name].to_list() == wanted
        assert [None if pandas.isna(value) else value for value in pandas_frame[name]] == wanted
        assert fetched(duckdb.sql(f'SELECT "{name}" FROM archive')) == [(value,) for value in wanted]
    assert pyarrow.table(archive).equals(table), "an archive can be read again"


def test_a_schema_can_be_requested(samples: Path) -> None:
    with exhume.open(samples / "zs/words-none.zs") as archive:
        wanted = pyarrow.schema([("record", pyarrow.large_string())])
        table = pyarrow.table(archive, schema=wanted)
        assert table.schema == wanted
        assert [text.encode() for text in table["record"].to_pylist()] == list(archive.records())  # type: ignore[attr-defined]


def test_duckdb_joins_and_filters_archives(samples: Path, tmp_path: Path) -> None:
    with exhume.open(samples / "caf/sorted.caf") as chunk, exhume.open(samples / "leveldb/small") as database:
        assert (chunk.format, database.format) == ("caf", "leveldb")
        big = fetched(duckdb.sql("SELECT name FROM chunk WHERE size > 100 ORDER BY name"))
        assert big == [("img/pixel.bin",), ("log/2025/a.log",)]
        rows = fetched(duckdb.sql("SELECT key::VARCHAR, status FROM database WHERE sequence > 4 ORDER BY 1"))
        assert rows == [("apple", "live"), ("elder", "live")]
        duckdb.sql("COPY (SELECT * FROM database) TO '" + str(tmp_path / "out.parquet") + "'")
    assert pandas.read_parquet(tmp_path / "out.parquet").shape == (3, 16)


def test_arrow_is_not_imported_before_it_is_used(samples: Path) -> None:
    code = (
        "import sys, exhume, exhume.tabular.arrow, exhume.formats.ark.arrow, exhume.formats.clp_s.arrow, "
        "exhume.formats.zs.arrow, exhume.formats.leveldb.arrow, exhume.export.table_files\n"
        f"with exhume.open({str(samples / 'zs/words-none.zs')!r}) as archive: list(archive.records())\n"
        "print({'pyarrow', 'pandas', 'polars', 'duckdb'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_without_pyarrow_the_error_names_the_extra(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, exhume_cli: Callable[..., Any], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"exhume\[arrow\]"):
        archive.to_arrow()
    with pytest.raises(MissingDependencyError):
        archive.__arrow_c_stream__()
    ran = exhume_cli("export", archive.name, "--to", "parquet", "-o", tmp_path / "x")
    assert ran.code == 1
    assert "exhume[arrow]" in ran.err
    assert not (tmp_path / "x").exists()


def test_unknown_columns_are_refused(archive: Archive) -> None:
    names = archive.to_arrow().schema.names
    chosen = list(reversed(names))[:2]
    assert archive.to_arrow(columns=chosen).read_all().equals(pyarrow.table(archive).select(chosen))
    with pytest.raises(exhume.ExhumeError, match="no such column"):
        archive.to_arrow(columns=["nothing like it"])
    with pytest.raises(exhume.ExhumeError, match="twice"):
        archive.to_arrow(columns=[names[0], names[0]])
