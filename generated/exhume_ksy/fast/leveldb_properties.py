"""Compiled from ksy/leveldb_properties.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<I").unpack_from


class LeveldbProperties:
    """Facts about a table, by name, found under `rocksdb.properties` in the metaindex. A block in the common form.
    dacha and older RocksDB spell every name out; newer RocksDB leaves off what a name has in common with the one
    before. Numbers are varints, some RocksDB ones are little-endian integers of fixed size, the rest is text.
    """
    __slots__ = ('_num_restarts', '_ofs_restarts', '_properties', '_restarts', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def num_restarts(self) -> int:
        try:
            return self._num_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 4
        if at < base:
            raise LayoutError("num_restarts", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("num_restarts", at, end, 4)
        (num_restarts,) = _unpack0(view, at)
        at += 4
        self._num_restarts = num_restarts
        return self._num_restarts

    @property
    def ofs_restarts(self) -> int:
        try:
            return self._ofs_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        self._ofs_restarts = end - base - 4 - 4 * self.num_restarts
        return self._ofs_restarts

    @property
    def properties(self) -> PropertyList:
        try:
            return self._properties
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        size = self.ofs_restarts
        if not 0 <= size <= max(0, end - at):
            raise short("properties", at, end, size)
        stop = at + size
        try:
            properties, _ = read_property_list(view, at, stop)
        except LayoutError as error:
            error.within("properties")
            raise
        at = stop
        self._properties = properties
        return self._properties

    @property
    def restarts(self) -> memoryview[int]:
        """Offsets of properties that spell out their whole name; the first is 0."""
        try:
            return self._restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_restarts
        if at < base:
            raise LayoutError("restarts", base, end, "a position in the stream", at - base)
        many = max(0, self.num_restarts)
        if many > (end - at) // 4:
            many = max(0, end - at) // 4
            raise short(f"restarts[{many}]", at + many * 4, end, 4)
        restarts = numbers(view, at, many * 4, "I", "little")
        at += many * 4
        self._restarts = restarts
        return self._restarts


def read_leveldb_properties(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbProperties, int]:
    """`leveldb_properties` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbProperties()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class PropertyList:
    """Properties back to back, up to the restarts."""
    __slots__ = ('properties',)
    properties: list[Property]


def read_property_list(view: View, at: int, end: int) -> tuple[PropertyList, int]:
    """`leveldb_properties::property_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = PropertyList()
    properties = value.properties = []
    try:
        while at < end:
            one, at = read_property(view, at, end, value, len(properties))
            properties.append(one)
    except LayoutError as error:
        del value.properties
        error.within(f"properties[{len(properties)}]")
        raise
    value.properties = properties
    return value, at


class Property:
    """A name and a value."""
    __slots__ = ('number', 'len_shared', 'len_name', 'len_value', 'name', 'value', '_whole_name', '_text', '_parent')
    number: int
    """Position of the property in the block."""
    len_shared: int
    """Bytes that the name has in common with the one before."""
    len_name: int
    len_value: int
    name: str
    """The rest of the name."""
    value: View
    """A varint, an integer of fixed size, or text, depending on the name."""

    @property
    def whole_name(self) -> str:
        """What it has in common with the one before, and the rest."""
        try:
            return self._whole_name
        except AttributeError:
            pass
        self._whole_name = self.name if self.len_shared == 0 or self.number == 0 else self._parent.properties[self.number - 1].whole_name[0:self.len_shared] + self.name
        return self._whole_name

    @property
    def text(self) -> str | None:
        """The value, if the property is a string."""
        try:
            return self._text
        except AttributeError:
            pass
        if not (self.whole_name in ('rocksdb.column.family.name', 'rocksdb.comparator', 'rocksdb.compression', 'rocksdb.compression_options', 'rocksdb.creating.db.identity', 'rocksdb.creating.host.identity', 'rocksdb.creating.session.identity', 'rocksdb.filter.policy', 'rocksdb.merge.operator', 'rocksdb.prefix.extractor.name', 'rocksdb.property.collectors')):
            self._text = None
            return None
        self._text = str(self.value, 'UTF-8')
        return self._text


def read_property(view: View, at: int, end: int, parent: PropertyList | None, number: int) -> tuple[Property, int]:
    """`leveldb_properties::property` at `at`, and where it ends. Raises `LayoutError`."""
    value = Property()
    value._parent = parent
    value.number = number
    if at < end and (len_shared := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_shared, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_shared")
            raise
    value.len_shared = len_shared
    start = at
    if at < end and (len_name := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_name, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_name")
            raise
    if len_name > end - at:
        raise LayoutError("len_name", start, at, f"at most {end - at}", len_name)
    value.len_name = len_name
    start = at
    if at < end and (len_value := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_value, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_value")
            raise
    if len_value > end - at - len_name:
        raise LayoutError("len_value", start, at, f"at most {end - at - len_name}", len_value)
    value.len_value = len_value
    if not 0 <= len_name <= end - at:
        raise short("name", at, end, len_name)
    name = view[at : at + len_name]
    try:
        name = str(name, "UTF-8")
    except UnicodeDecodeError as error:
        raise LayoutError("name", at, at + len(name), "text in UTF-8", name) from error
    at += len_name
    value.name = name
    if not 0 <= len_value <= end - at:
        raise short("value", at, end, len_value)
    value_ = view[at : at + len_value]
    at += len_value
    value.value = value_
    return value, at
