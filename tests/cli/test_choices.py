"""A name that is wrong is a usage error that says which one was meant; nothing is said about the evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.choices import LOOKED_AT, near
from exhume.errors import EntryNotFoundError, UnrecognizedFormatError
from exhume.registry import formats, get_format

Cli = Callable[..., Any]

ZS = "zs/words-none.zs"
CAF = "caf/sorted.caf"
ARK = "ark/log"
CLP = "clp_s/demo.clps"
LDB = "leveldb/small"


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (["verify", "--format", "zss", ZS], "'zss': unknown format (did you mean 'zs'?): one of ark, caf,"),
        (["info", "--format", "databundel", ZS], "did you mean 'databundle'?"),
        (["carve", "--only", "cfa", ZS], "did you mean 'caf'?"),
        (["verfy", ZS], "No such command 'verfy' (did you mean 'verify'?)"),
        (["create", "zss", ZS, "-o", "OUT"], "No such command 'zss' (did you mean 'zs'?)"),
        (["create", "leveldb", ZS, "-o", "OUT"], "leveldb archives are read only"),
        (["create", "tarball", ZS, "-o", "OUT"], "No such command 'tarball': one of ark, caf,"),
        (["verify", "--jobs", "many", ZS], "'many' is not a valid whole number"),
        (["snippet", "--start-ns", "noon", ZS, "-o", "OUT"], "not a whole number of nanoseconds: 'noon'"),
        (["catalog", "buidl", "OUT"], "did you mean 'build'?"),
        (["verify", "--limit", "payload_sise=1G", ZS], "did you mean 'payload_size'?"),
        (["verify", "--limit", "payload_size", ZS], "it takes NAME=VALUE"),
        (["verify", "--limit", "payload_size=lots", ZS], "not a size: 'lots'"),
        (["explain", "--range", "1..9", ZS], "not a range: '1..9'; give A:B"),
        (["explain", "--range", "1:x", ZS], "not a size: 'x'"),
        (["verify", "--fail-on", "warnings", ZS], "did you mean 'warning'?"),
        (["create", "zs", "--codec", "defalte", ZS, "-o", "OUT"], "did you mean 'deflate'?"),
        (["recode", "--codec", "defalte", ZS, "-o", "OUT"], "did you mean 'deflate'?"),
        (["export", "--to", "jsnol", ZS], "did you mean 'jsonl'?"),
        (["verify", "--quik", ZS], "--quick"),
    ],
)
def test_on_the_command_line(args: list[str], reported: str, exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    words = [str(samples / word) if word == ZS else str(tmp_path / "out") if word == "OUT" else word for word in args]
    ran = exhume_cli(*words)
    assert (ran.code, ran.out) == (2, b""), ran.err
    assert reported in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (["cat", CAF, "dir/one.txx"], "no such member"),
        (["payload", ZS, "qqq"], "no such section: qqq; use `exhume list --sections` to list them [EX-402]"),
        (["payload", ZS, "heeder"], "no such section (did you mean 'header'?)"),
        (["explain", ZS, "--section", "heeder"], f"{ZS}: no such section (did you mean 'header'?)"),
        (["export", CAF, "--to", "csv", "--columns", "nmae"], "the table has no such column (did you mean 'name'?)"),
        (["export", ARK, "--to", "arrow", "--topic", "bateries"], "no channel of that name"),
        (["export", CLP, "--to", "jsonl", "--columns", "nmae"], "did you mean 'name'?"),
        (["cat", LDB, "alhpa"], "no such key"),
        (["cat", "ark/amended"], "; use --log GUID to choose one [ARK-108]"),
        (["verify", ""], "exhume: the name of the target is empty [EX-601]"),
        (
            ["verify", ZS, "--offset", "99999"],
            f"{ZS}: the range is outside the file: expected a range within 862 bytes",
        ),
    ],
)
def test_names_that_an_archive_does_not_have(args: list[str], reported: str, exhume_cli: Cli, samples: Path) -> None:
    """The archive has to be read to know: exit code 1, as for any name that is not there."""
    ran = exhume_cli(*(str(samples / word) if "/" in word and (samples / word).exists() else word for word in args))
    assert ran.code == 1, ran.err
    assert reported in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("query", "reported"),
    [
        ("level = ERROR", "found '=' (did you mean level: ERROR?)"),
        ("level == ERROR", "(did you mean level: ERROR?)"),
        ("level != ERROR", "(did you mean NOT level: ERROR?)"),
        ("level: ERROR && n: 1", "(did you mean AND?)"),
        ("level: ERROR || n: 1", "(did you mean OR?)"),
    ],
)
def test_signs_of_other_query_languages(query: str, reported: str, exhume_cli: Cli, samples: Path) -> None:
    ran = exhume_cli("search", samples / CLP, query)
    assert ran.code == 1
    assert reported in ran.err


@pytest.mark.parametrize(
    ("alias", "id"),
    [
        ("clps", "clp-s"), ("clp_s", "clp-s"), (".clps", "clp-s"), ("CLPS", "clp-s"), ("bundle", "databundle"),
        ("sst", "leveldb"), ("ldb", "leveldb"), (".zs", "zs"), ("Zs", "zs"), ("caf", "caf"),
    ],
)  # fmt: skip
def test_other_names_of_formats(alias: str, id: str) -> None:
    assert get_format(alias).id == id


def test_every_protocol_is_a_name(samples: Path, exhume_cli: Cli) -> None:
    from exhume import filesystems

    for name in ("CafFileSystem", "DataBundleFileSystem", "ClpSFileSystem", "ZsFileSystem"):
        assert get_format(getattr(filesystems, name).protocol).id in formats()
    assert exhume_cli("verify", "--format", "clps", samples / CLP).code == 0
    with exhume.open(samples / CLP, format="clps") as archive:
        assert archive.format == "clp-s"


def test_an_unknown_format_is_no_finding(samples: Path) -> None:
    for call in (exhume.open, exhume.verify):
        with pytest.raises(UnrecognizedFormatError, match="did you mean 'zs'"):
            call(samples / ZS, format="zss")


def calls(samples: Path, out: Path) -> list[tuple[Callable[[], Any], str]]:
    """Call with a misspelt argument, and what the error says."""
    zs, clp, ark, caf, ldb, bundle = (
        exhume.open(samples / name) for name in (ZS, CLP, ARK, CAF, LDB, "data_bundle/zlib")
    )
    archives: list[Any] = [zs, clp, ark, caf, ldb, bundle]
    table = [(lambda archive=each: archive.to_arrow(colums=["a"]), "did you mean 'columns'") for each in archives]
    anything: Any = exhume
    return [
        *table,
        (lambda: anything.open(samples / ZS, limit=1), "did you mean 'limits'"),
        (lambda: anything.open(samples / CAF, any_versoin=True), "did you mean 'any_version'"),
        (lambda: anything.open(samples / ARK, unfinishd=True), "did you mean 'unfinished'"),
        (lambda: anything.open(samples / ZS, any_version=True), "of zs archives takes no argument 'any_version'"),
        (lambda: anything.create(out, "zs", codek="deflate"), "did you mean 'codec'"),
        (lambda: anything.create(out, "caf", oder="sorted"), "did you mean 'order'"),
        (lambda: anything.create(out, "ark", compresion="zstd"), "did you mean 'compression'"),
        (lambda: anything.create(out, "clp-s", timestamp_kye="ts"), "did you mean 'timestamp_key'"),
        (lambda: anything.create(out, "databundle", shrads=2), "did you mean 'shards'"),
        (lambda: anything.verify(samples / ZS, qick=True), "did you mean 'quick'"),
        (lambda: anything.explain(samples / ZS, selction=None), "did you mean 'selection'"),
        (lambda: anything.salvage(samples / ZS, out, mod="x"), "did you mean 'mode'"),
        (lambda: anything.salvage(samples / LDB, out, unreferenced=True), "salvage() of leveldb archives takes no"),
        (lambda: anything.recode(samples / ZS, out, codek="none"), "did you mean 'codec'"),
        (lambda: anything.identify(samples / ZS, ofset=1), "ofset"),
        (lambda: anything.carve(samples / ZS, onyl=["zs"]), "onyl"),
        (lambda: archives[0].records(prefx=b"a"), "prefx"),
        (lambda: archives[1].events(ignor_case=True), "did you mean 'ignore_case'"),
        (lambda: archives[1].json_lines("*", ignor_case=True), "did you mean 'ignore_case'"),
        (lambda: archives[1].search("*", ignor_case=True), "did you mean 'ignore_case'"),
        (lambda: archives[2].messages(topic=["a"]), "topic"),
        (lambda: archives[3].read_member("a", begin=1), "begin"),
    ]  # fmt: skip


def test_keyword_arguments_of_the_library(samples: Path, tmp_path: Path) -> None:
    """At the call, not at the first iteration of what it returns."""
    for call, reported in calls(samples, tmp_path / "out"):
        with pytest.raises(TypeError) as caught:
            call()
        assert reported in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_bound_on_times_without_a_query_is_one(samples: Path) -> None:
    with exhume.open(samples / CLP) as archive:
        clp: Any = archive
        assert len(list(clp.events())) > len(list(clp.events(end_ms=0))) == 0
        assert list(clp.json_lines(end_ms=0)) == []


def test_a_hint_reads_no_more_than_it_needs() -> None:
    read = []

    def names() -> Any:
        for number in range(10 * LOOKED_AT):
            read.append(number)
            yield f"member-{number}"

    assert near("memebr-7", names()) == "member-7"
    assert len(read) == LOOKED_AT
    assert near("something else", ["a", "b"]) is None


def test_names_not_found_in_an_error(samples: Path) -> None:
    with exhume.open(samples / CAF) as archive, pytest.raises(EntryNotFoundError, match="no such member"):
        archive.read_section("nothing") if False else archive.match(["nothing"])  # type: ignore[attr-defined]
