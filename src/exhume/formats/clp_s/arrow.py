"""Records as Arrow record batches, column by column: no record and no JSON text is built.

One Arrow column per key path (dots in keys escaped), in the order of the schema tree:

| values of the path | Arrow type |
|---|---|
| integers | int64 |
| floats, or integers and floats | float64 |
| booleans | bool |
| strings | large_string |
| timestamps (0.5.0 on) | timestamp[ns, UTC] |
| date strings (up to 0.4.1) | timestamp[ms, UTC]; large_string when a pattern holds epochs of unknown unit |
| arrays | large_string, their JSON text |
| only nulls | null |
| anything mixed | large_string, the text of each value |

Auto-generated keys have columns that start with `@`.  Records that lack a path hold null there, and so do those whose
value is an empty object.  Text that is not UTF-8 has its bad bytes replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import EntryNotFoundError, MissingDependencyError
from exhume.formats.clp_s.columns import Column
from exhume.formats.clp_s.kernel import ClpsProgram
from exhume.formats.clp_s.layout import COLUMN_TYPES, NodeType
from exhume.formats.clp_s.render import operations
from exhume.formats.clp_s.template import CLOSE, Kind, SchemaLayout, Token
from exhume.lightclass import dataclass, field

if TYPE_CHECKING:
    from exhume.formats.clp_s.reader import ClpSArchive
    from exhume.formats.clp_s.tables import TableData

BATCH_ROWS: Final = 65_536

_INTEGERS: Final = frozenset({NodeType.INTEGER, NodeType.DELTA_INTEGER})
_FLOATS: Final = frozenset({NodeType.FLOAT, NodeType.FORMATTED_FLOAT, NodeType.DICTIONARY_FLOAT})


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError("Arrow needs the extra arrow: pip install 'exhume[arrow]'") from error
    return pyarrow


@dataclass(slots=True)
class _Field:
    """An Arrow column and the schema tree nodes that feed it."""

    name: str
    nodes: list[int]
    types: set[int] = field(default_factory=set)
    arrow_type: Any = None


def to_arrow(archive: ClpSArchive, *, columns: Collection[str] | None = None, batch_rows: int = BATCH_ROWS) -> Any:
    """A streaming `pyarrow.RecordBatchReader` over all tables, in table order; see the module for the types.

    `columns` keeps only these key paths, in this order.  Raises `EntryNotFoundError` for a path that no record has and
    `MissingDependencyError` without pyarrow; damage is raised by the batch that meets it.
    """
    pa = _pyarrow()
    fields = _fields(archive)
    if columns is not None:
        by_name = {item.name: item for item in fields}
        missing = [name for name in columns if name not in by_name]
        if missing:
            raise EntryNotFoundError("no record has such a column", actual=missing[0])
        fields = [by_name[name] for name in columns]
    for item in fields:
        item.arrow_type = _arrow_type(pa, archive, item)
    schema = pa.schema([pa.field(item.name, item.arrow_type) for item in fields])
    return pa.RecordBatchReader.from_batches(schema, _batches(pa, archive, fields, schema, batch_rows))


def _layouts(archive: ClpSArchive) -> Iterator[SchemaLayout]:
    seen: set[int] = set()
    for table in archive.tables:
        if table.num_messages and table.entry.problem is None and table.schema_id not in seen:
            seen.add(table.schema_id)
            yield table.layout


def _fields(archive: ClpSArchive) -> list[_Field]:
    """The columns that the records of all tables need, by key path, in tree order."""
    tree = archive.schema_tree
    used: set[int] = set()
    for layout in _layouts(archive):
        used.update(
            node
            for node in layout.schema.ordered
            if tree.types[node] in COLUMN_TYPES or tree.types[node] == NodeType.NULL_VALUE
        )
        used.update(layout.runs)
    used.discard(-1 if tree.log_event_idx is None else tree.log_event_idx)
    found: dict[str, _Field] = {}
    for node in sorted(used):
        name = tree.path_text(node)
        item = found.setdefault(name, _Field(name, []))
        item.nodes.append(node)
        item.types.add(tree.types[node])
    return list(found.values())


def _arrow_type(pa: Any, archive: ClpSArchive, item: _Field) -> Any:
    types = item.types - {NodeType.NULL_VALUE}
    if not types:
        return pa.null()
    if types <= _INTEGERS:
        return pa.int64()
    if types <= _INTEGERS | _FLOATS:
        return pa.float64()
    if types == {NodeType.BOOLEAN}:
        return pa.bool_()
    if types == {NodeType.TIMESTAMP}:
        return pa.timestamp("ns", tz="UTC")
    if types == {NodeType.DATE_STRING} and not {b"%E", b"%F"} & set(archive.patterns.texts.values()):
        return pa.timestamp("ms", tz="UTC")
    return pa.large_string()


def _batches(pa: Any, archive: ClpSArchive, fields: list[_Field], schema: Any, batch_rows: int) -> Iterator[Any]:
    for table in archive.tables:
        if not table.num_messages and table.entry.problem is None:
            continue
        data = table.load()
        by_node = {column.node: column for column in data.columns if not column.spec.unordered}
        makers = [_maker(pa, data, item, by_node) for item in fields]
        for start in range(0, data.num_messages, batch_rows):
            stop = min(start + batch_rows, data.num_messages)
            yield pa.RecordBatch.from_arrays([make(start, stop) for make in makers], schema=schema)


def _text_array(pa: Any, texts: list[bytes]) -> Any:
    try:
        return pa.array(texts, pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([text.decode("utf-8", "replace") for text in texts], pa.large_string())


def _maker(pa: Any, data: TableData, item: _Field, by_node: dict[int, Column]) -> Any:
    """A function `(start, stop) -> Array` for one field of one table."""
    columns = [by_node[node] for node in item.nodes if node in by_node]
    for node in item.nodes:
        if node in data.layout.runs:
            tokens = [Token(Kind.ARRAY), *data.layout.runs[node], CLOSE]
            ops, owners = operations(tokens, data.columns, complete=True)
            # Without the newline that ends a record.
            ops[-1] = (ops[-1][0], ops[-1][1][:-1])  # type: ignore[index]
            return _printed(pa, data, ops, owners)
    if not columns:
        return lambda start, stop: pa.nulls(stop - start, item.arrow_type)
    column = columns[-1]
    if pa.types.is_large_string(item.arrow_type):
        return _printed(pa, data, [column.operation(raw=True)], [column.spec.index])
    return lambda start, stop: _numbers(pa, column, item.arrow_type, start, stop)


def _numbers(pa: Any, column: Column, arrow_type: Any, start: int, stop: int) -> Any:
    rows = stop - start
    if column.type == NodeType.BOOLEAN:
        flags = pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(column.data[start:stop])])
        return flags.cast(pa.bool_())
    if column.type == NodeType.DICTIONARY_FLOAT:
        return pa.array([float(text) for text in column.strings(range(start, stop))], pa.float64())
    if column.type in (NodeType.FLOAT, NodeType.FORMATTED_FLOAT):
        return pa.Array.from_buffers(pa.float64(), rows, [None, pa.py_buffer(column.data[8 * start : 8 * stop])])
    stored = pa.py_buffer(column.int64_bytes[8 * start : 8 * stop])
    if pa.types.is_float64(arrow_type):
        return pa.Array.from_buffers(pa.int64(), rows, [None, stored]).cast(pa.float64(), safe=False)
    return pa.Array.from_buffers(arrow_type, rows, [None, stored])


def _printed(pa: Any, data: TableData, ops: list[tuple[object, ...]], owners: list[int]) -> Any:
    """A function that prints rows as text values."""
    program = ClpsProgram(ops, data.num_messages)

    def make(start: int, stop: int) -> Any:
        text, ends, fault = program.spans(start, stop)
        if fault is not None:
            raise data.columns[owners[fault[1]]].failure(fault)
        made = pa.Array.from_buffers(pa.large_string(), stop - start, [None, pa.py_buffer(ends), pa.py_buffer(text)])
        if not text.isascii():
            try:
                text.decode()
            except UnicodeDecodeError:
                return _text_array(pa, [value.as_py() for value in made.cast(pa.large_binary())])
        return made

    return make
