"""`--to jsonl`: the archive's table as JSON, one object per row and line, with the keys whose values are not null.

As in all JSON of exhume, integers beyond 2^53 are text, and bytes are `{"text": …}` with `"base64"` where the text
is not exact: nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from exhume.export._tables import TableFile, exporter, json_column
from exhume.io.jsonout import SAFE_INTEGER, dump_bytes, dump_pieces, dump_text, dumps
from exhume.tabular import wide
from exhume.tabular.arrow import import_pyarrow

ACCEPTS = "tables"

LARGE = 32 << 20
LONG = 1 << 20
"""Bytes of a batch, and of a row on average, above which it is written value by value."""


def lines_of(batch: Any) -> bytes:
    """Return the lines of a batch; the work grows with the values that are present, not with rows times columns."""
    if wide.is_wide(batch.schema):
        return wide.lines_of(batch)
    rows: list[list[str]] = [[] for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        lead = f"{dumps(name)}:"
        present, texts = _present(column)
        for row, text in zip(present, texts, strict=True):
            rows[row].append(lead + text)
    return "".join(f"{{{','.join(row)}}}\n" for row in rows).encode("ascii")


def _present(column: Any) -> tuple[Sequence[int], Iterable[str]]:
    """Return the rows in which a column has a value, and the JSON text of these values."""
    pa = import_pyarrow()
    if not column.null_count:
        return range(len(column)), _texts(pa, column)
    if column.null_count == len(column):
        return (), []
    import pyarrow.compute as pc

    present = pc.indices_nonzero(column.is_valid())
    return present.to_pylist(), _texts(pa, column.take(present))


def _texts(pa: Any, column: Any) -> Iterable[str]:
    """What `dumps` makes of each value of a column; what they have in common is decided once."""
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        known = list(_texts(pa, column.dictionary))
        return map(known.__getitem__, column.indices.to_pylist())
    values = json_column(pa, column)
    if column.null_count or not values:
        return map(dumps, values)
    if types.is_integer(kind) and min(values) >= -SAFE_INTEGER and max(values) <= SAFE_INTEGER:
        return map(str, values)
    if types.is_string(kind) or types.is_large_string(kind):
        return map(dump_text, values)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return map(dump_bytes, values)
    if types.is_boolean(kind):
        return ("true" if value else "false" for value in values)
    return map(dumps, values)


class JsonLinesFile(TableFile):
    """A file of JSON objects; a row has the keys whose values are not null."""

    suffix = "jsonl"
    is_text = True
    maps = True
    render = staticmethod(lines_of)

    def write(self, batch: Any) -> None:
        if batch.nbytes > min(LARGE, LONG * batch.num_rows) and not wide.is_wide(self.schema):
            self._write_large(self.schema.names, batch)
        else:
            self.file.write(lines_of(batch))

    def _write_large(self, names: list[str], batch: Any) -> None:
        present = [column.is_valid() for column in batch.columns]
        for row in range(batch.num_rows):
            values = {
                name: self._value(column, row)
                for name, column, there in zip(names, batch.columns, present, strict=True)
                if there[row].as_py()
            }
            for piece in dump_pieces(values):
                self.file.write(piece.encode("ascii"))
            self.file.write(b"\n")

    def _value(self, column: Any, row: int) -> Any:
        """One value, without a copy where it is bytes."""
        if self.pa.types.is_binary(column.type) or self.pa.types.is_large_binary(column.type):
            import numpy

            _, offsets, data = column.buffers()
            kind = numpy.int64 if self.pa.types.is_large_binary(column.type) else numpy.int32
            start, stop = numpy.frombuffer(offsets, kind)[column.offset + row : column.offset + row + 2].tolist()
            return memoryview(data)[start:stop] if data is not None else b""
        return json_column(self.pa, column.slice(row, 1))[0]

    def close(self) -> None:
        """Does nothing: every batch is written at once."""


export = exporter(JsonLinesFile)
