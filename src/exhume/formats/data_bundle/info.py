"""Result of `info()` for a bundle: its configuration, index and shards, as known from the index alone.

Spec: data_bundle.txt, Index, Shard Files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exhume.archive import Info
from exhume.formats.data_bundle.messages import BundleConfig, ShardHeader, compression_name


@dataclass(frozen=True, slots=True)
class BundleInfo(Info):
    """Configuration, index and shards, from the index alone; `DataBundleArchive.stats` has more.

    Values are None when only the rows of a remote index would give them and reading these takes more than one request;
    `header`, that of the first shard, then replaces the configuration.
    """

    config: BundleConfig | None
    header: ShardHeader | None
    shards: tuple[dict[str, Any], ...]
    """Number, size and count of records of each shard, as in JSON."""
    index: dict[str, Any]
    """Writer, last sequence number, number of files and size of the index, as in JSON."""
    files: int | None
    directories: int | None
    size: int | None
    """Bytes of all files."""
    stored_size: int
    """Bytes of the bundle: shards and index."""

    @property
    def omitted(self) -> str:
        return "" if self.config else "files and records were not counted: --stats reads the whole index"

    def to_dict(self) -> dict[str, Any]:
        config = self.config
        stated = config or self.header
        return {
            "magic": config.magic if config else None,
            "compression": compression_name(stated.compression) if stated else None,
            "record_size": stated.record_size if stated else None,
            "block_size": config.block_size if config else None,
            "raw_packed": config.raw_packed if config else None,
            "files": self.files,
            "directories": self.directories,
            "size": self.size,
            "stored_size": self.stored_size,
            "index": self.index,
            "shards": list(self.shards),
        }
