"""The specifications on files of real producers: JavaScript and Python read them alike, and they are written back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.real import RealSamples
from tests.sizes import some
from tests.toolchain import trees
from tests.toolchain.readwrite import roundtrip

# What whole files each specification describes, as globs in the folder of real samples.
FILES = {
    "ark_serializable_file": ("ark/*/manifests/*",),
    "ark_split": ("ark/*/splits/*",),
    "caf": ("caf/*.caf",),
    "clp_s": ("clp_s/*/*/*.clps",),
    "data_bundle_shard": ("data_bundle/*/bundle/shard-*",),
    "leveldb_log": ("data_bundle/**/*.log", "leveldb/**/*.log"),
    "leveldb_manifest": ("data_bundle/**/MANIFEST-*", "leveldb/**/MANIFEST-*"),
    "leveldb_table": ("data_bundle/**/*.sst", "data_bundle/**/*.ldb", "leveldb/**/*.sst", "leveldb/**/*.ldb"),
    "zs": ("zs/*.zs",),
}
# Container schemas that leave bytes to others: blocks of a table whose place is only in the data of another block, in
# an encoding of its own (RocksDB's index of deltas) or compressed.  Undescribed bytes come back as zeros.
PARTLY = {"leveldb_table"}
MAX_SIZE = 200_000
MAX_FILES = 40


def some_of(name: str, samples: RealSamples) -> list[Path]:
    """Return real files that a specification describes: sound ones, not empty, not large, and not too many."""
    found = sorted({file for glob in FILES[name] for file in samples.glob(glob) if 0 < file.stat().st_size <= MAX_SIZE})
    if name == "zs":
        expected = samples.expected("zs")
        found = [file for file in found if expected[file.name]["valid"]]
    return found[:: len(found) // MAX_FILES + 1]


def files_of(name: str, samples: RealSamples) -> list[Path]:
    """Return the same, or skip the test where there are none."""
    found = some_of(name, samples)
    if not found:
        pytest.skip(f"no sample of the repository is described by {name} as a whole, and no others are next to it")
    return found


@pytest.fixture(scope="module")
def pure_ones(real_samples: RealSamples) -> dict[tuple[str, Path], dict[str, Any]]:
    """Return what JavaScript makes of each file of each specification."""
    todo = [(name, file) for name in FILES for file in some_of(name, real_samples)]
    return dict(zip(todo, trees.run_pure([trees.pure_item(*one) for one in todo]), strict=True))


@pytest.mark.node
@pytest.mark.xdist_group("twin")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_both_languages_read_them_alike(
    name: str, real_samples: RealSamples, pure_ones: dict[tuple[str, Path], dict[str, Any]]
) -> None:
    wrong = []
    for file in files_of(name, real_samples):
        result = pure_ones[name, file]
        if result["error"] or result["incomplete"]:
            wrong.append(f"{file}: {result['error']} {result['incomplete']}")
        else:
            found = trees.differences(trees.python_tree(name, file.read_bytes(), []), result["tree"])
            wrong += [f"{file}: {line}" for line in found]
    assert wrong == []


@pytest.mark.node
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_they_are_written_back(name: str, real_samples: RealSamples) -> None:
    files = files_of(name, real_samples)
    for file in some(files):
        data = file.read_bytes()
        written = roundtrip(name, data)
        if name in PARTLY:
            assert all(new in (old, 0) for old, new in zip(data, written, strict=True)), file
        else:
            assert written == data, file
