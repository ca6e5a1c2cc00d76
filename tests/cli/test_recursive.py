"""`--recursive`: each archive below a directory once, and an account of every other file."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

import exhume
from exhume.engines.identify import walk
from exhume.engines.walk import Kind, join

Cli = Callable[..., Any]

DEEP = "a/b/c/d/e/log"


@pytest.fixture
def evidence(tmp_path: Path, samples: Path) -> Path:
    """Broken ZS files, an Ark log six levels down, a bundle with a foreign file, a database, and unrelated files."""
    root = tmp_path / "evidence"
    shutil.copytree(samples / "ark/log", root / DEEP)
    shutil.copytree(samples / "data_bundle/zlib", root / "bundle")
    shutil.copytree(samples / "leveldb/small", root / "a/db")
    shutil.copy(samples / "zs/words-none.zs", root / "bundle/stranger.zs")
    for name in ("block-cut.zs", "header-crc.zs"):
        (root / "zs").mkdir(exist_ok=True)
        shutil.copy(samples / "zs/broken" / name, root / "zs")
    (root / "a/note.txt").write_text("nothing to see")
    (root / "named.caf").write_bytes(b"x")
    return root


def files(root: Path) -> int:
    return sum(not path.is_dir() or path.is_symlink() for path in root.rglob("*"))


def lines(ran: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.text.splitlines()]


def test_a_directory_is_one_archive_only_when_its_root_is_one(evidence: Path, exhume_cli: Cli) -> None:
    for verb in ("verify", "identify"):
        ran = exhume_cli(verb, evidence)
        assert ran.code == 4
        assert ("incomplete (1 not checked, no known format)" if verb == "verify" else "not recognized") in ran.text
        assert f"{DEEP} (ark), a/db (leveldb)" in ran.text
        assert "--recursive" in ran.text
    ran = exhume_cli("info", evidence)
    assert ran.code == 1
    assert exhume_cli("verify", evidence / DEEP).code == 0
    assert exhume_cli("verify", "--format", "ark", evidence).code == 0  # who requests it gets the logs below


def test_every_file_is_accounted_for_once(evidence: Path) -> None:
    found = list(walk(evidence))
    assert len({one.name for one in found}) == len(found)
    kinds = Counter(one.kind for one in found)
    assert kinds == {Kind.ARCHIVE: 3, Kind.PART: 18, Kind.FILE: 5}
    assert kinds[Kind.PART] + kinds[Kind.FILE] == files(evidence)
    assert {one.name: one.format for one in found if one.kind is Kind.ARCHIVE} == {
        str(evidence / DEEP): "ark",
        str(evidence / "a/db"): "leveldb",
        str(evidence / "bundle"): "databundle",
    }
    owners = Counter(one.archive for one in found if one.kind is Kind.PART)
    assert owners == {str(evidence / DEEP): 4, str(evidence / "a/db"): 6, str(evidence / "bundle"): 8}
    assert [one.name for one in walk(evidence / "a/note.txt")] == [str(evidence / "a/note.txt")]


def test_verify(evidence: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("verify", "--recursive", evidence)
    assert ran.code == 4
    assert (
        f"{evidence}/{DEEP}: ark: ok (1 note, structure is sound; this format has no checksums for its content)"
        in ran.text
    )
    assert f"{evidence}/bundle: databundle: ok" in ran.text
    assert f"{evidence}/bundle/stranger.zs: zs: ok" in ran.text
    assert f"{evidence}/zs/block-cut.zs: zs: damaged" in ran.text
    assert f"{evidence}/a/note.txt: not recognized\n" in ran.text
    assert f"{evidence}/named.caf: not recognized (perhaps caf (30%: only its name ends in .caf))\n" in ran.text
    assert ran.text.endswith(
        "\n6 archives, 18 files that belong to them, 2 files not recognized, 0 links not followed, 0 unreadable\n"
    )
    assert ": part of" not in ran.text
    assert f"/bundle/shard-00000000: part of {evidence}/bundle\n" in exhume_cli("verify", "-rv", evidence).text
    shutil.rmtree(evidence / "zs")
    assert exhume_cli("verify", "-r", evidence).code == 0


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_number_of_workers(evidence: Path, exhume_cli: Cli) -> None:
    alone = exhume_cli("verify", "-r", evidence, "--ndjson")
    together = exhume_cli("verify", "-r", evidence, "--ndjson", "--jobs", "2")
    assert (together.code, together.text) == (alone.code, alone.text)


def test_documents(evidence: Path, exhume_cli: Cli) -> None:
    found = lines(exhume_cli("verify", "-r", evidence, "--json"))
    forms = Counter(one["schema"] for one in found)
    assert forms == {"exhume.verify/1": 6, "exhume.file/1": 26, "exhume.total/1": 1, "exhume.walk/1": 1}
    assert found[-1] == {
        "schema": "exhume.walk/1", "archive": 6, "part": 18, "unrecognized": 2, "link": 0, "unreadable": 0,
    }  # fmt: skip
    verdicts = Counter(one["verdict"] for one in found if one["schema"] == "exhume.verify/1")
    assert found[-2] == {
        "schema": "exhume.total/1", "targets": 6, "verdict": "damaged",
        "verdicts": {"ok": 0, "damaged": 0, "incomplete": 0, **verdicts},
    }  # fmt: skip
    by_name = {one["target"]: one for one in found if one["schema"] == "exhume.file/1"}
    assert by_name[f"{evidence}/bundle/index/CURRENT"] == {
        "schema": "exhume.file/1",
        "target": f"{evidence}/bundle/index/CURRENT",
        "kind": "part",
        "format": "databundle",
        "archive": f"{evidence}/bundle",
        "message": None,
    }
    assert by_name[f"{evidence}/zs/block-cut.zs"]["format"] == "zs"


@pytest.mark.parametrize("args", [["identify"], ["info"], ["list"], ["list", "--sections"], ["explain", "--coverage"]])
@pytest.mark.slow
def test_other_verbs(args: list[str], evidence: Path, exhume_cli: Cli) -> None:
    shutil.rmtree(evidence / "zs")
    ran = exhume_cli(*args, "-r", evidence)
    assert ran.code == 0, ran.err
    assert f"{evidence}/{DEEP}" in ran.text
    assert f"{evidence}/bundle/stranger.zs" in ran.text
    assert "4 archives, 18 files" in ran.text
    documents = exhume_cli(*args, "-r", evidence, "--ndjson")
    assert lines(documents)[-1]["archive"] == 4
    together = exhume_cli(*args, "-r", evidence, "--ndjson", "--jobs", "2")
    assert (together.code, together.text) == (documents.code, documents.text)


def test_what_makes_no_sense(evidence: Path, exhume_cli: Cli) -> None:
    for args, reported in (
        (("explain", "-r", evidence), "requires --coverage"),
        (("verify", "-r", "--format", "zs", evidence), "finds archives by itself"),
        (("info", "-r", "--offset", "1", evidence), "finds archives by itself"),
        (("list", "--jobs", "2", evidence / "bundle/stranger.zs"), "--jobs is for --recursive and --sections"),
        (
            ("explain", "--no-verify", "--jobs", "2", evidence / "bundle/stranger.zs"),
            "--jobs has no effect with --no-verify",
        ),
        (("info", "--jobs", "2", evidence / "a/db"), "--jobs is for --recursive and --stats"),
        (("cat", "-r", "--offset", "1", evidence), "finds archives by itself"),
        (("search", "-r", "--length", "5", evidence, "*"), "finds archives by itself"),
    ):
        ran = exhume_cli(*args)
        assert ran.code == 2
        assert reported in ran.err


@pytest.mark.parametrize("verb", ["list", "info"])
def test_archives_that_an_option_does_not_apply_to_are_named(
    verb: str, samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    names = [tmp_path / "1.clps", tmp_path / "2.caf", tmp_path / "3.zs"]
    for name, sample in zip(names, ("clp_s/tiny.clps", "caf/sorted.caf", "zs/words-none.zs"), strict=True):
        shutil.copy(samples / sample, name)
    alone = exhume_cli(verb, "-r", "--any-version", names[1])
    assert alone.code == 0
    reported = [
        f"{name}: --any-version does not apply to {format} archives"
        for name, format in zip(names[::2], ("clp-s", "zs"), strict=True)
    ]
    for jobs in ("1", "2"):
        ran = exhume_cli(verb, "-r", "--any-version", tmp_path, "--jobs", jobs)
        assert ran.code == 1
        assert ran.err.splitlines() == [f"exhume: {line} [EX-403]" for line in reported]
        assert ran.text == alone.text.replace("1 archive,", "3 archives,")
    errors = exhume_cli(verb, "-r", "--any-version", tmp_path, "--json").err.splitlines()
    assert [f"{one['target']}: {one['message']}" for one in map(json.loads, errors)] == reported


def test_archives_of_one_format_are_chosen(evidence: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("search", "-r", evidence, "*")
    assert (ran.code, "; choose one with --format" in ran.err) == (2, True)
    found = {str(path) for path in evidence.rglob("*.zs")}
    for jobs in ("1", "2"):
        ran = exhume_cli("search", "-r", evidence, "late", "--format", "zs", "--jobs", jobs, "--count", "--json")
        assert {one["target"] for one in json.loads(ran.out)["targets"]} <= found
        assert " of other formats\n" in ran.err
    alone = exhume_cli("cat", evidence / "bundle/stranger.zs")
    assert alone.out in exhume_cli("cat", "-r", "--format", "zs", evidence).out
    assert exhume_cli("cat", "-r", "--format", "clp-ir", evidence).code == 4


def test_where_there_is_no_archive(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "note").write_text("x")
    assert exhume_cli("verify", "-r", tmp_path).code == 4
    assert exhume_cli("cat", "-r", tmp_path).code == 4
    assert exhume_cli("search", "-r", tmp_path, "*").code == 4
    assert exhume_cli("cat", "-r", tmp_path / "missing").code == 1
    ran = exhume_cli("identify", "-r", tmp_path / "missing")
    assert ran.code == 1
    assert "missing: unreadable (No such file or directory)" in ran.text


def test_links_loops_devices_and_locked_folders(
    evidence: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (evidence / "a/loop").symlink_to("..")
    (evidence / "a/copy.zs").symlink_to(evidence / "bundle/stranger.zs")
    (evidence / "a/nowhere").symlink_to("nothing")
    os.mkfifo(evidence / "a/fifo")
    (evidence / "locked").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("/locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = exhume_cli("identify", "-r", evidence)
    assert ran.code == 1
    assert ran.text.count("link not followed\n") == 3
    assert f"{evidence}/locked: unreadable (Permission denied)" in ran.text
    assert f"{evidence}/a/fifo: unreadable (not a regular file or directory)" in ran.text
    assert "6 archives, 18 files that belong to them, 2 files not recognized, 3 links not followed, 2 unr" in ran.text


def test_deep_and_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No recursion, nothing opened on the way, and a first answer before the last directory is listed."""
    tmp_path.joinpath(*["d"] * 100).mkdir(parents=True)
    for number in range(500):
        (tmp_path / f"f{number}").touch()
    listed = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or real(path))  # type: ignore[func-returns-value]
    found = walk(tmp_path)
    assert next(found).kind is Kind.FILE
    assert len(listed) == 1
    assert sum(1 for _ in found) == 499
    assert len(listed) == 101


