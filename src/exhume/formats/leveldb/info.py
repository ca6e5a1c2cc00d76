"""Result of `info()` for a database: the facts in CURRENT, the manifest and the directory.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Info
from exhume.findings import Finding
from exhume.formats.leveldb.files import DbFile

if TYPE_CHECKING:
    from exhume.formats.leveldb.database import Database


@dataclass(frozen=True, slots=True)
class LevelDbInfo(Info):
    """Facts that are known without reading tables and logs."""

    writer: str
    """The program that wrote the manifest, see `Manifest.writer`."""
    comparator: str
    manifest: str | None
    """Name of the manifest; None without one."""
    counters: dict[str, int | None]
    """Counters in the manifest, by name; None if it does not state one."""
    families: dict[str, int]
    """Number of tables of each column family, by its name."""
    files: tuple[DbFile, ...]
    edits: int
    """Number of version edits in the manifest."""
    problems: int
    """Number of findings of opening."""
    errors: tuple[Finding, ...]
    """Those that are problems, and those of `stats`."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.errors

    def to_dict(self) -> dict[str, Any]:
        sizes: Counter[str] = Counter()
        for file in self.files:
            sizes[f"{file.role} {file.kind}s" if file.kind in ("table", "log", "manifest") else "other files"] += 1
        return {
            "writer": self.writer,
            "comparator": self.comparator,
            "manifest": self.manifest,
            **self.counters,
            "edits": self.edits,
            "column_families": self.families,
            "problems": self.problems,
            "counts": dict(sorted(sizes.items())),
            "files": [file.to_dict() for file in self.files],
        }


def collect(database: Database, scanned: Sequence[Finding]) -> LevelDbInfo:
    """Return the info of a database without reading its tables and logs; `scanned` are findings of `stats`."""
    manifest = database.manifest
    counters = {
        name: getattr(manifest, name) if manifest else None
        for name in ("last_sequence", "next_file_number", "log_number", "previous_log_number", "waterline")
    }
    families = {family.name: len(family.tables) for family in manifest.families.values()} if manifest else {}
    return LevelDbInfo(
        writer=manifest.writer if manifest else "unknown",
        comparator=database.comparator,
        manifest=manifest.name if manifest else None,
        counters=counters,
        families=families,
        files=tuple(database.files),
        edits=len(manifest.records) if manifest else 0,
        problems=len(database.problems),
        errors=tuple(file for file in (*database.problems, *scanned) if file.is_problem),
    )
