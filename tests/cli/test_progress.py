"""Progress: what the bar shows, that one large item is not silent, and that it stays off the output."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume.caf
import exhume.zs
from exhume.cli.progress import ProgressBar, format_progress, size_of, with_total
from exhume.engines.extract import extract
from exhume.formats.caf.inputs import add_tar, plan_inputs, write_plan
from exhume.io import activity
from exhume.io.files import open_input
from exhume.io.local import FileSource
from exhume.io.opening import open_target
from exhume.io.output import stream
from exhume.io.output.tree import OutputTree
from exhume.io.tree import MemoryTree

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        ((2 << 20, 13 << 19, "bytes"), "2.0 MiB of 6.5 MiB"),
        ((12 << 20, None, "bytes"), "12.0 MiB"),
        ((1 << 20, 1 << 20, "bytes verified"), "1.0 MiB of 1.0 MiB verified"),
        ((3, 8, "splits"), "3 of 8 splits"),
        ((1, None, "entries"), "1 entry"),
        ((1, 1, "versions of keys"), "1 of 1 version of keys"),
        ((1024, None, "records"), "1,024 records"),
    ],
)
def test_progress_in_words(progress: tuple[int, int | None, str], words: str) -> None:
    assert format_progress(*progress) == words


def test_what_goes_into_a_stream_is_counted_in_bytes(tmp_path: Path) -> None:
    from exhume.formats.kv_ir.lines import write_lines
    from exhume.formats.kv_ir.writer import KvIrWriter

    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a":1}\n' * 100)
    reported: list[tuple[int, int | None, str]] = []
    with KvIrWriter(tmp_path / "events.clp") as writer:
        write_lines(writer, [str(path)], progress=with_total(lambda *one: reported.append(one), str(path)))
    assert writer.events == 100
    assert reported[-1] == (800, 800, "bytes")


def test_what_salvage_wrote_is_read_again_with_progress(samples: Path, tmp_path: Path) -> None:
    from exhume.recovery import SalvageMode

    reported: list[tuple[int, int | None, str]] = []
    out = tmp_path / "out.jsonl"
    exhume.salvage(
        samples / "clp_s/tiny.clps", out, mode=SalvageMode.RECORDS, progress=lambda *one: reported.append(one)
    )
    assert reported[-1] == (out.stat().st_size, out.stat().st_size, "bytes verified")


def test_the_size_of_what_goes_in_is_the_total(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100))
    calls: list[tuple[int, int | None, str]] = []
    report = with_total(lambda *args: calls.append(args), str(tmp_path / "a"))
    for args in ((40, None, "bytes"), (400, None, "bytes"), (4, None, "records"), (4, 9, "bytes")):
        report(*args)
    assert calls == [(40, 100, "bytes"), (400, None, "bytes"), (4, None, "records"), (4, 9, "bytes")]
    missing = with_total(lambda *args: calls.append(args), "-")
    missing(1, None, "bytes")
    assert calls[-1] == (1, None, "bytes")


WITHOUT_DELAY = """
import sys, exhume.cli.progress as progress
progress.PROGRESS_AFTER = 0
from exhume.cli.main import main
main(sys.argv[1:])
"""


def progress_of(*words: str | Path, output: Any = subprocess.PIPE) -> tuple[str, bytes]:
    """What standard error shows, as a terminal, of a command for which no work is short; and its standard output."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", WITHOUT_DELAY, *map(str, words)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs if output is None else output, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        printed = b"" if running.stdout is None else running.stdout.read()
        stated = b""
        try:
            while piece := os.read(ours, 1 << 16):
                stated += piece
        except OSError:  # Linux: all writers have closed it
            pass
    os.close(ours)
    assert running.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stated.decode()), printed


READ = re.compile(r"[0-9.]+ (B|KiB|MiB) (of [0-9.]+ (B|KiB|MiB) )?read, ")


