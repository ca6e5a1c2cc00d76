"""What every archive of members and every writer must do, for DataBundle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.testing.contracts import MemberArchiveContract, WriterContract
from tests.data_bundle.make_samples import MEMBERS, write_bundle


class TestDataBundle(MemberArchiveContract):
    format = "databundle"

    @pytest.fixture(params=["zlib", "snappy", "flat", "none_records"])
    def sample(self, samples: Path, request: pytest.FixtureRequest) -> Path:
        return samples / "data_bundle" / str(request.param)

    @pytest.fixture
    def members(self) -> dict[str, bytes]:
        return MEMBERS


class TestWriter(WriterContract):
    format = "databundle"

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            if path.is_file():
                from exhume.formats.data_bundle.writer import DataBundleWriter

                DataBundleWriter(path).abort()
            write_bundle(path, shards=2, jobs=2)

        return write
