"""Files that the reference implementation wrote, and those of its own test suite, behave as it expects."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from tests.conftest import Ran
from tests.real import REAL, RealSamples
from tests.sizes import size

from .build import reader

EXPECTED = REAL.expected("zs")
VALID = [name for name, entry in EXPECTED.items() if entry["valid"]]
BROKEN = [name for name in EXPECTED if name not in VALID]

# The code of each broken file, and the offset of its fault.
FAULTS = {
    "bad-codec.zs": ("ZS-103", 72),
    "bad-data-order.zs": ("ZS-320", 106),
    "bad-index-key-1.zs": ("ZS-324", 120),
    "bad-index-key-2.zs": ("ZS-323", 134),
    "bad-level-index-1.zs": ("ZS-331", 120),
    "bad-level-root.zs": ("ZS-337", 1063),
    "bad-magic.zs": ("ZS-101", 0),
    "bad-ref-length.zs": ("ZS-333", 134),
    "bad-sha256.zs": ("ZS-203", 40),
    "bad-total-length.zs": ("ZS-303", 32),
    "empty-data.zs": ("ZS-312", 106),
    "header-checksum.zs": ("ZS-201", 8),
    "partial-data-1.zs": ("ZS-309", 106),
    "partial-index-1.zs": ("ZS-310", 120),
    "partial-index-3.zs": ("ZS-310", 120),
    "partial-index-4.zs": ("ZS-310", 120),
    "post-header-junk.zs": ("ZS-306", 106),
    "repeated-index.zs": ("ZS-332", 152),
    "root-is-data.zs": ("ZS-337", 106),
    "short-root.zs": ("ZS-336", 24),
    "truncated-data-1.zs": ("ZS-304", 134),
    "truncated-data-3.zs": ("ZS-304", 134),
    "unref-data.zs": ("ZS-334", 120),
    "wrong-root-level-1.zs": ("ZS-331", 134),
    "wrong-root-offset.zs": ("ZS-335", 16),
}


def test_every_broken_file_is_listed_here() -> None:
    assert set(BROKEN) in (set(), set(FAULTS))


@pytest.mark.parametrize("name", VALID)
@pytest.mark.bulk
def test_valid_file(real_samples: RealSamples, name: str) -> None:
    entry = EXPECTED[name]
    path = real_samples.path("zs", name)
    assert list(exhume.verify(path)) == []
    with reader(path) as archive:
        records = list(archive)
        assert len(records) == entry["records"]
        out = io.BytesIO()
        archive.dump(out, length_prefixed="uleb128")
        assert hashlib.sha256(out.getvalue()).hexdigest() == entry["sha256_of_payload"]
        for record in records[:: max(1, len(records) // size(200, 100_000))]:
            assert list(archive.records(prefix=record)) == [r for r in records if r.startswith(record)]
            assert list(archive.records(start=record)) == [r for r in records if r >= record]
        assert archive.sections().gaps() == []


@pytest.mark.parametrize("name", BROKEN or ["none"])
def test_broken_file(real_samples: RealSamples, name: str, exhume_cli: Any) -> None:
    path = real_samples.path("zs", name)
    code, offset = FAULTS[name]
    findings = [f for f in exhume.verify(path, format="zs") if f.code == code]
    assert findings
    assert findings[0].span is not None
    assert findings[0].span.start == offset
    ran: Ran = exhume_cli("verify", path)
    # The list of codecs is open ("currently defined"), so an unknown one is unsupported, not damage.
    assert ran.code == (3 if name == "bad-codec.zs" else 4)
    if "read" in EXPECTED[name]["reference_fails_in"]:
        with pytest.raises(ExhumeError), reader(path) as archive:
            list(archive)


@pytest.mark.parametrize("text", REAL.glob("zs/*.txt"), ids=lambda path: path.stem)
def test_dumps_are_those_of_the_reference(text: Path) -> None:
    with reader(text.with_suffix(".zs")) as archive:
        out = io.BytesIO()
        archive.dump(out)
    assert out.getvalue() == text.read_bytes()
