"""KV-IR streams, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, cast

from exhume.engines.identify import open_archive
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.writer import KvIrWriter, create
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["KvIrArchive", "KvIrWriter", "create", "open"]


def open(
    target: Target,
    *,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> KvIrArchive:
    """Open a KV-IR stream for reading.

    Args:
        target: Path, URL, bytes, binary file object, `Source`.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `events`, `json_lines`, `search`, `to_arrow` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its preamble is damaged.

    Example:
        >>> with exhume.kvir.open("app.clp.zst") as stream:
        ...     for auto, user in stream.events():
        ...         print(auto["level"], user["message"])
        INFO started
    """
    archive = open_archive(
        target, format="kv-ir", limits=limits, storage_options=storage_options, offset=offset, length=length
    )
    return cast("KvIrArchive", archive)
