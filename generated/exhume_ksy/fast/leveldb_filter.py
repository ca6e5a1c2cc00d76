"""Compiled from ksy/leveldb_filter.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short

_unpack0 = struct.Struct("<I").unpack_from


class LeveldbFilter:
    """One bloom filter for the keys of each 2 KiB of the table, so that a lookup can skip blocks. Named `filter.` and
    the policy in the metaindex.
    """
    __slots__ = ('_base_lg', '_ofs_offsets', '_num_filters', '_offsets', '_filters', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def base_lg(self) -> int:
        """Filter i covers blocks that start in [i << base_lg, (i + 1) << base_lg)."""
        try:
            return self._base_lg
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 1
        if at < base:
            raise LayoutError("base_lg", base, end, "a position in the stream", at - base)
        if at >= end:
            raise short("base_lg", at, end, 1)
        base_lg = view[at]
        at += 1
        self._base_lg = base_lg
        return self._base_lg

    @property
    def ofs_offsets(self) -> int:
        try:
            return self._ofs_offsets
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 5
        if at < base:
            raise LayoutError("ofs_offsets", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("ofs_offsets", at, end, 4)
        (ofs_offsets,) = _unpack0(view, at)
        at += 4
        if ofs_offsets > end - base - 5:
            raise LayoutError("ofs_offsets", at - 4, at, f"at most {end - base - 5}", ofs_offsets)
        self._ofs_offsets = ofs_offsets
        return self._ofs_offsets

    @property
    def num_filters(self) -> int:
        try:
            return self._num_filters
        except AttributeError:
            pass
        view, base, end = self._io
        self._num_filters = (end - base - 5 - self.ofs_offsets) // 4
        return self._num_filters

    @property
    def offsets(self) -> memoryview[int]:
        """Start of each filter, and the end of the last, which is `ofs_offsets`."""
        try:
            return self._offsets
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_offsets
        if at < base:
            raise LayoutError("offsets", base, end, "a position in the stream", at - base)
        many = max(0, self.num_filters + 1)
        if many > (end - at) // 4:
            many = max(0, end - at) // 4
            raise short(f"offsets[{many}]", at + many * 4, end, 4)
        offsets = numbers(view, at, many * 4, "I", "little")
        at += many * 4
        self._offsets = offsets
        return self._offsets

    @property
    def filters(self) -> list[Filter]:
        try:
            return self._filters
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        filters = self._filters = []
        try:
            for _ in range(self.num_filters):
                one, at = read_filter(view, at, end, base, self, len(filters))
                filters.append(one)
        except LayoutError as error:
            del self._filters
            error.within(f"filters[{len(filters)}]")
            raise
        self._filters = filters
        return self._filters


def read_leveldb_filter(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbFilter, int]:
    """`leveldb_filter` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbFilter()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class Filter:
    """The Bloom filter of one range of the table."""
    __slots__ = ('idx', '_raw', '_io', '_parent')
    idx: int
    """Position of the filter in the block."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def raw(self) -> View | None:
        """Bits of the filter, then one byte with the number of probes. Empty when no block starts in the range."""
        try:
            return self._raw
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self._parent.offsets[self.idx + 1] > self._parent.offsets[self.idx]):
            self._raw = None
            return None
        at = base + self._parent.offsets[self.idx]
        if at < base:
            raise LayoutError("raw", base, end, "a position in the stream", at - base)
        size = self._parent.offsets[self.idx + 1] - self._parent.offsets[self.idx]
        if not 0 <= size <= max(0, end - at):
            raise short("raw", at, end, size)
        raw = view[at : at + size]
        at += size
        self._raw = raw
        return self._raw


def read_filter(view: View, at: int, end: int, base: int | None, parent: LeveldbFilter | None, idx: int) -> tuple[Filter, int]:
    """`leveldb_filter::filter` at `at`, and where it ends. Raises `LayoutError`."""
    value = Filter()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value.idx = idx
    return value, at
