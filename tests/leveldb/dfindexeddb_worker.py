"""Asks dfindexeddb, whose environment runs this file, for the raw entries of databases: JSON lines in and out."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path


def refuse(data: bytes) -> bytes:
    """Stands for the decoders that dfindexeddb pins to versions that build on few machines."""
    raise ValueError("the databases that it is asked about are not compressed")


def main() -> None:
    """Answers until standard input ends."""
    for name in ("snappy", "zstd"):
        stub = types.ModuleType(name)
        stub.decompress = refuse  # type: ignore[attr-defined]
        sys.modules[name] = stub
    from dfindexeddb.leveldb import record

    for line in sys.stdin:
        rows = []
        for found in record.FolderReader(Path(json.loads(line)["folder"])).GetRecords():
            entry = found.record
            value = bytes(entry.value or b"").hex()
            rows.append([Path(found.path).name, entry.sequence_number, bytes(entry.key).hex(), value])
        sys.stdout.write(json.dumps(rows) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
