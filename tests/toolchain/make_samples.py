"""Makes the sample of `uleb128.ksy`, which belongs to no format."""

from __future__ import annotations

from pathlib import Path


def make(root: Path) -> None:
    """Writes 624485, the value everyone explains LEB128 with."""
    (root / "ksy" / "uleb128.bin").write_bytes(b"\xe5\x8e\x26")
