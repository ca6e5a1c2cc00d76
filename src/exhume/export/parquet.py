"""`--to parquet`: the archive's table (or tables) as Parquet, compressed with zstd."""

from __future__ import annotations

from typing import Any

from exhume.export._tables import TableFile, exporter

ACCEPTS = "tables"

GROUP_ROWS = 1 << 20
"""A row group ends with the batch that reaches this many rows,"""

GROUP_BYTES = 64 << 20
"""or this many bytes in memory: small batches share one, and memory stays bounded.

With several jobs one group is written in parallel with the making of the next."""


LONG_ROW = 32 << 10
"""Bytes of a row, on average over the first group, above which a file has neither dictionaries nor statistics.

To make them, the writer copies values several times; it then stores no dictionary above 1 MiB, and no statistics of
values above 4 KiB."""


class ParquetFile(TableFile):
    """A Parquet file; the Arrow types are kept in its metadata."""

    suffix = "parquet"
    is_text = False
    maps = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._writer: Any = None
        self._held: list[Any] = []
        self._rows = self.gathered = 0

    def write(self, batch: Any) -> None:
        self._held.append(batch)
        self._rows += batch.num_rows
        self.gathered += batch.nbytes
        if self._rows >= GROUP_ROWS or self.gathered >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._held:
            self.background.submit(self._put, self.pa.Table.from_batches(self._held, self.schema))
        self._held, self._rows, self.gathered = [], 0, 0

    def _open(self, *, is_long: bool) -> None:
        from pyarrow.parquet import ParquetWriter

        more = {"use_dictionary": False, "write_statistics": False} if is_long else {}
        self._writer = ParquetWriter(self.file, self.schema, compression="zstd", **more)

    def _put(self, part: Any) -> None:
        if self._writer is None:
            self._open(is_long=part.nbytes > LONG_ROW * part.num_rows)
        self._writer.write_table(part, row_group_size=part.num_rows)

    def close(self) -> None:
        if self.file.is_open:
            self.flush()
        self.background.wait()
        if self._writer is None:
            self._open(is_long=False)
        self._writer.close()


export = exporter(ParquetFile)
