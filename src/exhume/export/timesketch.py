"""`--to timesketch`: rows as the events of a timeline, JSON lines or (to a FILE that ends with `.csv`) CSV.

Each event has what Timesketch requests, `message`, `datetime` (ISO 8601, UTC, microseconds) and `timestamp_desc`, and
the fields of the row.  The time is, in this order: the column that `time` names; the time of the log's own clock,
counted from `clock_start`; the first column of calendar times; the time when the file that the row names was last
changed (LevelDB).  Rows without a time are left out and counted.  Fields whose names Timesketch uses itself get a
trailing underscore, nested values are JSON text, and bytes are text with escapes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, Final

from exhume.archive import Archive, Progress, no_progress
from exhume.choices import hint
from exhume.errors import EntryNotFoundError, QueryError, shorten
from exhume.export._tables import json_column
from exhume.io.jsonout import dumps
from exhume.io.output.stream import text_output
from exhume.tabular import ESCAPED, ExportReport, escape_controls
from exhume.tabular.arrow import NESTED, import_pyarrow
from exhume.times import EPOCH, iso_time
from exhume.tuples import NamedTuple

REQUIRED: Final = ("datetime", "timestamp_desc", "message")
"""In this order, so that lines that are sorted as text are sorted by time."""

RESERVED: Final = frozenset((*REQUIRED, "timestamp", "label", "tag"))
"""Names of fields that Timesketch uses itself."""

UNITS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of each unit that integers can be counted in."""

NO_TIME: Final = "rows without a time"
"""A kind of loss in the report."""


class Clock(NamedTuple):
    """The time of a row: its column, and the function that turns its values into nanoseconds since 1970.

    `described` is the event's `timestamp_desc`: what happened at that time.
    """

    column: str
    described: str
    times: Callable[[Any], list[int | None]]


def export(
    archive: Archive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    columns: Sequence[str] | None = None,
    time: str | None = None,
    message: str | None = None,
    clock_start: str | None = None,
    **options: Any,
) -> ExportReport:
    """Write the rows of all tables as events; `options` are those of the archive's `to_arrow`.

    Args:
        archive: Any that has tables.
        output: Path, or `-` for standard output.
        overwrite: Replaces a file.
        progress: Called with (done, total or None, unit).
        columns: Fields of the events; the column that holds the time is read in any case.
        time: Column of the time, `NAME` for times and ISO strings, `NAME:UNIT` (s, ms, us, ns) for integers.
        message: Column whose text is the message; without one `message`, or else the row as JSON text.
        clock_start: ISO 8601 time at which the log's own clock (`time_ns`) was 0.
        options: Further options of `to_arrow`.

    Raises:
        EntryNotFoundError: No table has the column.
        QueryError: The unit or the start of the clock cannot be read.
    """
    pa = import_pyarrow()
    report = ExportReport()
    start_ns = None if clock_start is None else _iso_ns(clock_start)
    if clock_start is not None and start_ns is None:
        raise QueryError("not an ISO 8601 time", actual=shorten(clock_start), expected="such as 2026-11-22T08:00:00Z")
    # Check the named columns against those of all tables.
    tables = archive.arrow_tables(losses=report.lost, **options)
    schemas = {name: make().schema for name, make in tables.items()}
    known = list(dict.fromkeys(field for schema in schemas.values() for field in schema.names))
    time_column, _ = _split(time) if time else (None, None)
    _check_columns([*(columns or ()), *filter(None, (time_column, message))], known)
    # The columns that become fields; that of the message has a field of its own.
    chosen = [name for name in known if (columns is None or name in columns) and name != (message or "message")]
    shown = {name: _field(name, known) for name in chosen}
    with text_output(output, overwrite=overwrite) as file:
        write = _csv(file, list(shown.values()), report) if output.lower().endswith(".csv") else _json_lines(file)
        for name, make in tables.items():
            lead = f"{name}: " if len(tables) > 1 else ""
            clock = _clock(pa, archive, schemas[name], time, start_ns)
            if clock is None:
                advice = "give --time COLUMN" + (" or --clock-start TIME" if "time_ns" in schemas[name].names else "")
                report.notes.append(f"{lead}no column has a calendar time: {advice}")
            for event in _events(pa, make(), clock, message, shown, lead, report):
                write(event)
                report.written["events"] += 1
                progress(report.written["events"], None, "events")
    return report.without_zeros()


def _check_columns(wanted: Iterable[str], known: Sequence[str]) -> None:
    """Raise `EntryNotFoundError` for a column that no table has; `known` are those of all tables."""
    for name in wanted:
        if name not in known:
            raise EntryNotFoundError(
                f"the table has no such column{hint(name, known)}",
                expected=f"one of {', '.join(known)}",
                actual=shorten(name),
            )


def _events(
    pa: Any,
    reader: Any,
    clock: Clock | None,
    message: str | None,
    shown: Mapping[str, str],
    lead: str,
    report: ExportReport,
) -> Iterator[dict[str, Any]]:
    """Yield each row with a time as an event; rows without one are counted in `report.lost`.

    `message`: the column for the event's text, by default `message`, else the row as JSON.  `shown`: the fields
    that columns become, by column.  `lead`: text before each message.
    """
    names = reader.schema.names
    message_column = next((name for name in (message, "message") if name in names), None)
    for batch in reader:
        if clock is None:
            report.lost[NO_TIME] += batch.num_rows
            continue
        times = clock.times(batch.column(batch.schema.get_field_index(clock.column)))
        values = [json_column(pa, column) for column in batch.columns]
        for time_ns, *row in zip(times, *values, strict=True):
            when = None if time_ns is None else _text(time_ns)
            if when is None:
                report.lost[NO_TIME] += 1
                continue
            whole = {name: value for name, value in zip(names, row, strict=True) if value is not None}
            text = _flat(whole[message_column], report) if message_column in whole else dumps(whole)
            event = {"datetime": when, "timestamp_desc": clock.described, "message": f"{lead}{text}"}
            for name, field in shown.items():
                if name in whole and name != message_column:
                    event[field] = _flat(whole[name], report)
            yield event


