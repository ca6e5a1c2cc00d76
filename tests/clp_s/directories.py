"""Directories that hold an archive, whole and damaged, in memory."""

from __future__ import annotations

from exhume.io.tree import MemoryTree
from tests.clp_s import build
from tests.clp_s.damaged import ORDERED

WHOLE = build.directory(build.demo().build())
OTHER = build.directory(ORDERED.build())
"""The files of another archive."""


def changed(**files: bytes | None) -> dict[str, bytes]:
    """The whole directory with other files, or without those that are None."""
    return {name: data for name, data in {**WHOLE, **files}.items() if data is not None}


CASES: dict[str, dict[str, bytes]] = {"whole": WHOLE}
for _name, _data in WHOLE.items():
    CASES[f"{_name} missing"] = changed(**{_name: None})
    CASES[f"{_name} cut"] = changed(**{_name: _data[: len(_data) // 2]})
    CASES[f"{_name} longer"] = changed(**{_name: _data + b"more"})
    CASES[f"{_name} of another archive"] = changed(**{_name: OTHER[_name]})
CASES["header with other bytes"] = changed(header=b"?" * 64)
CASES["before there was a header"] = changed(**{"header": None, "timestamp.dict": b"?"})
CASES["tables as they were once called"] = {name if name != "0" else "tables": data for name, data in WHOLE.items()}
CASES["something beside it"] = changed(notes=b"kept by hand")


def tree(files: dict[str, bytes]) -> MemoryTree:
    """The directory as something to open."""
    return MemoryTree(files, "logs")
