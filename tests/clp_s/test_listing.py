"""Which inputs `create` is given, and by which names it records them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

import exhume
from exhume.errors import SourceError, WriterError
from exhume.formats.clp_s.write.inputs import Naming, list_inputs
from tests.clp_s.oracle import ORACLES, Oracle
from tests.sizes import some

Cli = Callable[..., Any]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name, number in (("in/b.jsonl", 1), ("in/a.jsonl", 2), ("in/deep/c.jsonl", 3), ("d.jsonl", 4)):
        (tmp_path / name).write_text(json.dumps({"n": number}) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*inputs: str, naming: Naming | None = None, files_from: str | None = None) -> list[str]:
    return [one.name for one in list_inputs(inputs, files_from, naming)]


def test_directories_are_all_their_files(logs: Path) -> None:
    assert names("d.jsonl", "in") == ["d.jsonl", "in/a.jsonl", "in/b.jsonl", "in/deep/c.jsonl"]
    assert names(str(logs / "in/deep")) == [str(logs / "in/deep/c.jsonl")]
    assert names("-", "https://h/x?X-Amz-Signature=secret") == ["-", "https://h/x?X-Amz-Signature=***"]


def test_lists(logs: Path) -> None:
    (logs / "list").write_text("in/deep\n\nd.jsonl\n-")
    assert names("in/a.jsonl", files_from="list") == ["in/a.jsonl", "in/deep/c.jsonl", "d.jsonl", "-"]
    (logs / "list").write_text("\n")
    with pytest.raises(WriterError, match="no inputs"):
        names(files_from="list")
    with pytest.raises(SourceError):
        names(files_from="nope")


def test_names(logs: Path) -> None:
    root = str(logs)
    (logs / "link").symlink_to(logs / "in")
    assert names("link/a.jsonl", naming=Naming(normalize=True)) == [f"{root}/in/a.jsonl"]
    assert names("in/deep", naming=Naming(prefix="in")) == ["/deep/c.jsonl"]
    assert names("in/deep", naming=Naming(prefix="in/", remove_slash=True)) == ["deep/c.jsonl"]
    assert names("link/a.jsonl", naming=Naming(True, "in", True)) == ["a.jsonl"]
    assert names(f"{root}/d.jsonl", naming=Naming(remove_slash=True)) == [f"{root}/d.jsonl"[1:]]
    with pytest.raises(WriterError, match="prefix"):
        names("d.jsonl", naming=Naming(prefix="in"))
    with pytest.raises(WriterError, match="prefix"):
        names("in/deep", naming=Naming(prefix=root))
    with pytest.raises(SourceError, match="not a directory"):
        names("in", naming=Naming(prefix="nope"))


def test_create_takes_them(exhume_cli: Cli, logs: Path) -> None:
    (logs / "list").write_text("d.jsonl\n")
    how = ("--remove-path-prefix", ".", "--remove-leading-slash", "--normalize-paths")
    assert exhume_cli("create", "clp-s", "in", "-f", "list", *how, "-o", "x.clps").code == 0
    with exhume.clps.open("x.clps") as archive:
        assert [event["n"] for event in archive.events(ordered=True)] == [2, 1, 3, 4]
        recorded = [entry.properties["_filename"] for entry in archive.range_index]
    assert recorded == ["in/a.jsonl", "in/b.jsonl", "in/deep/c.jsonl", "d.jsonl"]
    assert exhume_cli("create", "kv-ir", "in", "--files-from", "list", "-o", "x.clp").code == 0
    assert exhume_cli("cat", "x.clp").out == b'{"n":2}\n{"n":1}\n{"n":3}\n{"n":4}\n'
    assert exhume_cli("create", "clp-s", "-o", "y.clps").code == 2


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_native_tool_records_the_same_names(exhume_cli: Cli, logs: Path, oracle: Oracle) -> None:
    """A case: options, inputs, and whether both take them."""
    (logs / "list").write_text("in/a.jsonl\n\nin/deep/c.jsonl")
    (logs / "crlf").write_text("in/a.jsonl\r\n")
    prefix = ("--remove-path-prefix", str(logs / "in"), "--remove-leading-slash")
    cases: list[tuple[tuple[str, ...], tuple[str, ...], bool]] = [
        ((), ("in",), True),
        (("-f", "list"), ("d.jsonl",), True),
        (("-f", "crlf"), (), False),
        (("--normalize-paths",), ("in/../in/a.jsonl",), True),
        (("--remove-path-prefix", "in/"), ("in/a.jsonl",), True),
        (("--remove-path-prefix", "i"), ("in/a.jsonl",), False),
        (prefix, (f"/{logs}/in/a.jsonl",), True),
    ]
    for number, (how, inputs, works) in enumerate(some(cases)):
        theirs = logs / f"theirs{number}"
        ran = oracle.run("c", "--single-file-archive", *how, theirs, *inputs)
        made = exhume_cli("create", "clp-s", *how, *inputs, "-o", f"ours{number}.clps")
        assert (ran.returncode, made.code) == ((0, 0) if works else (1, 1)), how
        if works:
            recorded = []
            for path in (next(theirs.iterdir()), logs / f"ours{number}.clps"):
                with exhume.clps.open(path) as archive:
                    recorded.append([str(entry.properties["_filename"]) for entry in archive.range_index])
            assert sorted(recorded[0]) == sorted(recorded[1]), how


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_urls(exhume_cli: Cli, logs: Path, jobs: str) -> None:
    with fsspec.open("memory://logs/a.log.gz", "wb", compression="gzip") as file:
        file.write(b"2015-02-01 01:02:03 x\n" * 1000)
    made = exhume_cli("create", "clp-s", "memory://logs/a.log.gz", "d.jsonl", "-o", "x.clps", "--jobs", jobs)
    assert made.code == 0, made.err
    with exhume.clps.open("x.clps") as archive:
        assert archive.num_messages == 1001
        assert archive.range_index[0].properties["_filename"] == "memory://logs/a.log.gz"
    assert exhume_cli("create", "kv-ir", "memory://logs/a.log.gz", "-o", "x.clp", "--jobs", jobs).code == 0
    assert exhume_cli("create", "clp-s", "memory://logs/none.log", "-o", "y.clps", "--jobs", jobs).code == 1
    assert exhume_cli("create", "clp-s", "memory://logs", "-o", "y.clps", "--jobs", jobs).code == 1


@pytest.mark.parametrize(
    ("format", "content"), [("clp-ir", b'{"timestamp":5,"message":"x"}\n'), ("zs", b"a\nb\n"), ("kv-ir", b'{"a":1}\n')]
)
def test_urls_and_paths_make_the_same(exhume_cli: Cli, logs: Path, format: str, content: bytes) -> None:
    """Also paths that look like URLs."""
    (logs / "like::a.url").write_bytes(content)
    with fsspec.open("memory://logs/some", "wb") as file:
        file.write(content)
    found = []
    for name in ("like::a.url", "memory://logs/some"):
        made = exhume_cli("create", format, name, "-o", "made", "--overwrite")
        assert made.code == 0, made.err
        found.append(exhume_cli("cat", "made").out)
    assert found[0] == found[1] != b""


@pytest.mark.parametrize("format", ["caf", "databundle", "ark"])
def test_urls_that_are_not_taken_are_named(exhume_cli: Cli, logs: Path, format: str) -> None:
    ran = exhume_cli("create", format, "https://example.org/a", "-o", "made")
    assert ran.code == 2
    assert "is a URL, and only local files are taken here" in ran.err


def test_streams_are_inputs_of_streams(exhume_cli: Cli, logs: Path) -> None:
    from exhume.formats.kv_ir.writer import create

    with create("a.clp") as writer:
        writer.write({"n": 5, "t": "two words"}, {"level": "INFO"})
    assert exhume_cli("create", "kv-ir", "a.clp", "d.jsonl", "a.clp", "-o", "b.clp").code == 0
    with exhume.open("b.clp") as archive:
        event = ({"level": "INFO"}, {"n": 5, "t": "two words"})
        assert list(archive.events()) == [event, ({}, {"n": 4}), event]  # type: ignore[attr-defined]
    (logs / "cut.clp").write_bytes((logs / "a.clp").read_bytes()[:-1])
    assert exhume_cli("create", "kv-ir", "cut.clp", "-o", "c.clp").code == 1
    assert not (logs / "c.clp").exists()
