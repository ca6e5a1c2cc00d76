"""Compiled from ksy/clp_s_dictionary_entries.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<Q").unpack_from


class ClpSDictionaryEntries:
    """Variables, log types or array log types. The id of an entry is its position.

    In a log type some bytes stand for variables (`marks`), and a backslash takes the special meaning from the next
    byte.
    """
    __slots__ = ('entries',)
    entries: EntryColumns


def read_clp_s_dictionary_entries(view: View, at: int, end: int) -> tuple[ClpSDictionaryEntries, int]:
    """`clp_s_dictionary_entries` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSDictionaryEntries()
    entries = scan_entry(view, at, end)
    if entries.problem is not None:
        entries.problem.within("entries")
        raise entries.problem
    at = entries.resume_at
    value.entries = entries
    return value, at


class Entry:
    """One dictionary value."""
    __slots__ = ('len_value', 'value', '_text')
    len_value: int
    value: View
    """Unescaped text in UTF-8."""

    @property
    def text(self) -> str:
        """The same as text."""
        try:
            return self._text
        except AttributeError:
            pass
        self._text = str(self.value, 'UTF-8')
        return self._text


def read_entry(view: View, at: int, end: int) -> tuple[Entry, int]:
    """`clp_s_dictionary_entries::entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = Entry()
    if end - at < 8:
        raise short("len_value", at, end, 8)
    (len_value,) = _unpack0(view, at)
    at += 8
    if len_value > end - at:
        raise LayoutError("len_value", at - 8, at, f"at most {end - at}", len_value)
    value.len_value = len_value
    value_ = view[at : at + len_value]
    at += len_value
    value.value = value_
    return value, at


class EntryColumns:
    """Many `clp_s_dictionary_entries::entry`, one column per field; see `scan_entry`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'value_start', 'value_end')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.value_start: array[int] = array("q")
        self.value_end: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Entry:
        """One element as an object."""
        return read_entry(self.view, self.at[index], self.end)[0]

    def value(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.value_start[index] : self.value_end[index]]


def scan_entry(view: View, at: int, end: int, count: int | None = None) -> EntryColumns:
    """The `clp_s_dictionary_entries::entry` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = EntryColumns(view, end)
    if native is not None:
        at = native.clp_s_dictionary_entries_entry(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_value_start = columns.value_start.append
    add_value_end = columns.value_end.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 8:
                raise short("len_value", at, end, 8)
            (len_value,) = _unpack0(view, at)
            at += 8
            if len_value > end - at:
                raise LayoutError("len_value", at - 8, at, f"at most {end - at}", len_value)
            at_value_ = at
            at = end_value_ = at + len_value
            add_at(first)
            add_value_start(at_value_)
            add_value_end(end_value_)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


class LogTypeByte:
    """A byte of a log type that is not text, from 0.4.0 on."""
    __slots__ = ('mark',)
    mark: int


def read_log_type_byte(view: View, at: int, end: int) -> tuple[LogTypeByte, int]:
    """`clp_s_dictionary_entries::log_type_byte` at `at`, and where it ends. Raises `LayoutError`."""
    value = LogTypeByte()
    if at >= end:
        raise short("mark", at, end, 1)
    mark = view[at]
    at += 1
    value.mark = mark
    return value, at


class ClassicLogTypeByte:
    """A byte of a log type that is not text, before 0.4.0."""
    __slots__ = ('mark',)
    mark: int


def read_classic_log_type_byte(view: View, at: int, end: int) -> tuple[ClassicLogTypeByte, int]:
    """`clp_s_dictionary_entries::classic_log_type_byte` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClassicLogTypeByte()
    if at >= end:
        raise short("mark", at, end, 1)
    mark = view[at]
    at += 1
    value.mark = mark
    return value, at
