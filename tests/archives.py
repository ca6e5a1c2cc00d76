"""Every sample archive, the project's own and those of real producers, for tests that hold for all formats."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.real import REAL, ROOT

OWN = ROOT / "tests" / "samples"


def own_archives() -> list[Path]:
    """The project's own valid samples: files and directories right below `tests/samples/<format>/`."""
    others = ("cases", "flips", "ksy", "real")
    folders = [folder for folder in sorted(OWN.iterdir()) if folder.is_dir() and folder.name not in others]
    return [path for folder in folders for path in sorted(folder.iterdir()) if _is_archive(path)]


def _is_archive(path: Path) -> bool:
    return path.suffix not in {".json", ".jsonl", ".txt", ".md"} and not path.name.startswith(("bad", "broken"))


def real_archives() -> list[Path]:
    """Valid samples of real producers: those of the repository, and those next to it."""
    found = REAL.glob("caf/*.caf")
    found += [path for path in REAL.glob("zs/*.zs") if path.name.startswith(("good", "letters", "tiny", "words"))]
    found += REAL.glob("clp_s/*/*/archive*.clps")
    found += REAL.glob("clp_s_dir/*/*/archive")
    found += [path for path in REAL.glob("data_bundle/*/bundle") if not path.parent.name.startswith("bad")]
    found += REAL.glob("leveldb/*/db")
    found += REAL.glob("ark/basic")
    return [path for path in found if path.stat().st_size < 200_000 or path.is_dir()]


def label(path: Path) -> str:
    """A short test id."""
    return "/".join(path.parts[-3:])


def descriptors(folder: Path) -> int:
    """How many files below a folder this process has open; 0 where the system does not say."""
    found, listed = 0, Path("/proc/self/fd")
    for one in listed.iterdir() if listed.is_dir() else ():
        with contextlib.suppress(OSError):  # the one that lists them
            found += one.readlink().is_relative_to(folder)
    return found
