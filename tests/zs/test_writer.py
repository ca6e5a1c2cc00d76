"""Writing: what goes in comes out, legal files only, nothing half-written that looks whole."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import WriterError
from exhume.formats.zs import sorting, writer
from exhume.formats.zs.encode import LEVELS, Codec
from exhume.formats.zs.framing import framing
from exhume.formats.zs.layout_facts import INCOMPLETE_MAGIC, MAGIC
from exhume.formats.zs.writer import ZsWriter
from exhume.native.kernel import frame_records

from .build import reader
from .make_samples import WORDS

RECORD = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([b"", b"\x00", b"\xff", b"\x00\xff", b"\xff" * 9, b"\n", b"x" * 300]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zs")


@given(
    items=st.lists(RECORD, min_size=1, max_size=30).map(sorted),
    codec=st.sampled_from(["none", "deflate", "lzma"]),
    block_size=st.integers(1, 200),
    branching=st.integers(2, 5),
    short=st.booleans(),
    jobs=st.sampled_from([1, 1, 2]),
    how=st.sampled_from(["records", "blocks", "uleb128", "u64le"]),
)
@pytest.mark.slow
def test_what_goes_in_comes_out(
    folder: Path, items: list[bytes], codec: Codec, block_size: int, branching: int, short: bool, jobs: int, how: str
) -> None:
    path = folder / "w.zs"
    with ZsWriter(
        path,
        codec=codec,
        level="0" if codec == "lzma" else None,
        block_size=block_size,
        branching_factor=branching,
        short_keys=short,
        jobs=jobs,
        overwrite=True,
    ) as out:
        if how == "records":
            out.add_records(items)
        elif how == "blocks":
            middle = len(items) // 2
            out.add_block(items[:middle])
            out.add_payload(frame_records(items[middle:]))
        elif how == "uleb128":
            out.add_file(io.BytesIO(frame_records(items)), length_prefixed="uleb128")
        else:
            data = b"".join(len(item).to_bytes(8, "little") + item for item in items)
            out.add_file(io.BytesIO(data), length_prefixed="u64le")
    assert list(exhume.verify(path)) == []
    with reader(path) as archive:
        assert list(archive) == items
        assert archive.header.data_sha256 == hashlib.sha256(frame_records(items)).digest()


@given(
    lines=st.lists(st.binary(max_size=5).map(lambda b: b.replace(b"\r", b"").replace(b"\n", b"")), min_size=1),
    terminator=st.sampled_from([b"\n", b"\0", b"\r\n", b"\n\n"]),
    block_size=st.integers(1, 40),
)
@pytest.mark.slow
def test_terminated_input(folder: Path, lines: list[bytes], terminator: bytes, block_size: int) -> None:
    lines = sorted(line.replace(b"\0", b"") for line in lines)
    path = folder / "t.zs"
    text = b"".join(line + terminator for line in lines)
    with ZsWriter(path, codec="none", block_size=block_size, overwrite=True) as out:
        out.add_file(io.BytesIO(text), terminator=terminator)
    with reader(path) as archive:
        assert list(archive) == lines
        back = io.BytesIO()
        archive.dump(back, terminator=terminator)
        assert back.getvalue() == text
    assert list(exhume.verify(path)) == []


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in LEVELS for level in LEVELS[codec]])
def test_all_levels(tmp_path: Path, codec: Codec, level: str) -> None:
    with ZsWriter(tmp_path / "a.zs", codec=codec, level=level) as out:
        out.add_records(WORDS)
    assert list(exhume.verify(tmp_path / "a.zs")) == []


def test_numbers_are_levels_too(tmp_path: Path) -> None:
    with ZsWriter(tmp_path / "a.zs", codec="deflate", level=9) as out:
        out.add_records(WORDS)
    assert list(exhume.verify(tmp_path / "a.zs")) == []


@pytest.mark.parametrize("block_size", [1, 7, 50])
@pytest.mark.parametrize("branching", [2, 3, 7])
def test_index_is_as_deep_as_it_must_be(tmp_path: Path, block_size: int, branching: int) -> None:
    path = tmp_path / "a.zs"
    with ZsWriter(path, codec="none", block_size=block_size, branching_factor=branching) as out:
        out.add_records(WORDS)
    with reader(path) as archive:
        blocks = sum(entry.kind == "data" for entry in archive.entries())
        depth, reach = 1, branching
        while reach < blocks:
            depth, reach = depth + 1, reach * branching
        assert archive.info().root_level == depth
        assert archive.header.root_offset + archive.header.root_size == path.stat().st_size


def test_short_keys_are_short(tmp_path: Path) -> None:
    items = [b"a" * 1000 + bytes([65 + n]) * 1000 for n in range(20)]
    for short in (False, True):
        with ZsWriter(tmp_path / f"{short}.zs", codec="none", block_size=1, short_keys=short) as out:
            out.add_records(items)
        assert list(exhume.verify(tmp_path / f"{short}.zs")) == []
    assert (tmp_path / "True.zs").stat().st_size < (tmp_path / "False.zs").stat().st_size - 15_000


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("block_size", [1, 4, 1000])
def test_unsorted_input_names_the_record(tmp_path: Path, jobs: int, block_size: int) -> None:
    text = b"a\nb\nd\nc\ne\n"
    with pytest.raises(WriterError) as caught, ZsWriter(tmp_path / "a.zs", jobs=jobs, block_size=block_size) as out:
        out.add_file(io.BytesIO(text))
    line = str(caught.value)
    assert "record 4 " in line
    assert "at least d" in line
    assert "found 'c'" in line or "found c" in line
    assert list(tmp_path.iterdir()) == []


def test_disorder_across_blocks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriterError), ZsWriter(tmp_path / "a.zs") as out:
        out.add_block([b"a", b"z"])
        out.add_block([b"b", b"c"])


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b"a\nb", {}),
        (b"a\0b\n", {"terminator": b"\0"}),
        (b"\x05ab", {"length_prefixed": "uleb128"}),
        (b"\x81\x00a", {"length_prefixed": "uleb128"}),
        (b"\x01\0\0\0\0\0\0\0a\x01\0", {"length_prefixed": "u64le"}),
        (b"\xff" * 8 + b"a", {"length_prefixed": "u64le"}),
        (b"a\n", {"terminator": b""}),
        (b"a\n", {"length_prefixed": "u32le"}),
        (b"", {}),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(tmp_path: Path, data: bytes, options: dict[str, Any]) -> None:
    with pytest.raises(WriterError), ZsWriter(tmp_path / "a.zs") as out:
        out.add_file(io.BytesIO(data), **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"codec": "bz2"},
        {"codec": "none", "level": "1"},
        {"codec": "lzma", "level": "9"},
        {"codec": "deflate", "level": 0},
        {"block_size": 0},
        {"branching_factor": 1},
        {"metadata": [1]},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": object()}},
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(WriterError):
        exhume.create(tmp_path / "a.zs", "zs", **options)
    assert list(tmp_path.iterdir()) == []


def test_options_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no_such_option"):
        exhume.create(tmp_path / "a.zs", "zs", no_such_option=1)  # type: ignore[call-overload]
    assert list(tmp_path.iterdir()) == []


def test_malformed_payload_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriterError), ZsWriter(tmp_path / "a.zs") as out:
        out.add_payload(b"\x09a")


def test_metadata_conventions(tmp_path: Path) -> None:
    with ZsWriter(tmp_path / "a.zs", metadata={"corpus": "é"}) as out:
        out.add(b"x")
    with reader(tmp_path / "a.zs") as archive:
        assert archive.metadata["corpus"] == "é"
        assert set(archive.metadata["build-info"]) == {"user", "host", "time", "version"}
        assert archive.metadata["build-info"]["time"].endswith("Z")
        archive.header.metadata.decode("ascii")
    own = {"build-info": {"user": "somebody else"}}
    with ZsWriter(tmp_path / "b.zs", metadata=own) as out:
        out.add(b"x")
    with reader(tmp_path / "b.zs") as archive:
        assert archive.metadata == own


def test_an_unfinished_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order of events: unfinished magic, sync, header, sync, good magic, sync, rename."""
    seen: list[tuple[bytes, bytes]] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        try:
            head = os.pread(fd, 24, 0)
        except OSError:  # the directory
            head = b""
        if head:
            seen.append((head[:8], head[16:24]))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with ZsWriter(tmp_path / "a.zs", codec="none") as out:
        out.add_records(WORDS)
    unknown = writer.UNKNOWN_OFFSET.to_bytes(8, "little")
    root = seen[-1][1]
    assert root != unknown
    assert seen == [(INCOMPLETE_MAGIC, unknown), (INCOMPLETE_MAGIC, root), (MAGIC, root)]


