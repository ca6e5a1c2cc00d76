"""Compiled from ksy/clp_s_metadata.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short
from .utf8_text import read_utf8_text

_unpack0 = struct.Struct("<BI").unpack_from
_unpack1 = struct.Struct("<Q").unpack_from
_unpack2 = struct.Struct("<q").unpack_from
_unpack3 = struct.Struct("<d").unpack_from
_unpack4 = struct.Struct("<QQ").unpack_from


class ClpSMetadata:
    """The packets that describe a clp-s archive: offsets of its sections, the range of its timestamps, and which input
    each range of records came from. Packets may come in any order; unknown kinds are skipped by their size.
    """
    __slots__ = ('num_packets', 'packets')
    num_packets: int
    packets: list[Packet]


def read_clp_s_metadata(view: View, at: int, end: int) -> tuple[ClpSMetadata, int]:
    """`clp_s_metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSMetadata()
    if at >= end:
        raise short("num_packets", at, end, 1)
    num_packets = view[at]
    at += 1
    value.num_packets = num_packets
    packets = []
    try:
        for _ in range(num_packets):
            one, at = read_packet(view, at, end)
            packets.append(one)
    except LayoutError as error:
        error.within(f"packets[{len(packets)}]")
        raise
    value.packets = packets
    return value, at


class Packet:
    """One typed, sized packet."""
    __slots__ = ('type', 'len_body', 'body')
    type: int
    """What the packet holds."""
    len_body: int
    body: PacketBody


def read_packet(view: View, at: int, end: int) -> tuple[Packet, int]:
    """`clp_s_metadata::packet` at `at`, and where it ends. Raises `LayoutError`."""
    value = Packet()
    if end - at < 5:
        raise short((("type", 1), ("len_body", 5),), at, end, 5)
    type, len_body = _unpack0(view, at)
    at += 5
    value.type = type
    value.len_body = len_body
    if len_body > end - at:
        raise LayoutError("len_body", at - 4, at, f"at most {end - at}", len_body)
    stop = at + len_body
    try:
        body, _ = read_packet_body(view, at, stop, at, type)
    except LayoutError as error:
        error.within("body")
        raise
    at = stop
    value.body = body
    return value, at


class PacketBody:
    """Content of a packet, parsed when it is used: a packet that is broken or of an unknown kind does not hide the
    others.
    """
    __slots__ = ('packet_type', '_content', '_io')
    packet_type: int
    """The type that the packet says it has."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def content(self) -> ClpSMsgpack | TimestampDictionary | View:
        """Raw bytes when the kind is unknown."""
        try:
            return self._content
        except AttributeError:
            pass
        from .clp_s_msgpack import read_clp_s_msgpack
        view, base, end = self._io
        at = base + 0
        size = end - base
        if not 0 <= size <= max(0, end - at):
            raise short("content", at, end, size)
        stop = at + size
        on = self.packet_type
        if on == 0:
            try:
                content, _ = read_clp_s_msgpack(view, at, stop)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 1:
            try:
                content, _ = read_clp_s_msgpack(view, at, stop)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 2:
            try:
                content, _ = read_timestamp_dictionary(view, at, stop)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 3:
            try:
                content, _ = read_clp_s_msgpack(view, at, stop)
            except LayoutError as error:
                error.within("content")
                raise
        else:
            content = view[at:stop]
        at = stop
        self._content = content
        return self._content


def read_packet_body(view: View, at: int, end: int, base: int | None, packet_type: int) -> tuple[PacketBody, int]:
    """`clp_s_metadata::packet_body` at `at`, and where it ends. Raises `LayoutError`."""
    value = PacketBody()
    if base is None:
        base = at
    value._io = (view, base, end)
    value.packet_type = packet_type
    return value, at


class TimestampDictionary:
    """Ranges of the timestamp columns, and the patterns that turn stored epochs back into the text they came from."""
    __slots__ = ('num_ranges', 'ranges', 'num_patterns', 'patterns')
    num_ranges: int
    ranges: list[TimestampRange]
    num_patterns: int
    patterns: list[TimestampPattern]


def read_timestamp_dictionary(view: View, at: int, end: int) -> tuple[TimestampDictionary, int]:
    """`clp_s_metadata::timestamp_dictionary` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampDictionary()
    if end - at < 8:
        raise short("num_ranges", at, end, 8)
    (num_ranges,) = _unpack1(view, at)
    at += 8
    if num_ranges > end - at:
        raise LayoutError("num_ranges", at - 8, at, f"at most {end - at}", num_ranges)
    value.num_ranges = num_ranges
    ranges = []
    try:
        for _ in range(num_ranges):
            one, at = read_timestamp_range(view, at, end)
            ranges.append(one)
    except LayoutError as error:
        error.within(f"ranges[{len(ranges)}]")
        raise
    value.ranges = ranges
    if end - at < 8:
        raise short("num_patterns", at, end, 8)
    (num_patterns,) = _unpack1(view, at)
    at += 8
    if num_patterns > end - at:
        raise LayoutError("num_patterns", at - 8, at, f"at most {end - at}", num_patterns)
    value.num_patterns = num_patterns
    patterns = []
    try:
        for _ in range(num_patterns):
            one, at = read_timestamp_pattern(view, at, end)
            patterns.append(one)
    except LayoutError as error:
        error.within(f"patterns[{len(patterns)}]")
        raise
    value.patterns = patterns
    return value, at


class TimestampRange:
    """Inclusive bounds of one timestamp key."""
    __slots__ = ('len_key', 'key', 'num_column_ids', 'column_ids', 'encoding', 'begin_epoch', 'end_epoch', 'begin_double', 'end_double')
    len_key: int
    key: Utf8Text
    """KQL path of the key, escaped as in a query."""
    num_column_ids: int
    column_ids: memoryview[int]
    """Schema tree nodes that hold values of the key."""
    encoding: int
    """Whether the bounds are integers or floats."""
    begin_epoch: int | None
    """Milliseconds from 0.5.0 on; before, whatever the values were."""
    end_epoch: int | None
    """Latest value, in the unit of the earliest."""
    begin_double: float | None
    """Earliest value, where values are floats."""
    end_double: float | None
    """Latest value, where values are floats."""


def read_timestamp_range(view: View, at: int, end: int) -> tuple[TimestampRange, int]:
    """`clp_s_metadata::timestamp_range` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampRange()
    if end - at < 8:
        raise short("len_key", at, end, 8)
    (len_key,) = _unpack1(view, at)
    at += 8
    if len_key > end - at:
        raise LayoutError("len_key", at - 8, at, f"at most {end - at}", len_key)
    value.len_key = len_key
    stop = at + len_key
    try:
        key, _ = read_utf8_text(view, at, stop)
    except LayoutError as error:
        error.within("key")
        raise
    at = stop
    value.key = key
    if end - at < 8:
        raise short("num_column_ids", at, end, 8)
    (num_column_ids,) = _unpack1(view, at)
    at += 8
    if num_column_ids > (end - at) // 4:
        raise LayoutError("num_column_ids", at - 8, at, f"at most {(end - at) // 4}", num_column_ids)
    value.num_column_ids = num_column_ids
    many = num_column_ids if num_column_ids > 0 else 0
    if many > (end - at) // 4:
        many = max(0, end - at) // 4
        raise short(f"column_ids[{many}]", at + many * 4, end, 4)
    column_ids = numbers(view, at, many * 4, "i", "little")
    at += many * 4
    value.column_ids = column_ids
    if end - at < 8:
        raise short("encoding", at, end, 8)
    (encoding,) = _unpack1(view, at)
    at += 8
    value.encoding = encoding
    if encoding == 1:
        if end - at < 8:
            raise short("begin_epoch", at, end, 8)
        (begin_epoch,) = _unpack2(view, at)
        at += 8
    else:
        begin_epoch = None
    value.begin_epoch = begin_epoch
    if encoding == 1:
        if end - at < 8:
            raise short("end_epoch", at, end, 8)
        (end_epoch,) = _unpack2(view, at)
        at += 8
    else:
        end_epoch = None
    value.end_epoch = end_epoch
    if encoding == 2:
        if end - at < 8:
            raise short("begin_double", at, end, 8)
        (begin_double,) = _unpack3(view, at)
        at += 8
    else:
        begin_double = None
    value.begin_double = begin_double
    if encoding == 2:
        if end - at < 8:
            raise short("end_double", at, end, 8)
        (end_double,) = _unpack3(view, at)
        at += 8
    else:
        end_double = None
    value.end_double = end_double
    return value, at


class TimestampPattern:
    """One pattern. Up to 0.4.1 percent signs start the specifiers, from 0.5.0 on backslashes do and string patterns
    carry their quotes.
    """
    __slots__ = ('pattern_id', 'len_pattern', 'pattern')
    pattern_id: int
    """What columns of timestamps call it."""
    len_pattern: int
    pattern: Utf8Text


def read_timestamp_pattern(view: View, at: int, end: int) -> tuple[TimestampPattern, int]:
    """`clp_s_metadata::timestamp_pattern` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampPattern()
    if end - at < 16:
        raise short((("pattern_id", 8), ("len_pattern", 16),), at, end, 16)
    pattern_id, len_pattern = _unpack4(view, at)
    at += 16
    value.pattern_id = pattern_id
    value.len_pattern = len_pattern
    if len_pattern > end - at:
        raise LayoutError("len_pattern", at - 8, at, f"at most {end - at}", len_pattern)
    stop = at + len_pattern
    try:
        pattern, _ = read_utf8_text(view, at, stop)
    except LayoutError as error:
        error.within("pattern")
        raise
    at = stop
    value.pattern = pattern
    return value, at
