"""Dictionaries that are larger than the limit `payload_size`: the same output as without the limit."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.codecs import zstd
from exhume.codecs.layout import frames_most
from exhume.errors import LimitExceededError
from exhume.formats.clp_s.layout import DICTIONARY_HEAD, HEADER_SIZE
from exhume.formats.clp_s.names import DICTIONARIES
from exhume.formats.clp_s.read.kernel import ClpsLogTypes, ClpsStrings
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.io.output.scratch import mapped_room
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native import KERNEL
from tests.clp_s.test_frames import reframed
from tests.sizes import some

LIMIT = 100_000
SMALL = DEFAULT_LIMITS._replace(payload_size=LIMIT)
LEAST = 64


def _write(path: Path) -> None:
    with exhume.clps.create(path) as writer:
        for row in range(1100):
            word = f"{row:b}".translate({48: "s", 49: "t"})  # part of the log type, as it has no digits
            text = f'{word} {"some words " * (row % 20)}"{row % 7}" \t{row}k'
            writer.write({"id": f"v{row}{'x' * (row % 300)}", "tags": [row, text], "text": text})


@pytest.fixture(scope="module", params=["one frame", "frames"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive each of whose dictionaries is larger than the limit, and its tables are not."""
    folder = tmp_path_factory.mktemp("dictionaries")
    _write(folder / "made.clps")
    size = 1 << 30 if request.param == "one frame" else 50_000
    with reframed(folder / "made.clps", folder / "large.clps", size=size) as archive:
        for name in DICTIONARIES:
            assert archive.dictionary(name).size > LIMIT
        assert max(table.size for table in archive.tables) < LIMIT
    return folder / "large.clps"


def _recode(path: Path, limits: Limits, out: Path) -> bytes:
    exhume.recode(path, out, level="1", limits=limits)
    return out.read_bytes()


def _salvage(path: Path, limits: Limits, out: Path) -> tuple[bytes, object]:
    report = exhume.salvage(path, out, format="clp-s", limits=limits).to_dict()
    return out.read_bytes(), {key: value for key, value in report.items() if key != "output"}


def _each(work: Callable[[ClpSArchive], Any]) -> Callable[[Path, Limits, Path], Any]:
    def run(path: Path, limits: Limits, out: Path) -> Any:
        with exhume.clps.open(path, limits=limits) as archive:
            return work(archive)

    return run


WORK: dict[str, Callable[[Path, Limits, Path], Any]] = {
    "print": _each(lambda one: hashlib.sha256(b"".join(one.json_chunks())).digest()),
    "print with threads": _each(lambda one: hashlib.sha256(b"".join(one.json_chunks(jobs=2))).digest()),
    "search": _each(lambda one: b"".join(one.search('text: "*c*5k" OR id: *xxx').chunks())),
    "table": _each(lambda one: one.to_arrow().read_all().to_pydict()),
    "verify": _each(lambda one: list(one.verify(jobs=2))),
    "digest": _each(lambda one: one.content_digest()),
    "recode": _recode,
    "salvage": _salvage,
}


@pytest.mark.parametrize("name", WORK)
def test_the_output_is_that_without_the_limit(name: str, made: Path, tmp_path: Path) -> None:
    found = [WORK[name](made, limits, tmp_path / f"out{limits.payload_size}") for limits in (DEFAULT_LIMITS, SMALL)]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["print", "salvage"])
