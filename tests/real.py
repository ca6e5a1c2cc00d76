"""Archives that other programs made: those of the repository, and more of them if there are some next to it.

`tests/samples/real/` contains small archives that the formats' own tools made from our inputs; its `manifest.json`
lists for each the program, the version, the command line and the digests of its files.  A `shared/samples` next to the
repository, or the folder that `EXHUME_MORE_SAMPLES` names, in the same layout, adds cases that are not in the
repository.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = ROOT / "tests" / "samples" / "real"
MANIFEST = REPOSITORY / "manifest.json"
MORE = os.environ.get("EXHUME_MORE_SAMPLES", str(ROOT.parent / "shared" / "samples"))


class RealSamples:
    """The folders to look in, first come first served: what both have is taken from the repository."""

    def __init__(self, *roots: str | Path) -> None:
        self.roots = [Path(root) for root in roots if root and Path(root).is_dir()]

    def glob(self, pattern: str) -> list[Path]:
        """Everything that matches, each relative path once, in the order of these paths."""
        found: dict[Path, Path] = {}
        for root in self.roots:
            for path in root.glob(pattern):
                found.setdefault(path.relative_to(root), path)
        return [found[relative] for relative in sorted(found)]

    def cases(self, folder: str) -> list[str]:
        """The names of the folders below one that hold an `expected.json`."""
        found = self.glob(f"{folder}/**/expected.json")
        return [path.parent.as_posix().rpartition(f"/{folder}/")[2] for path in found]

    def expected(self, folder: str) -> dict[str, Any]:
        """What the `expected.json` of a folder says, by file name."""
        found = [root / folder / "expected.json" for root in reversed(self.roots)]
        return {name: facts for path in found if path.exists() for name, facts in json.loads(path.read_text()).items()}

    def path(self, *parts: str) -> Path:
        """One file or folder; the test that needs it is skipped where there is none."""
        for root in self.roots:
            if (path := root.joinpath(*parts)).exists():
                return path
        pytest.skip(f"{'/'.join(parts[:2])} is not among the samples of the repository, and no others are next to it")


REAL = RealSamples(REPOSITORY, MORE)
HAS_MORE = len(REAL.roots) > 1


def enter(path: str, producer: str, version: str, command: str) -> None:
    """Put a file or folder of the repository's samples into their manifest, with the digests of its files."""
    listed = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    top = REPOSITORY / path
    files = [top] if top.is_file() else sorted(file for file in top.rglob("*") if file.is_file())
    listed[path] = {
        "producer": producer,
        "version": version,
        "command": command,
        "sha256": {
            file.relative_to(REPOSITORY).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
        },
    }
    MANIFEST.write_text(json.dumps(dict(sorted(listed.items())), indent=1, ensure_ascii=False) + "\n")
