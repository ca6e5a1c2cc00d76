"""Writes the project's own samples of IR streams of text."""

from __future__ import annotations

from pathlib import Path

from .streams import SMALL, WIDE, wrapped


def make(root: Path) -> None:
    """Small streams as they are, inside a zstd frame, and for their schema."""
    folder = root / "clp_ir"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.clp").write_bytes(SMALL)
    (folder / "wide.clp").write_bytes(WIDE)
    (folder / "small.clp.zst").write_bytes(wrapped(SMALL, checksum=True))
    (root / "ksy" / "clp_ir.bin").write_bytes(SMALL)
