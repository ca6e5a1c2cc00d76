"""What every format must do, held against clp-s."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.testing.contracts import FileArchiveContract
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
