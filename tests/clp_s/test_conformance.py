"""The real `clp-s` compresses random records; we print the same bytes as it does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ExhumeError
from exhume.formats.clp_s.reader import open_archive
from exhume.io.local import FileSource
from tests.clp_s import build
from tests.clp_s.oracle import ORACLES, Oracle
from tests.clp_s.strategies import dumps, records
from tests.sizes import size

OPTIONS: tuple[list[str], ...] = (
    [],
    ["--structurize-arrays"],
    ["--disable-log-order"],
    ["--timestamp-key", "ts"],
    ["--no-retain-float-format"],
)
STAMPS = (
    *("2023-01-02T03:04:05.678Z", "2023-01-02 03:04:05,678", "1999-12-31T23:59:59Z", "[2023-01-02 03:04:05,678]"),
    *(1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456, -5, 1_700_000_000.25, 0),
)


def same(oracle: Oracle, text: bytes, options: list[str]) -> bool:
    """Compare what both print; False when upstream itself cannot compress or read the records."""
    with tempfile.TemporaryDirectory() as folder:
        path = oracle.compress(Path(folder), text, *options)
        if path is None:
            return False
        expected = oracle.extract(Path(folder), path)
        ordered = oracle.extract(Path(folder), path, "--ordered")
        with open_archive(FileSource(path)) as archive:
            if expected is None or ordered is None:
                try:
                    list(archive.json_chunks())
                except ExhumeError:
                    pass
                return False
            assert b"".join(archive.json_chunks()) == expected
            assert b"".join(archive.json_chunks(ordered=True)) == ordered
            assert [str(f) for f in archive.verify() if f.severity == "error"] == []
            assert len(list(archive.events())) == archive.num_messages
    return True


@pytest.mark.parametrize("oracle", ORACLES)
@settings(max_examples=size(12, 500))
@given(items=st.lists(records, min_size=1, max_size=30), options=st.sampled_from(OPTIONS))
@pytest.mark.slow
def test_random_records(oracle: Oracle, items: list[dict[str, Any]], options: list[str]) -> None:
    same(oracle, "".join(dumps(item) + "\n" for item in items).encode("utf-8", "replace"), options)


@pytest.mark.parametrize("oracle", ORACLES)
@settings(max_examples=10)
@given(stamps=st.lists(st.sampled_from(STAMPS), min_size=1, max_size=12))
def test_timestamps(oracle: Oracle, stamps: list[Any]) -> None:
    same(oracle, "".join(json.dumps({"ts": ts, "n": n}) + "\n" for n, ts in enumerate(stamps)).encode(), OPTIONS[3])


@pytest.mark.parametrize("oracle", ORACLES)
def test_ordinary_records_are_compared(oracle: Oracle) -> None:
    """Guard the tests above: they would pass if nothing could be compressed."""
    text = b'{"ts":1700000000123,"msg":"took 3.14 ms for a1","list":[1,{"k":"v"}],"x":2.50,"o":{"e":null}}\n' * 3
    assert all(same(oracle, text, options) for options in OPTIONS)


@pytest.mark.parametrize("oracle", ORACLES)
def test_upstream_reads_the_built_samples(oracle: Oracle, tmp_path: Path) -> None:
    """The test builder writes what the real reader understands (its 0.5.1 needs a 0.5 binary)."""
    for name, built, text in (("demo", build.demo(), build.DEMO_TEXT), ("tiny", build.tiny(), build.TINY_TEXT)):
        path = tmp_path / f"{name}.clps"
        path.write_bytes(built.build())
        shown = oracle.extract(tmp_path, path)
        assert shown == text or (name == "demo" and shown is None)
