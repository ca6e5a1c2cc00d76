"""Compiled from ksy/zs_data_block.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

from array import array

from ._layout import LayoutError, View, native
from .uleb128 import read_uleb128


class ZsDataBlock:
    """The records of one data block, after decompression with the codec that the file's header names: at least one, in
    ascending order of their bytes (equal ones may follow each other). No record is smaller than any record of an
    earlier data block.
    """
    __slots__ = ('_records', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def records(self) -> RecordColumns:
        """Back to back, to the end of the payload."""
        try:
            return self._records
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        records = scan_record(view, at, end)
        if records.problem is not None:
            records.problem.within("records")
            raise records.problem
        at = records.resume_at
        self._records = records
        return self._records


def read_zs_data_block(view: View, at: int, end: int, base: int | None = None) -> tuple[ZsDataBlock, int]:
    """`zs_data_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = ZsDataBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class Record:
    """One record, an uninterpreted byte string."""
    __slots__ = ('len_data', 'data')
    len_data: int
    """Bytes of the record, 0 included."""
    data: View
    """The record itself."""


def read_record(view: View, at: int, end: int) -> tuple[Record, int]:
    """`zs_data_block::record` at `at`, and where it ends. Raises `LayoutError`."""
    value = Record()
    start = at
    if at < end and (len_data := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_data, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("len_data")
            raise
    if len_data > end - at:
        raise LayoutError("len_data", start, at, f"at most {end - at}", len_data)
    value.len_data = len_data
    data = view[at : at + len_data]
    at += len_data
    value.data = data
    return value, at


class RecordColumns:
    """Many `zs_data_block::record`, one column per field; see `scan_record`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'data_start', 'data_end')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.data_start: array[int] = array("q")
        self.data_end: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Record:
        """One element as an object."""
        return read_record(self.view, self.at[index], self.end)[0]

    def data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.data_start[index] : self.data_end[index]]


def scan_record(view: View, at: int, end: int, count: int | None = None) -> RecordColumns:
    """The `zs_data_block::record` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    columns = RecordColumns(view, end)
    if native is not None:
        at = native.zs_data_block_record(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_data_start = columns.data_start.append
    add_data_end = columns.data_end.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            start = at
            if at < end and (len_data := view[at]) < 0x80:
                at += 1
            else:
                try:
                    len_data, at = read_uleb128(view, at, end)
                except LayoutError as error:
                    error.within("len_data")
                    raise
            if len_data > end - at:
                raise LayoutError("len_data", start, at, f"at most {end - at}", len_data)
            at_data = at
            at = end_data = at + len_data
            add_at(first)
            add_data_start(at_data)
            add_data_end(end_data)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns
