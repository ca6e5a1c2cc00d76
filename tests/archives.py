"""Every sample archive, the project's own and those of real producers, for tests that hold for all formats."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.conftest import ROOT, SHARED

OWN = ROOT / "tests" / "samples"


def own_archives() -> list[Path]:
    """The project's own valid samples: files and directories right below `tests/samples/<format>/`."""
    folders = [folder for folder in sorted(OWN.iterdir()) if folder.is_dir() and folder.name != "ksy"]
    return [path for folder in folders for path in sorted(folder.iterdir()) if _is_archive(path)]


def _is_archive(path: Path) -> bool:
    return path.suffix not in {".json", ".jsonl", ".txt", ".md"} and not path.name.startswith(("bad", "broken"))


def real_archives() -> list[Path]:
    """Valid samples of real producers, where they are beside the project."""
    if not SHARED.is_dir():
        return []
    found = sorted((SHARED / "caf").glob("*.caf"))
    found += [
        path for path in sorted((SHARED / "zs").glob("*.zs")) if path.name.startswith(("good", "letters", "tiny"))
    ]
    found += sorted((SHARED / "clp_s").glob("*/*/archive*.clps"))
    found += [
        path for path in sorted((SHARED / "data_bundle").glob("*/bundle")) if not path.parent.name.startswith("bad")
    ]
    found += sorted((SHARED / "leveldb").glob("*/db"))
    found += [SHARED / "ark" / "basic"]
    return [path for path in found if path.stat().st_size < 200_000 or path.is_dir()]


def label(path: Path) -> str:
    """A short test id."""
    return "/".join(path.parts[-3:])


def descriptors(folder: Path) -> int:
    """How many files below a folder this process has open."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists them
            found += one.readlink().is_relative_to(folder)
    return found
