"""Compiled from ksy/clp_s_dictionary.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .zstd_frame import read_zstd_frame

_unpack0 = struct.Struct("<Q").unpack_from


class ClpSDictionary:
    """A dictionary as stored in the file: the number of its entries in the clear, then the compressed entries, or
    nothing when there are none.
    """
    __slots__ = ('num_entries', 'compressed', '_entries', '_io')
    num_entries: int
    """How many entries there are; each takes eight bytes or more once decompressed."""
    compressed: ZstdFrame
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def entries(self) -> ClpSDictionaryEntries | None:
        """The entries, in place, when they are stored uncompressed."""
        try:
            return self._entries
        except AttributeError:
            pass
        from .clp_s_dictionary_entries import read_clp_s_dictionary_entries
        view, base, end = self._io
        if not (self.compressed.is_stored):
            self._entries = None
            return None
        view, base, end = self.compressed.frames[0].body.blocks[0].content._io
        at = base + 0
        try:
            entries, _ = read_clp_s_dictionary_entries(view, at, end)
        except LayoutError as error:
            error.within("entries")
            raise
        at = max(at, end)
        self._entries = entries
        return self._entries


def read_clp_s_dictionary(view: View, at: int, end: int, base: int | None = None) -> tuple[ClpSDictionary, int]:
    """`clp_s_dictionary` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSDictionary()
    if base is None:
        base = at
    value._io = (view, base, end)
    if end - at < 8:
        raise short("num_entries", at, end, 8)
    (num_entries,) = _unpack0(view, at)
    at += 8
    value.num_entries = num_entries
    try:
        compressed, _ = read_zstd_frame(view, at, end)
    except LayoutError as error:
        error.within("compressed")
        raise
    at = max(at, end)
    value.compressed = compressed
    return value, at
