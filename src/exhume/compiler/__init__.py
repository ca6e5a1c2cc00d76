"""From Kaitai Struct specifications to fast readers.

Needs the standard library only: it runs before anything is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exhume.compiler.model import Model
from exhume.compiler.python import LAYOUT, modules
from exhume.compiler.refusal import RefusedError

__all__ = ["RefusedError", "compile_python"]


def compile_python(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The modules of plain Python readers by file name, for specifications by their ids as YAML gives them.

    Raises `RefusedError` naming the field and what is not covered.
    """
    return {"_layout.py": LAYOUT, **{f"{id}.py": text for id, text in modules(Model(specs)).items()}}