def _flat(value: Any, report: ExportReport) -> Any:
    """Return a value that a cell can hold: bytes as text, nested values as JSON (counted as lost)."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (Mapping, list, tuple)):
        report.lost[NESTED] += 1
        return dumps(value)
    return value


# --- clocks -----------------------------------------------------------------------------------------------------------


def _clock(pa: Any, archive: Archive, schema: Any, time: str | None, start_ns: int | None) -> Clock | None:
    """Return the column that has the time of the rows, and how it is read; None if there is none.

    `time` names a column and its unit, as `--time` does; `start_ns` is when the log's own clock began.
    """
    if time is not None:
        name, unit_ns = _split(time)
        return _column_clock(pa, name, schema.field(name).type, unit_ns) if name in schema.names else None
    if start_ns is not None and "time_ns" in schema.names:
        return Clock("time_ns", "time_ns", lambda column: [_sum(value, start_ns) for value in column.to_pylist()])
    for field in schema:
        if pa.types.is_timestamp(field.type):
            return _column_clock(pa, field.name, field.type, None)
    if "file" in schema.names:
        changed = _FileTimes(Path(archive.name))
        return Clock("file", "File Modified", lambda column: [changed.time_ns(name) for name in column.to_pylist()])
    return None


def _column_clock(pa: Any, name: str, kind: Any, unit_ns: int | None) -> Clock:
    """Return a function from a column of timestamps, integers (of `unit_ns` each) or ISO strings to nanoseconds."""
    if pa.types.is_timestamp(kind):
        # Not by a cast to nanoseconds, which cannot hold all times of other units.
        return Clock(name, name, lambda column: _scaled(column.cast(pa.int64()), UNITS[kind.unit]))
    if pa.types.is_integer(kind):
        if unit_ns is None:
            raise QueryError(
                f"column {shorten(name)} holds integers: say their unit", expected=f"{name}:ms or its like"
            )
        scale: int = unit_ns
        return Clock(name, name, lambda column: _scaled(column, scale))
    return Clock(name, name, lambda column: [_iso_ns(value) for value in column.to_pylist()])


def _scaled(column: Any, unit_ns: int) -> list[int | None]:
    """Return a column of integers of `unit_ns` each in nanoseconds."""
    return [None if value is None else value * unit_ns for value in column.to_pylist()]


def _sum(value: int | None, start_ns: int) -> int | None:
    """Add the start of the log's clock to a time; None stays None."""
    return None if value is None else value + start_ns


class _FileTimes:
    """When files were last changed, in nanoseconds since 1970; None for those that are not available."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, int | None] = {}  # by the name in the row

    def time_ns(self, name: str | None) -> int | None:
        """The time of a file that a row names: a path, or a name below the archive."""
        if name is None:
            return None
        if name not in self._known:
            # An archive that was copied elsewhere has the file in its own folder; else it is where the row states it.
            paths = (self._folder / Path(name).name, self._folder / name, Path(name))
            self._known[name] = next((path.stat().st_mtime_ns for path in paths if path.is_file()), None)
        return self._known[name]


def _split(time: str) -> tuple[str, int | None]:
    """Column and unit of `NAME` or `NAME:UNIT`."""
    name, colon, unit = time.rpartition(":")
    if colon and unit in UNITS:
        return name, UNITS[unit]
    return time, None


def _iso_ns(value: Any) -> int | None:
    """Nanoseconds since 1970 of an ISO text, taken as UTC where it names no zone; None for anything else."""
    try:
        moment, _ = iso_time(value)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def _text(time_ns: int) -> str | None:
    """ISO text of a time, to the microsecond; None outside the years 1 to 9999."""
    try:
        return (EPOCH + timedelta(microseconds=time_ns // 1000)).isoformat(timespec="microseconds")
    except OverflowError:
        return None


# --- files ------------------------------------------------------------------------------------------------------------


def _json_lines(file: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that writes one event as a line of JSON."""

    def write(event: dict[str, Any]) -> None:
        file.write((dumps(event) + "\n").encode("ascii"))

    return write


def _csv(file: Any, chosen: Sequence[str], report: ExportReport) -> Callable[[dict[str, Any]], None]:
    """Write the header line, and return a function that writes one event with control characters escaped.

    `chosen` are the fields of the events besides the required ones.
    """
    line = io.StringIO(newline="")  # a buffer for one line: the output takes bytes
    names = [*REQUIRED, *chosen]
    writer = csv.DictWriter(line, names, restval="")
    shown = {name: escape_controls(name) for name in names}
    report.lost[ESCAPED] += sum(name != plain for name, plain in shown.items())
    writer.writerow(shown)

    def write(event: dict[str, Any]) -> None:
        """Write an event as one line; control characters are escaped and counted as lost."""
        for name, value in event.items():
            if isinstance(value, str) and (plain := escape_controls(value)) != value:
                event[name] = plain
                report.lost[ESCAPED] += 1
        writer.writerow(event)
        file.write(line.getvalue().encode())
        line.seek(0)
        line.truncate()

    file.write(line.getvalue().encode())
    line.seek(0)
    line.truncate()
    return write


def _field(name: str, known: Collection[str]) -> str:
    """Return the name of a column's field: if Timesketch uses it itself, with underscores appended until neither it nor
    another of the columns `known` has the name.
    """
    if name in RESERVED:
        name += "_"
        while name in known:
            name += "_"
    return name
