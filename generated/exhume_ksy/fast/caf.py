"""Compiled from ksy/caf.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short

_unpack0 = struct.Struct("<I").unpack_from


class Caf:
    """Many files in one "chunk": their bytes back to back, then an index with the byte range of each file, then the
    size of that index. Written by queue workers that collect small objects into pieces of about 30 GiB for
    distributed storage. Not related to Apple's Core Audio Format, which uses the same file extension.

    There is no magic number, so everything starts at the end of the file: the last four bytes give the size of the
    index, the index is one JSON object. What a schema cannot say is checked by the reader: that the index is JSON,
    that every range is in the data section, and that no two of them overlap.
    """
    __slots__ = ('_footer', '_ofs_index', '_index', '_data', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def footer(self) -> ChunkFooter:
        try:
            return self._footer
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 4
        if at < base:
            raise LayoutError("footer", base, end, "a position in the stream", at - base)
        try:
            footer, at = read_chunk_footer(view, at, end, end - base - 4)
        except LayoutError as error:
            error.within("footer")
            raise
        self._footer = footer
        return self._footer

    @property
    def ofs_index(self) -> int:
        """Where the index starts, and so the size of the data section. In what the known writers make, it is also the end
        of the last file.
        """
        try:
            return self._ofs_index
        except AttributeError:
            pass
        view, base, end = self._io
        self._ofs_index = end - base - 4 - self.footer.len_index
        return self._ofs_index

    @property
    def index(self) -> str:
        """One JSON object, without a final newline:
        `{"format_version":"1.0","files":{NAME:{"start_byte":N,"end_byte":N},...}}`. `start_byte` counts from the start
        of the chunk, `end_byte` is exclusive. Names are paths with `/`; the writers sort them by bytes (Go) or leave
        them in the order of writing (TypeScript), so their order is not that of the data. Any JSON white space is
        allowed, trailing commas are not.
        """
        try:
            return self._index
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_index
        if at < base:
            raise LayoutError("index", base, end, "a position in the stream", at - base)
        size = self.footer.len_index
        if not 0 <= size <= max(0, end - at):
            raise short("index", at, end, size)
        index = view[at : at + size]
        try:
            index = str(index, "UTF-8")
        except UnicodeDecodeError as error:
            raise LayoutError("index", at, at + len(index), "text in UTF-8", index) from error
        at += size
        self._index = index
        return self._index

    @property
    def data(self) -> View:
        """The files as they are, in the order of writing, without padding, separators, compression or checksums."""
        try:
            return self._data
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        size = self.ofs_index
        if not 0 <= size <= max(0, end - at):
            raise short("data", at, end, size)
        data = view[at : at + size]
        at += size
        self._data = data
        return self._data


def read_caf(view: View, at: int, end: int, base: int | None = None) -> tuple[Caf, int]:
    """`caf` at `at`, and where it ends. Raises `LayoutError`."""
    value = Caf()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class ChunkFooter:
    """The last four bytes of the chunk."""
    __slots__ = ('max_index', 'len_index')
    max_index: int
    """Bytes before the footer."""
    len_index: int
    """Size of the index in bytes, without this footer. One known writer stores the size modulo 4 GiB when the index is
    larger than that.
    """


def read_chunk_footer(view: View, at: int, end: int, max_index: int) -> tuple[ChunkFooter, int]:
    """`caf::chunk_footer` at `at`, and where it ends. Raises `LayoutError`."""
    value = ChunkFooter()
    value.max_index = max_index
    if end - at < 4:
        raise short("len_index", at, end, 4)
    (len_index,) = _unpack0(view, at)
    at += 4
    if len_index > max_index:
        raise LayoutError("len_index", at - 4, at, f"at most {max_index}", len_index)
    value.len_index = len_index
    return value, at
