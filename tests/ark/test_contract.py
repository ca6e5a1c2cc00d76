"""What every format must do, demanded of Ark logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.archive import Archive
from exhume.errors import QueryError
from exhume.testing.contracts import ArchiveContract, WriterContract
from tests.ark import make_samples


class TestArkArchive(ArchiveContract):
    format = "ark"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "ark/log"


class TestArkManifestFile(ArchiveContract):
    format = "ark"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        (manifest,) = (samples / "ark/log/manifests").iterdir()
        return manifest


class TestArkSplitFile(ArchiveContract):
    format = "ark"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return sorted((samples / "ark/log/splits").iterdir())[0]


class TestArkDirectory(ArchiveContract):
    format = "ark"

    @pytest.fixture
    def sample(self, samples: Path) -> Path:
        return samples / "ark/amended"

    def test_tables_are_valid_and_stream(self, archive: Archive) -> None:
        for ask in (archive.arrow_tables, archive.to_arrow, archive.__arrow_c_stream__):
            with pytest.raises(QueryError, match="several logs found"):
                ask()


class TestArkWriter(WriterContract):
    format = "ark"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        return lambda path: (make_samples.write_log(path), None)[1]
