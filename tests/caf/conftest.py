"""Fixtures of the CAF tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.real import RealSamples


class Corpus:
    """The chunks of real producers and what is expected of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        raw = json.loads((root / "expected.json").read_text("utf-8"))
        self.expected: dict[str, dict[str, Any]] = {k: v for k, v in raw.items() if not k.startswith("_")}

    def read(self, name: str) -> bytes:
        """The bytes of one chunk, unpacked."""
        data = (self.root / name).read_bytes()
        return gzip.decompress(data) if name.endswith(".gz") else data


@pytest.fixture(scope="session")
def valid_corpus(real_samples: RealSamples) -> Corpus:
    """Chunks made by the reference writers."""
    return Corpus(real_samples.path("caf"))


@pytest.fixture(scope="session")
def malformed_corpus(real_samples: RealSamples) -> Corpus:
    """Crafted broken chunks."""
    return Corpus(real_samples.path("caf", "malformed"))
