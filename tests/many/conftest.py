"""Archives by the dozen, and one real dask cluster of two processes for all tests that need one."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume


def make_zs(path: Path, seed: int, *, count: int = 40, block_size: int = 200) -> list[bytes]:
    """A small ZS file; returns its records."""
    rng = random.Random(seed)
    records = sorted(f"key{rng.randrange(200):03d}-{seed}".encode() for _ in range(count))
    with exhume.create(path, "zs", codec="deflate", block_size=block_size, branching_factor=4) as writer:
        made: Any = writer
        made.add_records(records)
    return records


def make_clps(path: Path, seed: int, count: int = 6) -> None:
    """A small clp-s archive."""
    with exhume.create(path, "clp-s") as writer:
        made: Any = writer
        for number in range(count):
            made.write({"n": number, "seed": seed, "text": f"took {number}.5 ms id=a{seed}", "even": number % 2 == 0})


def make_caf(path: Path, seed: int) -> None:
    """A small chunk."""
    with exhume.create(path, "caf") as writer:
        made: Any = writer
        for number in range(3):
            made.add_bytes(f"s{seed}/m{number}", random.Random(seed * 7 + number).randbytes(50))


def damage(path: Path, at: float = 0.6) -> None:
    """Flip a byte."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x55
    path.write_bytes(data)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve ZS files (z03 and z07 damaged), six clp-s archives, six chunks (c4 is not a chunk)."""
    root = tmp_path_factory.mktemp("many")
    for number in range(12):
        make_zs(root / f"z{number:02d}.zs", number)
    for number in (3, 7):
        damage(root / f"z{number:02d}.zs")
    for number in range(6):
        make_clps(root / f"l{number}.clps", number)
        make_caf(root / f"c{number}.caf", number)
    (root / "c4.caf").write_bytes(b"no chunk at all" * 4)
    return root


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    for name in ("distributed", "distributed.scheduler", "distributed.nanny", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",  # not the well-known port: another test run may have it
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"dashboard": False},
    ) as made:
        yield made
