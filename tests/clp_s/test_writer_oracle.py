"""What we write, the real `clp-s` prints: the same text as our reader, and what went in."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ExhumeError
from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.writer import create
from exhume.io.local import FileSource
from tests.clp_s.oracle import ORACLES, Oracle
from tests.clp_s.strategies import dumps, records
from tests.clp_s.test_writer_samples import payloads
from tests.sizes import size

STAMPS = [
    *(
        '"2024-01-02T03:04:05.678Z"',
        '"2024-01-02 03:04:05,678"',
        '"2024-02-29T23:59:59Z"',
        '"[2024-01-02 03:04:05,678]"',
    ),
    *(
        '"2024-01-02T03:04:05.6Z"',
        '"2024-01-02T03:04:05.600Z"',
        '"2024-01-02T03:04:05.60Z"',
        '"2024-01-02T03:04:05.0Z"',
    ),
    *('"2024-01-02T03:04:05.678+05:30"', '"2024-01-02T03:04:05-0800"', '"2024-01-02 03:04:05 UTC"', '"2024-01-02"'),
    *('"Jan  2 03:04:05"', '"Jan 12 03:04:05"', '"Tue Jan  2 03:04:05 2024"', '"Tue, 02 Jan 2024 03:04:05 GMT"'),
    *('"02/Jan/2024:03:04:05 +0000"', '"Jan 02, 2024 12:04:05 AM"', '"January 02, 2024 03:04"', '"240102  3:04:05"'),
    *('"24/01/02 03:04:05"', '"69/12/31 23:59:59"', '"01-21 11:56:42.392"', '"1700000000"', '"-5"', '"0"'),
    *("1700000000", "1700000000123", "-5", "0", "1700000000.25", "1700000000.123", "null", "{}", "[1, 2]", "true"),
]
NEWER_STAMPS = [
    *('"2024-01-02T03:04:05.123456Z"', '"2024-01-02T03:04:05.123456789Z"', '"2024-01-02T03:04:05.1230Z"'),
    *('"2016-12-31T23:59:60Z"', '"Jan 02, 2024  1:04:05 PM"', '"1700000000.25"', '"-0.5"', "-0.5", "1700000000.0"),
    *('"1700000000.100"', "-1700000000.50", "1700000000123456", "1700000000123456789", '"<<<2024-01-02 03:04:05:678"'),
]
"""Exact from 0.5.0 on only."""

OPTIONS: list[dict[str, Any]] = [
    {},
    {"structurize_arrays": True},
    {"log_order": False},
    {"retain_float_format": False},
    {"level": 19, "min_table_size": 1},
]


def versions_of(oracle: Oracle) -> list[str]:
    """Formats with the text dialect and the timestamps that the binary writes itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = oracle.compress(Path(folder), b'{"a":1}\n')
        assert path is not None
        patch, minor = struct.unpack_from("<HB", path.read_bytes(), 4)
    return ["0.5.0", "0.5.1"] if (minor, patch) >= (5, 0) else ["0.4.1"]


