"""DataBundles, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, Literal, cast

from exhume.engines.identify import open_archive
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["DataBundleArchive", "DataBundleWriter", "create", "open"]

create = DataBundleWriter
"""`exhume.create` for this format: `DataBundleWriter`."""


def open(
    target: Target,
    *,
    sequence_rule: Literal["per-operation", "per-batch", "per-sub-batch"] | None = None,
    check: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> DataBundleArchive:
    """Open a DataBundle for reading.

    Args:
        target: Path, URL or `Tree` of the bundle's directory.
        sequence_rule: How a log of the index numbers the operations of a batch; None: as the log shows.
        check: Whether the index must have the configuration row of a bundle.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `names`, `stat`, `read_member`, `versions` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its index is damaged.

    Example:
        >>> with exhume.databundle.open("files.bundle") as bundle:
        ...     bundle.read_member("letters/first.txt", 0, 4)
        b'Dear'
    """
    archive = open_archive(
        target,
        format="databundle",
        limits=limits,
        storage_options=storage_options,
        offset=offset,
        length=length,
        sequence_rule=sequence_rule,
        check=check,
    )
    return cast("DataBundleArchive", archive)
