"""What every format must do, demanded of Ark logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

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


class TestArkWriter(WriterContract):
    format = "ark"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        return lambda path: (make_samples.write_log(path), None)[1]
