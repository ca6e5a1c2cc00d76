"""Makes the samples of the schemas that belong to no format."""

from __future__ import annotations

from pathlib import Path


def make(root: Path) -> None:
    """Write 624485, the value everyone explains LEB128 with, and a line of text."""
    (root / "ksy" / "uleb128.bin").write_bytes(b"\xe5\x8e\x26")
    (root / "ksy" / "utf8_text.bin").write_bytes("Grüße, 1.5 €".encode())