def test_remote(evidence: Path, exhume_cli: Cli) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(evidence), "/evidence", recursive=True)
    try:
        here = exhume_cli("verify", "-r", evidence)
        there = exhume_cli("verify", "-r", "memory://evidence")
        assert there.code == here.code
        assert there.text == here.text.replace(str(evidence), "memory://evidence")
    finally:
        memory.rm("/evidence", recursive=True)


def test_names_below_chained_urls() -> None:
    assert join("zip://::s3://b/x.zip", "a/b.zs") == "zip://a/b.zs::s3://b/x.zip"
    assert join("s3://b/x/", "a") == "s3://b/x/a"
    assert join("/data", "") == "/data"


def test_each_file_is_requested_once(samples: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One listing of a remote directory, whatever archives are directories below it, and one read of a file."""
    memory = fsspec.filesystem("memory")
    for name in ("zs/words-none.zs", "caf/sorted.caf", "clp_s/tiny.clps"):
        memory.pipe_file(f"/asked/deep/er/{Path(name).name}", (samples / name).read_bytes())
    memory.put(str(samples / "data_bundle/flat"), "/asked/bundle", recursive=True)
    memory.pipe_file("/asked/note.txt", b"nothing to see")
    requested: Counter[tuple[str, str]] = Counter()
    for method in ("find", "ls", "info", "cat_file", "_open"):
        original = getattr(type(memory), method)

        def counting(self: Any, path: str, *args: Any, _of: Any = original, _name: str = method, **kwargs: Any) -> Any:
            requested[_name, str(path)] += 1
            return _of(self, path, *args, **kwargs)

        monkeypatch.setattr(type(memory), method, counting)
    try:
        ran = exhume_cli("list", "--recursive", "memory://asked/")
    finally:
        monkeypatch.undo()
        memory.rm("/asked", recursive=True)
    assert ran.code == 0
    listed = {key: number for key, number in requested.items() if key[0] in ("find", "ls")}
    assert listed == {("find", "/asked"): 1}
    files = {key: number for key, number in requested.items() if "bundle" not in key[1] and key not in listed}
    assert set(files.values()) == {1}
    assert {path for _, path in files} == {
        "/asked/note.txt", "/asked/deep/er/words-none.zs", "/asked/deep/er/sorted.caf", "/asked/deep/er/tiny.clps"
    }  # fmt: skip


@pytest.mark.parametrize(
    "args", [["list"], ["info"], ["verify"], ["identify"], ["explain", "--coverage"], ["cat", "--json"]]
)
def test_each_local_folder_is_listed_once(
    args: list[str], evidence: Path, samples: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding an archive that is a directory, accounting for its files and opening it take one listing together."""
    shutil.copytree(samples / "clp_s/directory", evidence / "clp")
    (evidence / "bundle/strange/er").mkdir(parents=True)
    shutil.copy(samples / "zs/words-none.zs", evidence / "bundle/strange/er")
    folders = [str(evidence), *(str(path) for path in evidence.rglob("*") if path.is_dir())]
    listed: Counter[str] = Counter()
    real = os.scandir

    def scandir(path: Any) -> Any:
        listed[str(path)] += str(path).startswith(str(evidence))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = exhume_cli(*args, "-r", evidence)
    assert "8 archives" in ran.text + ran.err
    assert +listed == dict.fromkeys(folders, 1)


def test_another_process_need_not_list_an_archive(evidence: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [one.tree for one in walk(evidence) if one.kind is Kind.ARCHIVE]
    sent = pickle.dumps(found)
    whole = [tree.names() for tree in found if tree is not None]
    monkeypatch.setattr(os, "scandir", None)
    assert [tree.names() for tree in pickle.loads(sent)] == whole


def test_another_process_need_not_list_a_remote_archive(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(samples / "data_bundle/flat"), "/sent/bundle", recursive=True)
    try:
        (tree,) = (one.tree for one in walk("memory://sent") if one.kind is Kind.ARCHIVE)
        assert tree is not None
        again = pickle.loads(pickle.dumps(tree))
        monkeypatch.setattr(type(memory), "find", None)
        assert again.names() == tree.names() != []
        with exhume.open(again) as bundle, exhume.open(samples / "data_bundle/flat") as same:
            assert list(bundle.entries()) == list(same.entries())
    finally:
        monkeypatch.undo()
        memory.rm("/sent", recursive=True)


def test_each_local_file_is_opened_once(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    root = tmp_path / "opened"
    (root / "deep/er").mkdir(parents=True)
    for name in ("zs/words-none.zs", "caf/sorted.caf", "clp_s/tiny.clps", "kv_ir/small.clp"):
        shutil.copy(samples / name, root / "deep/er")
    (root / "note.txt").write_text("nothing to see")
    opened: Counter[str] = Counter()
    OPENED[str(root)] = opened
    try:
        assert exhume_cli("list", "--recursive", root).code == 0
    finally:
        OPENED.clear()
    assert opened == {str(path): 1 for path in root.rglob("*") if path.is_file()}


OPENED: dict[str, Counter[str]] = {}
"""Where the audit hook counts: the folder that is watched, and how often each file below it was opened."""


def _note_open(event: str, args: tuple[Any, ...]) -> None:
    if OPENED and event == "open" and isinstance(args[0], str):
        for root, opened in OPENED.items():
            if args[0].startswith(root):
                opened[args[0]] += 1


sys.addaudithook(_note_open)
