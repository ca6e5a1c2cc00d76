"""Events as Arrow record batches, in the order of the stream: `timestamp`, in milliseconds and UTC, and `message`.

| column | Arrow type |
|---|---|
| `timestamp` | timestamp[ms, tz=UTC] |
| `message` | large_string; bytes that are not UTF-8 are replaced, and counted as lost |

A piece is a record batch as the decoder made it, before rows are distributed to batches of equal size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError
from exhume.formats.clp_ir.stream import TextUnits
from exhume.formats.clp_ir.units import EventForm
from exhume.formats.kv_ir.arrow import counting_rest
from exhume.tabular.arrow import BATCH_ROWS, check_rows, choose, import_pyarrow, rebatched, text_array

if TYPE_CHECKING:
    from exhume.formats.clp_ir.stream import TextStream

COLUMNS = ("timestamp", "message")

AT_ONCE = 1 << 20
"""Approximate size of a piece in bytes."""


def to_arrow(
    archive: TextStream,
    *,
    columns: Iterable[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    losses: Counter[str] | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per event; see the module for the types.

    A batch has at most `batch_rows` rows, and ends with the row that makes it 16 MiB.

    Raises `EntryNotFoundError` for another column, and `MissingDependencyError` without pyarrow; damage is raised
    after a batch of the rows before it.  Events above a limit, and bytes after the end of the stream, are counted in
    `losses`, and raised only without it.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    names = choose(COLUMNS, columns)  # both, or the `columns`
    types = {"timestamp": pa.timestamp("ms", "UTC"), "message": pa.large_string()}
    schema = pa.schema([pa.field(name, types[name]) for name in names])
    damage: list[ExhumeError] = []

    def pieces() -> Iterator[tuple[Any, Any]]:
        """Yield `(batch, sizes of its rows)`, and keep the damage at which they end."""
        try:
            yield from _pieces(counting_rest(archive.units(), losses), names, schema, losses)
        except ExhumeError as error:
            damage.append(error)  # raised below, once the rows before it were joined to batches

    def batches() -> Iterator[Any]:
        """Yield the events as batches of the usual size, then raise the damage at which the stream ended."""
        # Distribute the rows to batches of the usual size.  If no column is wanted, drop the nulls that `_batch` adds.
        yield from rebatched(pieces(), batch_rows, lambda batch: batch.select(schema.names))
        if damage:
            raise damage[0]

    return pa.RecordBatchReader.from_batches(schema, batches())


def _pieces(units: TextUnits, names: list[str], schema: Any, losses: Counter[str] | None) -> Iterator[tuple[Any, Any]]:
    """Yield the events of a pass as `(batch, sizes of its rows)`."""
    for _ in units.steps(EventForm.COLUMNS, AT_ONCE):
        yield _batch(units, names, schema, losses)


def _batch(units: TextUnits, names: list[str], schema: Any, losses: Counter[str] | None) -> tuple[Any, Any]:
    """Return `(batch of the events since the last call, array with the size in bytes of each row)`.

    `names` are the wanted columns, `schema` has their types.
    """
    import numpy

    pa = import_pyarrow()
    times, stops, text = units.decoder.take_columns()
    ends = numpy.concatenate([[0], numpy.frombuffer(stops, numpy.int64)])  # Arrow's offsets of the messages
    count = len(ends) - 1
    made = []
    for name in names:
        if name == "timestamp":
            made.append(pa.Array.from_buffers(schema.field(name).type, count, [None, pa.py_buffer(times)]))
        else:
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
            made.append(text_array(pa, pa.Array.from_buffers(pa.large_binary(), count, buffers), losses))
    if not names:  # Arrow cannot count rows without a column
        return pa.RecordBatch.from_arrays([pa.nulls(count)], [""]), numpy.full(count, 8)
    return pa.RecordBatch.from_arrays(made, schema=schema), numpy.diff(ends) + 16  # time and offset: 8 bytes each
