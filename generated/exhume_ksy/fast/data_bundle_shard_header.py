"""Compiled from ksy/data_bundle_shard_header.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleShardHeader:
    """`BundleShardHeader`, a Protocol Buffers message. A field that is absent has its default: 0, false or empty."""
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_shard_header(view: View, at: int, end: int, base: int | None = None) -> tuple[DataBundleShardHeader, int]:
    """`data_bundle_shard_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleShardHeader()
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
    __slots__ = ('wire', '_name', '_compression_method', '_inline_metadata_table', '_io')
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
    def compression_method(self) -> int | None:
        """The value by its name."""
        try:
            return self._compression_method
        except AttributeError:
            pass
        if not (self.wire.key == 40):
            self._compression_method = None
            return None
        self._compression_method = self.wire.value
        return self._compression_method

    @property
    def inline_metadata_table(self) -> DataBundleInlineTable | None:
        """The message in it; 50 is the key of field 6 with a value of bytes."""
        try:
            return self._inline_metadata_table
        except AttributeError:
            pass
        from .data_bundle_inline_table import read_data_bundle_inline_table
        view, base, end = self._io
        if not (self.wire.key == 50):
            self._inline_metadata_table = None
            return None
        view, base, end = self.wire.value.data._io
        at = base + 0
        try:
            inline_metadata_table, _ = read_data_bundle_inline_table(view, at, end, at)
        except LayoutError as error:
            error.within("inline_metadata_table")
            raise
        at = max(at, end)
        self._inline_metadata_table = inline_metadata_table
        return self._inline_metadata_table


def read_field(view: View, at: int, end: int, base: int | None = None) -> tuple[Field, int]:
    """`data_bundle_shard_header::field` at `at`, and where it ends. Raises `LayoutError`."""
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
