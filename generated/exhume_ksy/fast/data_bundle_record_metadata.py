"""Compiled from ksy/data_bundle_record_metadata.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .data_bundle_field import read_data_bundle_field


class DataBundleRecordMetadata:
    """`BundleRecordMetadata`, value of a `SHARD_METADATA` row of the index, a Protocol Buffers message. Either
    `shard_byte_offset` or `all_zeros` is there.
    """
    __slots__ = ('fields',)
    fields: list[Field]


def read_data_bundle_record_metadata(view: View, at: int, end: int) -> tuple[DataBundleRecordMetadata, int]:
    """`data_bundle_record_metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleRecordMetadata()
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


def read_field(view: View, at: int, end: int) -> tuple[Field, int]:
    """`data_bundle_record_metadata::field` at `at`, and where it ends. Raises `LayoutError`."""
    value = Field()
    try:
        wire, at = read_data_bundle_field(view, at, end)
    except LayoutError as error:
        error.within("wire")
        raise
    value.wire = wire
    return value, at
