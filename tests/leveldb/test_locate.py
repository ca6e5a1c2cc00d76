"""Tables inside raw bytes, of every version of the footer.

Spec: LevelDB doc/table_format.md, RocksDB table/format.h.
"""

from __future__ import annotations

import random

import exhume
from exhume.formats.leveldb.table import Table
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS
from exhume.recovery import CarveVerdict, VerifiedBy
from tests.real import RealSamples
from tests.sizes import some

NAMES = ("lz4", "snappy", "tiny", "two-level", "zlib", "zstd")


def tables(real_samples: RealSamples) -> list[bytes]:
    folders = (real_samples.path("leveldb", f"rocksdb-{name}") for name in NAMES)
    return [path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.sst"))]


def test_tables_of_rocksdb_are_found(real_samples: RealSamples) -> None:
    noise = random.Random(3).randbytes(5000)
    image, places, versions = noise, [], set()
    for data in tables(real_samples):
        footer = Table(BytesSource(data)).footer
        assert footer is not None
        versions.add(footer.index_handle is None)
        places.append((len(image), len(data)))
        image += data + noise[: len(image) % 777]
    assert versions == {True, False}, "footers with and without handles"
    found = list(exhume.carve(image, only=["leveldb"]))
    assert [(one.offset, one.length) for one in found] == places
    assert {(one.verdict, one.verified_by) for one in found} == {(CarveVerdict.COMPLETE, VerifiedBy.CHECKSUMS)}
    for offset, length in places:
        assert [one for one in exhume.verify(image, offset=offset, length=length) if one.is_problem] == []


def test_a_limit_is_no_damage(real_samples: RealSamples) -> None:
    for data in some(tables(real_samples)):
        for name in ("payload_size", "structure_size", "expansion_floor"):
            for value in (0, 10, 100, 1000):
                limits = DEFAULT_LIMITS._replace(expansion=0, **{name: value})
                (found,) = exhume.carve(bytes(999) + data, only=["leveldb"], limits=limits)
                assert found.verdict in (CarveVerdict.INCOMPLETE, CarveVerdict.COMPLETE), (name, value, found.findings)
