"""ZS archives, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, cast

from exhume.engines.identify import open_archive
from exhume.formats.zs.reader import ZsArchive
from exhume.formats.zs.writer import ZsWriter
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["ZsArchive", "ZsWriter", "create", "open"]

create = ZsWriter
"""`exhume.create` for this format: `ZsWriter`."""


def open(
    target: Target,
    *,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> ZsArchive:
    """Open a ZS file for reading.

    Args:
        target: Path, URL, bytes, binary file object, `Source`.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `records`, `count`, `dump`, `to_arrow` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its header is damaged.

    Example:
        >>> with exhume.zs.open("words.zs") as words:
        ...     list(words.records(prefix=b"b"))
        [b'banana']
    """
    archive = open_archive(
        target, format="zs", limits=limits, storage_options=storage_options, offset=offset, length=length
    )
    return cast("ZsArchive", archive)
