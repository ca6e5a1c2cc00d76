"""One object store for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.remote.gcs import GcsStore, gcs_store
from tests.remote.store import Store, s3_store


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    pytest.importorskip("s3fs", reason="the extra cloud (s3fs) is not installed")
    pytest.importorskip("moto.server", reason="moto[server] is not installed")
    with s3_store() as store:
        yield store


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsStore]:
    pytest.importorskip("gcsfs", reason="gcsfs is not installed (dependency group oracles)")
    pytest.importorskip("gcp_storage_emulator", reason="gcp-storage-emulator is not installed (group oracles)")
    with gcs_store() as store:
        yield store
