"""Following streams that are still being written: KV-IR and text, open and in zstd frames, replaced and truncated."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.errors import SourceError
from exhume.formats.clp_ir.reader import choose
from exhume.formats.kv_ir.layout import END, NODES, Tags
from exhume.io import local
from exhume.io.local import FileSource, GrowingFile
from tests.clp_ir import streams as text
from tests.kv_ir import streams as pairs

KINDS = {"text": (text.head(), text.UNITS), "pairs": (pairs.HEAD, pairs.UNITS)}
ENOUGH_S = 60.0
KEYS = bytes(sorted(Tags(tag) for tag in NODES))
"""What new keys begin with, which print nothing."""


def content(kind: str, out: bytes) -> Any:
    """The printed output; the order of keys in an object depends on how many events are searched together."""
    return out if kind == "text" else [json.loads(line) for line in out.splitlines()]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for more a hundred times a second."""
    monkeypatch.setattr(local, "INTERVAL_S", 0.01)


class Logger(threading.Thread):
    """Writes the chunks of a stream to a file, each after the one before was printed.

    `printed` is how much has been printed so far.
    """

    def __init__(self, path: Path, pieces: list[tuple[bytes, bool]], printed: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.path, self.pieces, self.printed = path, pieces, printed
        self.waits: list[bool] = []

    def run(self) -> None:
        for piece, is_event in self.pieces:
            before = self.printed()
            with self.path.open("ab") as file:
                file.write(piece)
            stop = time.monotonic() + (ENOUGH_S if is_event else 0)
            while self.printed() == before and time.monotonic() < stop:
                time.sleep(0.005)
            self.waits.append(self.printed() > before or not is_event)


def framed(parts: list[bytes]) -> list[bytes]:
    """The parts in one zstd frame, flushed after each; the last one ends it."""
    made = zstandard.ZstdCompressor().compressobj()
    out = [made.compress(part) + made.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts]
    return [*out[:-1], out[-1] + made.flush()]


def frames(parts: list[bytes]) -> list[bytes]:
    """Each part in a zstd frame of its own."""
    return [zstandard.ZstdCompressor().compress(part) for part in parts]


PACKED: dict[str, Callable[[list[bytes]], list[bytes]]] = {"open": list, "a frame": framed, "frames": frames}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["cat", "search"])
def test_what_is_complete_is_printed_before_more_comes(
    verb: str, kind: str, packed: str, tmp_path: Path, exhume_cli: Callable[..., Any], printed: Callable[[], int]
) -> None:
    head, units = KINDS[kind]
    parts = [head + units[0], *units[1:], END]
    pieces = PACKED[packed](parts)
    path = tmp_path / "app.clp"
    path.write_bytes(pieces[0])
    events = [part != END and part[0] not in KEYS for part in parts]
    logger = Logger(path, list(zip(pieces, events, strict=True))[1:], printed)
    logger.start()
    query = ["*"] if verb == "search" else []
    ran = exhume_cli(verb, path, *query, "--follow")
    logger.join()
    whole = exhume_cli(verb, path, *query)
    assert (ran.code, ran.err) == (0, "")
    assert content(kind, ran.out) == content(kind, whole.out)
    assert all(logger.waits)  # each event was printed before the next unit was written


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many bytes were printed so far."""
    from exhume.cli.run import Output

    done = 0
    write = Output.write

    def counted(self: Output, data: bytes | memoryview) -> None:
        nonlocal done
        write(self, data)
        done += len(data)

    monkeypatch.setattr(Output, "write", counted)
    return lambda: done


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["cat", "search"])
def test_units_that_come_byte_by_byte(
    verb: str, kind: str, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing after a unit is waited for."""
    head, units = KINDS[kind]
    whole = b"".join((head, *units, END))
    path, query = tmp_path / "app.clp", ["*"] if verb == "search" else []
    path.write_bytes(head)
    left = iter(whole[len(head) :])

    def written(seconds: float) -> None:
        with path.open("ab") as file:
            file.write(bytes([next(left)]))

    monkeypatch.setattr(time, "sleep", written)
    ran = exhume_cli(verb, path, *query, "--follow")
    assert (ran.code, ran.err, next(left, None)) == (0, "", None)
    assert content(kind, ran.out) == content(kind, exhume_cli(verb, path, *query).out)


