"""Compiled from ksy/data_bundle_shard.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .data_bundle_shard_header import read_data_bundle_shard_header

_unpack0 = struct.Struct("<I").unpack_from


class DataBundleShard:
    """A file `shard-NNNNNNNN` of a DataBundle: a header, then records. A record is a chunk of the concatenated
    contents of the shard's files, usually compressed, and padded with zeros to the alignment.

    Where records start, and which files they contain, is in the index only.
    """
    __slots__ = ('magic', 'len_header', 'ofs_data', 'header', '_padding', '_records', '_io')
    magic: View
    len_header: int
    """Bytes of the header message."""
    ofs_data: int
    """Where the first record starts; data cannot start inside the header."""
    header: DataBundleShardHeader
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def padding(self) -> View:
        """Zeros up to the first record."""
        try:
            return self._padding
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 12 + self.len_header
        if at < base:
            raise LayoutError("padding", base, end, "a position in the stream", at - base)
        size = self.ofs_data - 12 - self.len_header
        if not 0 <= size <= max(0, end - at):
            raise short("padding", at, end, size)
        padding = view[at : at + size]
        at += size
        self._padding = padding
        return self._padding

    @property
    def records(self) -> View:
        """All records with their padding."""
        try:
            return self._records
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_data
        if at < base:
            raise LayoutError("records", base, end, "a position in the stream", at - base)
        records = view[at:end]
        at = max(at, end)
        self._records = records
        return self._records


def read_data_bundle_shard(view: View, at: int, end: int, base: int | None = None) -> tuple[DataBundleShard, int]:
    """`data_bundle_shard` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleShard()
    if base is None:
        base = at
    value._io = (view, base, end)
    if end - at < 4:
        raise short("magic", at, end, 4)
    magic = view[at : at + 4]
    if magic != b'daBS':
        raise LayoutError("magic", at, at + 4, b'daBS', magic)
    at += 4
    value.magic = magic
    if end - at < 4:
        raise short("len_header", at, end, 4)
    (len_header,) = _unpack0(view, at)
    at += 4
    if len_header > end - at - 4:
        raise LayoutError("len_header", at - 4, at, f"at most {end - at - 4}", len_header)
    value.len_header = len_header
    if end - at < 4:
        raise short("ofs_data", at, end, 4)
    (ofs_data,) = _unpack0(view, at)
    at += 4
    if ofs_data < 12 + len_header:
        raise LayoutError("ofs_data", at - 4, at, f"at least {12 + len_header}", ofs_data)
    value.ofs_data = ofs_data
    if not 0 <= len_header <= end - at:
        raise short("header", at, end, len_header)
    stop = at + len_header
    try:
        header, _ = read_data_bundle_shard_header(view, at, stop, at)
    except LayoutError as error:
        error.within("header")
        raise
    at = stop
    value.header = header
    return value, at
