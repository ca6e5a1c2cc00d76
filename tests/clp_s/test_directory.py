"""Directory archives: the same archive as a file per section, read, damaged, moved and written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, OutputExistsError, UnsafePathError, WriterError
from exhume.formats.clp_s.probe import probe
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.formats.clp_s.recode import recode
from exhume.formats.clp_s.writer import create
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.recovery import SalvageMode
from tests.archives import descriptors, label
from tests.clp_s import build
from tests.clp_s.damaged import ORDERED
from tests.clp_s.directories import CASES, OTHER, WHOLE, changed, tree
from tests.clp_s.make_samples import RECORDS
from tests.real import REAL

Cli = Callable[..., Any]
DAMAGED = [name for name in CASES if name.endswith((" missing", " cut", " longer", " of another archive"))]
SECTIONS = [name for name in WHOLE if name != "header"]


def written(folder: Path, files: dict[str, bytes] = WHOLE) -> Path:
    """The directory on disk."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """The files of a directory."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ------------------------------------------------------------------------------------------------------------ reading


def test_it_reads_as_the_single_file_does() -> None:
    with open_archive(tree(WHOLE)) as archive, open_archive(BytesSource(build.demo().build())) as single:
        assert b"".join(archive.json_chunks()) == build.DEMO_TEXT
        assert list(archive.events(ordered=True)) == list(single.events(ordered=True))
        assert list(archive.json_lines("n: *")) == list(single.json_lines("n: *")) != []
        assert archive.info().to_dict() == single.info().to_dict()
        assert [(entry.source, entry.offset) for entry in archive.entries()] == [
            ("0", table.span.start) for table in archive.tables
        ]
        assert archive.to_arrow().read_all().equals(single.to_arrow().read_all())
        assert archive.content_digest() == single.content_digest()
        names = [section.name for section in single.sections()]
        assert [section.name for section in archive.sections()] == names
        assert all(archive.read_section(name) == single.read_section(name) for name in names)
        assert list(archive.verify()) == []


def test_offsets_are_those_of_each_file() -> None:
    with open_archive(tree(WHOLE)) as archive:
        spans = {section.name: section.span for section in archive.sections()}
        assert (spans["metadata"].source, spans["metadata"].start, spans["metadata"].end) == (
            "header", 64, len(WHOLE["header"]),
        )  # fmt: skip
        for name in SECTIONS:
            span = spans[f"/{name}"]
            assert (span.source, span.start, span.end) == (name, 0, len(WHOLE[name]))
        coverage = archive.sections().coverage()
        assert (coverage.total, coverage.gap) == (sum(map(len, WHOLE.values())), 0)


REAL_ARCHIVES = REAL.glob("clp_s_dir/*/*/archive")


def test_real_directories_are_here() -> None:
    assert {path.parent.parent.name for path in REAL_ARCHIVES} >= {"0.4.1", "0.5.0"}


@pytest.mark.parametrize("path", REAL_ARCHIVES, ids=label)
def test_real_directories_print_what_clp_s_printed(path: Path) -> None:
    with open_archive(LocalTree(path)) as archive:
        assert b"".join(archive.json_chunks()) == (path.parent / "expected.jsonl").read_bytes()
        assert archive.header.version_text == path.parent.parent.name
        assert not [str(found) for found in archive.verify() if found.severity == "error"]
        assert archive.sections().coverage().gap == 0


@pytest.mark.parametrize(
    ("files", "confidence"),
    [
        (WHOLE, 1.0),
        (changed(header=None), 0.6),
        (changed(header=b"?" * 64), 0.6),
        (changed(header=WHOLE["header"][:10]), 0.6),
        (changed(notes=b"?"), 1.0),
        ({"header": WHOLE["header"]}, 0.4),
        ({"0": b"", "log.dict": b"", "var.dict": b""}, 0.0),
        ({"header": b"something else"}, 0.0),
        ({}, 0.0),
    ],
)
def test_identified(files: dict[str, bytes], confidence: float) -> None:
    found = probe(MemoryTree(files))
    assert (found.confidence if found else 0.0) == pytest.approx(confidence)


