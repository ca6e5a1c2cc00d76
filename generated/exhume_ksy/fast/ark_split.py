"""Compiled from ksy/ark_split.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short
from .ark_rbuf import read_group_list, read_guid, read_object_header

_unpack0 = struct.Struct("<H").unpack_from
_unpack1 = struct.Struct("<II").unpack_from
_unpack2 = struct.Struct("<QIIBB").unpack_from


class ArkSplit:
    """Holds messages of one column of an Ark log: a header, an index in time order and the bytes of the messages, in
    any order and without framing. The manifest of the log says what the objects are and how they are compressed.

    Writers reserve space for the header and for an index of a fixed capacity before the messages, so the index
    usually starts at 1024.
    """
    __slots__ = ('header', '_index', '_index_bytes', '_io')
    header: FileHeader
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def index(self) -> list[IndexEntry]:
        """The messages of this file in time order."""
        try:
            return self._index
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.header.ofs_index
        if at < base:
            raise LayoutError("index", base, end, "a position in the stream", at - base)
        index = []
        try:
            for _ in range(self.header.num_indexed_items):
                one, at = read_index_entry(view, at, end, base, self)
                index.append(one)
        except LayoutError as error:
            error.within(f"index[{len(index)}]")
            raise
        self._index = index
        return self._index

    @property
    def index_bytes(self) -> View:
        """The same index, for readers that take it as one array."""
        try:
            return self._index_bytes
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.header.ofs_index
        if at < base:
            raise LayoutError("index_bytes", base, end, "a position in the stream", at - base)
        size = self.header.num_indexed_items * 18
        if not 0 <= size <= max(0, end - at):
            raise short("index_bytes", at, end, size)
        index_bytes = view[at : at + size]
        at += size
        self._index_bytes = index_bytes
        return self._index_bytes


def read_ark_split(view: View, at: int, end: int, base: int | None = None) -> tuple[ArkSplit, int]:
    """`ark_split` at `at`, and where it ends. Raises `LayoutError`."""
    value = ArkSplit()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        header, at = read_file_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    return value, at


class FileHeader:
    """The object ark::logging::SplitFileHeader at the start of the file."""
    __slots__ = ('header', 'format_version', 'split_identifier', 'ofs_index', 'num_indexed_items', 'num_maximum_items', 'num_type_mappings', 'type_mappings', 'groups')
    header: ObjectHeader
    format_version: int
    """Always 1."""
    split_identifier: Guid
    """The GUID that manifests call this file by; also its name."""
    ofs_index: int
    """Offset of the index in the file."""
    num_indexed_items: int
    """Entries of the index. Stale in a file whose writer was stopped."""
    num_maximum_items: int
    """Capacity of the index in entries."""
    num_type_mappings: int
    type_mappings: list[TypeMapping]
    """Which object each short identifier of the index stands for."""
    groups: GroupList | None
    """Fields of later versions."""


def read_file_header(view: View, at: int, end: int) -> tuple[FileHeader, int]:
    """`ark_split::file_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileHeader()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    if end - at < 2:
        raise short("format_version", at, end, 2)
    (format_version,) = _unpack0(view, at)
    at += 2
    value.format_version = format_version
    try:
        split_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("split_identifier")
        raise
    value.split_identifier = split_identifier
    if end - at < 8:
        raise short((("ofs_index", 4), ("num_indexed_items", 8),), at, end, 8)
    ofs_index, num_indexed_items = _unpack1(view, at)
    at += 8
    value.ofs_index = ofs_index
    value.num_indexed_items = num_indexed_items
    if num_indexed_items > 0xe38e38e:
        raise LayoutError("num_indexed_items", at - 4, at, f"at most {0xe38e38e}", num_indexed_items)
    if end - at < 8:
        raise short((("num_maximum_items", 4), ("num_type_mappings", 8),), at, end, 8)
    num_maximum_items, num_type_mappings = _unpack1(view, at)
    at += 8
    value.num_maximum_items = num_maximum_items
    value.num_type_mappings = num_type_mappings
    if num_type_mappings > 0x100:
        raise LayoutError("num_type_mappings", at - 4, at, f"at most {0x100}", num_type_mappings)
    type_mappings = []
    try:
        for _ in range(num_type_mappings):
            one, at = read_type_mapping(view, at, end)
            type_mappings.append(one)
    except LayoutError as error:
        error.within(f"type_mappings[{len(type_mappings)}]")
        raise
    value.type_mappings = type_mappings
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class TypeMapping:
    """The object ark::logging::SplitTypeMappingInfo."""
    __slots__ = ('header', 'object_identifier', 'short_identifier', 'groups')
    header: ObjectHeader
    object_identifier: Guid
    """Identifier of the object (channel) in the manifest."""
    short_identifier: int
    """What index entries of this file call it."""
    groups: GroupList | None
    """Fields of later versions."""


def read_type_mapping(view: View, at: int, end: int) -> tuple[TypeMapping, int]:
    """`ark_split::type_mapping` at `at`, and where it ends. Raises `LayoutError`."""
    value = TypeMapping()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        object_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("object_identifier")
        raise
    value.object_identifier = object_identifier
    if at >= end:
        raise short("short_identifier", at, end, 1)
    short_identifier = view[at]
    at += 1
    value.short_identifier = short_identifier
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class EntryList:
    """The bytes of the index on their own, as a section of the file."""
    __slots__ = ('entries',)
    entries: list[IndexEntry]


def read_entry_list(view: View, at: int, end: int, base: int | None = None, root: ArkSplit | None = None) -> tuple[EntryList, int]:
    """`ark_split::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    if base is None:
        base = at
    entries = []
    try:
        while at < end:
            one, at = read_index_entry(view, at, end, base, root)
            entries.append(one)
    except LayoutError as error:
        error.within(f"entries[{len(entries)}]")
        raise
    value.entries = entries
    return value, at


