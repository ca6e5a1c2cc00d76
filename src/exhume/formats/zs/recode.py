"""Recoding: the same records under another codec, level, block size or branching factor."""

from __future__ import annotations

import os
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.choices import passes_on
from exhume.formats.zs.encode import Codec
from exhume.formats.zs.layout_facts import STORED_CODECS
from exhume.formats.zs.reader import ZsArchive
from exhume.formats.zs.writer import ZsWriter
from exhume.io.parallel import map_ordered
from exhume.limits import DEFAULT_LIMITS, Limits


@passes_on(ZsWriter)
def recode(
    archive: ZsArchive,
    output: str | os.PathLike[str],
    *,
    stored: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    codec: Codec | None = None,
    level: str | None = None,
    block_size: int | None = None,
    jobs: int = 1,
    **options: Any,
) -> None:
    """Write the archive's records and metadata to a new file.

    Data blocks keep their bounds unless `block_size` (in payload bytes) is given; `options` are those of `ZsWriter`
    (`branching_factor`, `short_keys`).  `stored` keeps the codec and wraps every payload in its raw blocks.  Raises
    `WriterError` for options that do not go together, and the archive's own errors for damage.
    """
    names = {on_disk: name for name, on_disk in STORED_CODECS.items()}
    chosen = codec or names[archive.header.codec]  # an archive with an unknown codec cannot be opened
    if stored and chosen != "none":
        level = "stored"
    size = {} if block_size is None else {"block_size": block_size}
    settings: dict[str, Any] = {"codec": chosen, "level": level, "jobs": jobs, **size, **options}
    with ZsWriter(output, metadata=archive.metadata, default_metadata=False, **settings) as writer:
        if block_size is not None:
            writer.add_records(archive.records(jobs=jobs))
            return
        _copy_blocks(archive, writer, progress, jobs)


def _copy_blocks(archive: ZsArchive, writer: ZsWriter, progress: Progress, jobs: int) -> None:
    """Copy the data blocks with their bounds.  A function of its own, so that no payload is held when it returns."""
    blocks = archive.file.walk(archive.header.blocks_offset)
    payloads = map_ordered(lambda block: archive.file.payload(block) if block.is_data else None, blocks, jobs)
    for done, payload in enumerate(payloads, 1):
        if payload is not None:
            writer.add_payload(payload)
        progress(done, None, "blocks")
