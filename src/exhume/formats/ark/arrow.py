"""Channels as Arrow tables with nested types (extra `arrow`): one table per channel name and type.

A table has `time_ns` (uint64, nanoseconds of the log's steady clock), `latched`, and the fields of the type, or `data`
(binary) for a channel without a schema; the schema's metadata name channel, type and GUID.

Types are converted as follows: integers, floats, booleans and strings stay as they are; GUIDs become text; byte buffers
binary; durations `duration[ns]`; steady times `uint64` nanoseconds (they are not calendar times); system times
`timestamp[ns, UTC]`; enumerations their integers; lists, arrays of fixed size, maps and structs are nested; a variant
becomes a struct with its index, the name of its type and one nullable field per alternative; a type that contains
itself becomes JSON text from there on.

A channel is a named series of messages of one type; a log may declare it several times, each with a GUID.  A latched
message is one that a reader who starts later gets first.  The compiled kernel makes record batches where it can
(`columns.Columns`); else `MessageRows` makes them from decoded messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Unpack

from exhume.choices import hint, passes_on
from exhume.errors import EntryNotFoundError, QueryError, shorten
from exhume.findings import Finding
from exhume.formats.ark.columns import Columns, columns_of
from exhume.formats.ark.lines import VALUES, KernelBatch
from exhume.formats.ark.log import ChannelTableOptions
from exhume.formats.ark.merge import Batch
from exhume.formats.ark.messages import ArkMessage, lost_messages
from exhume.formats.ark.parallel_query import UntilError, read_each
from exhume.formats.ark.query import OnError, Query, Topics
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.splits import IndexBlock
from exhume.io.jsonout import dumps
from exhume.tabular.arrow import BAD_TIME, check_rows, choose, import_pyarrow, rebatched
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, Channel, SplitReference

BATCH_ROWS: Final = 8192
"""Rows of a record batch, unless the caller chooses."""
TIMESTAMP_MAX: Final = (1 << 63) - 1
"""The last time in nanoseconds that Arrow's timestamp can have; rbuf's have one bit more."""

Convert = Callable[[Any], Any]
"""Returns a decoded value in the form that Arrow takes."""


_PLAIN = {
    "float": "float32",
    "double": "float64",
    "bool": "bool_",
    "string": "string",
    "guid": "string",
    "byte_buffer": "binary",
    "steady_time_point": "uint64",
}
"""Arrow's names for rbuf's plain types; integers have the same names."""


class ArrowForm:
    """The Arrow schema of a type, and the conversion of its values; `lost` counts those that did not fit, by reason."""

    def __init__(self, registry: Registry, type_name: str) -> None:
        """Derive the Arrow fields of a type, and a function for each that converts its values."""
        self.pa: Any = import_pyarrow()
        self.lost: Counter[str] = Counter()
        self._registry = registry
        fields = [(each.name, *self._field(each, (type_name,))) for each in registry.schema(type_name).visible_fields()]
        self.fields: list[Any] = [self.pa.field(name, type_) for name, type_, _ in fields]
        self._converters = {name: convert for name, _, convert in fields}

    def __contains__(self, name: str) -> bool:
        return name in self._converters

    def column(self, name: str, values: Iterable[Mapping[str, Any]]) -> list[Any]:
        """One field of these values in the form that Arrow takes."""
        convert = self._converters[name]
        if convert is None:
            return [value.get(name) for value in values]
        return [_maybe(convert, value.get(name)) for value in values]

    def _field(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert | None]:
        """Return the Arrow type of a field and the converter of its values, None if they need none.

        `inside` has the names of the object types around the field, to detect recursion.
        """
        pa = self.pa
        if each.packed_timespec:  # two 32-bit numbers, exposed as their bytes
            return pa.binary(8), None
        match each.type:
            case "enum":
                enum = self._registry.enum(each.object_type or "")
                return getattr(pa, enum.enum_class)(), None
            case "duration":
                return pa.duration("ns"), None
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
        return getattr(pa, _PLAIN.get(each.type, each.type))(), None

    def _timestamp(self, value: int) -> int | None:
        """Return a system time in nanoseconds; None, counted in `lost`, if it is too late for Arrow."""
        if value > TIMESTAMP_MAX:
            self.lost[BAD_TIME] += 1
            return None
        return value

    def _object(self, name: str, inside: tuple[str, ...]) -> tuple[Any, Convert | None]:
        """Return a struct type and its converter.

        A recursive type becomes JSON text, because Arrow has no recursive types; one without fields becomes a boolean
        that is always true.
        """
        if name in inside:
            return self.pa.string(), dumps
        schema = self._registry.schema(name)
        plan = [(each.name, *self._field(each, (*inside, name))) for each in schema.visible_fields()]
        if not plan:
            return self.pa.bool_(), lambda value: True

        def convert(value: Mapping[str, Any]) -> dict[str, Any]:
            return {key: value.get(key) if how is None else _maybe(how, value.get(key)) for key, _, how in plan}

        return self.pa.struct([(key, type_) for key, type_, _ in plan]), convert

    def _map(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert]:
        """Return the Arrow type of a dictionary, and the function that converts its pairs."""
        assert each.key is not None
        assert each.value is not None
        key_type, key = self._field(each.key, inside)
        value_type, value = self._field(each.value, inside)

        def convert(items: Any) -> list[tuple[Any, Any]]:
            """Convert the keys and values of one dictionary."""
            pairs = items.items() if isinstance(items, Mapping) else items
            return [(_maybe(key, name), _maybe(value, item)) for name, item in pairs]

        return self.pa.map_(key_type, value_type), convert

    def _variant(self, each: Field, inside: tuple[str, ...]) -> tuple[Any, Convert]:
        """Return a struct of `index`, `type`, one field `as_INDEX` for each alternative, and `raw`.

        `raw` has the bytes of an alternative that the schema does not declare.
        """
        plans = {index: (f"as_{index}", name, *self._object(name, inside)) for index, name in each.variants}
        fields = [("index", self.pa.uint8()), ("type", self.pa.string())]
        fields += [(key, type_) for key, _, type_, _ in plans.values()]
        fields.append(("raw", self.pa.binary()))

        def convert(value: Mapping[str, Any]) -> dict[str, Any]:
            """Convert one variant: the member for its type has the value, the others are null."""
            out: dict[str, Any] = {"index": value["index"], "type": value["type"], "raw": value.get("raw")}
            plan = plans.get(value["index"])
            if plan is not None:
                key, _, _, convert_object = plan
                out[key] = _maybe(convert_object, value["value"])
            return out

        return self.pa.struct(fields), convert


def _maybe(convert: Convert | None, value: Any) -> Any:
    """Return the converted value; None, an absent value, stays None."""
    return value if value is None or convert is None else convert(value)


class MessageRows(NamedTuple):
    """Makes record batches of the messages of some channels (GUIDs), of the type of one of them; picklable."""

    identifiers: frozenset[str]
    channel: Channel
    schema: Any
    """The `pyarrow.Schema` of the batches."""
    columns: Columns | None
    """Makes the same batches in the kernel; None for a type that it does not take."""

    def made(self, messages: Iterable[ArkMessage]) -> Made:
        """The batch, the size in bytes of each row's message, and the number of values that did not fit."""
        pa = import_pyarrow()
        registry = self.channel.declaration.registry
        form = ArrowForm(registry, self.channel.type) if registry is not None else None
        part = list(messages)
        decoded = [message.value or {} for message in part]
        arrays = []
        for field in self.schema:
            # Columns that are not fields of the type are attributes of the message: `time_ns`, `latched`, `data`.
            own = form is None or field.name not in form
            values = list(map(attrgetter(field.name), part)) if own else form.column(field.name, decoded)  # type: ignore[union-attr]
            arrays.append(pa.array(values, field.type))
        sizes = [len(message.data) for message in part]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema), sizes, Counter(form.lost if form else ())


