"""What every format must do, for LevelDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.testing.contracts import ArchiveContract


class TestLevelDb(ArchiveContract):
    format = "leveldb"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "leveldb" / "small"


class TestLoneTable(ArchiveContract):
    format = "leveldb"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "leveldb" / "small" / "000005.ldb"
