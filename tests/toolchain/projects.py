"""Small projects with specifications of their own, for the tests of the tools."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.toolchain.trees import ROOT

LEAF = """\
meta:
  id: leaf
  endian: le
seq:
  - id: num_things
    type: u2
"""
BRANCH = """\
meta:
  id: branch
  imports:
    - leaf
  endian: le
seq:
  - id: first
    type: leaf
"""


def project(root: Path, **specs: str) -> Path:
    """Make a project of its own with these specifications."""
    (root / "ksy").mkdir(parents=True)
    for name, text in specs.items():
        (root / "ksy" / f"{name}.ksy").write_text(text)
    shutil.copy(ROOT / "package.json", root)
    return root
