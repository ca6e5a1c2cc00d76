"""Records as Arrow record batches: one column of bytes or text, or the fields that the record format describes.

A record format is the value of `record-format` in the metadata (zs.txt, "Metadata"): `{"type": "separated-values",
"separator": …, "column-names": […], "column-types": […]}`.  Its column types become

| type in the record format | Arrow type |
|---|---|
| `utf8` | large_string; bytes that are not UTF-8 are replaced |
| `int` | int64, from decimal digits with an optional minus sign |
| `float` | float64, from a decimal number, `nan` or `inf` (in any case, with a sign) |
| anything else | large_binary, the field as it is |

Columns without names are called `column_1` and so on; those without types are `utf8`.  An empty field of a number type
is null.  A record with another number of fields, or with an invalid number, does not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from exhume.choices import check_choice
from exhume.counts import counted
from exhume.errors import ExhumeError, QueryError, StructureError, shorten
from exhume.formats.zs.head import RECORD_FORMAT
from exhume.tabular.arrow import (
    BAD_RECORD,
    BAD_TEXT,
    BATCH_ROWS,
    TableOptions,
    check_rows,
    choose,
    import_pyarrow,
    rebatched,
    text_array,
)

if TYPE_CHECKING:
    from exhume.formats.zs.search import OpenFile

Errors = Literal["raise", "replace"]

RECORD: Final = "record"  # name of the column of whole records
SEPARATED: Final = "separated-values"  # the only `type` of a record format

# The numbers that fields may have, by type in the record format.
_NUMBERS: Final = {
    "int": re.compile(rb"-?[0-9]+"),
    "float": re.compile(rb"(?i:[+-]?([0-9]+\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?|nan|inf(inity)?))"),
}
LONGEST: Final = 400
"""The most digits of a number: longer ones are not measurements, and slow to parse."""

_INT64: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """Columns of a record: the separator, and types by column name."""

    separator: bytes
    columns: dict[str, str]

    @classmethod
    def parse(cls, described: Any) -> RecordFormat:
        """Return the record format that a metadata value describes.  Raises `QueryError` if it describes none."""
        if not isinstance(described, Mapping) or described.get("type") != SEPARATED:
            raise QueryError("not a record format", expected=f'{{"type": "{SEPARATED}", …}}', actual=shorten(described))
        separator = described.get("separator", "\t")
        names: Any = described.get("column-names")
        types: Any = described.get("column-types")
        if not isinstance(separator, str) or not separator:
            raise QueryError("record format: the separator is not a string", actual=shorten(separator))
        if names is None and types is None:
            raise QueryError("record format has neither column-names nor column-types: pass one that has them")
        # A default for the list that is missing; one that is not a list of strings is rejected below.
        if names is None:
            names = [f"column_{number}" for number in range(1, len(types) + 1)] if _texts(types) else types
        if types is None:
            types = ["utf8"] * len(names) if _texts(names) else names
        if not _texts(names) or len(set(names)) != len(names):
            raise QueryError("record format: column-names is not a list of different strings", actual=shorten(names))
        if not _texts(types) or len(types) != len(names):
            raise QueryError(
                "record format: column-types do not match column-names",
                expected=counted(len(names), "texts"),
                actual=types,
            )
        return cls(separator.encode("utf-8", "surrogatepass"), dict(zip(names, types, strict=True)))


def _texts(value: Any) -> bool:
    """Return whether a value is a list of strings, not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


class ZsTableOptions(TableOptions, total=False):
    """Options of `to_arrow`."""

    start: bytes | None
    stop: bytes | None
    prefix: bytes | None
    text: bool
    split: bool | Mapping[str, Any]
    errors: Errors
    jobs: int


