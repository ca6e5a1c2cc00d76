"""Recoding: the same files under another codec, level, record size, alignment or number of shards.

A bundle has its content in shards (files), as compressed records, and an index whose rows say where each file is.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.choices import passes_on
from exhume.codecs.checksums import sha256
from exhume.errors import UnsupportedFeatureError, WriterError, shorten
from exhume.formats.data_bundle.writer import METHODS, CompressionName, DataBundleWriter
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.data_bundle.bundle import OpenBundle


@passes_on(DataBundleWriter)
def recode(
    archive: OpenBundle,
    output: str | os.PathLike[str],
    *,
    stored: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    codec: CompressionName | None = None,
    level: str | None = None,
    jobs: int = 1,
    **options: Any,
) -> None:
    """Write the bundle's live files and directories to a new bundle, with user data but without old versions.

    Options that are not given (`record_size`, `alignment`, `shards`) are those of the archive's configuration.
    `stored` wraps every record in raw blocks of its codec.  Raises `WriterError` for a level that is not a number, and
    `UnsupportedFeatureError` for a row whose type or fields are not known, and would be lost.
    """
    if level is not None and not level.isdigit():
        raise WriterError("the level is zlib's", expected="0 to 12", actual=level)
    config = archive.config
    # The writer's name of each compression; one that it does not have becomes zlib.
    names = {int(number): name for name, number in METHODS.items()}
    compression = codec or names.get(config.compression, "zlib")
    settings: dict[str, Any] = {"shards": max(1, len(archive.shard_files()))}
    if config.record_size:
        settings["record_size"] = config.record_size
    if codec is None and compression == "none":
        settings["raw_packed"] = config.raw_packed
    if config.block_size:
        settings["alignment"] = config.block_size
    settings |= options
    with DataBundleWriter(
        output,
        compression=compression,
        level=None if level is None else int(level),
        stored=stored and compression != "none",
        jobs=jobs,
        progress=progress,
        **settings,
    ) as writer:
        for row in archive.rows().values():
            if row.meta.strange:
                raise UnsupportedFeatureError(f"{shorten(row.path)} cannot be written again", actual=row.meta.strange)
            if row.meta.is_directory:
                writer.add_directory(row.path, user_data=row.meta.user_data)
            else:
                reader = functools.partial(archive.read_member, row.path)
                writer.add_reader(row.path, row.meta.size, reader, user_data=row.meta.user_data)


def content_digest(archive: OpenBundle) -> str:
    """SHA-256 over every live path with its kind, user data, size and bytes, in the order of paths."""
    digest = sha256()
    # Lengths come before names and user data, so that different bundles never add up to the same bytes.
    for path, row in sorted(archive.rows().items()):
        meta = row.meta
        kind = "d" if meta.is_directory else "f"
        user = meta.user_data.build() if meta.user_data is not None else b""
        name = path.encode("utf-8", "surrogateescape")
        digest.update(f"{kind} {len(name)} {len(user)} {meta.size}\n".encode())
        digest.update(name + user)
        if not meta.is_directory:
            for chunk in archive.iter_member(path):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"