def test_a_large_dictionary_is_decompressed_once(
    name: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into its file at once: the headers of its blocks show that it may be too large for memory."""
    whole, survivors, wasted = zstd.zstd_whole, zstd.zstd_survivors, []

    def noted_whole(data: Any, *, max_size: int) -> bytes | None:
        found = whole(data, max_size=max_size)
        if found is None:
            wasted.append("as a whole")
        return found

    def noted_survivors(data: Any, *, max_size: int) -> Iterator[tuple[int, bytes, bool]]:
        try:
            yield from survivors(data, max_size=max_size)
        except LimitExceededError:
            wasted.append("frame by frame")
            raise

    if name == "print":  # salvage compares the outcome with `verify`, which examines frames by themselves
        monkeypatch.setattr(zstd, "zstd_whole", noted_whole)
    monkeypatch.setattr(zstd, "zstd_survivors", noted_survivors)
    assert WORK[name](made, SMALL, tmp_path / "out")
    assert wasted == []


def test_a_payload_that_fits_is_read_although_its_blocks_may_hold_more(made: Path) -> None:
    with exhume.clps.open(made) as archive:
        size = archive.dictionary(DICTIONARIES[0]).size
    with exhume.clps.open(made, limits=DEFAULT_LIMITS._replace(payload_size=size)) as archive:
        place = archive.file_entry(DICTIONARIES[0]).part(DICTIONARY_HEAD)
        assert frames_most(place.read()) > size
        assert len(archive.payload_in_file_or_memory(place)[0]) == size


def test_the_limit_expansion_is_named(made: Path) -> None:
    few = SMALL._replace(expansion=1, expansion_floor=0)
    with exhume.clps.open(made, limits=few) as archive:
        with pytest.raises(LimitExceededError, match="raise the limit") as caught:
            archive.variables  # noqa: B018 - reads it
        assert "expansion" in str(caught.value)


@pytest.mark.parametrize("at", [0.02, 0.5, 0.97], ids=["start", "middle", "end"])
@pytest.mark.parametrize("name", DICTIONARIES)
def test_damage_is_reported_as_without_the_limit(name: str, at: float, made: Path, tmp_path: Path) -> None:
    data = bytearray(made.read_bytes())
    with exhume.clps.open(made) as archive:
        place = archive.file_entry(name).part(DICTIONARY_HEAD)
    start = place.start + int(place.size * at)
    data[start : start + LEAST] = bytes(LEAST)
    bad = tmp_path / "bad.clps"
    bad.write_bytes(data)
    found = []
    for limits in (DEFAULT_LIMITS, SMALL):
        with exhume.clps.open(bad, limits=limits) as archive:
            rules = {finding.code for finding in archive.verify()}
        found.append((rules, _salvage(bad, limits, tmp_path / f"out{limits.payload_size}")))
    assert found[0] == found[1]


def test_a_lost_list_of_sections(made: Path, tmp_path: Path) -> None:
    data = bytearray(made.read_bytes())
    data[HEADER_SIZE : HEADER_SIZE + 16] = bytes(16)
    (tmp_path / "bad.clps").write_bytes(data)
    found = [
        _salvage(tmp_path / "bad.clps", limits, tmp_path / str(limits.payload_size))
        for limits in (DEFAULT_LIMITS, SMALL)
    ]
    assert found[0] == found[1]
    with exhume.clps.open(made) as one, exhume.clps.open(tmp_path / str(LIMIT)) as other:
        assert b"".join(one.json_chunks()) == b"".join(other.json_chunks())


def test_log_types_in_a_file() -> None:
    texts = [b"", b'a \x11 b\\\x11 "\t', b"\x13", b"x" * 5000 + b"\n", bytes(range(32)), b"\\"]
    payload = b"".join(len(one).to_bytes(8, "little") + one for one in texts)
    entries = ClpsStrings(payload, len(texts))
    for escape in (False, True):
        plain = ClpsLogTypes(entries, True, escape)
        mapped = ClpsLogTypes(entries, True, escape, mapped_room)
        for index in some(range(len(texts))):
            assert plain.literals(index) == mapped.literals(index)
            assert plain.holes(index) == mapped.holes(index)


@pytest.mark.skipif(KERNEL is None, reason="only the compiled kernel puts log types into a file")
def test_a_placeholder_takes_sixteen_bytes() -> None:
    sizes: list[int] = []

    def room(size: int) -> memoryview:
        sizes.append(size)
        return memoryview(bytearray(size))

    text = b"\x12 "
    for count in (1000, 2000):
        payload = (count * len(text)).to_bytes(8, "little") + count * text
        log_types = ClpsLogTypes(ClpsStrings(payload, 1), True, False, room)
        assert log_types.holes(0) == b"\x12" * count
        assert log_types.literals(0) == [b"", *[b" "] * count]
    assert sizes[1] - sizes[0] == 1000 * 16


MEMORY = """
import resource, sys
import exhume, exhume.cli, exhume.formats.clp_s.reader, numpy
from exhume.native import KERNEL
limits = exhume.Limits(payload_size=1 << 20)
with exhume.clps.open(sys.argv[1], limits=exhume.Limits()) as archive:
    archive.schema_tree
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[2]), used + int(sys.argv[2])))
with exhume.clps.open(sys.argv[1], limits=limits) as archive:
    texts = archive.texts
    assert len(texts.escaped_variables) and len(texts.log_types)
    assert archive.variables.size > 32 << 20 and archive.log_types.size > 16 << 20
print(KERNEL)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="data of a process is limited as Linux does it")
def test_memory_is_not_that_of_a_dictionary(tmp_path: Path) -> None:
    with exhume.clps.create(tmp_path / "made") as writer:
        for row in range(32):
            word = b"%c%c" % (107 + row % 13, 107 + row // 13)
            line = b'{"v":"%d%s","t":"%s %s %d"}' % (row, b"x" * (1 << 20), word, b"y " * (1 << 18), row)
            writer.write_json_line(line)
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "made"), str(12 << 20)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
