"""Compiled from ksy/clp_s_schema_ids.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, numbers, short

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<iI").unpack_from
_unpack2 = struct.Struct("<I").unpack_from
_unpack3 = struct.Struct("<i").unpack_from


class ClpSSchemaIds:
    """The schemas of an archive: for each the leaf nodes of the schema tree that its records have, in column order,
    followed by the layout of their structured arrays.
    """
    __slots__ = ('num_schemas', 'schemas')
    num_schemas: int
    schemas: SchemaColumns


def read_clp_s_schema_ids(view: View, at: int, end: int) -> tuple[ClpSSchemaIds, int]:
    """`clp_s_schema_ids` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSSchemaIds()
    if end - at < 8:
        raise short("num_schemas", at, end, 8)
    (num_schemas,) = _unpack0(view, at)
    at += 8
    if num_schemas > (end - at) // 12:
        raise LayoutError("num_schemas", at - 8, at, f"at most {(end - at) // 12}", num_schemas)
    value.num_schemas = num_schemas
    schemas = scan_schema(view, at, end, num_schemas if num_schemas > 0 else 0)
    if schemas.problem is not None:
        schemas.problem.within("schemas")
        raise schemas.problem
    at = schemas.resume_at
    value.schemas = schemas
    return value, at


class Schema:
    """One schema."""
    __slots__ = ('schema_id', 'num_entries', 'num_ordered', 'entries')
    schema_id: int
    """What the table metadata call it."""
    num_entries: int
    num_ordered: int
    """How many of the entries are plain leaves; the others describe structured arrays."""
    entries: EntryColumns


def read_schema(view: View, at: int, end: int) -> tuple[Schema, int]:
    """`clp_s_schema_ids::schema` at `at`, and where it ends. Raises `LayoutError`."""
    value = Schema()
    if end - at < 8:
        raise short((("schema_id", 4), ("num_entries", 8),), at, end, 8)
    schema_id, num_entries = _unpack1(view, at)
    at += 8
    value.schema_id = schema_id
    value.num_entries = num_entries
    if num_entries > (end - at) // 4:
        raise LayoutError("num_entries", at - 4, at, f"at most {(end - at) // 4}", num_entries)
    if end - at < 4:
        raise short("num_ordered", at, end, 4)
    (num_ordered,) = _unpack2(view, at)
    at += 4
    if num_ordered > num_entries:
        raise LayoutError("num_ordered", at - 4, at, f"at most {num_entries}", num_ordered)
    value.num_ordered = num_ordered
    entries = scan_entry(view, at, end, num_entries)
    if entries.problem is not None:
        entries.problem.within("entries")
        raise entries.problem
    at = entries.resume_at
    value.entries = entries
    return value, at


class SchemaColumns:
    """Many `clp_s_schema_ids::schema`, one column per field; see `scan_schema`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'schema_id', 'num_entries', 'num_ordered', 'entries_value_start', 'entries_value_end')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.schema_id: array[int] = array("i")
        self.num_entries: array[int] = array("I")
        self.num_ordered: array[int] = array("I")
        self.entries_value_start: array[int] = array("q")
        self.entries_value_end: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Schema:
        """One element as an object."""
        return read_schema(self.view, self.at[index], self.end)[0]

    def entries_value(self, index: int) -> memoryview[int]:
        """The numbers of one element."""
        return numbers(self.view, self.entries_value_start[index], self.entries_value_end[index] - self.entries_value_start[index], "i", "little")


def scan_schema(view: View, at: int, end: int, count: int | None = None) -> SchemaColumns:
    """The `clp_s_schema_ids::schema` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = SchemaColumns(view, end)
    if native is not None:
        at = native.clp_s_schema_ids_schema(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_schema_id = columns.schema_id.append
    add_num_entries = columns.num_entries.append
    add_num_ordered = columns.num_ordered.append
    add_entries_value_start = columns.entries_value_start.append
    add_entries_value_end = columns.entries_value_end.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 8:
                raise short((("schema_id", 4), ("num_entries", 8),), at, end, 8)
            schema_id, num_entries = _unpack1(view, at)
            at += 8
            if num_entries > (end - at) // 4:
                raise LayoutError("num_entries", at - 4, at, f"at most {(end - at) // 4}", num_entries)
            if end - at < 4:
                raise short("num_ordered", at, end, 4)
            (num_ordered,) = _unpack2(view, at)
            at += 4
            if num_ordered > num_entries:
                raise LayoutError("num_ordered", at - 4, at, f"at most {num_entries}", num_ordered)
            many = num_entries
            if many > (end - at) // 4:
                many = max(0, end - at) // 4
                raise short(f"entries[{many}].value", at + many * 4, end, 4)
            at_entries = at
            at += 4 * many
            end_entries = at
            add_at(first)
            add_schema_id(schema_id)
            add_num_entries(num_entries)
            add_num_ordered(num_ordered)
            add_entries_value_start(at_entries)
            add_entries_value_end(end_entries)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


class Entry:
    """A node of the schema tree or, among the unordered entries, a marker that opens a container."""
    __slots__ = ('value', '_word', '_is_marker', '_container_type', '_num_beneath', '_io')
    value: int
    """A node of the schema tree, or a marker as `word` spells it."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def word(self) -> int:
        """The same four bytes without a sign."""
        try:
            return self._word
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        if end - at < 4:
            raise short("word", at, end, 4)
        (word,) = _unpack2(view, at)
        at += 4
        self._word = word
        return self._word

    @property
    def is_marker(self) -> bool:
        """Only meaningful past the ordered entries."""
        try:
            return self._is_marker
        except AttributeError:
            pass
        self._is_marker = self.word >= 0x1000000
        return self._is_marker

    @property
    def container_type(self) -> int | None:
        """What the marker opens, by its number among the types of nodes."""
        try:
            return self._container_type
        except AttributeError:
            pass
        if not (self.is_marker):
            self._container_type = None
            return None
        self._container_type = self.word // 0x1000000
        return self._container_type

    @property
    def num_beneath(self) -> int | None:
        """How many of the entries that follow belong to the container."""
        try:
            return self._num_beneath
        except AttributeError:
            pass
        if not (self.is_marker):
            self._num_beneath = None
            return None
        self._num_beneath = self.word % 0x1000000
        return self._num_beneath


def read_entry(view: View, at: int, end: int, base: int | None = None) -> tuple[Entry, int]:
    """`clp_s_schema_ids::entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = Entry()
    if base is None:
        base = at
    value._io = (view, base, end)
    if end - at < 4:
        raise short("value", at, end, 4)
    (value_,) = _unpack3(view, at)
    at += 4
    value.value = value_
    return value, at


class EntryColumns:
    """Many `clp_s_schema_ids::entry`, one column per field; see `scan_entry`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'value')

    def __init__(self, view: View, at: int, end: int, many: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: range = range(at, at + 4 * many, 4)
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = at + 4 * many
        """Where what follows the last element begins."""
        self.value: memoryview[int] = numbers(view, at, 4 * many, "i", "little")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Entry:
        """One element as an object."""
        return read_entry(self.view, self.at[index], self.at[index] + 4, self.at[index])[0]


def scan_entry(view: View, at: int, end: int, count: int | None = None) -> EntryColumns:
    """The `clp_s_schema_ids::entry` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    room = end - at if end > at else 0
    whole = room // 4
    many = -(-room // 4) if count is None else count if count > 0 else 0
    columns = EntryColumns(view, at, end, many if many < whole else whole)
    if many > whole:
        columns.problem = short(f"[{whole}].value", columns.resume_at, end, 4)
    return columns
