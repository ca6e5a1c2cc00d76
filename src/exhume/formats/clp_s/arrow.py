"""Records as Arrow record batches, column by column: no record and no JSON text is built.

One Arrow column per key path (dots in keys escaped), in the order of the schema tree:

| values of the path | Arrow type |
|---|---|
| integers | int64 |
| floats, or integers and floats | float64 |
| booleans | bool |
| strings | dictionary of string; its entries are those that the batch's table uses |
| timestamps (0.5.0 on) | timestamp[ns, UTC] |
| date strings (up to 0.4.1) | timestamp[ms, UTC]; large_string when a pattern holds epochs of unknown unit |
| arrays | large_string, their JSON text |
| only nulls | null |
| anything mixed | large_string, the text of each value |

Auto-generated keys have columns that start with `@`.  Records that lack a path hold null there, and so do those whose
value is an empty object.

Counted as lost (see `exhume.arrow`): texts that are not UTF-8, whose bad bytes are replaced; integers that float64
cannot hold; values of mixed columns that are no strings; all but the last value of a key that a record has twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from exhume.arrow import BAD_TEXT, BATCH_ROWS, MIXED, ROUNDED, choose, import_pyarrow, text_array
from exhume.errors import LimitExceededError
from exhume.formats.clp_s import kernel
from exhume.formats.clp_s.columns import Column
from exhume.formats.clp_s.kernel import ClpsProgram
from exhume.formats.clp_s.layout import COLUMN_TYPES, NodeType
from exhume.formats.clp_s.render import operations
from exhume.formats.clp_s.template import CLOSE, Kind, SchemaLayout, Token
from exhume.lightclass import dataclass, field

if TYPE_CHECKING:
    from exhume.formats.clp_s.reader import ClpSArchive
    from exhume.formats.clp_s.search import Search
    from exhume.formats.clp_s.tables import TableData

REPEATED: Final = "values of keys that a record has twice"
EXACT: Final = 1 << 53
"""Up to here float64 holds every integer."""

TEXT_MAX: Final = (1 << 31) - 1
"""Bytes that an Arrow array of (not large) strings can hold."""

Rows = range | Sequence[int]
Maker = Callable[[Rows], Any]

_INTEGERS: Final = frozenset({NodeType.INTEGER, NodeType.DELTA_INTEGER})
_FLOATS: Final = frozenset({NodeType.FLOAT, NodeType.FORMATTED_FLOAT, NodeType.DICTIONARY_FLOAT})
_STRINGS: Final = frozenset({NodeType.VAR_STRING, NodeType.CLP_STRING, NodeType.DATE_STRING})
_ARRAYS: Final = frozenset({NodeType.UNSTRUCTURED_ARRAY, NodeType.STRUCTURED_ARRAY})


@dataclass(slots=True)
class _Field:
    """An Arrow column and the schema tree nodes that feed it."""

    name: str
    nodes: list[int]
    types: set[int] = field(default_factory=set)
    arrow_type: Any = None

    def is_mixed(self, pa: Any) -> bool:
        """Whether it is text because its values have no other type in common."""
        types = self.types - {NodeType.NULL_VALUE}
        return pa.types.is_large_string(self.arrow_type) and not (
            types <= _STRINGS or types <= _ARRAYS or len(types) == 1
        )


def to_arrow(
    archive: ClpSArchive,
    *,
    columns: Iterable[str] | None = None,
    query: str | None = None,
    dictionaries: bool = True,
    batch_rows: int = BATCH_ROWS,
    lost: Counter[str] | None = None,
    **options: Any,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader` over all tables, in table order; see the module for the types.

    `columns` keeps only these key paths, in this order.  With a KQL `query` only tables that can match are read, and
    only matching records given; further options are those of `ClpSArchive.search`.  `dictionaries=False` makes plain
    large_string of strings.

    Raises `EntryNotFoundError` for a path that no record has, `QueryError`, and `MissingDependencyError` without
    pyarrow; damage is raised by the batch that meets it.
    """
    pa = import_pyarrow()
    search = archive.search(query or "*", **options) if query is not None or options else None
    by_name = {item.name: item for item in _fields(archive)}
    fields = [by_name[name] for name in choose(by_name, columns)]
    for item in fields:
        item.arrow_type = _arrow_type(pa, archive, item, dictionaries)
    schema = pa.schema([pa.field(item.name, item.arrow_type) for item in fields])
    counted: Counter[str] = Counter() if lost is None else lost
    return pa.RecordBatchReader.from_batches(schema, _batches(pa, archive, search, fields, schema, batch_rows, counted))


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


