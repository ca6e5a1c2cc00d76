"""What every format must do, held against KV-IR."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.testing.contracts import FileArchiveContract, WriterContract

from .streams import EVENTS


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


class TestWriter(WriterContract):
    """The writer."""

    format = "kv-ir"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        def build(path: Path) -> None:
            with exhume.create(path, "kv-ir", metadata={"host": "a1"}, codec="zstd") as writer:
                for auto, user in EVENTS:
                    writer.write(user, auto)

        return build
