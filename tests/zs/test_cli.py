"""The command line on ZS files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.testing.damage import flip
from tests.conftest import Ran

from .build import reader
from .make_samples import BROKEN, WORDS

Cli = Callable[..., Ran]
TEXT = b"".join(word + b"\n" for word in WORDS)


@pytest.fixture
def sample(samples: Path) -> Path:
    return samples / "zs" / "words-lzma.zs"


def test_cat(exhume_cli: Cli, sample: Path) -> None:
    assert exhume_cli("cat", sample).out == TEXT
    assert exhume_cli("cat", sample, "--jobs", 2).out == TEXT
    chosen = exhume_cli("cat", sample, "--prefix", "deep ", "--start", "deep l", "--stop", "deep w").text.splitlines()
    assert [line.split("\t")[0] for line in chosen] == ["deep letter", "deep river"]
    assert exhume_cli("cat", sample, "--terminator", r"\0").out == TEXT.replace(b"\n", b"\0")
    assert exhume_cli("cat", sample, "--length-prefixed", "u64le").out[:8] == len(WORDS[0]).to_bytes(8, "little")


def test_damage_is_reported_alike_with_any_number_of_jobs(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.zs"
    with exhume.create(path, "zs", codec="deflate", block_size=500) as writer:
        made: Any = writer
        made.add_records(b"%05d" % number for number in range(2000))
    whole = path.read_bytes()
    calls = [("info", path, "--stats"), ("search", path, "", "--count"), ("export", path, "--to", "arrow")]
    alone = [exhume_cli(*call) for call in calls]
    assert [ran.code for ran in alone] == [0, 0, 0]
    assert [exhume_cli(*call, "--jobs", 2).out for call in calls] == [ran.out for ran in alone]
    for at in (len(whole) // 4, len(whole) // 2):
        path.write_bytes(flip(whole, at))
        alone = [exhume_cli(*call) for call in calls]
        together = [exhume_cli(*call, "--jobs", 2) for call in calls]
        assert [(ran.code, ran.out, ran.err) for ran in together] == [(ran.code, ran.out, ran.err) for ran in alone]
        assert all(ran.code in (1, 3) and "ZS-202" in ran.err for ran in alone)


def test_cat_json(exhume_cli: Cli, sample: Path) -> None:
    ran = exhume_cli("cat", sample, "--prefix", "quiet", "--json")
    document = json.loads(ran.out)
    assert document["schema"] == "exhume.records/1"
    assert [row["record"]["text"].encode() for row in document["records"]] == WORDS[-5:]
    lines = exhume_cli("cat", sample, "--prefix", "quiet", "--ndjson").text.splitlines()
    assert [json.loads(line)["ordinal"] for line in lines] == [row["ordinal"] for row in document["records"]]


def test_cat_misuse(exhume_cli: Cli, sample: Path) -> None:
    assert exhume_cli("cat", sample, "name").code == 2
    assert exhume_cli("cat", sample, "--terminator", "x", "--length-prefixed", "u64le").code == 2
    assert exhume_cli("cat", sample, "--length-prefixed", "u32").code == 2
    ran = exhume_cli("cat", sample.parent / "no-such-file.zs")
    assert ran.code == 1
    assert ran.err.count("\n") == 1


def test_search(exhume_cli: Cli, sample: Path) -> None:
    ran = exhume_cli("search", sample, "late ")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 5
    assert exhume_cli("search", sample, "late ", "--count").text == "5\n"
    assert exhume_cli("search", sample, "late ", "--count", "--jobs", 2).text == "5\n"
    assert exhume_cli("search", sample, "nothing").code == 0
    assert exhume_cli("search", sample, "nothing", "--exit-code").code == 4
    assert json.loads(exhume_cli("search", sample, "late ", "--count", "--json").out)["count"] == 5


def test_info_list_identify_payload(exhume_cli: Cli, sample: Path) -> None:
    body = json.loads(exhume_cli("info", sample, "--stats", "--json").out)
    assert body["metadata"]["corpus"] == "sample"
    assert body["statistics"]["records"] == len(WORDS)
    entries = json.loads(exhume_cli("list", sample, "--json").out)["entries"]
    assert {entry["kind"] for entry in entries} == {"data", "index"}
    assert exhume_cli("list", sample).code == 0
    [candidate] = json.loads(exhume_cli("identify", sample, "--json").out)["candidates"]
    assert (candidate["format"], candidate["confidence"]) == ("zs", 1.0)
    payload = exhume_cli("payload", sample, "data-0").out
    assert payload[1 : 1 + payload[0]] == WORDS[0]
    assert json.loads(exhume_cli("list", sample, "--sections", "--json").out)["sections"][0]["stored_schema"] == "zs"


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_end_in_one_line(exhume_cli: Cli, tmp_path: Path, name: str) -> None:
    code, data = BROKEN[name]
    path = tmp_path / "x.zs"
    path.write_bytes(data)
    ran = exhume_cli("verify", "--format", "zs", path, "--json", "--fail-on", "warning")
    document = json.loads(ran.out)
    assert ran.code == {"damaged": 4, "incomplete": 3, "ok": 4}[document["verdict"]]  # ok: with warnings
    assert code in {finding["code"] for finding in document["findings"]}
    for args in (["cat"], ["cat", "--prefix", "c"], ["info"], ["info", "--stats"], ["list"], ["list", "--sections"]):
        ran = exhume_cli(args[0], "--format", "zs", path, *args[1:])
        assert "Traceback" not in ran.err
        if args[0] == "info" or "--sections" in args:  # which say what there is to say
            assert ran.code in (0, 3)
            assert all(re.match(r"exhume: (error|unchecked): .* \[ZS-\d+\]$", line) for line in ran.err.splitlines())
            continue
        assert ran.code in (0, 1)
        assert ran.err.count("\n") == ran.code


def test_create_and_back(exhume_cli: Cli, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_bytes(TEXT)
    out = tmp_path / "out.zs"
    ran = exhume_cli(
        "create", "zs", text, "-o", out, "--metadata", '{"corpus": "x"}', "--record-format", "phrase:utf8,n:int",
        "--codec", "deflate", "-z", "9", "--block-size", "100", "--branching-factor", "3", "--short-keys", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["records"] == len(WORDS)
    assert exhume_cli("cat", out).out == TEXT
    with reader(out) as archive:
        assert archive.metadata["corpus"] == "x"
        assert archive.metadata["record-format"]["column-names"] == ["phrase", "n"]
        assert archive.metadata["build-info"]["version"].startswith("exhume ")
    assert list(exhume.verify(out)) == []
    assert exhume_cli("create", "zs", text, "-o", out).code == 1
    assert exhume_cli("create", "zs", text, "-o", out, "--overwrite", "--no-default-metadata").code == 0
    with reader(out) as archive:
        assert archive.metadata == {}


def test_create_sorts_and_joins_inputs(exhume_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_bytes(b"".join(word + b"\0" for word in reversed(WORDS[:20])))
    (tmp_path / "2.txt").write_bytes(b"".join(word + b"\0" for word in reversed(WORDS[20:])))
    out = tmp_path / "out.zs"
    inputs = (tmp_path / "2.txt", tmp_path / "1.txt")
    ran = exhume_cli("create", "zs", *inputs, "-o", out, "--terminator", r"\0")
    assert ran.code == 1
    assert "record 2 " in ran.err
    assert not out.exists()
    assert exhume_cli("create", "zs", *inputs, "-o", out, "--terminator", r"\0", "--sort").code == 0
    assert exhume_cli("cat", out).out == TEXT


def test_recoding_through_a_pipe(exhume_cli: Cli, sample: Path, tmp_path: Path) -> None:
    for kind in ("uleb128", "u64le"):
        stream = exhume_cli("cat", sample, "--length-prefixed", kind).out
        copy = tmp_path / f"{kind}.zs"
        ran = exhume_cli("create", "zs", "-", "-o", copy, "--length-prefixed", kind, "--codec", "none", input=stream)
        assert ran.code == 0, ran.err
        with reader(copy) as archive, reader(sample) as original:
            assert archive.header.data_sha256 == original.header.data_sha256


@pytest.mark.parametrize(
    "options",
    [
        ["--metadata", "[]"],
        ["--metadata", "{"],
        ["--record-format", "x"],
        ["--codec", "bz2"],
        ["--branching-factor", "1"],
        ["-z", "10"],
        ["--terminator", ""],
        ["--block-size", "0"],
    ],
)
def test_create_misuse(exhume_cli: Cli, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "in.txt").write_bytes(TEXT)
    ran = exhume_cli("create", "zs", tmp_path / "in.txt", "-o", tmp_path / "out.zs", *options)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_metadata_from_a_file(exhume_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(TEXT)
    (tmp_path / "meta.json").write_text('{"corpus": "é"}', encoding="utf-8")
    out = tmp_path / "out.zs"
    assert (
        exhume_cli("create", "zs", tmp_path / "in.txt", "-o", out, "--metadata", f"@{tmp_path / 'meta.json'}").code == 0
    )
    with reader(out) as archive:
        assert archive.metadata["corpus"] == "é"
