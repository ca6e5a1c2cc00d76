"""The archives of other programs in the repository: each has its producer, its command line and its digests."""

from __future__ import annotations

import hashlib
import json

from tests.real import MANIFEST, REPOSITORY
from tests.sizes import some

LISTED = json.loads(MANIFEST.read_text(encoding="utf-8"))
FILES = {path.relative_to(REPOSITORY).as_posix(): path for path in REPOSITORY.rglob("*") if path.is_file()}


def test_every_file_is_listed_once_and_is_what_it_was() -> None:
    digests = [item for entry in LISTED.values() for item in entry["sha256"].items()]
    found = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in FILES.items() if path != MANIFEST}
    assert sorted(digests) == sorted(found.items())


def test_every_archive_names_its_producer_version_and_command() -> None:
    for path, entry in some(LISTED.items()):
        assert set(entry) == {"producer", "version", "command", "sha256"}, path
        assert all(name == path or name.startswith(f"{path}/") for name in entry["sha256"]), path
        assert entry["producer"], path
        assert entry["command"], path
        assert entry["version"] or path.endswith("expected.json"), path


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in FILES.values()) <= 3_000_000


def test_every_format_with_a_tool_of_its_own_is_there() -> None:
    producers = {entry["producer"].partition(" (")[0] for entry in LISTED.values()}
    assert {"clp-s", "zs", "LevelDB", "RocksDB"} < producers
