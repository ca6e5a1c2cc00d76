"""The bytes of messages, back to back: those of the messages themselves, whether or not each becomes an object."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark import query
from exhume.formats.ark.layout import MESSAGE_FOOTER_SIZE
from exhume.formats.ark.lines import RawQuery, raw_of
from exhume.formats.ark.reader import ArkArchive

Cli = Callable[..., Any]

IDL = "namespace t; schema Pose { double x; string name; }"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One channel alone, then two columns at the same times, and messages that do not decode but are bytes as well."""
    root = tmp_path_factory.mktemp("raw") / "log"
    with exhume.ark.create(root) as writer:
        writer.column("first", split_items=70)
        writer.column("packed", "zstd", split_items=90)
        alone = writer.channel("/alone", "t::Pose", IDL, column="first", latched=True)
        extra = writer.channel("/beside", "t::Pose", IDL, column="first")
        packed = writer.channel("/packed", "t::Pose", IDL, column="packed")
        for number in range(400):
            alone.write(number * 10, b"no pose" if number % 9 == 8 else {"x": number / 8, "name": "n" * (number % 7)})
            if number >= 200:
                extra.write(number * 10 + 1, {"x": 1.5, "name": f"beside {number}"})
                packed.write(number * 10, {"x": 2.5, "name": f"packed {number}"})
    return root


def reported(log: ArkArchive, jobs: int = 1, **requested: Any) -> tuple[bytes, list[str], str]:
    """The bytes, what was skipped, and the error."""
    findings: list[Finding] = []
    found, error = [], ""
    try:
        for data in raw_of(log, requested, findings=findings, jobs=jobs):
            found.append(data)  # noqa: PERF402 - an error may follow
    except ExhumeError as raised:
        error = str(raised)
    return b"".join(found), [str(finding) for finding in findings], error


def expected(log: ArkArchive, **requested: Any) -> tuple[bytes, list[str], str]:
    findings: list[Finding] = []
    found, error = [], ""
    try:
        for message in log.messages(**requested, decode=False, findings=findings):
            found.append(message.data)  # noqa: PERF401 - an error may follow
    except ExhumeError as raised:
        error = str(raised)
    return b"".join(found), [str(finding) for finding in findings], error


@pytest.mark.parametrize("batch_messages", [7, 1 << 14])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("damaged", [False, True])
def test_bytes_are_those_of_the_messages(
    damaged: bool, on_error: str, batch_messages: int, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All, some, backwards, and with latched replay first; entries and stored bytes may be damaged."""
    monkeypatch.setattr(query, "BATCH_MESSAGES", batch_messages)
    root = shutil.copytree(log, tmp_path / "log")
    if damaged:
        for split in sorted((root / "splits").iterdir()):
            data = bytearray(split.read_bytes())
            data[1024 + 30 * 18 + 12 : 1024 + 30 * 18 + 16] = b"\0\0\0\0"  # the size in an entry of the index
            data[-3] ^= 0x55
            split.write_bytes(data)
    requested: list[dict[str, Any]] = [
        {},
        {"topics": "/alone"},
        {"topics": ["/beside", "/packed"]},
        {"reverse": True},
        {"start_ns": 1005, "stop_ns": 2505},
    ]
    reported_of = 0
    with exhume.open(root) as opened:
        assert isinstance(opened, ArkArchive)
        for one in requested:
            found = reported(opened, **one, on_error=on_error)
            assert found == expected(opened, **one, on_error=on_error)
            assert found == reported(opened, jobs=3, **one, on_error=on_error)
            assert found[0] or (found[2] and one)  # backwards, the first message is damaged
            reported_of += bool(found[1]) + bool(found[2])
    assert bool(reported_of) == damaged


def test_messages_that_lie_together_are_not_cut(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of one column's splits are read as they are, and what has something in between is not."""
    made: list[int] = []
    plain = query.Query.batch_messages

    def batch_messages(self: Any, batch: Any, numbers: list[int], pieces: Any) -> Any:
        made.append(len(numbers))
        return plain(self, batch, numbers, pieces)

    monkeypatch.setattr(query.Query, "batch_messages", batch_messages)
    with exhume.open(log) as opened:
        assert isinstance(opened, ArkArchive)
        reported(opened, stop_ns=1990)
        assert made == []
        reported(opened, topics="/alone", start_ns=2000, latched=False)
        assert sum(made) == 200


def test_the_command(log: Path, exhume_cli: Cli) -> None:
    with exhume.open(log) as opened:
        assert isinstance(opened, ArkArchive)
        data = expected(opened, topics="/alone")[0]
    for jobs in (1, 2):
        ran = exhume_cli("cat", log, "--raw", "--topic", "/alone", "--jobs", jobs)
        assert (ran.code, ran.out) == (0, data)


def test_threads_share_the_reading(tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with exhume.ark.create(tmp_path / "log") as writer:
        channel = writer.channel("/alone")
        for number in range(900):
            channel.write(number, b"%d" % number)
    monkeypatch.setattr(query, "BATCH_MESSAGES", 100)
    makers: set[int] = set()
    met = threading.Event()
    whole = RawQuery._whole

    def noted(batch: Any, pieces: Any) -> Any:
        makers.add(threading.get_ident())
        if len(makers) == 2 or not met.wait(10):
            met.set()
        return whole(batch, pieces)

    monkeypatch.setattr(RawQuery, "_whole", staticmethod(noted))
    ran = exhume_cli("cat", tmp_path / "log", "--raw", "--jobs", 2)
    assert (ran.code, ran.out) == (0, b"".join(b"%d" % number for number in range(900)))
    assert len(makers) == 2


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd", "bz2", "lzma"])
def test_the_payload_of_a_message_above_the_limit(codec: Any, tmp_path: Path, exhume_cli: Cli) -> None:
    """It is printed in chunks, whatever the codec; damage in it is an error of the format."""
    value = "text " * 30_000
    with exhume.ark.create(tmp_path / "log") as writer:
        writer.column("c", codec)
        channel = writer.channel("/a", "t::Pose", IDL, column="c")
        channel.write(1, {"x": 1.0, "name": value})
        channel.write(2, {"x": 1.0, "name": value[: (64 << 10) - 13]})
    with exhume.open(tmp_path / "log") as opened:
        names = [one.name for one in opened.sections() if " message " in one.name]
        sizes = [one.span.size for one in opened.sections() if " message " in one.name]
        places = [one.span for one in opened.sections() if " message " in one.name]
        usual = [exhume_cli("payload", tmp_path / "log", name) for name in names]
    limited = [exhume_cli("payload", tmp_path / "log", name, "--limit", "payload_size=64K") for name in names]
    assert value.encode() in usual[0].out
    assert len(usual[1].out) == 64 << 10
    assert [one.out for one in limited] == [one.out for one in usual]
    assert [(one.code, one.err) for one in limited] == [(0, "")] * 2
    if codec == "none":
        return
    path = tmp_path / "log" / places[0].source
    data = path.read_bytes()
    for at in (places[0].start + sizes[0] - 1, places[0].start + sizes[0] - MESSAGE_FOOTER_SIZE):  # its magic, its size
        path.write_bytes(data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :])
        ran = [
            exhume_cli("payload", tmp_path / "log", names[0], *more) for more in ((), ("--limit", "payload_size=64K"))
        ]
        assert [one.code for one in ran] == [1, 1]
        assert all("[ARK-4" in one.err for one in ran)