def test_crash_leaves_a_file_that_is_reported_unfinished(tmp_path: Path) -> None:
    out = ZsWriter(tmp_path / "a.zs", codec="none", block_size=20)
    out.add_records(WORDS)
    out._output.file.flush()
    [left] = tmp_path.iterdir()
    assert left.name != "a.zs"
    assert "ZS-102" in {finding.code for finding in exhume.verify(left, format="zs")}
    out.abort()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WriterError):
        out.add_block([b"x"])


def test_no_record_is_added_to_a_file_that_is_finished(tmp_path: Path) -> None:
    with ZsWriter(tmp_path / "x.zs") as writer:
        writer.add(b"a")
    for record in (b"b", b""):
        with pytest.raises(WriterError, match="the writer is closed"):
            writer.add(record)


def test_finish_and_abort_repeat(tmp_path: Path) -> None:
    out = ZsWriter(tmp_path / "a.zs")
    out.add(b"x")
    out.finish()
    out.finish()
    out.abort()
    assert (tmp_path / "a.zs").exists()


# Sorting


@given(items=st.lists(RECORD, min_size=1, max_size=60), memory=st.integers(1, 2000))
def test_external_sort(items: list[bytes], memory: int) -> None:
    with sorting.ExternalSorter(memory) as sorter:
        sorter.add(items)
        assert list(sorter) == sorted(items)


@pytest.mark.slow
def test_many_runs_are_merged_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "FAN_IN", 3)
    random.seed(1)
    items = [random.randbytes(random.randrange(9)) for _ in range(900)] + [b"L" * 300_000, b"K" * 300_000]
    with sorting.ExternalSorter(4000) as sorter:
        sorter.add(items)
        assert len(sorter._runs) > 9
        assert list(sorter) == sorted(items)


def test_feed_reads_every_framing() -> None:
    with sorting.ExternalSorter() as sorter:
        sorting.feed(sorter, io.BytesIO(b"b\na\n"), framing())
        sorting.feed(sorter, io.BytesIO(b"\x01c"), framing(length_prefixed="uleb128"))
        assert list(sorter) == [b"a", b"b", b"c"]


def test_metadata_text_of_the_sample(samples: Path) -> None:
    with reader(samples / "zs" / "words-none.zs") as archive:
        assert json.loads(archive.header.metadata) == archive.metadata