Made = tuple[Any, Sequence[int], Counter[str]]
"""A record batch, the size in bytes of each row's message, and the values that did not fit, counted by reason."""


class _RowQuery(Query):
    """One pass over the messages of a table that makes record batches of them; methods override those of `Query`.

    A `reference` is a mention of a split file in the manifest.  `candidates` are its channels that may be read, and
    `accepts` decides about each; `latched` yields the messages that are replayed before the time range.
    """

    def __init__(self, rows: MessageRows, *query: Any) -> None:
        super().__init__(*query)
        self._rows = rows

    def candidates(self, reference: SplitReference) -> Iterable[Channel]:
        """Return the channels of a split that belong to this table."""
        found = map(reference.channels.get, self._rows.identifiers)
        return [channel for channel in found if channel is not None]

    def accepts(self, reference: SplitReference, channel: Channel) -> bool:
        return channel.identifier in self._rows.identifiers and super().accepts(reference, channel)

    def latched(self, references: Any) -> Iterator[Any]:
        """Yield the last message before the time range of each latched channel, as rows."""
        for message in super().latched(references):
            yield self._rows.made([message])

    def batch_messages(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[Made]:
        """The rows of the pieces (parts of the splits' indexes), in the order in which `numbers` names their cursors.

        The kernel makes them if it accepts all messages.  Raises the error that ended the reading of the messages,
        after the rows before it.
        """
        columns = self._rows.columns
        # `VALUES`: nothing but the values of the messages is needed.
        made = columns and columns.batch(self._rows.schema, numbers, KernelBatch(batch, pieces, VALUES).parts)
        if made:
            yield made
            return
        found = UntilError(super().batch_messages(batch, numbers, pieces))
        yield self._rows.made(found)
        if found.error is not None:
            raise found.error


class ArkTableOptions(ChannelTableOptions, total=False):
    """Options of `to_arrow`."""

    topic: Topics


@dataclass(frozen=True)
class ArkTable:
    """The messages of one channel name and type; `identifiers` are the GUIDs under which the manifest declares it."""

    log: ArkLog
    name: str
    channel: Channel
    identifiers: frozenset[str]

    def to_arrow(
        self,
        *,
        columns: Iterable[str] | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        latched: bool = True,
        skip_damaged: bool = False,
        batch_rows: int = BATCH_ROWS,
        losses: Counter[str] | None = None,
        jobs: int = 1,
    ) -> Any:
        """A streaming `pyarrow.RecordBatchReader`, in the order of `ArkArchive.messages`, whose options it takes.

        `losses` counts messages above a limit, which are left out; without it, they are raised.  `skip_damaged`
        continues after damaged messages, which `losses` counts.  `jobs` share the work, with the same
        batches (0: one per core).  Raises as `messages` does, and `EntryNotFoundError` for an unknown column.
        """
        check_rows(batch_rows)
        rows = self.rows(columns)
        topics = re.compile(re.escape(self.channel.name))  # compiled: as text, a name may be taken for a glob
        query = query_of(topics, start_ns, stop_ns, latched=latched, on_error=on_error(skip_damaged, losses))
        findings: list[Finding] = []

        def counted() -> Iterator[tuple[Any, Sequence[int]]]:
            """Yield batches as they are made, with the sizes of their messages; count the values that did not fit."""
            kind = partial(_RowQuery, rows)
            for batch, sizes, misfits in read_each(self.log, kind, query, findings=findings, jobs=jobs):
                if losses is not None:
                    losses.update(misfits)
                yield batch, sizes

        def batches() -> Iterator[Any]:
            """Yield batches of `batch_rows` rows; count missing splits first and lost messages last."""
            if losses is not None:
                losses["missing splits"] = sum(not each.is_hidden for each in self.log.missing_splits())
            # Joined to batches of `batch_rows` rows, which copies: a thread for that costs more than it saves.
            yield from rebatched(counted(), batch_rows)
            if losses is not None:
                losses.update(lost_messages(findings))

        return import_pyarrow().RecordBatchReader.from_batches(rows.schema, batches())

    def rows(self, columns: Iterable[str] | None = None) -> MessageRows:
        """Return a maker of the table's rows, with these columns. Raises `EntryNotFoundError` for an unknown column."""
        pa = import_pyarrow()
        channel = self.channel
        registry = channel.declaration.registry
        form = ArrowForm(registry, channel.type) if registry is not None else None
        fields = {field.name: field for field in form.fields} if form else {"data": pa.field("data", pa.binary())}
        own = {"time_ns": pa.field("time_ns", pa.uint64()), "latched": pa.field("latched", pa.bool_())}
        fields = {**own, **fields}  # a field of the type takes precedence over our own column of the same name
        names = choose(fields, columns)
        metadata = {"channel": channel.name, "type": channel.type, "identifier": channel.identifier}
        schema = pa.schema([fields[name] for name in names], metadata=metadata)
        return MessageRows(self.identifiers, channel, schema, columns_of(registry, channel.type, names))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: DuckDB, Polars, pandas and pyarrow read the channel through it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def query_of(
    topics: Topics, start_ns: int | None, stop_ns: int | None, *, latched: bool, on_error: OnError
) -> dict[str, Any]:
    """Return the options of `ArkArchive.messages` for the options of a table."""
    return {
        "topics": topics,
        "start_ns": start_ns,
        "stop_ns": stop_ns,
        "latched": latched,
        "on_error": on_error,
    }


def on_error(skip_damaged: bool, losses: Counter[str] | None) -> OnError:
    """The `on_error` of the query of a table: messages above a limit are omitted if losses are counted."""
    if skip_damaged:
        return "skip"
    return "raise" if losses is None else "limit"


def tables(log: ArkLog, topics: Topics = None) -> dict[str, ArkTable]:
    """The tables of the selected channels (names, globs, expressions; None: all), in the manifest's order.

    A table has the name of its channel, or `name (type)` where a name has several types, with a number if that occurs
    again.  A topic may also be a GUID.  Raises `EntryNotFoundError` when no channel is selected.
    """
    from exhume.formats.ark.filters import topic_matcher

    found: dict[tuple[str, str, str], list[Channel]] = {}  # visible channels by name, type and schema registry
    for channel in log.channels():
        if log.acceptance(channel.section).accepts_name(channel.name):
            found.setdefault((channel.name, channel.type, channel.declaration.schema_registry), []).append(channel)
    is_wanted = topic_matcher(topics)
    given = [topics] if isinstance(topics, (str, re.Pattern)) else list(topics or ())
    guids = {each for each in given if isinstance(each, str)}
    out: dict[str, ArkTable] = {}
    types = Counter(name for name, _, _ in found)
    for (name, type_name, _), channels in found.items():
        identifiers = frozenset(channel.identifier for channel in channels)
        if is_wanted(name) or identifiers & guids:
            label = name if types[name] == 1 else _unused(f"{name} ({type_name})", out)
            out[label] = ArkTable(log, label, channels[0], identifiers)
    if not out:
        known = ", ".join(dict.fromkeys(name for name, _, _ in found)) or "no channel at all"
        near = hint(topics, (name for name, _, _ in found)) if isinstance(topics, str) else ""
        raise EntryNotFoundError(f"no channel of that name{near}", expected=f"one of {known}", actual=shorten(topics))
    return out


def _unused(label: str, taken: Container[str]) -> str:
    """Return a label that is not taken: `label`, `label 2`, `label 3`, ..."""
    number, unused = 1, label
    while unused in taken:
        number += 1
        unused = f"{label} {number}"
    return unused


@passes_on(ArkTable.to_arrow)
def to_arrow(log: ArkLog, *, topic: Topics = None, **options: Unpack[ChannelTableOptions]) -> Any:
    """A streaming `pyarrow.RecordBatchReader` over one channel; the options are those of `ArkTable.to_arrow`.

    `topic` (name or GUID) may be left out when the log has one channel.  Raises `QueryError`, naming the channels, when
    several are chosen, `EntryNotFoundError` when none is.
    """
    found = tables(log, topic)
    if len(found) > 1:
        names = list(found)
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        raise QueryError(
            "each channel is a table of its own: choose one with topic=",
            query=topic if isinstance(topic, str) else "",
            expected=f"one of {', '.join(names[:20])}{more}",
        )
    return next(iter(found.values())).to_arrow(**options)
