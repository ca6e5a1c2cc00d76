"""The tools that people have read members in place: universal_pathlib, pandas, pyarrow, DuckDB, Polars, xarray.

Each example is in `docs/remote.md`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from exhume.errors import UnsupportedOperationError
from exhume.formats.caf.catalog import open_catalog
from tests.remote.server import Served, serving
from tests.remote.test_filesystem_contract import write_files

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
CSV = {"a.csv": b"x,y\n1,2\n3,4\n", "more/b.csv": b"x,y\n5,6\n"}


def parquet(start: int) -> bytes:
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"n": list(range(start, start + 1000)), "part": [start] * 1000}), out)
    return out.getvalue()


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("ecosystem")
    files = {**CSV, "table/p0.parquet": parquet(0), "table/p1.parquet": parquet(1000)}
    made = {
        "caf": write_files(folder / "x.caf", "caf", files),
        "databundle": write_files(folder / "bundle", "databundle", files),
        "cafcat": folder / "catalog.db",
    }
    with open_catalog(str(made["cafcat"]), create=True) as catalog:
        catalog.build([str(made["caf"])])
    return made


@pytest.fixture(scope="module")
def served(archives: dict[str, Path]) -> Iterator[Served]:
    with serving({"x.caf": archives["caf"].read_bytes()}) as server:
        yield server


@pytest.fixture(autouse=True)
def _close_instances() -> Iterator[None]:
    yield
    for protocol in ("caf", "databundle", "cafcat"):
        cls = fsspec.get_filesystem_class(protocol)
        for fs in list(cls._cache.values()):
            fs.close()
        cls.clear_instance_cache()


@pytest.fixture(params=["caf", "databundle", "cafcat", "http"])
def root(request: pytest.FixtureRequest, archives: dict[str, Path]) -> tuple[str, str]:
    """What comes before and after a member's path in a URL."""
    if request.param == "http":
        return "caf://", f"::{request.getfixturevalue('served').url}/x.caf"
    return f"{request.param}://", f"::{archives[request.param].as_uri()}"


def test_pandas(root: tuple[str, str]) -> None:
    before, after = root
    assert pd.read_csv(f"{before}a.csv{after}").to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    assert len(pd.read_parquet(f"{before}table/p1.parquet{after}", columns=["n"])) == 1000


def test_pyarrow_dataset(root: tuple[str, str]) -> None:
    import pyarrow.dataset
    import pyarrow.fs

    before, after = root
    fs, path = fsspec.url_to_fs(f"{before}table{after}")
    for filesystem in (fs, pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fs))):
        data = pyarrow.dataset.dataset(path, filesystem=filesystem, format="parquet")
        found = data.to_table(filter=pyarrow.dataset.field("n") >= 1990)
        assert found.column("n").to_pylist() == list(range(1990, 2000))
    table = pyarrow.dataset.dataset("more/b.csv", filesystem=fs, format="csv").to_table()
    assert table.to_pylist() == [{"x": 5, "y": 6}]


def test_duckdb(root: tuple[str, str]) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    before, after = root
    fs, _ = fsspec.url_to_fs(f"{before}{after}")
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        found = connection.sql(f"SELECT sum(x) FROM read_csv('{before}a.csv')").fetchall()
        assert found == [(4,)]
        found = connection.sql(f"SELECT count(*), max(n) FROM '{before}table/*.parquet'").fetchall()
        assert found == [(2000, 1999)]
        connection.unregister_filesystem(fs.protocol)


def test_polars(root: tuple[str, str]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    before, after = root
    with fsspec.open(f"{before}a.csv{after}") as file:
        assert pl.read_csv(file).rows() == [(1, 2), (3, 4)]


def test_universal_pathlib(root: tuple[str, str]) -> None:
    upath = pytest.importorskip("upath", reason="universal_pathlib is not installed")
    before, after = root
    fsspec.get_filesystem_class(before.partition(":")[0])  # of one not imported the library says that it guesses
    top = upath.UPath(f"{before}{after}")
    assert type(top).__name__ == "ArchivePath"
    assert sorted(path.path for path in top.iterdir()) == ["a.csv", "more", "table"]
    assert sorted(path.name for path in top.glob("**/*.csv")) == ["a.csv", "b.csv"]
    path = top / "more" / "b.csv"
    assert path.read_bytes() == CSV["more/b.csv"]
    assert path.read_text() == CSV["more/b.csv"].decode()
    assert (path.suffix, path.parent.name, path.stat().st_size) == (".csv", "more", 8)
    assert (path.exists(), path.is_file(), path.parent.is_dir()) == (True, True, True)
    assert not (top / "nothing").exists()
    with pytest.raises(UnsupportedOperationError):
        path.write_text("no")
    with pytest.raises(FileNotFoundError):
        (top / "nothing").read_bytes()


def test_xarray(tmp_path: Path) -> None:
    """A NetCDF file as a member, and a Zarr-like store as a mapping."""
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("scipy", reason="scipy is not installed")
    made = xr.Dataset({"t": (("y", "x"), [[1.0, 2.0], [3.0, 4.0]])}, coords={"x": [10, 20]})
    path = write_files(tmp_path / "x.caf", "caf", {"run/t.nc": bytes(made.to_netcdf(engine="scipy"))})
    with fsspec.open(f"caf://run/t.nc::{path}") as file, xr.open_dataset(file, engine="scipy") as found:
        assert found["t"].sel(x=20).values.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("format", ["caf", "databundle"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.slow
def test_zarr(tmp_path: Path, format: str, version: int) -> None:
    """A Zarr store of members; a selection reads its own chunks."""
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("zarr", reason="zarr is not installed")
    np = pytest.importorskip("numpy")
    values = np.random.default_rng(9).random((8, 20_000))
    made = xr.Dataset({"t": (("time", "x"), values)}, coords={"time": np.arange(8)})
    made.to_zarr(
        tmp_path / "c", zarr_format=version, consolidated=version == 2, encoding={"t": {"chunks": (1, 20_000)}}
    )
    files = {
        f"c.zarr/{p.relative_to(tmp_path / 'c')}": p.read_bytes() for p in (tmp_path / "c").rglob("*") if p.is_file()
    }
    path = write_files(tmp_path / "a.archive", format, files)
    parts = {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    served_files = {f"a/{name}": data for name, data in parts.items()} if parts else {"a": path.read_bytes()}
    with serving(served_files) as served:
        url = f"{format}://c.zarr::{served.url}/a{'/' if parts else ''}"
        with xr.open_dataset(url, engine="zarr", chunks=None, consolidated=version == 2) as found:
            served.requests.clear()
            assert found["t"].sel(time=3).values.tolist() == values[3].tolist()
            assert len(served.requests) <= 4, served.requests
            assert found.identical(made)


def test_mappings(root: tuple[str, str]) -> None:
    """What Zarr and others read: a mapping of names to bytes, many at a time."""
    before, after = root
    fs, _ = fsspec.url_to_fs(f"{before}{after}")
    store: Any = fs.get_mapper("more")
    assert dict(store) == {"b.csv": CSV["more/b.csv"]}
    assert fs.get_mapper("").getitems(["a.csv", "nothing"], on_error="omit") == {"a.csv": CSV["a.csv"]}
    with pytest.raises(KeyError):
        store["nothing"]
    with pytest.raises(UnsupportedOperationError):
        store["new"] = os.urandom(3)
