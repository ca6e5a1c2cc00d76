"""Channels as Arrow record batches and Parquet files with nested types (extra `arrow`).

Types: integers, floats, booleans and strings as they are; GUIDs as text; byte buffers as binary; durations as
`duration[ns]`; steady times as `uint64` nanoseconds (they are of no calendar); system times as `timestamp[ns, UTC]`;
enumerations as their integers; lists, arrays of fixed size, maps and structs nested; a variant as a struct with its
index, the name of its type and one nullable field per alternative; a type that contains itself as JSON text from there
on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import MissingDependencyError, QueryError
from exhume.export import ExportReport
from exhume.formats.ark.export import Selection, need_channels, opened
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.reader import ArkReader, Channel
from exhume.jsonout import dumps
from exhume.output import AtomicDirectory, AtomicFile

BATCH_ROWS: Final = 8192
TIMESTAMP_MAX: Final = (1 << 63) - 1

Convert = Callable[[Any], Any]


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError("Arrow and Parquet need the extra `arrow`: pip install 'exhume[arrow]'") from error
    return pyarrow


class ArrowForm:
    """The Arrow schema of a type, and the conversion of its values; `coerced` counts values that did not fit."""

    def __init__(self, registry: Registry, type_name: str) -> None:
        self.pa = _pyarrow()
        self.coerced = 0
        self._registry = registry
        fields = [(each.name, *self._field(each, (type_name,))) for each in registry.schema(type_name).visible_fields()]
        self.fields = [self.pa.field(name, type_) for name, type_, _ in fields]
        self._converters = [(name, convert) for name, _, convert in fields]

    def row(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """A value as a row."""
        return {
            name: value.get(name) if convert is None else _maybe(convert, value.get(name))
            for name, convert in self._converters
        }

    def _field(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert | None]:
        pa = self.pa
        if each.packed_timespec:
            return pa.binary(8), None
        match each.type:
            case "enum":
                enum = self._registry.enum(each.object_type or "")
                return getattr(pa, enum.enum_class)(), None
            case "float":
                return pa.float32(), None
            case "double":
                return pa.float64(), None
            case "bool":
                return pa.bool_(), None
            case "string" | "guid":
                return pa.string(), None
            case "byte_buffer":
                return pa.binary(), None
            case "duration":
                return pa.duration("ns"), None
            case "steady_time_point":
                return pa.uint64(), None
            case "system_time_point":
                return pa.timestamp("ns", tz="UTC"), self._timestamp
            case "arraylist" | "array":
                assert each.value is not None
                inner, convert = self._field(each.value, inside)
                list_type = pa.list_(inner, each.array_size) if each.type == "array" else pa.list_(inner)
                return list_type, None if convert is None else lambda items: [_maybe(convert, item) for item in items]
            case "dictionary":
                return self._map(each, inside)
            case "variant":
                return self._variant(each, inside)
            case "object":
                return self._object(each.object_type or "", inside)
        return getattr(pa, each.type)(), None

    def _timestamp(self, value: int) -> int | None:
        if value > TIMESTAMP_MAX:
            self.coerced += 1
            return None
        return value

    def _object(self, name: str, inside: tuple[str, ...]) -> tuple[Any, Convert | None]:
        if name in inside:
            return self.pa.string(), dumps
        schema = self._registry.schema(name)
        plan = [(f.name, *self._field(f, (*inside, name))) for f in schema.visible_fields()]
        if not plan:
            return self.pa.bool_(), lambda value: True

        def convert(value: Mapping[str, Any]) -> dict[str, Any]:
            return {key: value.get(key) if how is None else _maybe(how, value.get(key)) for key, _, how in plan}

        return self.pa.struct([(key, type_) for key, type_, _ in plan]), convert

    def _map(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert]:
        assert each.key is not None
        assert each.value is not None
        key_type, key = self._field(each.key, inside)
        value_type, value = self._field(each.value, inside)

        def convert(items: Any) -> list[tuple[Any, Any]]:
            pairs = items.items() if isinstance(items, Mapping) else items
            return [(_maybe(key, k), _maybe(value, v)) for k, v in pairs]

        return self.pa.map_(key_type, value_type), convert

    def _variant(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert]:
        plans = {index: (f"as_{index}", name, *self._object(name, inside)) for index, name in each.variants}
        fields = [("index", self.pa.uint8()), ("type", self.pa.string())]
        fields += [(key, type_) for key, _, type_, _ in plans.values()]
        fields.append(("raw", self.pa.binary()))

        def convert(value: Mapping[str, Any]) -> dict[str, Any]:
            out: dict[str, Any] = {"index": value["index"], "type": value["type"], "raw": value.get("raw")}
            plan = plans.get(value["index"])
            if plan is not None:
                out[plan[0]] = _maybe(plan[3], value["value"])
            return out

        return self.pa.struct(fields), convert


def _maybe(convert: Convert | None, value: Any) -> Any:
    return value if value is None or convert is None else convert(value)


def _batches(selection: Selection, channel: Channel, form: ArrowForm | None, schema: Any) -> Iterator[Any]:
    pa = _pyarrow()
    rows: list[dict[str, Any]] = []
    for message in selection.messages(topics=channel.name):
        row: dict[str, Any] = {"time_ns": message.time_ns, "latched": message.latched}
        if form is not None and message.value is not None:
            row |= form.row(message.value)
        else:
            row["data"] = message.data
        rows.append(row)
        if len(rows) >= BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)
    if form is not None and form.coerced:
        selection.report.lost["values outside an Arrow type"] += form.coerced


def _stream(selection: Selection, channel: Channel) -> tuple[Any, Iterator[Any]]:
    """The Arrow schema of a channel, and its batches."""
    pa = _pyarrow()
    registry = channel.declaration.registry
    form = ArrowForm(registry, channel.type) if registry is not None else None
    fields = form.fields if form is not None else [pa.field("data", pa.binary())]
    taken = {field.name for field in fields}
    own = [pa.field("time_ns", pa.uint64()), pa.field("latched", pa.bool_())]
    head = [field for field in own if field.name not in taken]
    metadata = {"channel": channel.name, "type": channel.type, "identifier": channel.identifier}
    schema = pa.schema([*head, *fields], metadata=metadata)
    return schema, _batches(selection, channel, form, schema)


def to_arrow(log: ArkReader, *, topic: str | None = None, **options: Any) -> Any:
    """A streaming `pyarrow.RecordBatchReader` over one channel.

    `topic` may be left out when the log has one channel; `start_ns` and `stop_ns` bound the time.  Raises `QueryError`
    when the choice is not one channel.
    """
    given = {"topic": [topic] if topic is not None else None, "from_ns": options.get("start_ns")}
    selection = Selection(log, {**given, "to_ns": options.get("stop_ns")}, ExportReport(), no_progress)
    channels = selection.channels()
    if len(channels) != 1:
        raise QueryError("choose one channel", query=topic or "", actual=", ".join(c.name for c in channels[:20]))
    schema, batches = _stream(selection, channels[0])
    return _pyarrow().RecordBatchReader.from_batches(schema, batches)


def export_arrow(
    log: ArkReader, output: str, *, overwrite: bool = False, progress: Progress = no_progress, **options: Any
) -> ExportReport:
    """Arrow IPC files: one channel to a file or standard output (a stream), several into a directory."""
    pa = _pyarrow()

    def write(file: Any, schema: Any, batches: Iterator[Any]) -> None:
        with pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    return _export(log, output, "arrow", write, overwrite, progress, options)


def export_parquet(
    log: ArkReader, output: str, *, overwrite: bool = False, progress: Progress = no_progress, **options: Any
) -> ExportReport:
    """Parquet files: one channel to a file, several into a directory."""
    _pyarrow()
    import pyarrow.parquet as parquet

    def write(file: Any, schema: Any, batches: Iterator[Any]) -> None:
        with parquet.ParquetWriter(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    return _export(log, output, "parquet", write, overwrite, progress, options)


def _export(
    log: ArkReader,
    output: str,
    suffix: str,
    write: Callable[[Any, Any, Iterator[Any]], None],
    overwrite: bool,
    progress: Progress,
    options: Mapping[str, Any],
) -> ExportReport:
    selection = Selection(log, options, ExportReport(), progress)
    channels = selection.channels()
    need_channels(channels)
    if len(channels) == 1:
        with opened(output, overwrite) as file:
            write(file, *_stream(selection, channels[0]))
        return selection.finish()
    if output == "-":
        raise QueryError("several channels do not go to standard output: choose one with --topic")
    with AtomicDirectory(output) as folder:
        for name, channel in file_names(channels, suffix).items():
            with AtomicFile(folder.temporary / name) as atomic:
                write(atomic.file, *_stream(selection, channel))
            selection.report.written["files"] += 1
    return selection.finish()


def file_names(channels: list[Channel], suffix: str) -> dict[str, Channel]:
    """A safe file name for each channel: its name with `_` for everything unusual, numbered when two are alike."""
    out: dict[str, Channel] = {}
    for channel in channels:
        base = re.sub(r"[^A-Za-z0-9.-]+", "_", channel.name).strip("_.")[:100] or "channel"
        name, number = f"{base}.{suffix}", 1
        while name in out:
            number += 1
            name = f"{base}_{number}.{suffix}"
        out[name] = channel
    return out
