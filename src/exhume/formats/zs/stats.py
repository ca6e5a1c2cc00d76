"""Counts and sizes that need a scan of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.formats.zs.head import kind_of
from exhume.formats.zs.layout import RawBlock
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.native.kernel import MalformedRecordsError, scan_records

if TYPE_CHECKING:
    from exhume.formats.zs.search import OpenFile


def scan_archive(archive: OpenFile, jobs: int = 1) -> dict[str, Any]:
    """Blocks, stored and decompressed bytes by level, records, smallest and largest block payload, ratio; `jobs`
    threads decompress.

    Raises what reading the whole file raises.
    """
    file = archive.file

    def examine(block: RawBlock) -> tuple[int, int, int, int]:
        """Level and stored size of a block, the size of its payload, and the records in it."""
        if not (block.is_data or block.is_index):
            file.check(block)
            return block.level, block.size, 0, 0
        payload = file.payload(block)
        try:
            count = scan_records(payload).records if block.is_data else 0
        except MalformedRecordsError as error:
            raise file.records_error(block, error, len(payload)) from error
        return block.level, block.size, len(payload), count

    keep_freed_memory()
    levels: dict[int, dict[str, int]] = {}
    records = payload_total = stored_total = 0
    payload_sizes: list[int] = [0, 0]
    for level, stored, size, count in map_ordered(examine, file.walk(archive.header.blocks_offset), jobs):
        row = levels.setdefault(level, {"level": level, "blocks": 0, "stored_bytes": 0, "payload_bytes": 0})
        row["blocks"] += 1
        row["stored_bytes"] += stored
        row["payload_bytes"] += size
        if level == 0:
            records += count
            smallest, largest = payload_sizes
            payload_sizes = [min(smallest or size, size), max(largest, size)]
            payload_total += size
            stored_total += stored
    return {
        "root_index_level": archive.index.root().level,
        "records": records,
        "data_payload_bytes": payload_total,
        "data_stored_bytes": stored_total,
        "ratio": round(payload_total / stored_total, 3) if stored_total else None,
        "smallest_data_payload": payload_sizes[0],
        "largest_data_payload": payload_sizes[1],
        "levels": [{"kind": kind_of(level), **row} for level, row in sorted(levels.items())],
    }