def check(oracle: Oracle, text: bytes, **options: Any) -> bytes:
    """Write the text; the binary must print what our reader prints.  Returns the ordered text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = folder / "in.jsonl", folder / "x.clps"
        source.write_bytes(text)
        with create(target, **options) as writer:
            writer.add_files([source])
        with open_archive(FileSource(target)) as archive:
            ours = b"".join(archive.json_chunks())
            ordered = b"".join(archive.json_chunks(ordered=True))
        assert oracle.extract(folder, target) == ours
        assert oracle.extract(folder, target, "--ordered") == ordered
        return ordered


@pytest.mark.parametrize("oracle", ORACLES)
@settings(max_examples=size(12, 500))
@given(
    items=st.lists(st.tuples(records, st.sampled_from(["", *STAMPS])), min_size=1, max_size=20),
    options=st.sampled_from(OPTIONS),
)
@pytest.mark.slow
def test_random_records(oracle: Oracle, items: list[tuple[dict[str, Any], str]], options: dict[str, Any]) -> None:
    lines = []
    for record, stamp in items:
        text = dumps(record)
        if stamp and "ts" not in record:
            text = f'{{"ts":{stamp}' + ("," if record else "") + text[1:]
        lines.append(text)
    lines.append('{"one column":1}')  # records without any cannot be read by upstream when there is no log order
    for version in versions_of(oracle):
        check(oracle, "\n".join(lines).encode("utf-8", "replace"), version=version, timestamp_key="ts", **options)


@pytest.mark.parametrize("oracle", ORACLES)
def test_every_shape_of_timestamp(oracle: Oracle) -> None:
    for version in versions_of(oracle):
        stamps = STAMPS + (NEWER_STAMPS if version >= "0.5" else [])
        text = "".join(f'{{"i":{number},"ts":{stamp}}}\n' for number, stamp in enumerate(stamps)).encode()
        assert check(oracle, text, version=version, timestamp_key="ts") == text


@pytest.mark.parametrize("oracle", ORACLES)
def test_names_of_zones_are_refused_where_readers_reject_them(oracle: Oracle) -> None:
    """A reader of 0.5.0 rejects an archive with such a pattern as a whole."""
    text = b'{"ts":"Thu, 21 Dec 2000 16:01:07 EST"}\n'
    if "0.5.0" in versions_of(oracle):
        with pytest.raises(ExhumeError, match="timestamp"):
            check(oracle, text, version="0.5.0", timestamp_key="ts")
        assert check(oracle, text, version="0.5.0", timestamp_key="ts", allow_loss=True) == text


@pytest.mark.parametrize("oracle", ORACLES)
def test_what_goes_in_comes_out(oracle: Oracle) -> None:
    """Records whose keys appear in one order and whose text is in normal form: byte for byte the same."""
    floats = ("0.5", "1e3", "100.0", "-0.0")
    lines = [
        f'{{"i":{n},"level":"{("INFO", "WARN")[n % 2]}","msg":"user u{n % 9} did 3.{n % 100:02d}% '
        f'of x={"abc" * (n % 3)} /a/b{n} \\\\ \\"q\\" é\\n\\u0001","f":{floats[n % 4]},"list":[{n}, "x y"]}}'
        for n in range(300)
    ]
    text = ("\n".join(lines) + "\n").encode()
    for version in versions_of(oracle):
        assert check(oracle, text, version=version) == text


@pytest.mark.parametrize("oracle", ORACLES)
def test_our_search_strings_are_where_upstream_looks(oracle: Oracle) -> None:
    """Upstream's search finds values by our log types and dictionary entries."""
    lines = [f'{{"i":{n},"msg":"took {n}.50 ms id=a{n} for user{n % 7} x=abc","one":"w{n}"}}' for n in range(50)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.jsonl").write_text("\n".join(lines))
        for version in versions_of(oracle):
            target = folder / f"{version}.clps"
            with create(target, version=version) as writer:
                writer.add_files([folder / "in.jsonl"])
            for query, count in (
                ('msg: "*id=a7 *"', 1), ('msg: "*user3*"', 7), ("one: w12", 1), ('msg: "*x=abc*"', 50),
                ('msg: "took 9.50 ms*"', 1), ("one: w*", 50), ('msg: "*nothing*"', 0),
            ):  # fmt: skip
                ran = oracle.run("s", target, query)
                assert ran.returncode == 0, ran.stderr
                assert len(ran.stdout.splitlines()) == count, (version, query)


@pytest.mark.parametrize("oracle", ORACLES)
def test_sizes_are_alike(oracle: Oracle) -> None:
    rows = []
    for n in range(6_000):
        key = n * 2654435761 % 2**32
        rows.append(
            json.dumps(
                {
                    "ts": 1_700_000_000_000 + 7 * n + key % 5,
                    "level": ("INFO", "WARN", "ERROR")[key % 3],
                    "msg": f"request {key:08x} took {key % 900}.{key % 100:02d} ms status={200 + key % 5}",
                    "user": {"id": key % 5000, "name": f"user{key % 5000}"},
                }
            )
        )
    text = ("\n".join(rows) + "\n").encode()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = oracle.compress(folder, text, "--timestamp-key", "ts")
        assert theirs is not None
        for version in versions_of(oracle):
            target = folder / f"{version}.clps"
            with create(target, version=version, timestamp_key="ts") as writer:
                writer.add_files([folder / "input.jsonl"])
            assert target.stat().st_size == pytest.approx(theirs.stat().st_size, rel=0.02)


@pytest.mark.parametrize("oracle", ORACLES)
@settings(max_examples=size(12, 500))
@given(st.lists(records, min_size=1, max_size=15), st.booleans(), st.booleans())
@pytest.mark.slow
def test_same_sections(oracle: Oracle, items: list[dict[str, Any]], structurize: bool, retain: bool) -> None:
    """Nodes, schemas, dictionaries and tables are those that upstream builds from the same records."""
    text = "".join(dumps(item) + "\n" for item in items).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags = ["--structurize-arrays"] * structurize + ["--no-retain-float-format"] * (not retain)
        theirs = oracle.compress(folder, text, *flags)
        if theirs is None:
            return
        target = folder / "x.clps"
        version = versions_of(oracle)[0]
        options: dict[str, Any] = {"structurize_arrays": structurize, "retain_float_format": retain, "version": version}
        with create(target, allow_loss=True, **options) as writer:
            writer.add_files([folder / "input.jsonl"])
        ours, upstream = payloads(target), payloads(theirs)
        ours.pop("units"), upstream.pop("units")  # they name the file by its path
        assert ours == upstream
