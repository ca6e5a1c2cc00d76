"""Compiled from ksy/ark_rbuf.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<BI").unpack_from
_unpack1 = struct.Struct("<IIII").unpack_from
_unpack2 = struct.Struct("<I").unpack_from
_unpack3 = struct.Struct("<Q").unpack_from


class ArkRbuf:
    """rbuf is the serialization of the Ark robotics framework. Everything is little-endian and packed. Which fields an
    object has is not on the wire: a schema registry (JSON) declares it, found in the manifest of the log.

    Read as a file, this schema shows what is known of any object without its registry: the header byte, and the
    bytes that hold fields and groups. The types below are what the other Ark schemas are made of.
    """
    __slots__ = ('header', '_body', '_io')
    header: ObjectHeader
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def body(self) -> View:
        """Fields in the order of the schema, then the groups."""
        try:
            return self._body
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 1
        size = end - base - 1
        if not 0 <= size <= max(0, end - at):
            raise short("body", at, end, size)
        body = view[at : at + size]
        at += size
        self._body = body
        return self._body


def read_ark_rbuf(view: View, at: int, end: int, base: int | None = None) -> tuple[ArkRbuf, int]:
    """`ark_rbuf` at `at`, and where it ends. Raises `LayoutError`."""
    value = ArkRbuf()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    return value, at


class ObjectHeader:
    """Opens every object but those of `final` schemas. 0xd1: no groups; 0xd5: at least one group follows the fields.
    The state is per object.
    """
    __slots__ = ('magic', 'reserved', 'has_groups', 'version', '_groups_follow')
    magic: int
    """Always 0xd."""
    reserved: bool
    """0 in everything that readers of real logs accept. One description says that this bit announces groups; it is
    then read so.
    """
    has_groups: bool
    """A group follows the fields."""
    version: int
    """Version of the serialization, 1."""

    @property
    def groups_follow(self) -> bool:
        """A group follows the fields, said by either bit."""
        try:
            return self._groups_follow
        except AttributeError:
            pass
        self._groups_follow = self.has_groups or self.reserved
        return self._groups_follow


def read_object_header(view: View, at: int, end: int) -> tuple[ObjectHeader, int]:
    """`ark_rbuf::object_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = ObjectHeader()
    if at >= end:
        raise short((("magic", 1), ("reserved", 1), ("has_groups", 1), ("version", 1),), at, end, 1)
    many = view[at]
    magic = many >> 4
    reserved = (many >> 3) & 1 == 1
    has_groups = (many >> 2) & 1 == 1
    version = many & 0x3
    at += 1
    if magic != 13:
        raise LayoutError("magic", at - 1, at, 13, magic)
    if version != 1:
        raise LayoutError("version", at - 1, at, 1, version)
    value.magic = magic
    value.reserved = reserved
    value.has_groups = has_groups
    value.version = version
    return value, at


class GroupHeader:
    """Opens a group of fields that was added to a schema after its first version. Its fields follow directly, without
    an object header.
    """
    __slots__ = ('magic', 'reserved', 'has_more', 'reserved1', 'number', 'len_body')
    magic: int
    """Always 0xe."""
    reserved: bool
    """Always 0."""
    has_more: bool
    """Another group follows this one."""
    reserved1: int
    """Always 0."""
    number: int
    """Identifier of the group in its schema."""
    len_body: int
    """Bytes of the group, counted from the end of this header."""


def read_group_header(view: View, at: int, end: int) -> tuple[GroupHeader, int]:
    """`ark_rbuf::group_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = GroupHeader()
    if at >= end:
        raise short((("magic", 1), ("reserved", 1), ("has_more", 1), ("reserved1", 1),), at, end, 1)
    many = view[at]
    magic = many >> 4
    reserved = (many >> 3) & 1 == 1
    has_more = (many >> 2) & 1 == 1
    reserved1 = many & 0x3
    at += 1
    if magic != 14:
        raise LayoutError("magic", at - 1, at, 14, magic)
    value.magic = magic
    value.reserved = reserved
    value.has_more = has_more
    value.reserved1 = reserved1
    if end - at < 5:
        raise short((("number", 1), ("len_body", 5),), at, end, 5)
    number, len_body = _unpack0(view, at)
    at += 5
    value.number = number
    value.len_body = len_body
    if len_body > end - at:
        raise LayoutError("len_body", at - 4, at, f"at most {end - at}", len_body)
    return value, at


