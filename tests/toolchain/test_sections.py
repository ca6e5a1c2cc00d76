"""The schemas of single sections and payloads, on every archive there is: our writers' own and those of others.

A section map names the schema of each section's stored bytes and of its decompressed payload. Each must read the bytes
in Python and in JavaScript alike, and write them back.
"""

from __future__ import annotations

import functools
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests import archives
from tests.real import HAS_MORE
from tests.sizes import size
from tests.toolchain import trees
from tests.toolchain.pieces import Piece, pieces_of
from tests.toolchain.readwrite import roundtrip

MAX_REAL = size(7, 40)
# The specifications that describe one section or payload and not a whole file.
PARTS = (
    *("ark_manifest", "ark_rbuf"),
    *("clp_s_dictionary", "clp_s_dictionary_entries", "clp_s_metadata", "clp_s_schema_ids", "clp_s_schema_tree"),
    *("clp_s_table", "clp_s_table_metadata", "zstd_frame"),
    *("leveldb_block", "leveldb_data_block", "leveldb_filter", "leveldb_footer", "leveldb_log"),
    *("leveldb_manifest", "leveldb_properties", "leveldb_version_edit", "leveldb_write_batch"),
    *("zs_data_block", "zs_index_block"),
)


@functools.cache
def pieces() -> dict[str, list[Piece]]:
    """Return the pieces of all archives by schema: all of our own, and a spread of the others."""
    own: dict[str, list[Piece]] = defaultdict(list)
    real: dict[str, list[Piece]] = defaultdict(list)
    for into, paths in ((own, archives.own_archives()), (real, archives.real_archives())):
        for path in paths:
            for name, piece in pieces_of(path):
                into[name].append(piece)
    return {name: own[name][: 3 * MAX_REAL] + real[name][:: len(real[name]) // MAX_REAL + 1] for name in {*own, *real}}


@functools.cache
def pure_results() -> dict[str, list[dict[str, Any]]]:
    """Return what JavaScript makes of the pieces of each schema."""
    items: list[dict[str, Any]] = []
    names: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in PARTS:
            for _, data, args in pieces().get(name, ()):
                file = Path(scratch, str(len(items)))
                file.write_bytes(data)
                items.append({"spec": str(trees.ROOT / "ksy" / f"{name}.ksy"), "sample": str(file), "args": list(args)})
                names.append(name)
        results: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for name, result in zip(names, trees.run_pure(items), strict=True):
            results[name].append(result)
    return results


@pytest.mark.node
@pytest.mark.xdist_group("twin")
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.slow
def test_sections_are_what_their_schema_states(name: str) -> None:
    found = pieces().get(name)
    if not found and not HAS_MORE:
        pytest.skip(f"no section of the repository's samples is described by {name}, and no others are next to it")
    assert found, "no archive has such a section"
    wrong = []
    for (where, data, args), result in zip(found, pure_results()[name], strict=True):
        if result["error"] or result["incomplete"]:
            wrong.append(f"{where}: {result['error']} {result['incomplete']}")
            continue
        wrong += [
            f"{where}{line}" for line in trees.differences(trees.python_tree(name, data, list(args)), result["tree"])
        ]
        if roundtrip(name, data, *args) != data:
            wrong.append(f"{where}: not written back")
    assert wrong == []
