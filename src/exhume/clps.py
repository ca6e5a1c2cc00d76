"""clp-s archives, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, cast

from exhume.engines.identify import open_archive
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.writer import ClpSWriter, create
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["ClpSArchive", "ClpSWriter", "create", "open"]


def open(
    target: Target,
    *,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> ClpSArchive:
    """Open a clp-s archive for reading.

    Args:
        target: Path, URL, bytes, binary file object, `Source`, or a directory or its `Tree`.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `events`, `json_lines`, `search`, `to_arrow` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its header is damaged.

    Example:
        >>> with exhume.clps.open("events.clps") as archive:
        ...     for event in archive.events("level: ERROR AND service: checkout"):
        ...         print(event["message"])
        request 11019 took 272 ms
        request 02012 took 19 ms
        user u203 signed in from 10.0.2.103
    """
    archive = open_archive(
        target, format="clp-s", limits=limits, storage_options=storage_options, offset=offset, length=length
    )
    return cast("ClpSArchive", archive)
