"""LevelDB and RocksDB databases, typed: what `exhume.open` does, for this format, which is only read."""

from __future__ import annotations

from typing import Any, Literal, cast

from exhume.engines.identify import open_archive
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["LevelDbArchive", "open"]


def open(
    target: Target,
    *,
    sequence_rule: Literal["per-operation", "per-batch", "per-sub-batch"] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> LevelDbArchive:
    """Open a database directory or a lone table for reading.

    Args:
        target: Path, URL or `Tree` of the directory, or a single table or log file.
        sequence_rule: How a log numbers the operations of a batch; None: as the log shows.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: its `database` yields every version of every key; `entries`, `to_arrow` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its table is damaged.

    Example:
        >>> with exhume.leveldb.open("database") as database:
        ...     database.database.get(b"apple")
        b'golden'
    """
    archive = open_archive(
        target,
        format="leveldb",
        limits=limits,
        storage_options=storage_options,
        offset=offset,
        length=length,
        sequence_rule=sequence_rule,
    )
    return cast("LevelDbArchive", archive)
