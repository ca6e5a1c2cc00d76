"""Compiled from ksy/data_bundle_inline_table.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleInlineTable:
    """`BundleInlineTable`, a Protocol Buffers message in the header of a shard, for bundles without an `index/`. No
    program is known that writes it; its rows presumably are those of the index.
    """
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_inline_table(view: View, at: int, end: int, base: int | None = None) -> tuple[DataBundleInlineTable, int]:
    """`data_bundle_inline_table` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleInlineTable()
    if base is None:
        base = at
    fields = []
    try:
        while at < end:
            one, at = read_field(view, at, end, base)
            fields.append(one)
    except LayoutError as error:
        error.within(f"fields[{len(fields)}]")
        raise
    value.fields = fields
    return value, at


class Field:
    """One field, with its number as a name."""
    __slots__ = ('wire', '_name', '_row', '_io')
    wire: DataBundleField
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def name(self) -> int:
        """The number of the field by its name."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = self.wire.number
        return self._name

    @property
    def row(self) -> Row | None:
        """The message in it; 10 is the key of field 1 with a value of bytes."""
        try:
            return self._row
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.wire.key == 10):
            self._row = None
            return None
        view, base, end = self.wire.value.data._io
        at = base + 0
        try:
            row, _ = read_row(view, at, end)
        except LayoutError as error:
            error.within("row")
            raise
        at = max(at, end)
        self._row = row
        return self._row


def read_field(view: View, at: int, end: int, base: int | None = None) -> tuple[Field, int]:
    """`data_bundle_inline_table::field` at `at`, and where it ends. Raises `LayoutError`."""
    value = Field()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        wire, at = read_data_bundle_field(view, at, end)
    except LayoutError as error:
        error.within("wire")
        raise
    value.wire = wire
    return value, at


class Row:
    """One row of the index."""
    __slots__ = ('fields',)
    fields: list[RowField]


def read_row(view: View, at: int, end: int) -> tuple[Row, int]:
    """`data_bundle_inline_table::row` at `at`, and where it ends. Raises `LayoutError`."""
    value = Row()
    fields = []
    try:
        while at < end:
            one, at = read_row_field(view, at, end)
            fields.append(one)
    except LayoutError as error:
        error.within(f"fields[{len(fields)}]")
        raise
    value.fields = fields
    return value, at


class RowField:
    """One field of a row, with its number as a name."""
    __slots__ = ('wire', '_name')
    wire: DataBundleField

    @property
    def name(self) -> int:
        """The number of the field by its name."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = self.wire.number
        return self._name


def read_row_field(view: View, at: int, end: int) -> tuple[RowField, int]:
    """`data_bundle_inline_table::row_field` at `at`, and where it ends. Raises `LayoutError`."""
    value = RowField()
    try:
        wire, at = read_data_bundle_field(view, at, end)
    except LayoutError as error:
        error.within("wire")
        raise
    value.wire = wire
    return value, at
