"""The parts of an open bundle that its checks, map of sections and copies use; for type checkers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from exhume.formats.data_bundle.bundle import View
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.messages import BundleConfig
from exhume.formats.leveldb.database import Database
from exhume.io.tree import Tree
from exhume.limits import Limits


class OpenBundle(Protocol):
    """An open bundle; see `reader.DataBundleArchive`."""

    limits: Limits
    tree: Tree
    database: Database
    view: View

    @property
    def config(self) -> BundleConfig:
        """The configuration row.  Raises if it is missing or invalid."""

    def shard_files(self) -> Mapping[int, str]:
        """The shard files that exist, by number."""

    def rows(self) -> Mapping[str, FileRow]:
        """Every live file and directory row by path.  Raises at the first damage in the index."""

    def read_member(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a member."""

    def iter_member(self, name: str, /) -> Iterator[bytes]:
        """The bytes of a member in chunks."""
