"""`--audit` and `exhume audit`: the content of a record, the chain that reveals changes, the untouched inputs."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.cli import records as records_of
from exhume.cli.main import main
from exhume.io import activity
from exhume.io.output import stream
from exhume.testing.damage import FULL, Disk
from tests.conftest import ROOT
from tests.faults.methods import ARCHIVES
from tests.json_schemas import validate
from tests.sizes import some

Cli = Callable[..., Any]


@pytest.fixture
def archive(tmp_path: Path, samples: Path) -> Path:
    path = tmp_path / "a.zs"
    shutil.copy(samples / ARCHIVES["zs"], path)
    return path


def records(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    for record in found:
        validate(record)
    return found


def test_every_verb_takes_it() -> None:
    import click

    def leaves(command: click.Command, context: click.Context) -> list[click.Command]:
        if not isinstance(command, click.Group):
            return [command]
        found = (command.get_command(context, name) for name in command.list_commands(context))
        return [leaf for one in found if one is not None for leaf in leaves(one, context)]

    for command in some(leaves(main, click.Context(main))):
        names = {parameter.name for parameter in command.params}
        assert "audit" in names or command.name == "completion", command.name


def test_a_record_states_what_was_done(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    ran = exhume_cli("recode", archive, "-o", tmp_path / "b.zs", "--codec", "none", "--audit", log)
    assert ran.code == 0
    (record,) = records(log)
    assert f"exhume: audit {record['digest']}" in ran.err
    assert record["schema"] == "exhume.audit-record/1"
    assert (record["command"], record["number"], record["previous"], record["exit_code"]) == (["recode"], 1, None, 0)
    assert record["options"]["target"] == str(archive)
    assert record["options"]["codec"] == "none"
    assert record["tool"]["name"] == "exhume"
    assert record["tool"]["libraries"]["zstandard"]
    (read,) = record["inputs"]
    assert read["name"] == str(archive)
    assert read["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert (read["size"], read["changed"], read["read"]) == (archive.stat().st_size, [], [[0, archive.stat().st_size]])
    (made,) = record["outputs"]
    assert made["name"] == str(tmp_path / "b.zs")
    assert made["sha256"] == hashlib.sha256((tmp_path / "b.zs").read_bytes()).hexdigest()
    assert activity.current is None


def test_findings_and_errors_are_kept(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    assert exhume_cli("verify", archive, "--audit", log).code == 4
    assert exhume_cli("cat", archive, "--audit", log).code == 1
    assert exhume_cli("carve", archive, "--audit", log, "-o", tmp_path / "out").code == 0
    assert exhume_cli("salvage", archive, "--audit", log, "-o", tmp_path / "saved").code == 3
    assert exhume_cli("search", archive, "--audit", log).code == 2  # no query
    first, second, third, fourth, fifth = records(log)
    assert (fifth["exit_code"], fifth["error"]) == (2, "UsageError")
    assert first["findings_total"] == len(first["findings"]) > 0
    assert first["findings"][0]["code"].startswith("ZS-")
    assert second["error"]["code"].startswith("ZS-")
    assert second["exit_code"] == 1
    assert {one["kind"] for one in third["findings"]} == {"archive"}
    assert len(third["outputs"]) == 1
    assert "salvage" in {one["kind"] for one in fourth["findings"]}
    assert [one["number"] for one in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert [one["previous"] for one in (second, third, fourth)] == [one["digest"] for one in (first, second, third)]


def test_only_what_is_read_counts_as_read(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    exhume_cli("identify", archive, "--audit", log)
    exhume_cli("cat", archive, "--prefix", "nothing like it", "--audit", log)
    for record in some(records(log)):
        (read,) = record["inputs"]
        assert all(0 <= start < end <= read["size"] for start, end in read["read"])


def test_the_chain(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    for number in range(3):
        exhume_cli("payload", archive, "header", "-o", tmp_path / f"out{number}", "--audit", log)
    ran = exhume_cli("audit", log, "--json")
    document = json.loads(ran.text)
    last = records(log)[-1]["digest"]
    assert (ran.code, document["ok"], document["records"], document["last_digest"]) == (0, True, 3, last)
    assert {one["state"] for one in document["files"]} == {"unchanged"}
    assert exhume_cli("audit", log, "--expect", last).code == 0
    lines = log.read_bytes().splitlines(keepends=True)
    for wrong, words in (
        ([lines[0], lines[2]], "does not follow"),
        ([lines[1], lines[2]], "does not follow"),
        ([lines[0], lines[1].replace(b'"exit_code":0', b'"exit_code":3'), lines[2]], "its digest covers"),
        ([lines[0], lines[0], lines[1]], "does not follow"),
        ([*lines, b"{}\n"], "not a record"),
        ([*lines, b"\xff\n"], "not a record"),
        ([lines[0], lines[1][:-1]], "truncated"),
        ([], "no records"),
    ):
        (tmp_path / "wrong").write_bytes(b"".join(wrong))
        ran = exhume_cli("audit", tmp_path / "wrong")
        assert ran.code == 4
        assert words in ran.text
    log.write_bytes(b"".join(lines[:2]))  # only the digest shows that the end is missing
    assert exhume_cli("audit", log).code == 0
    ran = exhume_cli("audit", log, "--expect", last)
    assert ran.code == 4
    assert "expected" in ran.text
    assert exhume_cli("audit", tmp_path / "missing").code == 1


@pytest.mark.parametrize("special", ["fifo", "/dev/zero", "/dev/null"])
def test_only_regular_files_contain_records(tmp_path: Path, archive: Path, exhume_cli: Cli, special: str) -> None:
    """What waits for others, or has no end, is refused at once."""
    os.mkfifo(tmp_path / "fifo")
    for words in (("audit", tmp_path / special), ("verify", archive, "--audit", tmp_path / special)):
        ran = exhume_cli(*words)
        assert ran.code == 1
        assert "not a regular file" in ran.err


def test_records_of_others_are_not_trusted(tmp_path: Path, exhume_cli: Cli) -> None:
    """A program that can write a record can compute a matching digest."""
    os.mkfifo(tmp_path / "fifo")
    log = tmp_path / "log"
    wrong = (
        [{"sha256": "0"}],
        [{"name": 5, "sha256": "0"}],
        [{"name": "x", "sha256": {}}],
        5,
        [5],
        ["sha256"],
    )
    for named in wrong:
        for role in ("inputs", "outputs"):
            log.write_bytes(forged({role: named}))
            ran = exhume_cli("audit", log)
            assert (ran.code, "not a record" in ran.text) == (4, True), (named, ran.text)
    for name in ("/dev/zero", os.fspath(tmp_path / "fifo"), "", "\0"):
        log.write_bytes(forged({"inputs": [{"name": name, "sha256": "0"}]}))
        ran = exhume_cli("audit", log)
        assert "missing" in ran.text


def test_a_line_without_an_end_is_no_record(tmp_path: Path, archive: Path, exhume_cli: Cli, monkeypatch: Any) -> None:
    monkeypatch.setattr(records_of, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(stream, "LONGEST_LINE", 1 << 20)
    log = tmp_path / "log"
    log.write_bytes(b" " * (3 << 20) + b"\n")
    assert "not a record" in exhume_cli("audit", log).text
    ran = exhume_cli("verify", archive, "--audit", log)
    assert ran.code == 1
    assert "too long for a record" in ran.err


def forged(facts: dict[str, Any]) -> bytes:
    """A first record that has its digest."""
    record = {"schema": records_of.SCHEMA, "number": 1, "previous": None, **facts}
    return records_of.canonical({**record, "digest": records_of.digest_of(record)}) + b"\n"


def test_files_that_changed_or_went(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    exhume_cli("payload", archive, "header", "-o", out, "--audit", log)
    out.write_bytes(b"something else")
    ran = exhume_cli("audit", log)
    assert ran.code == 4
    assert f"output {out}: changed" in ran.text
    assert exhume_cli("audit", log, "--no-files").code == 0
    out.unlink()
    ran = exhume_cli("audit", log)
    assert ran.code == 4
    assert f"output {out}: missing" in ran.text
    assert "NOT ok" in ran.text


def test_a_record_that_cannot_be_written(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    assert exhume_cli("verify", archive, "--audit", tmp_path / "no" / "log").code == 1
    exhume_cli("verify", archive, "--audit", log)
    whole = log.read_bytes()
    for fault in (Disk("write", 0, FULL), Disk("sync", 0)):
        with fault:
            ran = exhume_cli("verify", archive, "--audit", log)
        assert ran.code == 1
        assert "EX-601" in ran.err
        assert log.read_bytes() == whole
    log.write_bytes(whole[:-1])
    ran = exhume_cli("payload", archive, "header", "-o", tmp_path / "out", "--audit", log)
    assert ran.code == 1
    assert "does not end with a complete record" in ran.err
    assert not (tmp_path / "out").exists()  # it was not begun


def test_workers_are_refused(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("verify", archive, archive, "--jobs", 2, "--audit", tmp_path / "log")
    assert ran.code == 2
    assert not (tmp_path / "log").exists()
    assert exhume_cli("verify", archive, archive, "--audit", tmp_path / "log").code == 0


def test_two_processes_add_one_after_the_other(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "exhume", "verify", str(archive), "--audit", str(log), "-q"]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [one.wait() for one in running] == [0] * 4
    assert exhume_cli("audit", log).code == 0
    assert len(records(log)) == 4


def test_nothing_of_it_is_imported_without_it(archive: Path) -> None:
    script = (
        "import sys; from exhume.cli.main import invoke; invoke(sys.argv[1:]); print('exhume.cli.audit' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "verify", str(archive)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


READING = ("identify", "info", "list", "cat", "verify", "explain", "map")


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_inputs_stay_untouched(name: str, tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    """Content, mode, times and extended attributes; the time of the last access too, where the system can leave it."""
    source, path = samples / ARCHIVES[name], tmp_path / "evidence"
    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
    files = [one for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file()]
    for file in files:
        try:
            os.setxattr(file, "user.case", b"4711")
        except OSError as error:
            assert error.errno in (errno.ENOTSUP, errno.EPERM)
        os.utime(file, ns=(1_000_000_000, 2_000_000_000))
    before = {str(file): records_of.facts_of(str(file)) for file in files}
    assert all(facts["atime_ns"] == "1000000000" for facts in before.values())
    for verb in READING:
        words = ["--svg", str(tmp_path / f"{verb}.svg")] if verb == "map" else []
        assert exhume_cli(verb, path, *words).code in (0, 3)
    exhume_cli("salvage", path, "-o", tmp_path / "saved")
    assert {str(file): records_of.facts_of(str(file)) for file in files} == before
    assert sorted(str(one) for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file()) == sorted(before)


@pytest.mark.parametrize("how", ["read-only mount", "immutable"])
def test_evidence_that_cannot_be_written(how: str, tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    path = Path(shutil.copy(archive, folder / "a.zs"))
    begin, end = {
        "read-only mount": (
            [["mount", "--bind", folder, folder], ["mount", "-o", "remount,bind,ro", folder]],
            [["umount", folder]],
        ),
        "immutable": ([["chattr", "+i", path]], [["chattr", "-i", path]]),
    }[how]
    try:
        for command in begin:
            done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"{command[0]} cannot be used here: {done.stderr.strip()}")
        for verb in READING[:-1]:
            assert exhume_cli(verb, path).code == 0
        ran = exhume_cli("salvage", path, "-o", tmp_path / "saved", "--audit", tmp_path / "log")
        assert ran.code == 0
        (record,) = records(tmp_path / "log")
        assert [one["changed"] for one in record["inputs"]] == [[]]
    finally:
        for command in end:
            subprocess.run([*map(str, command)], capture_output=True, check=False)


def test_a_file_without_records_has_no_last_digest(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "records").write_bytes(b"no record\n")
    ran = exhume_cli("audit", tmp_path / "records")
    assert ran.code == 4
    assert "not a record" in ran.err + ran.out.decode()
    assert "None" not in ran.err + ran.out.decode()


def test_what_goes_to_standard_output_has_its_digest(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    """Text and bytes, all of it and nothing else; what is piped in, too."""
    log = tmp_path / "log"
    for words in (
        ("cat", archive),
        ("cat", archive, "--json"),
        ("info", archive),
        ("verify", archive, "-q", "--ndjson"),
        ("payload", archive, "header"),
        ("export", archive, "--to", "jsonl"),
    ):
        log.unlink(missing_ok=True)
        ran = exhume_cli(*words, "--audit", log)
        (record,) = records(log)
        usual = {"size": len(ran.out), "sha256": hashlib.sha256(ran.out).hexdigest()} if ran.out else None
        assert record["stdout"] == usual, words
        assert record["stdin"] is None
        assert ran.out == exhume_cli(*words).out
    data = archive.read_bytes()
    ran = exhume_cli("verify", "-", "--audit", log, input=data)
    assert ran.code == 0
    record = records(log)[-1]
    assert record["stdin"] == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    ran = exhume_cli("audit", log)
    assert "; not checked: standard input, standard output\n" in ran.text
    assert {one["name"] for one in json.loads(exhume_cli("audit", log, "--json").text)["files"]} == {str(archive), "-"}


def test_the_bytes_of_a_pipe_are_those_of_the_record(tmp_path: Path, archive: Path) -> None:
    """In a process of its own, where nothing may bypass the digest; a reader that disconnects is not an error."""
    log = tmp_path / "log"
    command = [sys.executable, "-m", "exhume", "cat", str(archive), "--audit", str(log), "-q"]
    done = subprocess.run(command, capture_output=True, check=True)
    command = [sys.executable, "-m", "exhume", "extract", str(ROOT / "tests/samples/caf/sorted.caf"), "--tar", "-"]
    packed = subprocess.run([*command, "--audit", str(log), "-q"], capture_output=True, check=True)
    for record, out in zip(records(log), (done.stdout, packed.stdout), strict=True):
        assert record["stdout"] == {"size": len(out), "sha256": hashlib.sha256(out).hexdigest()}


@pytest.mark.parametrize("streams", ["<&- >&-", "0>/dev/null"])
def test_streams_that_yield_nothing_have_no_digest(tmp_path: Path, archive: Path, streams: str) -> None:
    log = tmp_path / "log"
    script = f'"{sys.executable}" -m exhume verify "{archive}" -q --audit "{log}" {streams}'
    assert subprocess.run(["sh", "-c", script], check=False).returncode == 0
    (record,) = records(log)
    assert record["stdin"] is None


def test_a_record_of_before_is_still_valid(tmp_path: Path, exhume_cli: Cli) -> None:
    """Records that name no remote objects and streams."""
    (tmp_path / "log").write_bytes(forged({"inputs": [], "outputs": []}))
    assert exhume_cli("audit", tmp_path / "log").code == 0
    wrong: list[Any] = [5, [{}], [{"name": 1}]]
    for named in wrong:
        (tmp_path / "log").write_bytes(forged({"remote": named}))
        assert "not a record" in exhume_cli("audit", tmp_path / "log").text


def reordered(line: bytes) -> bytes:
    record = json.loads(line)
    return json.dumps(dict(reversed(record.items())), separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("duplicate key", lambda line: b'{"exit_code":1,"error":"forged",' + line[1:]),
        ("duplicate key at the end", lambda line: line[:-2] + b',"exit_code":0}\n'),
        (
            "reordered keys",
            lambda line: json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")).encode() + b"\n",
        ),
        ("CRLF", lambda line: line[:-1] + b"\r\n"),
        ("space", lambda line: line.replace(b'":', b'": ', 1)),
        ("leading space", lambda line: b" " + line),
        ("trailing tab", lambda line: line[:-1] + b"\t\n"),
        ("number", lambda line: line.replace(b'"number":1,', b'"number":1.0,')),
        ("exponent", lambda line: line.replace(b'"exit_code":0', b'"exit_code":0e0')),
        ("minus zero", lambda line: line.replace(b'"exit_code":0', b'"exit_code":-0')),
        ("escape", lambda line: line.replace(b'"command":["verify"]', b'"command":["\\u0076erify"]')),
        ("slash", lambda line: line.replace(b"/", b"\\/", 1)),
        ("byte order mark", lambda line: b"\xef\xbb\xbf" + line),
        ("NaN", lambda line: line.replace(b'"exit_code":0', b'"exit_code":NaN')),
    ],
)
def test_a_record_has_only_one_form(
    name: str, edit: Callable[[bytes], bytes], tmp_path: Path, archive: Path, exhume_cli: Cli
) -> None:
    """The digest covers every byte of a line, not what JSON makes of it."""
    log = tmp_path / "log"
    assert exhume_cli("verify", archive, "--audit", log).code == 0
    line = log.read_bytes()
    digest = json.loads(line)["digest"]
    assert exhume_cli("audit", log, "--expect", digest).code == 0
    assert edit(line) != line
    log.write_bytes(edit(line))
    ran = exhume_cli("audit", log, "--expect", digest)
    assert ran.code == 4, name
    assert "NOT ok" in ran.text
    again = exhume_cli("verify", archive, "--audit", log)  # nor is it continued
    assert again.code == 1
    assert "cannot add a record" in again.err
    assert log.read_bytes() == edit(line)


@pytest.mark.parametrize(
    "content",
    [
        b"key: value\n",
        b"[]\n",
        b"5\n",
        b"{}\n",
        b"\n",
        b'{"number":1,"digest":"x"}\n',
        b"\x89PNG\r\n\x1a\n",
        b"no end",
        b"\0" * 100,
    ],
)
def test_a_foreign_file_is_refused_before_work_starts(
    content: bytes, tmp_path: Path, archive: Path, exhume_cli: Cli
) -> None:
    log, out = tmp_path / "notes.txt", tmp_path / "out"
    log.write_bytes(content)
    ran = exhume_cli("payload", archive, "header", "-o", out, "--audit", log)
    assert ran.code == 1
    assert not out.exists()
    assert log.read_bytes() == content
    assert ran.err.count("\n") == 1
    assert str(log) in ran.err


def test_the_listing_states_what_was_done(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log, out = tmp_path / "log", tmp_path / "b.zs"
    assert exhume_cli("recode", archive, "-o", out, "--codec", "none", "--audit", log).code == 0
    assert exhume_cli("verify", "none.zs", "--audit", log).code == 1
    ran = exhume_cli("audit", log)
    assert ran.code == 0
    first, second = ran.text.splitlines()[1:3]
    assert re.fullmatch(rf" *1  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{9}}Z  recode +0  {archive} +{out}", first)
    assert re.fullmatch(r" *2  20\S+Z  verify +1  none.zs +-", second)
    document = json.loads(exhume_cli("audit", log, "--json").text)
    validate(document)
    assert [(one["verb"], one["exit_code"], one["outputs"]) for one in document["runs"]] == [
        ("recode", 0, [str(out)]),
        ("verify", 1, []),
    ]


def test_the_listing_names_the_first_of_many_outputs(tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    """Each output is recorded once, also in a folder that is one itself."""
    log, image = tmp_path / "log", tmp_path / "disk.img"
    image.write_bytes(bytes(4096) + (samples / "zs/words-none.zs").read_bytes() + bytes(4096))
    with image.open("ab") as file:
        for path in sorted((samples / "data_bundle/zlib").rglob("*")):
            file.write(path.read_bytes() + bytes(-path.stat().st_size % 4096) if path.is_file() else b"")
    exhume_cli("report", image, "-o", tmp_path / "case.html", "--audit", log)
    (record,) = records(log)
    names = [one["name"] for one in record["outputs"]]
    assert len(names) == len(set(names)) > 4
    line = exhume_cli("audit", log).text.splitlines()[1]
    assert line.endswith(f"{', '.join(names[:3])} and {len(names) - 3} more")
    assert json.loads(exhume_cli("audit", log, "--json").text)["runs"][0]["outputs"] == names


def test_the_records_are_no_output(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    assert exhume_cli("verify", archive, "--audit", log).code == 0
    before = log.read_bytes()
    ran = exhume_cli("payload", archive, "header", "-o", log, "--overwrite", "--audit", log)
    assert (ran.code, "name the same file" in ran.err) == (2, True)
    assert log.read_bytes() == before


def test_digests_that_were_kept_elsewhere(tmp_path: Path, archive: Path, exhume_cli: Cli) -> None:
    """They show that the end is missing, and that the whole file was replaced."""
    log, kept = tmp_path / "log", tmp_path / "digests"
    for _ in range(3):
        with kept.open("a") as file:
            file.write(exhume_cli("verify", archive, "--audit", log).err)
    lines = log.read_bytes().splitlines(keepends=True)
    assert exhume_cli("audit", log, "--digests", kept).code == 0
    kept.write_text("".join(json.loads(line)["digest"].upper() + "\n" for line in lines))
    assert exhume_cli("audit", log, "--digests", kept).code == 0
    log.write_bytes(b"".join(lines[:2]))
    ran = exhume_cli("audit", log, "--digests", kept)
    assert (ran.code, "no record has the digest" in ran.text) == (4, True)
    log.unlink()
    exhume_cli("verify", archive, "--audit", log)
    assert exhume_cli("audit", log, "--digests", kept).code == 4
    kept.write_text("nothing\n")
    ran = exhume_cli("audit", log, "--digests", kept)
    assert (ran.code, "no digests" in ran.err) == (1, True)
