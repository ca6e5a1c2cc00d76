"""Result of `info()` for a chunk: counts, sizes and the order of its index.

Spec: caf.txt, Index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Info
from exhume.errors import shorten
from exhume.formats.caf.verify import index_order, unreferenced

if TYPE_CHECKING:
    from exhume.formats.caf.table import OpenChunk


@dataclass(frozen=True, slots=True)
class CafInfo(Info):
    """Facts from the index, without reading data; sizes in bytes.

    `files_size` is that of all members; `unreferenced` are bytes of the data section that belong to none; `unreadable`
    members have an unusable entry; for `index_order` see `verify.index_order`.
    """

    format_version: str
    files: int
    size: int
    data_size: int
    index_size: int
    files_size: int
    unreferenced: int
    unreadable: int
    index_order: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": "caf",
            "format_version": self.format_version,
            "files": self.files,
            "size": self.size,
            "data_size": self.data_size,
            "index_size": self.index_size,
            "files_size": self.files_size,
            "unreferenced": self.unreferenced,
            "unreadable": self.unreadable,
            "index_order": self.index_order,
        }


def collect(chunk: OpenChunk) -> CafInfo:
    """Return the info of a chunk, without reading data."""
    index = chunk.index
    live = [ordinal for ordinal, _ in index.items() if ordinal not in index.flaws]
    return CafInfo(
        format_version=shorten(index.version),
        files=len(index.table),
        size=chunk.source.size,
        data_size=chunk.data_size,
        index_size=chunk.index_size,
        files_size=sum(index.ends[ordinal] - index.starts[ordinal] for ordinal in live),
        unreferenced=sum(end - start for start, end in unreferenced(index, chunk.data_size)),
        unreadable=len(index.table) - len(live),
        index_order=index_order(index),
    )
