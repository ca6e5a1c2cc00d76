"""Counts and sizes that need a scan of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.formats.zs.head import kind_of
from exhume.native.kernel import MalformedRecordsError, scan_records

if TYPE_CHECKING:
    from exhume.formats.zs.reader import ZsReader


def scan_archive(archive: ZsReader) -> dict[str, Any]:
    """Blocks, stored and decompressed bytes by level, records, smallest and largest block payload, ratio.

    Raises what reading the whole file raises.
    """
    file = archive.file
    levels: dict[int, dict[str, int]] = {}
    records = payload_total = stored_total = 0
    payload_sizes: list[int] = [0, 0]
    for block in file.walk(archive.header.blocks_offset):
        row = levels.setdefault(block.level, {"level": block.level, "blocks": 0, "stored_bytes": 0, "payload_bytes": 0})
        row["blocks"] += 1
        row["stored_bytes"] += block.size
        if not (block.is_data or block.is_index):
            file.check(block)
            continue
        payload = file.payload(block)
        row["payload_bytes"] += len(payload)
        if block.is_data:
            try:
                records += scan_records(payload).records
            except MalformedRecordsError as error:
                raise file.records_error(block, error, len(payload)) from error
            smallest, largest = payload_sizes
            payload_sizes = [min(smallest or len(payload), len(payload)), max(largest, len(payload))]
            payload_total += len(payload)
            stored_total += block.size
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
