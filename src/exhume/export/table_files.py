"""Targets for archives of tables: Arrow IPC streams, CSV, JSON lines and Parquet, each a file of one table.

`exhume.export._tables` calls them with batches (`pyarrow.RecordBatch`); `pa` is the module `pyarrow`.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from exhume.export._tables import Exporter, TableFile, exporter, flat_column, json_column
from exhume.io.jsonout import SAFE_INTEGER, LongText, dump_bytes, dump_pieces, dump_text, dumps
from exhume.tabular import ESCAPED, escape_controls, wide
from exhume.tabular.arrow import BAD_TEXT, import_pyarrow

LARGE = 32 << 20
LONG = 1 << 20
"""A batch above `LARGE` bytes, or with rows above `LONG` bytes on average, is written value by value (`is_long`)."""

GROUP_ROWS = 1 << 20
"""A row group ends with the batch that reaches this many rows, or `GROUP_BYTES`."""

GROUP_BYTES = 64 << 20
"""A row group ends with the batch that reaches this many bytes in memory, which bounds the memory.

With several jobs, one group is written while the next is made."""


LONG_ROW = 32 << 10
"""Bytes of a row, on average over the first group, above which a file has neither dictionaries nor statistics.

To make them, the writer copies values several times; it then stores no dictionary above 1 MiB, and no statistics of
values above 4 KiB."""


def is_long(batch: Any) -> bool:
    """Whether a batch is written value by value."""
    return bool(batch.nbytes > min(LARGE, LONG * batch.num_rows))


def raw_value(pa: Any, column: Any, row: int) -> memoryview | None:
    """The bytes of a string or byte string, without a copy; None for null and for other types."""
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        place = column.indices[row].as_py()
        return None if place is None else raw_value(pa, column.dictionary, place)
    is_wide = types.is_large_binary(kind) or types.is_large_string(kind)
    if not (is_wide or types.is_binary(kind) or types.is_string(kind)):
        return None
    if column.slice(row, 1).null_count:  # a scalar would be a copy
        return None
    import numpy

    # Arrow stores a column of strings as one buffer of bytes, and one of the offsets at which the values start.
    _, offsets, data = column.buffers()
    places = numpy.frombuffer(offsets, numpy.int64 if is_wide else numpy.int32)
    start, stop = places[column.offset + row : column.offset + row + 2].tolist()
    return memoryview(data)[start:stop] if data is not None else memoryview(b"")


class ArrowFile(TableFile):
    """An IPC stream, which can be written to a pipe; dictionaries change from batch to batch."""

    suffix = "arrow"
    is_text = False
    maps = True
    at_once = 16  # tables: each keeps a batch

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._writer = self.pa.ipc.new_stream(self.file, self.schema)

    def write(self, batch: Any) -> None:
        self._writer.write_batch(batch)  # a thread for it would cost more than it saves, as writing only copies

    def close(self) -> None:
        self._writer.close()


export_arrow: Exporter = exporter(ArrowFile)


class CsvFile(TableFile):
    """A CSV file with a header line, written and escaped by `pyarrow.csv`.

    Strings are quoted where necessary, quotes in them are doubled; null is an empty field and an empty string is `""`.
    Control characters are escaped, and counted as changed.
    """

    suffix = "csv"
    is_text = True

    def __init__(self, *args: Any) -> None:
        """Write the header line.  Nested columns become text, and control characters in names are escaped."""
        super().__init__(*args)
        from pyarrow.csv import CSVWriter

        pa = self.pa
        # The types of the columns after `flat_column`, found with empty columns.
        self._flat = pa.schema(
            [
                pa.field(escape_controls(field.name), flat_column(pa, pa.nulls(0, field.type), self.report.lost).type)
                for field in self.schema
            ]
        )
        self.report.lost[ESCAPED] += sum(name != escape_controls(name) for name in self.schema.names)
        self._writer = CSVWriter(self.file, self._flat)

    def write(self, batch: Any) -> None:
        """Write a batch as CSV; values longer than memory allows are written row by row."""
        if is_long(batch):
            for row in range(batch.num_rows):
                self._write_long(batch, row)
            return
        columns = [flat_column(self.pa, column, self.report.lost) for column in batch.columns]
        self._writer.write_batch(self.pa.RecordBatch.from_arrays(columns, schema=self._flat))

    def _write_long(self, batch: Any, row: int) -> None:
        """Write a row value by value; long text is never in memory as a whole."""
        lead = b""
        for column in batch.columns:
            self.file.write(lead)
            lead = b","
            raw = raw_value(self.pa, column, row)
            if raw is None:
                self.file.write(self._plain(column.slice(row, 1)))
                continue
            self.file.write(b'"')
            self._write_text(raw)
            self.file.write(b'"')
        self.file.write(b"\n")

    def _plain(self, value: Any) -> bytes:
        """Return the CSV of a value that is not long."""
        from pyarrow.csv import CSVWriter

        flat = self.pa.RecordBatch.from_arrays([flat_column(self.pa, value, self.report.lost)], ["value"])
        made = io.BytesIO()
        with CSVWriter(made, flat.schema) as writer:
            made.seek(0)
            made.truncate()  # without the line of column names
            writer.write_batch(flat)
        return made.getvalue().removesuffix(b"\n")

    def _write_text(self, raw: memoryview) -> None:
        """Write the text of a long value, without the quotes around it."""
        text, is_escaped = LongText(raw), False
        try:
            deque(text.pieces(), maxlen=0)  # decode all of it, to see whether it is UTF-8
        except UnicodeDecodeError:
            self.report.lost[BAD_TEXT] += 1
        for piece in text.pieces("replace"):
            escaped = escape_controls(piece)
            is_escaped = is_escaped or escaped != piece
            self.file.write(escaped.replace('"', '""').encode())
        self.report.lost[ESCAPED] += is_escaped

    def close(self) -> None:
        self._writer.close()


export_csv: Exporter = exporter(CsvFile)


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
    """Return the values of a column as JSON text; decisions that hold for all values are made once."""
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
    """A file of JSON objects, one per row and line, with the keys whose values are not null.

    As in all JSON of exhume, integers beyond 2^53 are text, and bytes are `{"text": …}` with `"base64"` where the text
    is not exact: nothing is lost.
    """

    suffix = "jsonl"
    is_text = True
    maps = True
    render: ClassVar[Any] = staticmethod(lines_of)

    def write(self, batch: Any) -> None:
        """Write a batch as JSON lines; values longer than memory allows are written row by row."""
        if is_long(batch) and not wide.is_wide(self.schema):
            self._write_large(self.schema.names, batch)
        else:
            self.file.write(lines_of(batch))

    def _write_large(self, names: list[str], batch: Any) -> None:
        """Write the rows of a batch of large values one chunk at a time; absent values are omitted."""
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
        """One value, without a copy where it is bytes or long text."""
        raw = raw_value(self.pa, column, row)
        if raw is None:
            return json_column(self.pa, column.slice(row, 1))[0]
        kind = column.type.value_type if self.pa.types.is_dictionary(column.type) else column.type
        if self.pa.types.is_binary(kind) or self.pa.types.is_large_binary(kind):
            return raw
        return LongText(raw) if len(raw) > LONG else str(raw, "utf-8")

    def close(self) -> None:
        """Does nothing: every batch is written at once."""


export_jsonl: Exporter = exporter(JsonLinesFile)


class ParquetFile(TableFile):
    """A Parquet file, compressed with zstd; the Arrow types are kept in its metadata."""

    suffix = "parquet"
    is_text = False
    maps = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._writer: Any = None  # made with the first row group
        self._held: list[Any] = []  # batches of the next row group
        self._rows = 0  # in these
        self.gathered: int = 0

    def write(self, batch: Any) -> None:
        """Keep a batch until there are enough rows or bytes for a row group."""
        self._held.append(batch)
        self._rows += batch.num_rows
        self.gathered += batch.nbytes
        if self._rows >= GROUP_ROWS or self.gathered >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the batches that were kept as a row group, in the background; a row group has rows."""
        if self._rows:
            self.background.submit(self._put, self.pa.Table.from_batches(self._held, self.schema))
        self._held, self._rows, self.gathered = [], 0, 0

    def _open(self, *, is_long: bool) -> None:
        """Open the file.  For long values, dictionaries and statistics would cost memory and serve no query."""
        from pyarrow.parquet import ParquetWriter

        more = {"use_dictionary": False, "write_statistics": False} if is_long else {}
        self._writer = ParquetWriter(self.file, self.schema, compression="zstd", **more)

    def _put(self, part: Any) -> None:
        """Write a row group; the first one decides whether the values of the file are long."""
        if self._writer is None:
            self._open(is_long=part.nbytes > LONG_ROW * part.num_rows)
        self._writer.write_table(part, row_group_size=part.num_rows)

    def close(self) -> None:
        """Write the last row group and the footer; a file without rows has its schema."""
        if self.file.is_open:
            self.flush()
        self.background.wait()
        if self._writer is None:
            self._open(is_long=False)
        self._writer.close()


export_parquet: Exporter = exporter(ParquetFile)
