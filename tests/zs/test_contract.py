"""ZS keeps the contracts of every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.formats.zs.writer import ZsWriter
from exhume.testing.contracts import FileArchiveContract, WriterContract

from .make_samples import WORDS


class TestDeflate(FileArchiveContract):
    format = "zs"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "zs" / "words-deflate.zs"


class TestExtended(TestDeflate):
    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "zs" / "extended.zs"


class TestWriter(WriterContract):
    format = "zs"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        def build(path: Path) -> None:
            with ZsWriter(path, default_metadata=False, block_size=50, branching_factor=2, jobs=2) as writer:
                writer.add_records(WORDS)

        return build
