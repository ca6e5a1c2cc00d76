"""CAF chunks, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, cast

from exhume.engines.identify import open_archive
from exhume.formats.caf.reader import CafArchive
from exhume.formats.caf.writer import CafWriter, create
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["CafArchive", "CafWriter", "create", "open"]


def open(
    target: Target,
    *,
    any_version: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> CafArchive:
    """Open a CAF chunk for reading.

    Args:
        target: Path, URL, bytes, binary file object, `Source`.
        any_version: Whether to read an unknown `format_version` as if it were 1.0.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `names`, `stat`, `read_member`, `open_member` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its index is damaged.

    Example:
        >>> with exhume.caf.open("files.caf") as chunk:
        ...     sorted(chunk.names())[0]
        'README.txt'
    """
    archive = open_archive(
        target,
        format="caf",
        limits=limits,
        storage_options=storage_options,
        offset=offset,
        length=length,
        any_version=any_version,
    )
    return cast("CafArchive", archive)