@pytest.mark.parametrize("packed", ["open", "a frame"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["cat", "search"])
def test_a_file_is_empty_at_first(
    verb: str, kind: str, packed: str, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, units = KINDS[kind]
    whole = b"".join(PACKED[packed]([head[:30], head[30:], *units, END]))
    pieces = [whole[:2], whole[2:20], whole[20:90], whole[90:]]
    path, query = tmp_path / "app.clp", ["*"] if verb == "search" else []
    path.write_bytes(b"")

    def written(seconds: float) -> None:
        with path.open("ab") as file:
            file.write(pieces.pop(0))

    monkeypatch.setattr(time, "sleep", written)
    ran = exhume_cli(verb, path, *query, "--follow")
    assert (ran.code, ran.err) == (0, f"exhume: {path}: waiting for the beginning of the stream\n")
    assert content(kind, ran.out) == content(kind, exhume_cli(verb, path, *query).out)
    path.write_bytes(b"an unknown format")
    assert exhume_cli(verb, path, *query, "--follow").code == 1


@pytest.mark.parametrize("how", ["removed", "shorter"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_changes_before_its_beginning_is_there(
    kind: str, how: str, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, units = KINDS[kind]
    path, whole = tmp_path / "app.clp", head + b"".join(units) + END
    path.write_bytes(whole if how == "shorter" else head[:20])
    read = FileSource._read

    def short(self: FileSource, offset: int, size: int) -> bytes:
        """Read from a file that becomes shorter."""
        monkeypatch.setattr(FileSource, "_read", read)
        path.write_bytes(head[:20])
        return read(self, offset, size)

    def slept(seconds: float) -> None:
        if how == "removed" and path.exists():
            path.unlink()
        else:
            path.write_bytes(whole)

    monkeypatch.setattr(time, "sleep", slept)
    if how == "shorter":
        monkeypatch.setattr(FileSource, "_read", short)
    ran = exhume_cli("cat", path, "--follow")
    assert (ran.code, ran.err) == (0, f"exhume: {path}: waiting for the beginning of the stream\n")
    assert content(kind, ran.out) == content(kind, exhume_cli("cat", path).out)


@pytest.mark.parametrize("how", ["replaced", "truncated"])
@pytest.mark.parametrize("verb", ["cat", "search"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_log_that_is_rotated(
    kind: str, verb: str, how: str, tmp_path: Path, exhume_cli: Callable[..., Any], printed: Callable[[], int]
) -> None:
    head, units = KINDS[kind]
    path, old = tmp_path / "app.clp", head + b"".join(units)
    path.write_bytes(old)
    whole = head + b"".join(units[: 5 if kind == "pairs" else 2]) + END

    def rotate() -> None:
        stop = time.monotonic() + ENOUGH_S
        while not printed() and time.monotonic() < stop:
            time.sleep(0.005)
        if how == "replaced":
            (tmp_path / "new").write_bytes(whole)
            (tmp_path / "new").replace(path)
        else:
            path.write_bytes(whole)

    thread = threading.Thread(target=rotate, daemon=True)
    thread.start()
    query = ["*"] if verb == "search" else []
    ran = exhume_cli(verb, path, *query, "--follow")
    thread.join()
    (tmp_path / "old.clp").write_bytes(old)
    expected = exhume_cli(verb, tmp_path / "old.clp", *query).out + exhume_cli(verb, path, *query).out
    assert ran.code == 0
    assert content(kind, ran.out) == content(kind, expected)
    assert f"the file was {how}: following the new one" in ran.err


@pytest.mark.parametrize("packed", ["open", "a frame"])
@pytest.mark.parametrize("verb", ["cat", "search"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_log_that_is_truncated_to_nothing(
    kind: str, verb: str, packed: str, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `copytruncate` of logrotate does it: the logger writes the next stream later."""
    head, units = KINDS[kind]
    path, old = tmp_path / "app.clp", head + b"".join(units)
    whole = b"".join(PACKED[packed]([head + b"".join(units), END]))
    path.write_bytes(old)
    changes = [b"", b"", whole[:3], whole[3:40], whole[40:]]

    def wait(self: GrowingFile, seconds: float) -> None:
        change = changes.pop(0)
        with path.open("ab" if change else "wb") as file:
            file.write(change)

    monkeypatch.setattr(GrowingFile, "wait", wait)
    query = ["*"] if verb == "search" else []
    ran = exhume_cli(verb, path, *query, "--follow")
    expected = exhume_cli(verb, path, *query).out
    assert (ran.code, ran.err) == (0, f"exhume: {path}: the file was truncated: following the new one\n")
    assert content(kind, ran.out) == content(kind, expected + expected)


@pytest.mark.parametrize("verb", ["cat", "search"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_log_that_is_removed_is_named_once(
    kind: str, verb: str, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, units = KINDS[kind]
    path, whole = tmp_path / "app.clp", head + b"".join(units) + END
    path.write_bytes(whole[:-1])
    waits = 0

    def wait(self: GrowingFile, seconds: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 1:
            path.unlink()
        elif waits == 4:
            path.write_bytes(whole)

    monkeypatch.setattr(GrowingFile, "wait", wait)
    ran = exhume_cli(verb, path, *(["*"] if verb == "search" else []), "--follow")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        f"exhume: {path}: the file was removed: waiting for one of its name",
        f"exhume: {path}: the file was replaced: following the new one",
    ]


def test_ctrl_c_ends_it(tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.clp"
    path.write_bytes(text.SMALL[:-1])
    monkeypatch.setattr(GrowingFile, "wait", interrupted)
    ran = exhume_cli("cat", path, "--follow", "--times", "none")
    assert ran.code == 130
    assert ran.out == b"".join(message for _, message in text.EVENTS)


def test_damage_ends_it(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "app.clp"
    path.write_bytes(text.head() + text.UNITS[0] + b"\x55" + text.UNITS[1])
    ran = exhume_cli("cat", path, "--follow", "--times", "none")
    assert ran.code == 1
    assert ran.out == text.EVENTS[0][1]
    assert "CLPIR-305" in ran.err
    path.write_bytes(text.flushed(text.SMALL[:-30]) + b"\xff" * 40)
    assert "CLPIR-307" in exhume_cli("cat", path, "--format", "clp-ir", "--follow").err


def test_an_event_that_cannot_be_read_is_noted_before_the_stream_ends(
    tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end may be far away, or never come: here it is interrupted."""
    monkeypatch.setattr(GrowingFile, "wait", interrupted)
    path = tmp_path / "app.clp"
    bad = pairs.event([], [(1, pairs.apart(b"\x11"))])
    path.write_bytes(pairs.HEAD + b"".join(pairs.UNITS) + bad + pairs.UNITS[-1])
    ran = exhume_cli("cat", path, "--follow")
    path.write_bytes(pairs.HEAD + b"".join(pairs.UNITS) + pairs.UNITS[-1] + END)
    assert (ran.code, ran.out) == (130, exhume_cli("cat", path).out)
    assert ran.err.count("KVIR-403") == 1


def interrupted(self: GrowingFile, seconds: float) -> None:
    raise KeyboardInterrupt


def replaced(path: Path, data: bytes, printed: Callable[[], int]) -> threading.Thread:
    """A thread that replaces a file once more was printed."""
    before = printed()

    def work() -> None:
        stop = time.monotonic() + ENOUGH_S
        while printed() == before and time.monotonic() < stop:
            time.sleep(0.005)
        path.with_name("new").write_bytes(data)
        path.with_name("new").replace(path)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_the_new_file_states_how_its_times_are_printed(
    tmp_path: Path, exhume_cli: Callable[..., Any], printed: Callable[[], int]
) -> None:
    path = tmp_path / "app.clp"
    new = text.head(pattern="HH:mmXXX", zone="Asia/Kolkata") + b"".join(text.UNITS) + END
    path.write_bytes(text.head(pattern="HH:mmXXX", zone="Europe/Berlin") + b"".join(text.UNITS))
    before = exhume_cli("cat", path).out
    thread = replaced(path, new, printed)
    ran = exhume_cli("cat", path, "--follow")
    thread.join()
    after = exhume_cli("cat", path).out
    assert before != after
    assert (ran.code, ran.out) == (0, before + after)


@pytest.mark.parametrize(("kind", "other", "code"), [("pairs", "text", "KVIR-102"), ("text", "pairs", "CLPIR-102")])
def test_a_new_file_of_another_kind_is_refused(
    kind: str, other: str, code: str, tmp_path: Path, exhume_cli: Callable[..., Any], printed: Callable[[], int]
) -> None:
    (head, units), (other_head, _) = KINDS[kind], KINDS[other]
    path = tmp_path / "app.clp"
    path.write_bytes(head + b"".join(units))
    thread = replaced(path, other_head + END, printed)
    ran = exhume_cli("cat", path, "--follow")
    thread.join()
    assert (ran.code, code in ran.err) == (1, True)


def test_what_cannot_be_followed(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "app.clp"
    path.write_bytes(b"xx" + text.SMALL)
    inside = exhume_cli("cat", path, "--offset", 2, "--follow")
    assert inside.code == 1
    assert "only a whole local file can be followed" in inside.err
    path.write_bytes(text.SMALL)
    for more in (["--json"], ["--count"]):
        refused = exhume_cli("search", path, "a", "--follow", *more)
        assert refused.code == 2
        assert "--follow" in refused.err
    assert exhume_cli("search", path, path, "a", "--follow").code == 2


def test_a_name_without_a_file_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "later"
    waits = []

    def wait(self: GrowingFile, seconds: float) -> None:
        waits.append(seconds)
        path.write_bytes(b"there")

    monkeypatch.setattr(GrowingFile, "wait", wait)
    chunks = GrowingFile(str(path)).chunks()
    assert (next(chunks), waits) == (b"", [])
    assert next(chunks) == b"there"
    assert waits == [local.INTERVAL_S]


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", KINDS)
def test_events_come_one_by_one(kind: str, packed: str, tmp_path: Path) -> None:
    head, units = KINDS[kind]
    parts = [head + units[0], *units[1:], END]
    left = iter(PACKED[packed](parts))
    path = tmp_path / "app.clp"
    path.write_bytes(next(left))
    with exhume.open(path) as archive:
        stream: Any = archive

        def waiting(self: GrowingFile, seconds: float) -> None:
            """Append the next piece, so that what precedes it has to have been given by then."""
            with path.open("ab") as file:
                file.write(next(left))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GrowingFile, "wait", waiting)
            found = list(stream.follow())
    with exhume.open(path) as archive:
        stream = archive
        assert found == list(stream.events())
    assert next(left, None) is None


@pytest.mark.parametrize("kind", KINDS)
def test_following_ends_when_nothing_new_comes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, units = KINDS[kind]
    path = tmp_path / "app.clp"
    path.write_bytes(head + b"".join(units))
    with exhume.open(path) as archive:
        stream: Any = archive
        found = list(stream.follow(quiet_s=0))
        waits = []

        def wait(self: GrowingFile, seconds: float) -> None:
            waits.append(seconds)
            path.unlink(missing_ok=True)

        monkeypatch.setattr(GrowingFile, "wait", wait)
        assert list(stream.follow(quiet_s=0)) == found
        assert len(waits) == 1
    path.write_bytes(head + b"".join(units) + END)
    with exhume.open(path) as archive:
        stream = archive
        assert list(stream.events()) == found


def test_a_choice_of_events_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "app.clp"
    path.write_bytes(text.SMALL)
    with exhume.clpir.open(path) as stream:
        assert [event.message for event in stream.follow(choice=choose(("INFO",)))] == [
            message for _, message in text.EVENTS if b"INFO" in message
        ]


def test_only_a_local_file_is_followed_from_python(tmp_path: Path) -> None:
    with exhume.clpir.open(text.SMALL) as stream, pytest.raises(SourceError, match="only a whole local file"):
        next(stream.follow())
