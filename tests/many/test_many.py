"""Verbs over many targets: the answer is the same in one process, in several, and (see test_cluster) on a cluster."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from exhume.cli.many import OutputNames, is_glob
from exhume.distributed import workers
from exhume.findings import Verdict

Cli = Callable[..., Any]


def zs(archives: Path) -> list[Path]:
    return sorted(archives.glob("z*.zs"))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("form", [[], ["--json"], ["--ndjson"]], ids=["text", "json", "ndjson"])
@pytest.mark.slow
def test_verify(archives: Path, exhume_cli: Cli, form: list[str]) -> None:
    targets = [*zs(archives), archives / "c4.caf", archives / "none.zs", *sorted(archives.glob("l*.clps"))]
    plain = exhume_cli("verify", *form, *targets)
    many = exhume_cli("verify", *form, "--jobs", 2, *targets)
    assert (plain.code, plain.out) == (many.code, many.out)
    assert plain.code == 1  # one target is not there
    if form == ["--json"]:
        *documents, total = map(json.loads, plain.text.splitlines())
        verdicts = {one: sum(document["verdict"] == one for document in documents) for one in Verdict}
        assert total == {
            "schema": "exhume.total/1", "targets": len(targets), "verdict": "damaged", "verdicts": verdicts,
        }  # fmt: skip
        assert [one["target"] for one in documents] == [str(target) for target in targets]
        ok = {Path(one["target"]).name for one in documents if one["ok"]}
        assert ok == {target.name for target in targets} - {"z03.zs", "z07.zs", "c4.caf", "none.zs"}
        lost = next(one for one in documents if one["target"].endswith("none.zs"))
        assert (lost["format"], [finding["code"] for finding in lost["findings"]]) == (None, ["EX-601"])
    assert exhume_cli("verify", *zs(archives)).code == 4
    sound = exhume_cli("verify", *sorted(archives.glob("l*.clps")))
    assert sound.code == 0
    assert re.fullmatch(r"total: ok \(\d+ ok\)", sound.text.splitlines()[-1])


def test_verify_of_one_target_is_what_it_was(archives: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("verify", archives / "z03.zs", "--jobs", 2).code == 4
    gone = exhume_cli("verify", archives / "none.zs")
    assert (gone.code, gone.out) == (1, b"")
    assert exhume_cli("verify").code == 2


def test_targets_from_a_file_and_from_standard_input(archives: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    names = "".join(f"{path}\n" for path in zs(archives))
    listed = tmp_path / "list"
    listed.write_text(names + "\n")
    plain = exhume_cli("verify", *zs(archives))
    assert exhume_cli("verify", "--targets-from", listed).out == plain.out
    assert exhume_cli("verify", "--targets-from", "-", "--jobs", 2, input=names.encode()).out == plain.out
    assert exhume_cli("verify", "--targets-from", tmp_path / "none").code == 1
    listed.write_text("\n")
    ran = exhume_cli("verify", "--targets-from", listed)
    assert (ran.code, ran.err) == (1, f"exhume: {listed}: no targets in this list [EX-601]\n")
    ran = exhume_cli("verify", "--targets-from", "-", "--jobs", 2, input=b"")
    assert (ran.code, ran.err) == (1, "exhume: -: no targets in this list [EX-601]\n")


def test_globs_over_urls(archives: Path, exhume_cli: Cli) -> None:
    memory = fsspec.filesystem("memory")
    for path in zs(archives):
        memory.pipe_file(f"/many/{path.name}", path.read_bytes())
    try:
        found = exhume_cli("verify", "--json", "memory://many/z*.zs")
        assert found.code == 4
        assert len(found.text.splitlines()) == 13
        chained = exhume_cli("verify", "--json", f"file://{archives}/z0[12].zs")
        assert [json.loads(line)["verdict"] for line in chained.text.splitlines()] == ["ok"] * 3
        none = exhume_cli("verify", "memory://many/*.nothing")
        assert none.code == 1
        assert "no file or object matches" in none.err
    finally:
        memory.rm("/many", recursive=True)


def test_what_is_a_glob() -> None:
    assert is_glob("s3://bucket/*.clps")
    assert is_glob("zip://*.zs::s3://bucket/a.zip")
    assert not is_glob("https://host/a.zs?signature=x")
    assert is_glob("https://host/dir/*.zs")
    assert not is_glob("/local/*.zs")
    assert not is_glob("zip://a.zs::s3://bucket/*.zip")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("more", [[], ["--count"]], ids=["records", "count"])
@pytest.mark.slow
def test_search_zs(archives: Path, exhume_cli: Cli, form: list[str], more: list[str]) -> None:
    targets = [path for path in zs(archives) if path.stem not in ("z03", "z07")]
    names = [] if form else ["-h"]
    plain = exhume_cli("search", *names, *form, *more, *targets, "key1")
    many = exhume_cli("search", *names, *form, *more, "--jobs", 2, *targets, "key1")
    assert plain.code == many.code == 0
    assert plain.out == many.out
    singles = b"".join(exhume_cli("search", *form, *more, target, "key1").out for target in targets)
    if not (more and form):
        assert plain.out == singles
    else:
        counts = [json.loads(line)["count"] for line in singles.splitlines()]
        assert [one["count"] for one in json.loads(plain.text)["targets"]] == counts


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("more", [[], ["--count"], ["--explain-plan"]], ids=["records", "count", "plan"])
@pytest.mark.slow
def test_search_clps(archives: Path, exhume_cli: Cli, form: list[str], more: list[str]) -> None:
    targets = sorted(archives.glob("l*.clps"))
    plain = exhume_cli("search", *form, *more, *targets, "n >= 2 AND even: true")
    many = exhume_cli("search", *form, *more, "--jobs", 2, *targets, "n >= 2 AND even: true")
    assert plain.code == 0
    assert (plain.out, plain.err) == (many.out, many.err)
    if form == ["--json"]:
        document = json.loads(plain.text)  # one document, whatever the number of targets
        if more == ["--count"]:
            assert document["count"] == 12
        elif more:
            assert [plan["target"] for plan in document["plans"]] == [str(target) for target in targets]
        else:
            assert [match["target"] for match in document["matches"]] == [str(t) for t in targets for _ in range(2)]
    elif more == ["--count"] and not form:
        assert plain.text.splitlines()[-1] == "total: 12"


def test_search_states_what_failed_and_continues(archives: Path, exhume_cli: Cli) -> None:
    targets = [archives / "l0.clps", archives / "none.clps", archives / "l1.clps"]
    for jobs in (1, 2):
        found = exhume_cli("search", "--json", "--jobs", jobs, *targets, "n: 1")
        assert found.code == 1
        assert len(json.loads(found.text)["matches"]) == 2
        reported = json.loads(found.err)
        assert (reported["schema"], reported["target"], reported["code"]) == (
            "exhume.error/1",
            str(targets[1]),
            "EX-601",
        )
    assert exhume_cli("search", targets[0], targets[2], "n: 77", "--exit-code").code == 4
    assert exhume_cli("search", targets[0], targets[2], "n: 77").code == 0


@pytest.mark.slow
def test_search_refuses_what_no_target_would_answer(archives: Path, exhume_cli: Cli) -> None:
    two = [archives / "l0.clps", archives / "l1.clps"]
    for jobs in (1, 2):
        broken = exhume_cli("search", "--jobs", jobs, *two, "n: (")
        assert (broken.code, broken.err.count("EX-401")) == (1, 1)
        assert exhume_cli("search", "--jobs", jobs, *two, "n: 1", "--terminator", "x").code == 2
        mixed = exhume_cli("search", "--jobs", jobs, two[0], archives / "z00.zs", "n: 1")
        assert (mixed.code, mixed.out) == (2, b"")
    assert exhume_cli("search", "n: 1").code == 2


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.slow
def test_salvage(archives: Path, exhume_cli: Cli, tmp_path: Path, form: list[str]) -> None:
    targets = [*zs(archives), archives / "c4.caf", archives / "none.zs"]
    plain = exhume_cli("salvage", *form, *targets, "-o", tmp_path / "one" / "out")
    many = exhume_cli("salvage", *form, "--jobs", 2, *targets, "-o", tmp_path / "two" / "out")
    assert plain.code == many.code == 1  # one is not there
    assert plain.text.replace("/one/", "/two/") == many.text
    made = files_below(tmp_path / "one")
    assert set(made) == {f"out/{path.name}" for path in targets[:-1]}
    assert made == files_below(tmp_path / "two")
    lossy = exhume_cli("salvage", *zs(archives), "-o", tmp_path / "three")
    assert lossy.code == 3
    assert exhume_cli("salvage", *zs(archives), "-o", tmp_path / "three").code == 1  # not empty any more
    assert exhume_cli("verify", *sorted((tmp_path / "three").iterdir())).code == 0


@pytest.mark.slow
def test_export(archives: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    targets = [*sorted(archives.glob("c*.caf")), archives / "none.caf"]
    plain = exhume_cli("export", "--json", "--to", "tar", *targets, "-o", tmp_path / "one" / "out")
    many = exhume_cli("export", "--json", "--to", "tar", "--jobs", 2, *targets, "-o", tmp_path / "two" / "out")
    assert plain.code == many.code == 1
    assert plain.text.replace("/one/", "/two/") == many.text
    made = files_below(tmp_path / "one")
    assert set(made) == {f"out/c{number}.tar" for number in (0, 1, 2, 3, 5)}
    assert made == files_below(tmp_path / "two")
    assert exhume_cli("export", "--to", "tar", *targets).code == 2  # to where?


def test_catalog_build(archives: Path, exhume_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = sorted(archives.glob("c*.caf"))
    started: list[int] = []
    processes = workers.Processes

    def counted(count: int) -> workers.Processes:
        started.append(count)
        return processes(count)

    monkeypatch.setattr(workers, "Processes", counted)
    plain = exhume_cli("catalog", "build", "--json", tmp_path / "one.db", *chunks)
    many = exhume_cli("catalog", "build", "--json", tmp_path / "two.db", "--jobs", 2, *chunks)
    assert not started, "handing over a local index costs more than reading it"
    exhume_cli("catalog", "build", tmp_path / "three.db", "--jobs", 2, *(chunk.as_uri() for chunk in chunks))
    assert started == [2]
    assert plain.code == many.code == 3
    assert plain.text.replace("one.db", "two.db") == many.text
    assert json.loads(plain.text)["files"] == 15
    rows = []
    for name in ("one.db", "two.db", "three.db"):
        with sqlite3.connect(tmp_path / name) as database:
            rows.append(database.execute("SELECT * FROM file_locations ORDER BY 1, 2").fetchall())
            indexes = database.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE INDEX%'").fetchall()
            assert sorted(indexes) == [("caf_files_location",), ("file_locations_path",)]
        database.close()
    assert rows[0] == rows[1] == rows[2]
    assert len(rows[0]) == 15


def test_names_of_outputs_are_distinct() -> None:
    names = OutputNames()
    targets = ["a/x.zs", "b/x.zs", "c/x-2.zs", "d/x.zs", "s3://b/k/x.zs", "https://h/x.zs?y", ".hidden", "e/"]
    found = [names.of(target) for target in targets]
    assert found == ["x.zs", "x-2.zs", "x-2-2.zs", "x-3.zs", "x-4.zs", "x-5.zs", ".hidden", "e"]
    other = OutputNames()
    assert [other.of(target, ".tar", keep_extension=False) for target in ("a.zs", "a.caf")] == ["a.tar", "a-2.tar"]