def _arrow_type(pa: Any, archive: ClpSArchive, item: _Field, dictionaries: bool) -> Any:
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
    if types == {NodeType.VAR_STRING} and dictionaries:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.large_string()


def _batches(
    pa: Any,
    archive: ClpSArchive,
    search: Search | None,
    fields: list[_Field],
    schema: Any,
    batch_rows: int,
    lost: Counter[str],
) -> Iterator[Any]:
    pick: Picker | None = None
    for data, rows in _tables(archive, search):
        if pick is None and any(pa.types.is_dictionary(item.arrow_type) for item in fields):
            pick = Picker(len(archive.variables))
        by_node = {column.node: column for column in data.columns if not column.spec.unordered}
        makers = [_maker(pa, data, item, by_node, pick, lost) for item in fields]
        for start in range(0, len(rows), batch_rows):
            part = rows[start : start + batch_rows]
            if makers:
                yield pa.RecordBatch.from_arrays([make(part) for make in makers], schema=schema)
            else:  # records of nothing but empty objects have no columns, but their number
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * len(part), pa.struct([])))


def _tables(archive: ClpSArchive, search: Search | None) -> Iterator[tuple[TableData, Rows]]:
    """The tables with the rows that are wanted, in stored order."""
    if search is not None:
        for hits in search.hits():
            yield hits.data, range(hits.data.num_messages) if hits.rows is None else hits.rows
        return
    for table in archive.tables:
        if table.num_messages or table.entry.problem is not None:
            yield table.load(), range(table.num_messages)


def _maker(
    pa: Any, data: TableData, item: _Field, by_node: dict[int, Column], pick: Picker | None, lost: Counter[str]
) -> Maker:
    """A function `rows -> Array` for one field of one table."""
    runs = [node for node in item.nodes if node in data.layout.runs]
    columns = [by_node[node] for node in item.nodes if node in by_node]
    mixed = item.is_mixed(pa)
    if runs:
        tokens = [Token(Kind.ARRAY), *data.layout.runs[runs[0]], CLOSE]
        ops, owners = operations(tokens, data.columns, complete=True)
        # Without the newline that ends a record.
        ops[-1] = (ops[-1][0], ops[-1][1][:-1])  # type: ignore[index]
        make = _printed(pa, data, ops, owners, lost)
        names = [MIXED] * mixed
    elif not columns:
        return lambda rows: pa.nulls(len(rows), item.arrow_type)
    else:
        column = columns[-1]
        names = [MIXED] * (mixed and column.type not in _STRINGS)
        if pa.types.is_large_string(item.arrow_type):
            make = _printed(pa, data, [column.operation(raw=True)], [column.spec.index], lost)
        elif pa.types.is_dictionary(item.arrow_type):
            assert pick is not None
            make = _dictionary(pa, column, pick, lost)
        else:
            make = _numbers(pa, column, item.arrow_type, lost)
    names += [REPEATED] * (len(runs) + len(columns) - 1)
    if not names:
        return make

    def counting(rows: Rows) -> Any:
        for name in names:
            lost[name] += len(rows)
        return make(rows)

    return counting


def _take(pa: Any, array: Any, rows: Rows) -> Any:
    if isinstance(rows, range):
        return array.slice(rows.start, len(rows))
    return array.take(pa.array(rows, pa.int64()))


