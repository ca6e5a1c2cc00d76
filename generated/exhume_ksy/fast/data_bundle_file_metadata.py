"""Compiled from ksy/data_bundle_file_metadata.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleFileMetadata:
    """`BundleFileMetadata`, value of a `FILE_METADATA` row of the index, a Protocol Buffers message."""
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_file_metadata(view: View, at: int, end: int, base: int | None = None) -> tuple[DataBundleFileMetadata, int]:
    """`data_bundle_file_metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleFileMetadata()
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
    __slots__ = ('wire', '_name', '_file_type', '_user_data', '_io')
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
    def file_type(self) -> int | None:
        """The value by its name."""
        try:
            return self._file_type
        except AttributeError:
            pass
        if not (self.wire.key == 8):
            self._file_type = None
            return None
        self._file_type = self.wire.value
        return self._file_type

    @property
    def user_data(self) -> DataBundleAny | None:
        """The message in it; 50 is the key of field 6 with a value of bytes."""
        try:
            return self._user_data
        except AttributeError:
            pass
        from .data_bundle_any import read_data_bundle_any
        view, base, end = self._io
        if not (self.wire.key == 50):
            self._user_data = None
            return None
        view, base, end = self.wire.value.data._io
        at = base + 0
        try:
            user_data, _ = read_data_bundle_any(view, at, end)
        except LayoutError as error:
            error.within("user_data")
            raise
        at = max(at, end)
        self._user_data = user_data
        return self._user_data


def read_field(view: View, at: int, end: int, base: int | None = None) -> tuple[Field, int]:
    """`data_bundle_file_metadata::field` at `at`, and where it ends. Raises `LayoutError`."""
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
