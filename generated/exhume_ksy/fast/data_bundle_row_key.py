"""Compiled from ksy/data_bundle_row_key.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short
from .data_bundle_key import read_data_bundle_key


class DataBundleRowKey:
    """The key of a row as tables of the index file it: which row, then the eight bytes of LevelDB that say whether it
    was written or deleted, and when. The first part is as this project writes it; see `data_bundle_key`.
    """
    __slots__ = ('row', '_version', '_io')
    row: DataBundleKey
    """The key of the row."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def version(self) -> LeveldbInternalKey:
        """Put or deleted, and the sequence number; the part for the user's key is empty."""
        try:
            return self._version
        except AttributeError:
            pass
        from .leveldb_internal_key import read_leveldb_internal_key
        view, base, end = self._io
        at = base + end - base - 8
        if at < base:
            raise LayoutError("version", base, end, "a position in the stream", at - base)
        if max(0, end - at) < 8:
            raise short("version", at, end, 8)
        stop = at + 8
        try:
            version, _ = read_leveldb_internal_key(view, at, stop, at)
        except LayoutError as error:
            error.within("version")
            raise
        at = stop
        self._version = version
        return self._version


def read_data_bundle_row_key(view: View, at: int, end: int, base: int | None = None) -> tuple[DataBundleRowKey, int]:
    """`data_bundle_row_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleRowKey()
    if base is None:
        base = at
    value._io = (view, base, end)
    size = end - base - 8
    if not 0 <= size <= end - at:
        raise short("row", at, end, size)
    stop = at + size
    try:
        row, _ = read_data_bundle_key(view, at, stop)
    except LayoutError as error:
        error.within("row")
        raise
    at = stop
    value.row = row
    return value, at
