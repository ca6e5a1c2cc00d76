"""Tables of damaged archives are valid Arrow as far as they go, and end in one of our errors."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.io.local import LocalTree
from exhume.io.tree import MemoryTree
from exhume.testing.damage import flip, sample_offsets
from tests.archives import label, own_archives

pytest.importorskip("pyarrow")

FORMATS = {"clp_s": "clp-s", "data_bundle": "databundle"}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "leveldb": [{}, {"all_versions": True}],
    "caf": [{"digest": "sha256"}],
    "databundle": [{"digest": "sha256"}],
    "zs": [{"text": True, "errors": "replace"}],
}


def damaged(path: Path) -> list[Any]:
    """Copies with one byte changed."""
    if path.is_file():
        data = path.read_bytes()
        return [flip(data, at, 1 << at % 8) for at in sample_offsets(len(data), 40)]
    tree = LocalTree(path)
    files = {name: (path / name).read_bytes() for name in tree.names()}
    choice = random.Random(1)
    full = [name for name, data in files.items() if data]
    out = []
    for _ in range(40):
        name = choice.choice(full)
        at = choice.randrange(len(files[name]))
        out.append(MemoryTree(files | {name: flip(files[name], at, 1 << at % 8)}))
    return out


@pytest.mark.parametrize("path", own_archives(), ids=label)
@pytest.mark.bulk
def test_one_changed_byte(path: Path) -> None:
    format = FORMATS.get(path.parent.name, path.parent.name)
    seen: Counter[str] = Counter()
    for copy in damaged(path):
        for options in OPTIONS.get(format, [{}]):
            try:
                with exhume.open(copy, format=format) as archive:
                    for make in archive.arrow_tables(**options, losses=Counter()).values():
                        for batch in make():
                            batch.validate(full=True)
                seen["read"] += 1
            except ExhumeError:
                seen["refused"] += 1
    assert seen["refused"] > 0
