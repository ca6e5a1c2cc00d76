"""CAF keeps the contracts of every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.testing.contracts import FileArchiveContract, MemberArchiveContract, WriterContract

from .make_samples import TREE


class TestSorted(FileArchiveContract, MemberArchiveContract):
    format = "caf"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "caf" / "sorted.caf"

    @pytest.fixture
    def members(self) -> dict[str, bytes]:
        return TREE


class TestInsertion(TestSorted):
    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "caf" / "insertion.caf"


class TestWriter(WriterContract):
    format = "caf"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        def build(path: Path) -> None:
            with exhume.create(path, "caf") as writer:
                for name, data in TREE.items():
                    writer.add_bytes(name, data)

        return build