class IndexEntry:
    """The packed C structure SplitIndexEntry, 18 bytes."""
    __slots__ = ('timestamp_ns', 'ofs_data', 'len_data', 'object_identifier', 'flags', '_data', '_io', '_root')
    timestamp_ns: int
    """Indexed time in nanoseconds of the steady clock, not of a calendar."""
    ofs_data: int
    """Offset of the message in the file."""
    len_data: int
    """Stored, that is compressed, bytes of the message."""
    object_identifier: int
    """Short identifier; see the type mappings of the header."""
    flags: int
    """Reserved, 0."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def data(self) -> View:
        """The message as stored."""
        try:
            return self._data
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self.ofs_data
        if at < base:
            raise LayoutError("data", base, end, "a position in the stream", at - base)
        size = self.len_data
        if not 0 <= size <= max(0, end - at):
            raise short("data", at, end, size)
        data = view[at : at + size]
        at += size
        self._data = data
        return self._data


def read_index_entry(view: View, at: int, end: int, base: int | None = None, root: ArkSplit | None = None) -> tuple[IndexEntry, int]:
    """`ark_split::index_entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = IndexEntry()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    if end - at < 18:
        raise short((("timestamp_ns", 8), ("ofs_data", 12), ("len_data", 16), ("object_identifier", 17), ("flags", 18),), at, end, 18)
    timestamp_ns, ofs_data, len_data, object_identifier, flags = _unpack2(view, at)
    at += 18
    value.timestamp_ns = timestamp_ns
    value.ofs_data = ofs_data
    value.len_data = len_data
    value.object_identifier = object_identifier
    value.flags = flags
    return value, at


def flat_index_entry(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int]:
    """Where the `ark_split::index_entry` at `at` ends, and its fields: timestamp_ns, ofs_data, len_data,
    object_identifier, flags. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_ark_split_index_entry(view, at, end)) is not None:
        return found
    if end - at < 18:
        raise short((("timestamp_ns", 8), ("ofs_data", 12), ("len_data", 16), ("object_identifier", 17), ("flags", 18),), at, end, 18)
    timestamp_ns, ofs_data, len_data, object_identifier, flags = _unpack2(view, at)
    at += 18
    return at, timestamp_ns, ofs_data, len_data, object_identifier, flags
