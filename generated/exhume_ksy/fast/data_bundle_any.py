"""Compiled from ksy/data_bundle_any.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleAny:
    """`google.protobuf.Any`: what the creator of a bundle attached to a file, with the name of its type."""
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_any(view: View, at: int, end: int) -> tuple[DataBundleAny, int]:
    """`data_bundle_any` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleAny()
    fields = []
    try:
        while at < end:
            one, at = read_field(view, at, end)
            fields.append(one)
    except LayoutError as error:
        error.within(f"fields[{len(fields)}]")
        raise
    value.fields = fields
    return value, at


class Field:
    """One field, with its number as a name."""
    __slots__ = ('wire', '_name', '_type_url')
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

    @property
    def type_url(self) -> str | None:
        """The value as text; 10 is the key of field 1 with a value of bytes."""
        try:
            return self._type_url
        except AttributeError:
            pass
        if not (self.wire.key == 10):
            self._type_url = None
            return None
        self._type_url = str(self.wire.value.data.bytes, 'UTF-8')
        return self._type_url


def read_field(view: View, at: int, end: int) -> tuple[Field, int]:
    """`data_bundle_any::field` at `at`, and where it ends. Raises `LayoutError`."""
    value = Field()
    try:
        wire, at = read_data_bundle_field(view, at, end)
    except LayoutError as error:
        error.within("wire")
        raise
    value.wire = wire
    return value, at
