"""The real `clp-s`, where it can be had: `EXHUME_CLP_S_BIN` (several paths, separated as in PATH) or the package
`yscope-clp-core` (dependency group `oracles`)."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.oracles import compared


def binaries() -> list[Path]:
    """Every available `clp-s`."""
    found = [Path(item) for item in os.environ.get("EXHUME_CLP_S_BIN", "").split(os.pathsep) if item]
    spec = importlib.util.find_spec("yscope_clp_core")
    if spec is not None and spec.origin is not None:
        found.append(Path(spec.origin).parent / "bin" / "clp-s")
    return [path for path in found if os.access(path, os.X_OK)]


@dataclass(frozen=True)
class Oracle:
    """One binary."""

    path: Path

    def run(self, *args: object) -> subprocess.CompletedProcess[bytes]:
        ran = subprocess.run([str(self.path), *map(str, args)], capture_output=True, timeout=60, check=False)
        if ran.returncode >= 0 and args[0] in ("x", "s"):  # extracts a file, or answers a query
            compared("files" if args[0] == "x" else "queries")
        return ran

    def compress(self, folder: Path, text: bytes, *options: str) -> Path | None:
        """One archive of the text, None when the records cannot be compressed."""
        source, out = folder / "input.jsonl", folder / "out"
        source.write_bytes(text)
        out.mkdir()
        ran = self.run("c", "--single-file-archive", *options, out, source)
        made = [path for path in out.iterdir() if path.is_file()]
        return made[0] if ran.returncode == 0 and len(made) == 1 else None

    def extract(self, folder: Path, archive: Path, *options: str) -> bytes | None:
        """What `x` prints, None when it fails."""
        out = folder / f"x{len(list(folder.iterdir()))}"
        if self.run("x", *options, archive, out).returncode != 0:
            return None
        return b"".join(path.read_bytes() for path in sorted(out.iterdir()))


ORACLES = [
    pytest.param(Oracle(path), id=str(index), marks=pytest.mark.conformance("clp-s"))
    for index, path in enumerate(binaries())
] or [
    pytest.param(
        None,
        id="missing",
        marks=[
            pytest.mark.conformance("clp-s"),
            pytest.mark.skip(reason="yscope-clp-core is not installed, and EXHUME_CLP_S_BIN names no clp-s"),
        ],
    )
]
