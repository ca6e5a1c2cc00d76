"""Observer of the files and objects that a run opens, reads, fetches and writes.  Only `--audit` installs one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

Path = str | os.PathLike[str]


class RunObserver:
    """Hears of everything and keeps nothing; `--audit` has one that does."""

    def on_open(self, path: Path) -> None:
        """A file or directory will be read."""

    def on_read(self, path: Path, start: int, end: int) -> None:
        """Bytes `[start, end)` of a file that was opened are read."""

    def on_fetch(self, name: str, facts: Mapping[str, Any], start: int, data: bytes) -> None:
        """A store sent the bytes of a remote object that begin at `start`; `facts` are the object's metadata."""

    def on_write(self, path: Path) -> None:
        """A file or directory was written, under the name that it keeps."""

    def on_result(self, what: str, facts: Mapping[str, Any]) -> None:
        """Something was found out: a finding, an archive that was carved, what was salvaged."""


current: RunObserver | None = None
"""The observer of this process; one at most."""
