"""What every format must do, held against IR streams of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.testing.contracts import FileArchiveContract, WriterContract

from .streams import EVENTS


class TestOpen(FileArchiveContract):
    """A stream as it is."""

    format = "clp-ir"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "clp_ir" / "small.clp"


class TestWide(FileArchiveContract):
    """A stream with variables of eight bytes."""

    format = "clp-ir"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "clp_ir" / "wide.clp"


class TestWrapped(FileArchiveContract):
    """A stream inside a zstd frame."""

    format = "clp-ir"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "clp_ir" / "small.clp.zst"


class TestWriter(WriterContract):
    """The writer."""

    format = "clp-ir"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        def build(path: Path) -> None:
            with exhume.create(path, "clp-ir", zone="Europe/Berlin", codec="zstd") as writer:
                for time, message in EVENTS:
                    writer.write(time, message)

        return build
