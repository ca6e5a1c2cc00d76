"""Truncation at every length and a flip of every byte of index and footer: reported, or a documented don't-care.

The one don't-care: a flip inside a name that leaves valid JSON only renames a file, and the format has no checksum.
Nothing may crash, and no member may read bytes that its range does not name.
"""

from __future__ import annotations

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.caf.chunk import build_index
from exhume.formats.caf.reader import open_archive
from exhume.io.source import BytesSource
from exhume.testing.damage import every_flip, every_truncation
from tests.sizes import some

from .make_samples import DATA, chunk

FILES = {"alpha.txt": (0, 20), "dir/beta \u00e9.bin": (20, 45), "gamma": (45, 64)}
INDEX = build_index(FILES)
WHOLE = chunk(INDEX)
NAME_BYTES = {len(DATA) + INDEX.index(name.encode()) + i for name in FILES for i in range(len(name.encode()))}
"""Absolute offsets of the bytes of names."""


def reported(data: bytes) -> bool:
    findings = list(exhume.verify(data, format="caf"))
    for finding in findings:
        assert "\n" not in str(finding)
        if finding.span is not None:
            assert 0 <= finding.span.start <= finding.span.end <= len(data), str(finding)
    return any(finding.severity is not Severity.NOTE for finding in findings)


def test_undamaged() -> None:
    assert list(exhume.verify(WHOLE, format="caf")) == []


def test_every_truncation() -> None:
    for length, cut in some(every_truncation(WHOLE)):
        assert reported(cut), length
        with pytest.raises(ExhumeError):
            open_archive(BytesSource(cut))


@pytest.mark.parametrize("mask", [0x01, 0x04, 0x20, 0x80, 0xFF])
def test_every_flip_of_index_and_footer(mask: int) -> None:
    for offset, damaged in some(flip for flip in every_flip(WHOLE, mask) if flip[0] >= len(DATA)):
        assert reported(damaged) or offset in NAME_BYTES, offset
        try:
            archive = open_archive(BytesSource(damaged))
        except ExhumeError:
            continue
        for name in archive.names():
            try:
                data = archive.read_member(name)
                start, end = archive.range_of(name)
            except ExhumeError:
                continue
            assert end <= archive.data_size
            assert data == damaged[start:end]


def test_appended_bytes() -> None:
    for extra in (b"\n", b"\0" * 4, b"x" * 40, b"\r\n"):
        assert reported(WHOLE + extra)


def test_absurd_claims_cost_nothing() -> None:
    """A footer of 4 GiB and a range of 2^60 bytes: refused before memory is spent."""
    import tracemalloc

    tracemalloc.start()
    try:
        for claim in (0xFFFFFFFF, 0x7FFFFFFF):
            with pytest.raises(ExhumeError) as caught:
                exhume.open(chunk(INDEX, footer=claim), format="caf")
            assert caught.value.code == "CAF-102"
        big = chunk(INDEX.replace(b'"end_byte":64', b'"end_byte":%d' % (1 << 60)))
        with exhume.open(big) as archive, pytest.raises(ExhumeError) as caught:
            archive.read_member("gamma")  # type: ignore[attr-defined]
        assert caught.value.code == "CAF-312"
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
