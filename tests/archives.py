"""Every sample archive, the project's own and those of real producers, for tests that hold for all formats."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.real import REAL, ROOT
from tests.sizes import THOROUGH

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
    found += _one_of_each_input([*REAL.glob("clp_s/*/*/archive*.clps"), *REAL.glob("clp_s_dir/*/*/archive")])
    found += [path for path in REAL.glob("data_bundle/*/bundle") if not path.parent.name.startswith("bad")]
    found += REAL.glob("leveldb/*/db")
    found += REAL.glob("ark/basic")
    return [path for path in found if path.stat().st_size < 200_000 or path.is_dir()]


def _one_of_each_input(paths: list[Path]) -> list[Path]:
    """One archive of each input: of the first version and form for the first input, of the second for the second.

    Versions of clp-s and both forms made archives of the same inputs; `make test-thorough` reads all of them.
    """
    if THOROUGH:
        return paths
    of_inputs: dict[str, list[Path]] = {}
    for path in paths:
        of_inputs.setdefault(path.parent.name, []).append(path)
    return [found[number % len(found)] for number, found in enumerate(of_inputs.values())]


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
