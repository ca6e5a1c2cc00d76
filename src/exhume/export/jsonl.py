"""`--to jsonl`: the archive's table as JSON, one object per row and line.

As in all JSON of exhume, integers beyond 2^53 are text, and bytes are `{"text": …}` with `"base64"` where the text
is not exact: nothing is lost.
"""

from __future__ import annotations

from typing import Any

from exhume.export._tables import TableFile, exporter, json_column
from exhume.io.jsonout import dump_pieces, dumps
from exhume.tabular.arrow import import_pyarrow

ACCEPTS = "tables"

LARGE = 32 << 20
"""Bytes of a batch that is written value by value, for it holds long ones."""


def lines_of(batch: Any) -> bytes:
    """The lines of a batch."""
    columns = [json_column(import_pyarrow(), column) for column in batch.columns]
    lines = [dumps(dict(zip(batch.schema.names, row, strict=True))) for row in zip(*columns, strict=True)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


class JsonLinesFile(TableFile):
    """A file of JSON objects; nulls are kept."""

    suffix = "jsonl"
    is_text = True
    render = staticmethod(lines_of)

    def write(self, batch: Any) -> None:
        if batch.nbytes > LARGE:
            self._write_large(self.schema.names, batch)
        else:
            self.file.write(lines_of(batch))

    def _write_large(self, names: list[str], batch: Any) -> None:
        for row in range(batch.num_rows):
            values = {name: self._value(column, row) for name, column in zip(names, batch.columns, strict=True)}
            for piece in dump_pieces(values):
                self.file.write(piece.encode("ascii"))
            self.file.write(b"\n")

    def _value(self, column: Any, row: int) -> Any:
        """One value, without a copy where it is bytes."""
        if self.pa.types.is_binary(column.type) or self.pa.types.is_large_binary(column.type):
            return memoryview(column[row].as_buffer()) if column[row].is_valid else None
        return json_column(self.pa, column.slice(row, 1))[0]

    def close(self) -> None:
        """Does nothing: every batch is written at once."""


export = exporter(JsonLinesFile)
