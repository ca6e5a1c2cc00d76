"""The parts of an open chunk that its checks and its map of sections use; for type checkers."""

from __future__ import annotations

from typing import Protocol

from exhume.formats.caf.table import Index
from exhume.io.source import Source


class Chunk(Protocol):
    """An open chunk; see `reader.CafArchive`."""

    source: Source

    @property
    def index(self) -> Index:
        """The whole index.  Raises the rules' errors if it is broken."""

    @property
    def index_size(self) -> int:
        """Size of the index in bytes."""

    @property
    def data_size(self) -> int:
        """Size of the data section in bytes; the index starts at that offset."""
