"""What every format must do, held against KV-IR."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.testing.contracts import FileArchiveContract


class TestOpen(FileArchiveContract):
    """A stream as it is."""

    format = "kv-ir"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "kv_ir" / "small.clp"


class TestWrapped(FileArchiveContract):
    """A stream inside a zstd frame."""

    format = "kv-ir"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "kv_ir" / "small.clp.zst"
