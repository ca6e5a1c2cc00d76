"""Payloads in chunks: the same bytes and the same damage as when they are decompressed as a whole.

Spec: none; docs/explore.md, "Large archives".
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.cli import explained as explained_text
from exhume.codecs.zstd import zstd_checksum
from exhume.engines import payloads
from exhume.engines.inspect import inspect_archive
from exhume.engines.payloads import payload_chunks
from exhume.errors import CodecError, ExhumeError, LimitExceededError
from exhume.layout.sections import Section
from tests.archives import label, own_archives, real_archives
from tests.conftest import Ran
from tests.sizes import size, some

COMPRESSED = [
    "zs/words-lzma.zs", "zs/words-deflate.zs", "clp_s/demo.clps", "kv_ir/small.clp.zst", "data_bundle/zlib",
    "data_bundle/snappy", "leveldb/snappy",
]  # fmt: skip


def outcome(make: Callable[[], bytes]) -> bytes | str:
    """The bytes, or the code of the error."""
    try:
        return make()
    except ExhumeError as error:
        return error.code


def in_chunks(section: Section) -> bytes | str:
    return outcome(lambda: b"".join(payload_chunks(section)))


def as_whole(section: Section) -> bytes | str:
    assert section.load is not None
    return outcome(section.load)


@pytest.mark.parametrize("path", [*own_archives(), *real_archives()], ids=label)
def test_chunks_of_a_payload_are_the_payload(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "HELD", 10)
    with inspect_archive(path) as archive:
        chosen = [one for one in archive.sections() if one.load is not None and one.pieces is not None]
        drawn = random.Random(1).sample(chosen, min(len(chosen), size(40, 1000)))  # none of some archives
        assert [in_chunks(section) for section in drawn] == [as_whole(section) for section in drawn]


@pytest.mark.parametrize("name", COMPRESSED)
def test_damage_in_a_payload_is_found_alike(
    name: str, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is the same, whether the damage is met before the first chunk or after it."""
    monkeypatch.setattr(payloads, "HELD", 10)
    copy = tmp_path / "copy"
    (shutil.copytree if (samples / name).is_dir() else shutil.copyfile)(samples / name, copy)
    with inspect_archive(copy) as archive:
        known = archive.format
        sections = [
            one for one in archive.sections() if one.pieces is not None and one.codec not in (None, "fragments")
        ]
    codes = set()
    for section in some(sections[:4]):
        file = copy / section.span.source if copy.is_dir() else copy
        data = file.read_bytes()
        for at in (section.span.start + section.span.size // 2, section.span.end - 6):
            file.write_bytes(data[:at] + bytes((data[at] ^ 0x10,)) + data[at + 1 :])
            with inspect_archive(copy, format=known) as archive:
                for one in archive.sections():
                    if one.name == section.name and one.pieces is not None:
                        whole = as_whole(one)
                        assert in_chunks(one) == whole
                        codes.add(whole if isinstance(whole, str) else "")
        file.write_bytes(data)
    assert codes - {""}


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("zs/words-lzma.zs", "data-0"), ("clp_s/demo.clps", "/var.dict"), ("clp_s/demo.clps", "table-0"),
        ("clp_s/demo.clps", "stream-0"), ("kv_ir/small.clp.zst", "stream"),
        ("data_bundle/zlib", "shard-00000000/record@0"), ("leveldb/snappy", "000005.ldb/data@0"),
    ],
)  # fmt: skip
def test_a_payload_above_the_limit_is_printed_and_explained(
    name: str, section: str, samples: Path, exhume_cli: Callable[..., Ran]
) -> None:
    """The limit is for payloads in memory: here none is."""
    with exhume.open(samples / name) as archive:
        limit = ("--limit", f"payload_size={len(archive.read_section(section)) - 1}")
    for verb in (
        ("payload", samples / name, section),
        ("explain", samples / name, "--section", section, "--no-verify"),
    ):
        whole, tight = exhume_cli(*verb), exhume_cli(*verb, *limit)
        assert (whole.code, tight.code, tight.err) == (0, 0, whole.err)
        assert whole.out == tight.out != b""


def test_a_damaged_payload_leaves_no_file(samples: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    data = bytearray((samples / "clp_s/demo.clps").read_bytes())
    with exhume.open(bytes(data)) as archive:
        span = archive.sections().named("/var.dict").span
    data[span.start + 8] ^= 1  # of the frame
    (tmp_path / "bad.clps").write_bytes(data)
    ran = exhume_cli("payload", tmp_path / "bad.clps", "/var.dict", "-o", tmp_path / "out")
    assert ran.code == 1
    assert "CLPS-309" in ran.err
    assert not (tmp_path / "out").exists()


def test_a_long_listing_of_fields_is_printed_in_parts(
    samples: Path, monkeypatch: pytest.MonkeyPatch, exhume_cli: Callable[..., Ran]
) -> None:
    verb = ("explain", samples / "clp_s/demo.clps", "--section", "/var.dict")
    whole = [line.split() for line in exhume_cli(*verb).text.splitlines()]
    monkeypatch.setattr(explained_text, "ALIGNED", 3)
    assert [line.split() for line in exhume_cli(*verb).text.splitlines()] == whole
    assert len(whole) > 10


def test_the_checksum_of_a_frame_is_computed_in_chunks() -> None:
    import zstandard

    content = random.Random(3).randbytes(9000) + b"again " * 5000
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    wrong = frame[:-1] + bytes((frame[-1] ^ 1,))
    damaged = frame[:400] + bytes((frame[400] ^ 255,)) + frame[401:]
    for step in (1, 3, 4, 5, 1000, len(frame)):

        def cut(data: bytes, step: int = step) -> list[bytes]:
            return [data[at : at + step] for at in range(0, len(data), step)]

        stored, computed = zstd_checksum(cut(frame), len(content))
        assert stored == computed == int.from_bytes(frame[-4:], "little")
        assert zstd_checksum(cut(wrong), len(content)) == (int.from_bytes(wrong[-4:], "little"), computed)
        with pytest.raises(LimitExceededError):
            zstd_checksum(cut(frame), len(content) - 1)
        with pytest.raises(CodecError):
            zstd_checksum(cut(frame[:-9]), len(content))
        assert zstd_checksum(cut(damaged), len(content))[0] == stored