def test_recognizing_it_imports_no_other_format(samples: Path) -> None:
    code = (
        "import sys, exhume\n"
        "with exhume.open(sys.argv[1]) as archive:\n"
        "    parts = [name.split('.') for name in sys.modules if name.startswith('exhume.formats.')]\n"
        "    print(archive.format, *(part[2] for part in parts if part[3:] == ['probe']))"
    )
    command = [sys.executable, "-c", code, str(samples / "clp_s" / "directory")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["clp-s", "clp_s"]


@pytest.mark.parametrize("name", DAMAGED)
def test_each_damaged_file_is_one_finding_with_its_name(name: str) -> None:
    """And at its place: where the file ends, or what it has too much begins."""
    file, how = name.split(" ", 1)
    files = CASES[name]
    (found,) = exhume.verify(tree(files), format="clp-s")
    assert found.span is not None
    assert found.span.source == file
    size, stated = len(files.get(file, b"")), len(WHOLE[file])
    if how == "missing":
        assert (found.code, found.span.start) == ("CLPS-307", 0)
    elif name == "header of another archive":
        assert (found.code, found.span.start) == ("CLPS-313", 64)
    elif size < stated:
        assert (found.code, found.span.start) == ("CLPS-302", size)
    else:
        assert (found.code, found.span.start) == ("CLPS-303" if file == "header" else "CLPS-312", stated)


@pytest.mark.parametrize("name", [name for name in DAMAGED if not name.startswith(("header", "schema", "table"))])
def test_what_does_not_need_the_damaged_file_is_read(name: str) -> None:
    with open_archive(tree(CASES[name])) as archive:
        assert archive.info().to_dict()["records"] == 3
        assert archive.schema_tree.keys
        assert archive.packets
        sections = {section.name for section in archive.sections()}
        assert {"header", "metadata", "/schema_tree", "/schema_ids", "/table_metadata"} <= sections
        file = f"/{name.split(' ')[0]}"
        with pytest.raises(ExhumeError):
            archive.stream_payload(0) if file == "/0" else archive.dictionary(file)


def test_a_cut_stream_keeps_those_before_it() -> None:
    files = build.directory(ORDERED.build())
    files["0"] = files["0"][:-3]
    with open_archive(tree(files)) as archive:
        lines: list[bytes] = []
        with pytest.raises(ExhumeError, match="CLPS-302") as caught:
            lines += archive.json_lines()
        assert len(list(archive.tables[0].load().columns[0].values)) == 3
        assert caught.value.span is not None
        assert (caught.value.span.source, caught.value.span.start) == ("0", len(files["0"]))


def test_refused_without_a_header() -> None:
    with pytest.raises(ExhumeError, match="CLPS-105"):
        open_archive(tree(CASES["before there was a header"]))
    with pytest.raises(ExhumeError, match="CLPS-307"):
        open_archive(tree(changed(header=None)))
    with pytest.raises(ExhumeError, match="CLPS-101"):
        open_archive(tree({"notes": b""}))


def test_the_map_shows_every_file_where_the_header_is_gone(tmp_path: Path, exhume_cli: Cli) -> None:
    folder = written(tmp_path / "logs", changed(header=None))
    shown = json.loads(exhume_cli("list", "--sections", "--json", folder).out)
    assert {section["source"] for section in shown["sections"]} == set(SECTIONS)
    assert {section["kind"] for section in shown["sections"]} == {"unread"}


def test_tables_under_their_old_name() -> None:
    """0.2.0 called the tables so, in directories as well."""
    built = build.demo()
    sections = built.sections()
    names = [name if name != "/0" else "/tables" for name in sections]
    data = built.replace(
        file_info=lambda files: {"files": [{**entry, "n": name} for entry, name in zip(files, names, strict=True)]}
    ).build()
    files = build.directory(data)
    assert "tables" in files
    with open_archive(tree(files)) as archive:
        assert b"".join(archive.json_chunks()) == build.DEMO_TEXT


def test_all_files_are_closed(tmp_path: Path) -> None:
    folder = written(tmp_path / "logs")
    with open_archive(LocalTree(folder)) as archive:
        list(archive.json_lines())
        assert descriptors(folder) == len(WHOLE)
    assert descriptors(folder) == 0


# ------------------------------------------------------------------------------------------------------------ salvage


@pytest.mark.parametrize("name", CASES)
def test_salvage_takes_what_is_whole(name: str, tmp_path: Path) -> None:
    report = exhume.salvage(tree(CASES[name]), tmp_path / "out", format="clp-s")
    if name in ("whole", "something beside it", "tables as they were once called") or name.endswith(" longer"):
        assert not report.lost
    else:
        assert report.lost
    if name.startswith(("schema", "table_")) and not name.endswith(" longer"):
        assert not (tmp_path / "out").exists()
    assert not report.findings


def test_a_foreign_header_is_not_believed(tmp_path: Path) -> None:
    """Its patterns and its version are of other records."""
    report = exhume.salvage(tree(changed(header=OTHER["header"])), tmp_path / "a", format="clp-s")
    without = exhume.salvage(tree(changed(header=None)), tmp_path / "b", format="clp-s")
    assert report.to_dict()["recovered"] == without.to_dict()["recovered"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_salvaged_records(tmp_path: Path) -> None:
    exhume.salvage(tree(WHOLE), tmp_path / "out", format="clp-s", mode=SalvageMode.RECORDS)
    assert (tmp_path / "out").read_bytes() == build.DEMO_TEXT


# -------------------------------------------------------------------------------------------------------------- moving


def test_recode_moves_stored_bytes(tmp_path: Path, exhume_cli: Cli) -> None:
    single = tmp_path / "a.clps"
    single.write_bytes(build.demo().build())
    assert exhume_cli("recode", single, "--directory", "-o", tmp_path / "b").code == 0
    assert content(tmp_path / "b") == WHOLE
    assert exhume_cli("recode", tmp_path / "b", "--single-file", "-o", tmp_path / "c.clps").code == 0
    assert (tmp_path / "c.clps").read_bytes() == single.read_bytes()
    assert exhume_cli("recode", tmp_path / "b", "-o", tmp_path / "d").code == 0
    assert set(content(tmp_path / "d")) == set(WHOLE)  # recompressed, in the same form
    with exhume.open(tmp_path / "d") as archive, exhume.open(single) as before:
        assert archive.content_digest() == before.content_digest()


def test_recode_stored_into_a_directory(tmp_path: Path) -> None:
    exhume.recode(build.demo().build(), tmp_path / "d", format="clp-s", stored=True, directory=True)
    with exhume.open(tmp_path / "d") as archive:
        assert isinstance(archive, ClpSArchive)
        assert archive.read_section("/var.dict") in archive.file_entry("/var.dict").read()


def test_a_gap_is_not_moved(tmp_path: Path) -> None:
    """The list of sections is then rebuilt, since the files have no place for it."""

    def later(files: list[dict[str, Any]]) -> dict[str, Any]:
        return {"files": [{**entry, "o": entry["o"] + 7} for entry in files]}

    built = build.demo().replace(file_info=later)
    data = built.replace(header={"archive_size": len(built.build()) + 7}).build()
    with open_archive(BytesSource(data)) as archive:
        base = archive.header.files_base
    data = data[:base] + b"no use!" + data[base:]
    for source, form in ((data, True), (data, False)):
        exhume.recode(source, tmp_path / str(form), format="clp-s", directory=form)
        with exhume.open(tmp_path / str(form)) as moved:
            assert isinstance(moved, ClpSArchive)
            assert b"".join(moved.json_chunks()) == build.DEMO_TEXT
            assert moved.sections().coverage().gap == 0
            assert not list(moved.verify())


@pytest.mark.parametrize("name", ["/header", "/a/b", "/..", "/", "/var.dict"])
def test_sections_that_no_file_can_be_called_after(name: str, tmp_path: Path) -> None:
    data = build.demo(stored_sections={"/odd": b"x"})
    data = data.replace(
        file_info=lambda files: {"files": [{**entry, "n": entry["n"].replace("/odd", name)} for entry in files]}
    )
    with open_archive(BytesSource(data.build())) as archive, pytest.raises((WriterError, UnsafePathError)):
        recode(archive, tmp_path / "out", directory=True)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_not_moved(tmp_path: Path) -> None:
    for name in ("var.dict missing", "var.dict longer", "0 cut"):
        with open_archive(tree(CASES[name])) as archive, pytest.raises(ExhumeError):
            recode(archive, tmp_path / "out", directory=False)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------- writing


def write(target: Path, **options: Any) -> list[Path]:
    with create(target, creator_id="x", timestamp_key="ts", **options) as writer:
        writer.unit("first.jsonl")
        for line in RECORDS:
            writer.write_json_line(line)
    return writer.paths


def test_written_directories_are_the_single_file_in_pieces(tmp_path: Path) -> None:
    write(tmp_path / "a.clps")
    write(tmp_path / "b", directory=True)
    assert content(tmp_path / "b") == build.directory((tmp_path / "a.clps").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.clps", "b"]


def test_several_directories(tmp_path: Path) -> None:
    paths = write(tmp_path / "logs", directory=True, target_encoded_size=1)
    assert [path.name for path in paths] == ["logs", "logs.1", "logs.2"]
    assert [len(list(open_archive(LocalTree(path)).json_lines())) for path in paths] == [1, 1, 1]


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        with create(tmp_path / "logs", directory=True, target_encoded_size=1) as writer:
            for line in RECORDS:
                writer.write_json_line(line)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("exhume.formats.clp_s.write.series._PENDING", 1)
    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    written(tmp_path / "logs")
    for overwrite in (False, True):
        with pytest.raises(OutputExistsError, match="a directory, which is never replaced"):
            write(tmp_path / "logs", directory=True, overwrite=overwrite)
    assert content(tmp_path / "logs") == WHOLE


def test_create_on_the_command_line(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(RECORDS))
    ran = exhume_cli("create", "clp-s", "--directory", "--json", tmp_path / "in.jsonl", "-o", tmp_path / "logs")
    (reported,) = json.loads(ran.out)["archives"]
    assert reported == {
        "path": str(tmp_path / "logs"),
        "size": sum(file.stat().st_size for file in (tmp_path / "logs").iterdir()),
    }
    assert exhume_cli("verify", tmp_path / "logs").code == 0


# ------------------------------------------------------------------------------------------------------- many of them


def test_a_folder_of_archives(tmp_path: Path, exhume_cli: Cli) -> None:
    """A folder is not an archive itself: its archives are named, and use --recursive for with its files."""
    for name in ("one", "two"):
        written(tmp_path / name)
    (tmp_path / "one" / "notes").write_text("?")
    for args in (("cat", tmp_path), ("search", tmp_path, "*")):
        refused = exhume_cli(*args)
        assert refused.code == 1
        assert "one (clp-s), two (clp-s)" in refused.err
        assert "use --recursive for" in refused.err
    assert exhume_cli("cat", "--recursive", tmp_path).out == build.DEMO_TEXT * 2
    found = exhume_cli("search", "--recursive", tmp_path, "n: *", "--count")
    assert found.text == f"{tmp_path}/one: 2\n{tmp_path}/two: 2\ntotal: 4\n"
    assert f"2 archives, {2 * len(WHOLE)} files that belong to them, 1 file not recognized" in found.err
    (tmp_path / "two" / "schema_tree").write_bytes(b"")
    assert exhume_cli("cat", "-r", tmp_path).code == 1
    (tmp_path / "two" / "schema_tree").write_bytes((tmp_path / "one" / "schema_tree").read_bytes())
    ran = exhume_cli("info", "--recursive", "--ndjson", tmp_path)
    kinds: dict[str, int] = {}
    for line in ran.out.splitlines():
        document = json.loads(line)
        if "kind" in document:
            kinds[document["kind"]] = kinds.get(document["kind"], 0) + 1
    assert kinds == {"archive": 2, "part": 2 * len(WHOLE), "unrecognized": 1}


def test_several_are_searched_and_printed(tmp_path: Path, exhume_cli: Cli) -> None:
    folders = [written(tmp_path / name) for name in ("one", "two")]
    single = tmp_path / "one.clps"
    single.write_bytes(build.demo().build())
    assert exhume_cli("search", *folders, single, "n: *").out.count(b"\n") == 6
    assert exhume_cli("cat", folders[0], folders[1]).out == build.DEMO_TEXT * 2


def test_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(written(tmp_path / "from"), folder)
    with open_archive(LocalTree(folder)) as archive:
        parts = archive.partitions(1)
        assert [event for part in parts for event in part.records()] == list(archive.events())
        assert sum(part.size for part in archive.partitions(None)) == sum(map(len, WHOLE.values()))
