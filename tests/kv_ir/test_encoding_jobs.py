"""Archives of streams, made with several jobs: parts of a stream are encoded apart, and the archive is that of one."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.write import inputs
from exhume.formats.clp_s.write import series as blocks
from exhume.formats.kv_ir import chunks, ingest
from exhume.formats.kv_ir.layout import END, build_integer, build_real, build_text
from exhume.formats.kv_ir.reader import open_archive
from exhume.formats.kv_ir.rows import archives
from exhume.io.source import BytesSource, Source
from exhume.native import KERNEL
from tests.kv_ir.broken import CASES
from tests.kv_ir.streams import HEAD, SMALL, TRUE, apart, auto, event, user
from tests.kv_ir.test_jobs import NUMBERED
from tests.kv_ir.test_reading import STREAMS

KEYS = [auto(Tags.NODE_INTEGER, b"ts")]
KEYS += [user(Tags.NODE_TEXT, b"t"), user(Tags.NODE_REAL, b"r"), user(Tags.NODE_OBJECT, b"o")]
LOG = b"".join(
    event(
        [(1, build_integer(1_700_000_000_000 + 7 * number))],
        [(1, apart(b"took \x11 of \x12", number % 50, b"a%d" % (number % 11))), (2, build_real(number / 8))]
        if number % 3
        else [(1, build_text(b"x%d" % (number % 17))), (4, TRUE)],
    )
    for number in range(400)
)
STREAM = HEAD + b"".join(KEYS) + user(Tags.NODE_BOOLEAN, b"b", 3) + LOG + END


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few events, read in chunks of a few bytes."""
    monkeypatch.setattr(chunks, "CHUNK_SIZE", 400)
    monkeypatch.setattr(inputs, "PIECE", 700)
    monkeypatch.setattr(ingest, "MAX_PREAMBLE", 300)


def made(folder: Path, sources: list[bytes], jobs: int, **options: Any) -> tuple[list[bytes], list[str]]:
    """The archives of these inputs, and what was refused."""
    reported: list[str] = []
    paths = [folder / str(number) for number in range(len(sources))]
    for path, data in zip(paths, sources, strict=True):
        path.write_bytes(data)
    try:
        with exhume.clps.create(folder / "a.clps", jobs=jobs, creator_id="x", overwrite=True, **options) as writer:
            writer.on_bad_record = lambda error: reported.append(str(error))
            writer.add_files(paths)
    except ExhumeError as error:
        return [], [*reported, str(error)]
    return [path.read_bytes() for path in writer.paths], reported


@pytest.mark.parametrize(
    "options",
    [{}, {"timestamp_key": "@ts"}, {"target_encoded_size": 4000}, {"log_order": False}, {"version": "0.3.1"}],
    ids=str,
)
def test_the_archive_is_that_of_one_job(tmp_path: Path, options: dict[str, Any]) -> None:
    numbered = HEAD + b"".join(NUMBERED) + END
    for sources in ([STREAM], [SMALL], [STREAM, b'{"a":1}\n' * 300, numbered, b"", STREAM[:2], STREAM + b"more"]):
        skip = {**options, "on_error": "skip"}
        assert made(tmp_path, sources, 3, **skip) == made(tmp_path, sources, 1, **skip)


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_reported_as_with_one_job(name: str, tmp_path: Path) -> None:
    data = STREAM[:-1] + CASES[name][len(HEAD) :] if CASES[name].startswith(HEAD) else CASES[name]
    for on_error in ("fail", "skip"):
        assert made(tmp_path, [data], 2, on_error=on_error) == made(tmp_path, [data], 1, on_error=on_error)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_streams_of_the_real_writer(path: Path, tmp_path: Path) -> None:
    assert made(tmp_path, [path.read_bytes()], 2) == made(tmp_path, [path.read_bytes()], 1)


def searched(data: bytes, jobs: int) -> tuple[list[bytes], str]:
    """The archives in which a stream is searched, small ones, and the error after them."""
    found: list[bytes] = []
    try:
        found.extend(_bytes(one) for one in archives(open_archive(BytesSource(data)), "@ts", 3000, jobs=jobs))
    except ExhumeError as error:
        return found, str(error)
    return found, ""


def _bytes(archive: ClpSArchive) -> bytes:
    assert isinstance(archive.source, Source)
    return archive.source.read_at(0, archive.source.size)


@pytest.mark.parametrize("name", ["", *CASES])
def test_archives_to_search_in_are_those_of_one_job(name: str) -> None:
    case = CASES[name] if name else STREAM
    data = STREAM[:-1] + case[len(HEAD) :] if case.startswith(HEAD) else case
    assert searched(data, 3) == searched(data, 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_search_with_jobs(jobs: int) -> None:
    with exhume.kvir.open(STREAM) as stream:
        assert len(list(stream.search("r >= 25", pairs="user", jobs=jobs))) == 133
        assert next(stream.search("o.b: true", pairs="auto", jobs=jobs)) == b'{"ts":1700000000000}\n'


@pytest.mark.skipif(KERNEL is None, reason="interpreted, nothing is encoded apart")
def test_most_parts_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    adopt = blocks.BlockEncoders.adopt

    def counted(self: blocks.BlockEncoders, part: Any, block: blocks.InputBlock) -> bool:
        taken.append(adopt(self, part, block))
        return taken[-1]

    monkeypatch.setattr(blocks.BlockEncoders, "adopt", counted)
    _, reported = made(tmp_path, [STREAM], 2)
    assert reported == []
    assert sum(taken) > 0.8 * len(STREAM) / 500


def test_an_archive_is_freed_when_the_next_is_made() -> None:
    with open_archive(BytesSource(STREAM)) as stream:
        gc.disable()  # parts of an archive refer to each other, so that the collector would free them, some time
        try:
            sources = []
            for one in archives(stream, size=3000):
                assert list(one.search("*: *").lines(ordered=True))
                sources.append(weakref.ref(one.source))
                del one
            assert len(sources) > 3
            assert not any(source() for source in sources)
        finally:
            gc.enable()