def to_arrow(
    archive: OpenFile,
    *,
    columns: Iterable[str] | None = None,
    start: bytes | None = None,
    stop: bytes | None = None,
    prefix: bytes | None = None,
    text: bool = False,
    split: bool | Mapping[str, Any] = False,
    errors: Errors = "raise",
    batch_rows: int = BATCH_ROWS,
    jobs: int = 1,
    losses: Counter[str] | None = None,
) -> Any:
    """Return a streaming `pyarrow.RecordBatchReader` over the records in range, in their order.

    There is one column `record` of type large_binary, or large_string with `text`; with `split`, one column for each
    field of the record format, which is taken from the metadata (True) or given in the same form.  `start`, `stop` and
    `prefix` select records through the index, `columns` names columns, and `jobs` threads decompress.

    A string that is not UTF-8 and a record that does not fit the record format raise `StructureError`;
    `errors="replace"` puts U+FFFD and nulls there instead, and counts them in `losses`.  With `losses`, a record of a
    large block above the limit `payload_size` is left out and counted; without, it is raised (ZS-501).  Raises
    `QueryError` without a usable record format and `EntryNotFoundError` for an unknown column; damage is
    raised as `records` does.
    """
    pa = import_pyarrow()
    import numpy

    check_rows(batch_rows)
    check_choice("errors", errors, get_args(Errors))
    if errors != "raise" and not text and not split:
        raise QueryError("errors has no effect without text or split: records are any bytes")
    form = _form(pa, archive, text, split)
    names = choose(form.types, columns)
    schema = pa.schema([pa.field(name, form.types[name]) for name in names])

    def piece(values: bytes | memoryview, ends: bytes) -> tuple[Any, Any]:
        """Return the records of a block as a batch of one column, and their sizes; `ends` (int64) starts with a 0."""
        offsets = numpy.frombuffer(ends, numpy.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(values)]
        array = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
        return pa.RecordBatch.from_arrays([array], [RECORD]), numpy.diff(offsets)

    def formed(records: Any) -> tuple[Any, Counter[str]]:
        """Return a batch of records in the chosen form, and the losses in it."""
        found: Counter[str] = Counter()
        arrays = form.arrays(records.column(0), names, found)
        if found.total() and errors == "raise":
            raise _misfit(archive, form, records.column(0))
        return pa.RecordBatch.from_arrays(arrays, schema=schema), found

    # `map_values` calls `piece` for each block; `rebatched` joins and divides the results, and calls `formed`.
    def batches() -> Iterator[Any]:
        """Yield the batches, each of `batch_rows` records from one or more blocks."""
        pieces = archive.map_values(
            piece, start, stop, prefix, jobs=jobs, left_out=None if losses is None else partial(_count, losses)
        )
        for batch, found in rebatched(pieces, batch_rows, formed, jobs=jobs):
            if losses is not None:
                losses.update(found)
            yield batch

    return pa.RecordBatchReader.from_batches(schema, batches())


def _form(pa: Any, archive: OpenFile, text: bool, split: bool | Mapping[str, Any]) -> _WholeRecords:
    """Return the form of the rows: whole records, or fields.  Raises `QueryError` without a usable record format."""
    if split is False or split is None:
        return _WholeRecords(pa, text)
    if text:
        raise QueryError("text is for whole records: columns that are split have their own types")
    described = archive.metadata.get(RECORD_FORMAT) if split is True else split
    if described is None:
        raise QueryError(f"the metadata has no {RECORD_FORMAT}: give one")
    return _Split(pa, RecordFormat.parse(described))


def _count(losses: Counter[str], error: ExhumeError) -> None:
    """Count a record above the limit `payload_size`."""
    losses[f"records above the limit payload_size [{error.code}]"] += 1


def _misfit(archive: OpenFile, form: _WholeRecords, records: Any) -> ExhumeError:
    """Return the error for the first of these records that does not fit, found by forming them one by one."""
    for number, record in enumerate(records):
        found: Counter[str] = Counter()
        form.arrays(records.slice(number, 1), list(form.types), found)
        for what in +found:  # `+` drops counts of 0
            message = "a record does not fit the record format" if what == BAD_RECORD else "a text is not UTF-8"
            span = archive.source.span(0, archive.source.size)
            return StructureError(message, format="zs", actual=record.as_py(), span=span)
    raise AssertionError("each record fits, but not all of them together")


