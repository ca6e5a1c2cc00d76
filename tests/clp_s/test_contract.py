"""What every format must do, held against clp-s."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.testing.contracts import ArchiveContract, FileArchiveContract
from tests.clp_s import build


class TestDemo(FileArchiveContract):
    """An archive of 0.5.1 with every column type."""

    format = "clp-s"

    @pytest.fixture
    def sample(self, tmp_path: Path) -> Path:
        path = tmp_path / "demo.clps"
        path.write_bytes(build.demo().build())
        return path


class TestOld(FileArchiveContract):
    """An archive of 0.3.1, stored uncompressed."""

    format = "clp-s"

    @pytest.fixture
    def sample(self, tmp_path: Path) -> Path:
        path = tmp_path / "old.clps"
        path.write_bytes(build.old(compress=build.stored).build())
        return path


class TestDirectory(ArchiveContract):
    """A file for each section."""

    format = "clp-s"

    @pytest.fixture
    def sample(self, tmp_path: Path) -> Path:
        path = tmp_path / "logs"
        path.mkdir()
        for name, data in build.directory(build.demo().build()).items():
            (path / name).write_bytes(data)
        return path
