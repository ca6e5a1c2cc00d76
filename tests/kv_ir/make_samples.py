"""Writes the project's own KV-IR samples."""

from __future__ import annotations

from pathlib import Path

from .streams import SMALL, wrapped


def make(root: Path) -> None:
    """A small stream as it is, inside a zstd frame, and for its schema."""
    folder = root / "kv_ir"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.clp").write_bytes(SMALL)
    (folder / "small.clp.zst").write_bytes(wrapped(SMALL, checksum=True))
    (root / "ksy" / "clp_kv_ir.bin").write_bytes(SMALL)