class _WholeRecords:
    """Form of the rows: whole records, as bytes or text.  `types` has the Arrow type of each column by name."""

    def __init__(self, pa: Any, text: bool) -> None:
        self.pa = pa
        self.types = {RECORD: pa.large_string() if text else pa.large_binary()}

    def arrays(self, records: Any, names: list[str], losses: Counter[str]) -> list[Any]:
        """Return an Arrow array for each of `names`; `records` is an array of bytes."""
        if self.pa.types.is_large_string(self.types[RECORD]):
            return [text_array(self.pa, records, losses) for _ in names]
        return [records for _ in names]


class _Split(_WholeRecords):
    """Form of the rows: records split at a separator, a column for each field."""

    def __init__(self, pa: Any, described: RecordFormat) -> None:
        """Split records into the columns that `described` names."""
        self.pa = pa
        self.separator = described.separator
        self.kinds = described.columns
        makers = {"utf8": pa.large_string, "int": pa.int64, "float": pa.float64}
        self.types = {name: makers.get(kind, pa.large_binary)() for name, kind in self.kinds.items()}

    def arrays(self, records: Any, names: list[str], losses: Counter[str]) -> list[Any]:
        """Return one Arrow array for each of `names`, in that order.

        A record with the wrong number of fields is null in every column; a field that is not a number is null itself.
        `losses` counts these records.
        """
        import numpy
        from pyarrow import compute

        pa, width = self.pa, len(self.kinds)
        # One piece more than there are columns is enough to see that a record has too many.
        parts = compute.split_pattern(records, self.separator, max_splits=width)
        fitting = compute.list_value_length(parts).to_numpy() == width
        # By record: its number among the records that fit, whose fields are in `fields`, `width` of them for each
        # record; null for the others.
        rows = numpy.arange(len(records)) if fitting.all() else numpy.cumsum(fitting) - 1
        places = pa.array(rows, pa.int64(), mask=~fitting)
        fields = parts.filter(pa.array(fitting)).flatten()
        bad = ~fitting
        out = []
        for number, (name, kind) in enumerate(self.kinds.items()):
            if name not in names:
                continue
            values = fields.take(compute.add(compute.multiply(places, width), number))
            match kind:
                case "utf8":
                    out.append((name, text_array(pa, values, losses)))
                case "int" | "float":
                    out.append((name, _numbers(pa, kind, values, bad)))
                case _:
                    out.append((name, values))
        if bad.any():
            losses[BAD_RECORD] += int(bad.sum())
        found = dict(out)
        return [found[name] for name in names]


def _numbers(pa: Any, kind: str, values: Any, bad: Any) -> Any:
    """Return fields as an array of numbers, empty ones as nulls.

    `kind` is `int` or `float`; `bad` is a mask of the rows: it is set for fields that are not numbers.
    """
    from pyarrow import compute

    target = pa.int64() if kind == "int" else pa.float64()
    lengths = compute.binary_length(values)
    values = compute.if_else(compute.equal(lengths, 0), pa.scalar(None, values.type), values)
    # Arrow also takes hexadecimal integers, NaNs with a string in parentheses, and strings of any length.
    odd = any(compute.any(compute.match_substring(values, text)).as_py() for text in ("x", "X", "("))
    if not odd and (compute.max(lengths).as_py() or 0) < LONGEST:
        try:
            return values.cast(pa.large_string()).cast(target)
        except pa.ArrowInvalid:
            pass  # one by one, to see which of them is not a number
    fits = _NUMBERS[kind].fullmatch
    made: list[int | float | None] = []
    for place, value in enumerate(values.to_pylist()):
        number = None
        if value is not None and fits(value) and len(value) < LONGEST:
            number = int(value) if kind == "int" else float(value)
        if value is not None and (number is None or (kind == "int" and number not in _INT64)):
            bad[place] = True
            number = None
        made.append(number)
    return pa.array(made, target)


__all__ = ["BAD_RECORD", "BAD_TEXT", "RecordFormat", "to_arrow"]