def _numbers(pa: Any, column: Column, arrow_type: Any, lost: Counter[str]) -> Maker:
    count = column.rows
    if column.type == NodeType.DICTIONARY_FLOAT:
        return lambda rows: pa.array([float(text) for text in column.strings(rows)], pa.float64())
    if column.type == NodeType.BOOLEAN:
        flags = pa.Array.from_buffers(pa.uint8(), count, [None, pa.py_buffer(column.data)])
        return lambda rows: _take(pa, flags, rows).cast(pa.bool_())
    stored_type = arrow_type
    if column.type in (NodeType.FLOAT, NodeType.FORMATTED_FLOAT):
        data = column.data[: 8 * count]
    else:
        data = column.int64_bytes
        stored_type = pa.int64() if pa.types.is_float64(arrow_type) else arrow_type
    stored = pa.Array.from_buffers(stored_type, count, [None, pa.py_buffer(data)])
    if stored_type == arrow_type:
        return lambda rows: _take(pa, stored, rows)

    def widened(rows: Rows) -> Any:
        integers = _take(pa, stored, rows)
        values = integers.to_numpy()
        large = values[(values > EXACT) | (values < -EXACT)]
        lost[ROUNDED] += sum(int(float(value)) != value for value in large.tolist())
        return integers.cast(pa.float64(), safe=False)

    return widened


def _printed(pa: Any, data: TableData, ops: list[tuple[object, ...]], owners: list[int], lost: Counter[str]) -> Maker:
    """A function that prints rows as text values."""
    program = ClpsProgram(ops, data.num_messages)

    def make(rows: Rows) -> Any:
        if not isinstance(rows, range):
            lines, fault = program.lines(rows)
            if fault is not None:
                raise data.columns[owners[fault[1]]].failure(fault)
            return text_array(pa, lines, lost)
        text, ends, fault = program.spans(rows.start, rows.stop)
        if fault is not None:
            raise data.columns[owners[fault[1]]].failure(fault)
        return _texts(pa, text, ends, len(rows), lost)

    return make


def _texts(pa: Any, text: bytes, ends: bytes, rows: int, lost: Counter[str]) -> Any:
    """What `ClpsProgram.spans` printed as large_string."""
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return text_array(pa, pa.Array.from_buffers(pa.large_binary(), rows, buffers).to_pylist(), lost)
    return pa.Array.from_buffers(pa.large_string(), rows, buffers)


class Picker:
    """Numbers the different ids of a batch, in time that depends on the batch alone."""

    def __init__(self, size: int) -> None:
        import numpy

        self.numpy = numpy
        self.size = size
        self._slots = numpy.zeros(size, numpy.int32)

    def number(self, ids: Any) -> tuple[Any, Any]:
        """`(different ids, place of each id among them)`; every id is below `size`."""
        numpy, slots = self.numpy, self._slots
        places = numpy.arange(len(ids), dtype=numpy.int32)
        slots[ids] = places
        different = ids[slots[ids] == places]
        slots[different] = places[: len(different)]
        return different, slots[ids]


def _dictionary(pa: Any, column: Column, pick: Picker, lost: Counter[str]) -> Maker:
    """A function that gives strings as ids into those entries of the variable dictionary that occur."""
    numpy = pick.numpy
    all_ids = numpy.frombuffer(column.data[: 8 * column.rows], "<u8")
    variables = column.texts.variables

    def make(rows: Rows) -> Any:
        ids = all_ids[rows.start : rows.stop] if isinstance(rows, range) else all_ids[rows]
        if len(ids) and int(ids.max()) >= pick.size:
            column.strings(rows)  # raises what is wrong
        different, codes = pick.number(ids)
        program = ClpsProgram([(kernel.STRING, memoryview(different.tobytes()), variables)], len(different))
        text, ends, _ = program.spans(0, len(different))
        if len(text) > TEXT_MAX:
            raise LimitExceededError("the strings of a batch pass 2 GiB: ask for smaller batches", span=column.span)
        bad: Counter[str] = Counter()
        words = _texts(pa, text, ends, len(different), bad)
        if bad:
            replaced = [place for place, entry in enumerate(different.tolist()) if not _is_utf8(variables[entry])]
            lost[BAD_TEXT] += int(numpy.isin(codes, replaced).sum())
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words.cast(pa.string()))

    return make


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