@pytest.mark.parametrize(
    "words",
    [
        ["search", "--count", "clp_s/tiny.clps", "*"],
        ["search", "--unique", "level", "clp_s/tiny.clps", "*"],
        ["search", "--count", "zs/words-none.zs", ""],
        ["search", "--count", "leveldb/small", ""],
        ["cat", "zs/words-none.zs"],
        ["info", "--stats", "zs/words-none.zs"],
        ["list", "--sections", "zs/words-none.zs"],
        ["explain", "--coverage", "zs/words-none.zs"],
        ["payload", "zs/words-none.zs", "data-1"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_shown_while_a_file_is_written(words: list[str], samples: Path, exhume_cli: Cli) -> None:
    """A bar on the terminal, and every byte of the output in the file."""
    named = [samples / word if "/" in word else word for word in words]
    stated, printed = progress_of(*named)
    assert READ.search(stated), stated
    assert printed == exhume_cli(*named).out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_appears_without_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that reports nothing for a while, such as copying one large file, is not silent."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("exhume.cli.progress.PROGRESS_AFTER", 0.01)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with ProgressBar("/very/long/path/of/an/[/archive]/words.zs", shown=True) as report:
        report(0, 3, "members")
        while "0 of 3 members" not in terminal.getvalue():
            time.sleep(0.01)
    before = terminal.getvalue()
    assert "…/an/[/archive]/words.zs" in before
    report(1, 3, "members")
    assert terminal.getvalue() == before, "it has ended"


def test_the_bar_ends_before_output_to_the_terminal(samples: Path) -> None:
    stated, _ = progress_of("cat", samples / "zs/words-none.zs", output=None)
    first = exhume.zs.open(samples / "zs/words-none.zs").records()
    assert READ.search(stated.partition(next(iter(first)).decode())[2]) is None


def test_the_bytes_of_a_directory_are_those_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a").write_bytes(bytes(100))
    (tmp_path / "below/b").write_bytes(bytes(11))
    assert size_of(open_target(str(tmp_path))) == 111
    assert size_of(open_target(str(tmp_path / "a"))) == 100
    assert size_of(MemoryTree({"a": b"x"})) is None, "its files say no sizes in advance"


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A chunk whose one member is copied in five steps."""
    monkeypatch.setattr(stream, "COPY_STEP", 1 << 20)
    path = tmp_path / "large.caf"
    with exhume.caf.create(path) as writer:
        writer.add_pieces("one", [b"x" * (5 << 20)])
    return path


def test_one_large_member_is_counted_while_it_is_copied(large: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    with (
        exhume.caf.open(large) as archive,
        OutputTree(tmp_path / "out") as tree,
        activity.counting(steps.append),
    ):
        extract(archive, tree)
    assert steps[-5:] == [1 << 20] * 5
    assert (tmp_path / "out/one").stat().st_size == 5 << 20


@pytest.mark.parametrize("kernel", [True, False], ids=["in the kernel", "by reading"])
def test_bytes_of_a_file_that_is_copied_to_another_are_counted(
    kernel: bool, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel:
        for name in ("_kernel_copy", "_kernel_send"):
            monkeypatch.setattr(stream, name, lambda *args: (_ for _ in ()).throw(OSError()))
    steps: list[int] = []
    size = large.stat().st_size
    with (tmp_path / "out").open("wb") as out, large.open("rb") as file, activity.counting(steps.append):
        assert stream.copy_between(file.fileno(), out.fileno(), size, 0) == size
    assert sum(steps) == size
    assert len(steps) > 1


def test_steps_within_an_item_end_with_it(large: Path) -> None:
    reported: list[tuple[int, int | None, str]] = []
    outer: list[int] = []
    with FileSource(large) as source, activity.counting(outer.append):
        with activity.stepping(lambda *one: reported.append(one), 100, 50, 200, "bytes copied"):
            source.read_at(0, 30)
            source.read_at(0, 30)
        assert outer == [], "the item has its own report"
        source.read_at(0, 7)
    assert outer == [7]
    assert reported == [(130, 200, "bytes copied"), (150, 200, "bytes copied"), (150, 200, "bytes copied")]


def test_an_item_that_is_not_counted_in_bytes_shows_the_bytes_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("exhume.cli.progress.PROGRESS_AFTER", 0)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    bar = ProgressBar("extract", shown=True, total=lambda: 8 << 20)
    with bar as report:
        while not terminal.getvalue():
            time.sleep(0.01)
        report(0, 1, "member")
        activity.count(2 << 20)
        assert bar._state()["completed"] == 0.25
        assert re.match(r"0 of 1 member, 2\.0 MiB of 8\.0 MiB read, .*/s$", bar._state()["text_shown"])
        report(0, 6 << 20, "bytes verified")
        assert bar._state()["total"] == 6 << 20
        report(1, 4, "splits")
        assert bar._state()["text_shown"].startswith("1 of 4 splits, ")
        activity.count(1000)
        assert re.match(r"1 of 4 splits, [0-9.]+ splits/s$", bar._state()["text_shown"]), "too little is read to say so"
        activity.count((3 << 20) - 1000)
        assert bar._state()["text_shown"].startswith("1 of 4 splits, 3.0 MiB read, ")
        assert bar._state()["completed"] == 0.25
    assert activity.counted is None


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (["extract", "large.caf", "-o", "out"], r"of 5\.0 MiB read"),
        (["extract", "large.caf", "one", "-o", "out"], r"of 5\.0 MiB read"),
        (["carve", "large.caf", "-o", "out"], r"of 5\.0 MiB copied"),
        (["report", "image", "-o", "out.html"], r"of 5\.0 MiB copied"),
        (["verify", "large.caf", "--audit", "log"], r"audit .*[0-9.]+ MiB read"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_verbs_that_copy_show_bytes(
    words: list[str], stated: str, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "image").write_bytes(bytes(512) + large.read_bytes())
    shown, _ = progress_of(*words)
    assert re.search(stated, shown), shown


def test_creating_and_salvaging_a_large_member_report_its_bytes(large: Path, tmp_path: Path) -> None:
    reported: list[tuple[int, int | None, str]] = []
    size = large.stat().st_size
    with exhume.caf.create(tmp_path / "made.caf") as writer:
        write_plan(writer, plan_inputs([str(large)]), lambda *one: reported.append(one))
    assert [one for one in reported if one[0] == 3 << 20] == [(3 << 20, size, "bytes")]
    assert reported[-1] == (size, size, "bytes")
    reported.clear()
    exhume.salvage(large, tmp_path / "salvaged.caf", format="caf", progress=lambda *one: reported.append(one))
    copied = [done for done, total, unit in reported if (total, unit) == (5 << 20, "bytes")]
    assert copied == sorted(copied)
    assert len(copied) > 2
    assert copied[-1] == 5 << 20
    with tarfile.open(tmp_path / "made.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(large, "large")
    reported.clear()
    with exhume.caf.create(tmp_path / "tar.caf") as writer, open_input(tmp_path / "made.tar") as file:
        add_tar(writer, file, progress=lambda *one: reported.append(one))
    assert len(reported) > 2
    assert reported[-1][0] == tarfile.BLOCKSIZE + size