def flat_group_header(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """Where the `ark_rbuf::group_header` at `at` ends, and its fields: magic, reserved, has_more, reserved1, number,
    len_body. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_ark_rbuf_group_header(view, at, end)) is not None:
        return found
    if at >= end:
        raise short((("magic", 1), ("reserved", 1), ("has_more", 1), ("reserved1", 1),), at, end, 1)
    many = view[at]
    magic = many >> 4
    reserved = (many >> 3) & 1 == 1
    has_more = (many >> 2) & 1 == 1
    reserved1 = many & 0x3
    at += 1
    if magic != 14:
        raise LayoutError("magic", at - 1, at, 14, magic)
    if end - at < 5:
        raise short((("number", 1), ("len_body", 5),), at, end, 5)
    number, len_body = _unpack0(view, at)
    at += 5
    if len_body > end - at:
        raise LayoutError("len_body", at - 4, at, f"at most {end - at}", len_body)
    return at, magic, reserved, has_more, reserved1, number, len_body


class Group:
    """A group whose number the schema does not know; readers skip it."""
    __slots__ = ('header', 'body')
    header: GroupHeader
    body: View
    """Fields of the group."""


def read_group(view: View, at: int, end: int) -> tuple[Group, int]:
    """`ark_rbuf::group` at `at`, and where it ends. Raises `LayoutError`."""
    value = Group()
    try:
        header, at = read_group_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    size = header.len_body
    if not 0 <= size <= end - at:
        raise short("body", at, end, size)
    body = view[at : at + size]
    at += size
    value.body = body
    return value, at


class GroupList:
    """The groups of an object, in the order of its schema."""
    __slots__ = ('groups',)
    groups: list[Group]
    """Ends with the first group that does not announce another."""


def read_group_list(view: View, at: int, end: int) -> tuple[GroupList, int]:
    """`ark_rbuf::group_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = GroupList()
    groups = []
    try:
        while True:
            one, at = read_group(view, at, end)
            groups.append(one)
            if not one.header.has_more:
                break
    except LayoutError as error:
        error.within(f"groups[{len(groups)}]")
        raise
    value.groups = groups
    return value, at


class Guid:
    """A GUID as two integers: the first eight bytes of its text form reversed, then the last eight bytes reversed.
    00112233-4455-6677-8899-aabbccddeeff is stored as 77 66 55 44 33 22 11 00 ff ee dd cc bb aa 99 88.
    """
    __slots__ = ('digits1', 'digits0', 'digits3', 'digits2', '_high', '_low')
    digits1: int
    """Hexadecimal digits 9 to 16 of the text form."""
    digits0: int
    """The first eight of them; parts of 32 bits are exact in JavaScript too."""
    digits3: int
    """The last eight."""
    digits2: int
    """Digits 17 to 24."""

    @property
    def high(self) -> int:
        """The first 16 hexadecimal digits of the text form."""
        try:
            return self._high
        except AttributeError:
            pass
        self._high = self.digits0 * 0x100000000 + self.digits1
        return self._high

    @property
    def low(self) -> int:
        """The last 16 hexadecimal digits of the text form."""
        try:
            return self._low
        except AttributeError:
            pass
        self._low = self.digits2 * 0x100000000 + self.digits3
        return self._low


def read_guid(view: View, at: int, end: int) -> tuple[Guid, int]:
    """`ark_rbuf::guid` at `at`, and where it ends. Raises `LayoutError`."""
    value = Guid()
    if end - at < 16:
        raise short((("digits1", 4), ("digits0", 8), ("digits3", 12), ("digits2", 16),), at, end, 16)
    digits1, digits0, digits3, digits2 = _unpack1(view, at)
    at += 16
    value.digits1 = digits1
    value.digits0 = digits0
    value.digits3 = digits3
    value.digits2 = digits2
    return value, at


def flat_guid(view: View, at: int, end: int) -> tuple[int, int, int, int, int]:
    """Where the `ark_rbuf::guid` at `at` ends, and its fields: digits1, digits0, digits3, digits2. Raises
    `LayoutError`.
    """
    if native is not None and (found := native.flat_ark_rbuf_guid(view, at, end)) is not None:
        return found
    if end - at < 16:
        raise short((("digits1", 4), ("digits0", 8), ("digits3", 12), ("digits2", 16),), at, end, 16)
    digits1, digits0, digits3, digits2 = _unpack1(view, at)
    at += 16
    return at, digits1, digits0, digits3, digits2


def read_text(view: View, at: int, end: int) -> tuple[str, int]:
    """`ark_rbuf::text` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if end - at < 4:
        raise short("len_value", at, end, 4)
    (len_value,) = _unpack2(view, at)
    at += 4
    if len_value > end - at:
        raise LayoutError("len_value", at - 4, at, f"at most {end - at}", len_value)
    value_ = view[at : at + len_value]
    try:
        value_ = str(value_, "UTF-8")
    except UnicodeDecodeError as error:
        raise LayoutError("value", at, at + len(value_), "text in UTF-8", value_) from error
    at += len_value
    return value_, at


def read_byte_buffer(view: View, at: int, end: int) -> tuple[View, int]:
    """`ark_rbuf::byte_buffer` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if end - at < 4:
        raise short("len_value", at, end, 4)
    (len_value,) = _unpack2(view, at)
    at += 4
    if len_value > end - at:
        raise LayoutError("len_value", at - 4, at, f"at most {end - at}", len_value)
    value_ = view[at : at + len_value]
    at += len_value
    return value_, at


def flat_byte_buffer(view: View, at: int, end: int) -> tuple[int, int, int]:
    """Where the `ark_rbuf::byte_buffer` at `at` ends, and its fields: value_start, value_end. Raises `LayoutError`."""
    if native is not None and (found := native.flat_ark_rbuf_byte_buffer(view, at, end)) is not None:
        return found
    if end - at < 4:
        raise short("len_value", at, end, 4)
    (len_value,) = _unpack2(view, at)
    at += 4
    if len_value > end - at:
        raise LayoutError("len_value", at - 4, at, f"at most {end - at}", len_value)
    at_value_ = at
    at = end_value_ = at + len_value
    return at, at_value_, end_value_


def read_count(view: View, at: int, end: int) -> tuple[int, int]:
    """`ark_rbuf::count` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if end - at < 4:
        raise short("value", at, end, 4)
    (value_,) = _unpack2(view, at)
    at += 4
    return value_, at


def flat_count(view: View, at: int, end: int) -> tuple[int, int]:
    """Where the `ark_rbuf::count` at `at` ends, and its fields: value. Raises `LayoutError`."""
    if native is not None and (found := native.flat_ark_rbuf_count(view, at, end)) is not None:
        return found
    if end - at < 4:
        raise short("value", at, end, 4)
    (value_,) = _unpack2(view, at)
    at += 4
    return at, value_


class VariantHeader:
    """Opens an object of one of several types."""
    __slots__ = ('index', 'len_object')
    index: int
    """Which of the types that the registry lists."""
    len_object: int
    """Bytes of the object, its header included."""


def read_variant_header(view: View, at: int, end: int) -> tuple[VariantHeader, int]:
    """`ark_rbuf::variant_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = VariantHeader()
    if end - at < 5:
        raise short((("index", 1), ("len_object", 5),), at, end, 5)
    index, len_object = _unpack0(view, at)
    at += 5
    value.index = index
    value.len_object = len_object
    if len_object > end - at:
        raise LayoutError("len_object", at - 4, at, f"at most {end - at}", len_object)
    return value, at


def flat_variant_header(view: View, at: int, end: int) -> tuple[int, int, int]:
    """Where the `ark_rbuf::variant_header` at `at` ends, and its fields: index, len_object. Raises `LayoutError`."""
    if native is not None and (found := native.flat_ark_rbuf_variant_header(view, at, end)) is not None:
        return found
    if end - at < 5:
        raise short((("index", 1), ("len_object", 5),), at, end, 5)
    index, len_object = _unpack0(view, at)
    at += 5
    if len_object > end - at:
        raise LayoutError("len_object", at - 4, at, f"at most {end - at}", len_object)
    return at, index, len_object


class OptionalTime:
    """A time that may be absent."""
    __slots__ = ('is_present', 'value')
    is_present: int
    """Not 0 when the value follows."""
    value: int | None
    """Nanoseconds of the steady clock."""


def read_optional_time(view: View, at: int, end: int) -> tuple[OptionalTime, int]:
    """`ark_rbuf::optional_time` at `at`, and where it ends. Raises `LayoutError`."""
    value = OptionalTime()
    if at >= end:
        raise short("is_present", at, end, 1)
    is_present = view[at]
    at += 1
    value.is_present = is_present
    if is_present != 0:
        if end - at < 8:
            raise short("value", at, end, 8)
        (value_,) = _unpack3(view, at)
        at += 8
    else:
        value_ = None
    value.value = value_
    return value, at


class StringList:
    """An arraylist of strings."""
    __slots__ = ('num_items', 'items')
    num_items: int
    items: list[str]
    """The strings, in order."""


def read_string_list(view: View, at: int, end: int) -> tuple[StringList, int]:
    """`ark_rbuf::string_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = StringList()
    if end - at < 4:
        raise short("num_items", at, end, 4)
    (num_items,) = _unpack2(view, at)
    at += 4
    if num_items > (end - at) // 4:
        raise LayoutError("num_items", at - 4, at, f"at most {(end - at) // 4}", num_items)
    value.num_items = num_items
    items = []
    try:
        for _ in range(num_items):
            one, at = read_text(view, at, end)
            items.append(one)
    except LayoutError as error:
        error.within(f"items[{len(items)}]")
        raise
    value.items = items
    return value, at
