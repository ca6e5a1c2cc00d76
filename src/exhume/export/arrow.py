"""`--to arrow`: the archive's table (or tables) as an Arrow IPC stream."""

from __future__ import annotations

from typing import Any

from exhume.export._tables import TableFile, exporter

ACCEPTS = "tables"


class ArrowFile(TableFile):
    """An IPC stream, which can be written to a pipe; dictionaries change from batch to batch."""

    suffix = "arrow"
    is_text = False
    maps = True
    at_once = 16

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._writer = self.pa.ipc.new_stream(self.file, self.schema)

    def write(self, batch: Any) -> None:
        self._writer.write_batch(batch)  # which copies: a thread for it costs more than it saves

    def close(self) -> None:
        self._writer.close()


export = exporter(ArrowFile)
