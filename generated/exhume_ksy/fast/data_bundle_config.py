"""Compiled from ksy/data_bundle_config.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleConfig:
    """Value of the one `BUNDLE_CONFIG` row of the index, a Protocol Buffers message.

    Upstream left the message out of its code, and the compression method out of the message; field 4 is where this
    project writes it.
    """
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_config(view: View, at: int, end: int) -> tuple[DataBundleConfig, int]:
    """`data_bundle_config` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleConfig()
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
    __slots__ = ('wire', '_name', '_compression_method', '_version_magic')
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
    def compression_method(self) -> int | None:
        """The value by its name."""
        try:
            return self._compression_method
        except AttributeError:
            pass
        if not (self.wire.key == 32):
            self._compression_method = None
            return None
        self._compression_method = self.wire.value
        return self._compression_method

    @property
    def version_magic(self) -> str | None:
        """The value as text; 10 is the key of field 1 with a value of bytes."""
        try:
            return self._version_magic
        except AttributeError:
            pass
        if not (self.wire.key == 10):
            self._version_magic = None
            return None
        self._version_magic = str(self.wire.value.data.bytes, 'UTF-8')
        return self._version_magic


def read_field(view: View, at: int, end: int) -> tuple[Field, int]:
    """`data_bundle_config::field` at `at`, and where it ends. Raises `LayoutError`."""
    value = Field()
    try:
        wire, at = read_data_bundle_field(view, at, end)
    except LayoutError as error:
        error.within("wire")
        raise
    value.wire = wire
    return value, at
