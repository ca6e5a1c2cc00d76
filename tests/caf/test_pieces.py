"""Without an index, files of known types are found in the data and numbered."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import exhume
from exhume.formats.caf.locate import find_pieces
from exhume.io.source import BytesSource
from exhume.recovery import VerifiedBy


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def files(folder: Path) -> dict[str, bytes]:
    box = io.BytesIO()
    with zipfile.ZipFile(box, "w") as archive:
        archive.writestr("a.txt", b"hello " * 50)
    database = folder / "db"
    connection = sqlite3.connect(database)
    connection.execute("create table t (x)")
    connection.commit()
    connection.close()
    jpeg = (
        b"\xff\xd8\xff\xe0\x00\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xda\x00\x08\1\1\0\0?\0"
        + bytes(range(1, 200))
        + b"\xff\xd9"
    )
    return {
        "png": png(),
        "zip": box.getvalue(),
        "gz": gzip.compress(b"some log\n" * 1000, mtime=0),
        "xz": lzma.compress(b"some log\n" * 1000),
        "sqlite": database.read_bytes(),
        "riff": b"RIFF" + struct.pack("<I", 40) + b"WAVE" + bytes(36),
        "pdf": b"%PDF-1.4\n1 0 obj\nendobj\ntrailer\n%%EOF\n",
        "jpg": jpeg,
    }


def test_every_type_is_found_exactly(tmp_path: Path) -> None:
    rng = random.Random(1)
    data, expected = bytearray(), []
    for suffix, content in files(tmp_path).items():
        data += rng.randbytes(rng.randrange(300)).replace(b"\xff", b"").replace(b"\x1f", b"")
        expected.append((len(data), len(data) + len(content), suffix))
        data += content
    assert list(find_pieces(BytesSource(bytes(data)), 0, len(data))) == expected


def test_noise_and_cut_files_yield_nothing(tmp_path: Path) -> None:
    for suffix, content in files(tmp_path).items():
        cut = content[: len(content) * 2 // 3]
        found = [kind for _, _, kind in find_pieces(BytesSource(cut), 0, len(cut))]
        assert suffix not in found or suffix == "gz"
    noise = random.Random(2).randbytes(1 << 18)
    assert len(list(find_pieces(BytesSource(noise), 0, len(noise)))) == 0


def test_salvage_without_an_index(tmp_path: Path) -> None:
    members = files(tmp_path)
    with exhume.create(tmp_path / "a.caf", "caf", order="insertion") as writer:
        for suffix, content in members.items():
            writer.add_bytes(f"x.{suffix}", content)
    with exhume.open(tmp_path / "a.caf") as archive:
        data_end = archive.sections().named("index").span.start
    data = (tmp_path / "a.caf").read_bytes()[:data_end]
    report = exhume.salvage(data, tmp_path / "out.caf", format="caf")
    assert report.verified_by is VerifiedBy.NONE
    assert not report.complete
    with exhume.open(tmp_path / "out.caf") as archive:
        saved: dict[str, bytes] = {n: archive.read_member(n) for n in archive.names()}  # type: ignore[attr-defined]
    pieces = [saved[name] for name in sorted(saved) if name.startswith("piece-")]
    assert pieces == list(members.values())


def test_a_pdf_ends_after_its_last_update() -> None:
    first = b"%PDF-1.4\n1 0 obj\nendobj\ntrailer\n%%EOF\n"
    linearized = first + b"2 0 obj\n" + bytes(200_000) + b"endobj\nxref\n%%EOF\r\n"
    updated = linearized + b"xref\n0 1\ntrailer\n%%EOF\n"
    cut = first + b"2 0 obj\n" + bytes(100)  # the end of this update is lost
    data = updated + linearized + b"noise %%EOF" + cut + first
    ends = [len(updated), len(updated + linearized)]
    start = len(updated + linearized + b"noise %%EOF")
    expected = [(0, ends[0]), (ends[0], ends[1]), (start, start + len(first)), (len(data) - len(first), len(data))]
    assert list(find_pieces(BytesSource(data), 0, len(data))) == [(*one, "pdf") for one in expected]
