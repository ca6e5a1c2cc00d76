"""Ark logs, typed: what `exhume.open` and `exhume.create` do, for this format."""

from __future__ import annotations

from typing import Any, Literal, cast

from exhume.engines.identify import open_archive
from exhume.formats.ark.collection import ArkLogSet
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from exhume.io.opening import Target
from exhume.limits import DEFAULT_LIMITS, Limits

__all__ = ["ArkArchive", "ArkWriter", "create", "open"]

create = ArkWriter
"""`exhume.create` for this format: `ArkWriter`."""


def open(
    target: Target,
    *,
    log: str | None = None,
    on_missing: Literal["error", "skip"] = "error",
    unfinished: bool = False,
    by_manifest: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
) -> ArkArchive:
    """Open one Ark log for reading.

    Args:
        target: Manifest file, directory of a log, single split, their URL, `Source` or `Tree`.
        log: Which log of a directory that holds several: its GUID, or the start of it.
        on_missing: What to do about missing split files.
        unfinished: Whether to take a manifest that its writer did not close.
        by_manifest: Whether to count messages by the manifest's statistics, not by the index of each split.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        A context manager: `messages`, `channel`, `info`, `to_arrow` read it.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        FormatError: It is not such an archive, or its manifest is damaged.
        StructureError: The directory contains several logs and `log` does not choose one (ARK-108).

    Example:
        >>> with exhume.ark.open("robot") as log:
        ...     for message in log.messages("/robot/battery"):
        ...         if message.value is not None:
        ...             print(message.time_ns, message.value["volts"])
        ...         break
        1700000000050001000 24.5
    """
    archive = open_archive(
        target,
        format="ark",
        limits=limits,
        storage_options=storage_options,
        offset=offset,
        length=length,
        log=log,
        on_missing=on_missing,
        unfinished=unfinished,
        by_manifest=by_manifest,
    )
    if isinstance(archive, ArkLogSet):
        with archive:
            raise archive.several()  # the error that names the logs
    return cast("ArkArchive", archive)
