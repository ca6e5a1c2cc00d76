"""Compiled from ksy/zstd_frame.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<H").unpack_from
_unpack2 = struct.Struct("<Q").unpack_from


class ZstdFrame:
    """The framing of a Zstandard stream: frame headers, block headers and skippable frames, back to back to the end.
    Compressed blocks stay opaque; the bytes of raw blocks are the payload itself, which is how an archive recoded
    with stored payloads shows them in place.
    """
    __slots__ = ('frames', '_is_stored')
    frames: FrameColumns

    @property
    def is_stored(self) -> bool:
        """The whole payload is one raw block of one frame."""
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = len(self.frames) == 1 and self.frames[0].is_stored
        return self._is_stored


def read_zstd_frame(view: View, at: int, end: int) -> tuple[ZstdFrame, int]:
    """`zstd_frame` at `at`, and where it ends. Raises `LayoutError`."""
    value = ZstdFrame()
    frames = scan_frame(view, at, end)
    if frames.problem is not None:
        frames.problem.within("frames")
        raise frames.problem
    at = frames.resume_at
    value.frames = frames
    return value, at


class Frame:
    """One Zstandard frame or one skippable frame."""
    __slots__ = ('magic', 'skippable', 'body', '_is_stored')
    magic: int
    """A Zstandard frame, or any of the sixteen skippable ones."""
    skippable: SkippableBody | None
    body: ZstandardBody | None

    @property
    def is_stored(self) -> bool:
        """The payload of this frame is exactly one raw block."""
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = self.magic == 4247762216 and self.body.is_stored
        return self._is_stored


def read_frame(view: View, at: int, end: int) -> tuple[Frame, int]:
    """`zstd_frame::frame` at `at`, and where it ends. Raises `LayoutError`."""
    value = Frame()
    if end - at < 4:
        raise short("magic", at, end, 4)
    (magic,) = _unpack0(view, at)
    at += 4
    if not (magic in (407710288, 407710289, 407710290, 407710291, 407710292, 407710293, 407710294, 407710295, 407710296, 407710297, 407710298, 407710299, 407710300, 407710301, 407710302, 407710303, 4247762216,)):
        raise LayoutError("magic", at - 4, at, "a value of frame_kind", magic)
    value.magic = magic
    if magic != 4247762216:
        try:
            skippable, at = read_skippable_body(view, at, end)
        except LayoutError as error:
            error.within("skippable")
            raise
    else:
        skippable = None
    value.skippable = skippable
    if magic == 4247762216:
        try:
            body, at = read_zstandard_body(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    else:
        body = None
    value.body = body
    return value, at


class FrameColumns:
    """Many `zstd_frame::frame`, one column per field; see `scan_frame`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'magic', 'skippable_data_start', 'skippable_data_end', 'body_descriptor_content_size_flag', 'body_descriptor_is_single_segment', 'body_descriptor_unused', 'body_descriptor_reserved', 'body_descriptor_has_checksum', 'body_descriptor_dictionary_id_flag', 'body_window_exponent', 'body_window_mantissa', 'body_dictionary_id1', 'body_dictionary_id2', 'body_dictionary_id4', 'body_content_size1', 'body_content_size2', 'body_content_size4', 'body_content_size8', 'body_blocks_start', 'body_blocks_end', 'body_checksum')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.magic: array[int] = array("I")
        self.skippable_data_start: array[int] = array("q")
        self.skippable_data_end: array[int] = array("q")
        self.body_descriptor_content_size_flag: array[int] = array("B")
        self.body_descriptor_is_single_segment: array[int] = array("B")
        self.body_descriptor_unused: array[int] = array("B")
        self.body_descriptor_reserved: array[int] = array("B")
        self.body_descriptor_has_checksum: array[int] = array("B")
        self.body_descriptor_dictionary_id_flag: array[int] = array("B")
        self.body_window_exponent: array[int] = array("B")
        self.body_window_mantissa: array[int] = array("B")
        self.body_dictionary_id1: array[int] = array("B")
        self.body_dictionary_id2: array[int] = array("H")
        self.body_dictionary_id4: array[int] = array("I")
        self.body_content_size1: array[int] = array("B")
        self.body_content_size2: array[int] = array("H")
        self.body_content_size4: array[int] = array("I")
        self.body_content_size8: array[int] = array("Q")
        self.body_blocks_start: array[int] = array("q")
        self.body_blocks_end: array[int] = array("q")
        self.body_checksum: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Frame:
        """One element as an object."""
        return read_frame(self.view, self.at[index], self.end)[0]

    def skippable_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.skippable_data_start[index] : self.skippable_data_end[index]]

    def body_blocks(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.body_blocks_start[index] : self.body_blocks_end[index]]


def scan_frame(view: View, at: int, end: int, count: int | None = None) -> FrameColumns:
    """The `zstd_frame::frame` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    columns = FrameColumns(view, end)
    if native is not None:
        at = native.zstd_frame_frame(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_magic = columns.magic.append
    add_skippable_data_start = columns.skippable_data_start.append
    add_skippable_data_end = columns.skippable_data_end.append
    add_body_descriptor_content_size_flag = columns.body_descriptor_content_size_flag.append
    add_body_descriptor_is_single_segment = columns.body_descriptor_is_single_segment.append
    add_body_descriptor_unused = columns.body_descriptor_unused.append
    add_body_descriptor_reserved = columns.body_descriptor_reserved.append
    add_body_descriptor_has_checksum = columns.body_descriptor_has_checksum.append
    add_body_descriptor_dictionary_id_flag = columns.body_descriptor_dictionary_id_flag.append
    add_body_window_exponent = columns.body_window_exponent.append
    add_body_window_mantissa = columns.body_window_mantissa.append
    add_body_dictionary_id1 = columns.body_dictionary_id1.append
    add_body_dictionary_id2 = columns.body_dictionary_id2.append
    add_body_dictionary_id4 = columns.body_dictionary_id4.append
    add_body_content_size1 = columns.body_content_size1.append
    add_body_content_size2 = columns.body_content_size2.append
    add_body_content_size4 = columns.body_content_size4.append
    add_body_content_size8 = columns.body_content_size8.append
    add_body_blocks_start = columns.body_blocks_start.append
    add_body_blocks_end = columns.body_blocks_end.append
    add_body_checksum = columns.body_checksum.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 4:
                raise short("magic", at, end, 4)
            (magic,) = _unpack0(view, at)
            at += 4
            if not (magic in (407710288, 407710289, 407710290, 407710291, 407710292, 407710293, 407710294, 407710295, 407710296, 407710297, 407710298, 407710299, 407710300, 407710301, 407710302, 407710303, 4247762216,)):
                raise LayoutError("magic", at - 4, at, "a value of frame_kind", magic)
            if magic != 4247762216:
                if end - at < 4:
                    raise short("skippable.len_data", at, end, 4)
                (skippable_len_data,) = _unpack0(view, at)
                at += 4
                if skippable_len_data > end - at:
                    raise LayoutError("skippable.len_data", at - 4, at, f"at most {end - at}", skippable_len_data)
                at_skippable_data = at
                at = end_skippable_data = at + skippable_len_data
            else:
                at_skippable_data = end_skippable_data = 0
            if magic == 4247762216:
                if at >= end:
                    raise short((("body.descriptor.content_size_flag", 1), ("body.descriptor.is_single_segment", 1), ("body.descriptor.unused", 1), ("body.descriptor.reserved", 1), ("body.descriptor.has_checksum", 1), ("body.descriptor.dictionary_id_flag", 1),), at, end, 1)
                many = view[at]
                body_descriptor_content_size_flag = many >> 6
                body_descriptor_is_single_segment = (many >> 5) & 1 == 1
                body_descriptor_unused = (many >> 4) & 1 == 1
                body_descriptor_reserved = (many >> 3) & 1 == 1
                body_descriptor_has_checksum = (many >> 2) & 1 == 1
                body_descriptor_dictionary_id_flag = many & 0x3
                at += 1
                if not body_descriptor_is_single_segment:
                    if at >= end:
                        raise short((("body.window.exponent", 1), ("body.window.mantissa", 1),), at, end, 1)
                    many = view[at]
                    body_window_exponent = many >> 3
                    body_window_mantissa = many & 0x7
                    at += 1
                else:
                    body_window_exponent = body_window_mantissa = 0
                if body_descriptor_dictionary_id_flag == 1:
                    if at >= end:
                        raise short("body.dictionary_id1", at, end, 1)
                    body_dictionary_id1 = view[at]
                    at += 1
                else:
                    body_dictionary_id1 = 0
                if body_descriptor_dictionary_id_flag == 2:
                    if end - at < 2:
                        raise short("body.dictionary_id2", at, end, 2)
                    (body_dictionary_id2,) = _unpack1(view, at)
                    at += 2
                else:
                    body_dictionary_id2 = 0
                if body_descriptor_dictionary_id_flag == 3:
                    if end - at < 4:
                        raise short("body.dictionary_id4", at, end, 4)
                    (body_dictionary_id4,) = _unpack0(view, at)
                    at += 4
                else:
                    body_dictionary_id4 = 0
                if body_descriptor_content_size_flag == 0 and body_descriptor_is_single_segment:
                    if at >= end:
                        raise short("body.content_size1", at, end, 1)
                    body_content_size1 = view[at]
                    at += 1
                else:
                    body_content_size1 = 0
                if body_descriptor_content_size_flag == 1:
                    if end - at < 2:
                        raise short("body.content_size2", at, end, 2)
                    (body_content_size2,) = _unpack1(view, at)
                    at += 2
                else:
                    body_content_size2 = 0
                if body_descriptor_content_size_flag == 2:
                    if end - at < 4:
                        raise short("body.content_size4", at, end, 4)
                    (body_content_size4,) = _unpack0(view, at)
                    at += 4
                else:
                    body_content_size4 = 0
                if body_descriptor_content_size_flag == 3:
                    if end - at < 8:
                        raise short("body.content_size8", at, end, 8)
                    (body_content_size8,) = _unpack2(view, at)
                    at += 8
                else:
                    body_content_size8 = 0
                at_body_blocks = at
                many_body_blocks = 0
                try:
                    while True:
                        if end - at < 3:
                            if end - at >= 1:
                                many = view[at]
                                body_blocks_header_is_last = many & 1 == 1
                                body_blocks_header_kind = (many >> 1) & 0x3
                                if not (body_blocks_header_kind in range(0, 3)):
                                    raise LayoutError("header.kind", at, at + 1, "a value of block_kind", body_blocks_header_kind)
                            raise short((("header.is_last", 1), ("header.kind", 1), ("header.len_block", 3),), at, end, 3)
                        many = int.from_bytes(view[at : at + 3], "little")
                        body_blocks_header_is_last = many & 1 == 1
                        body_blocks_header_kind = (many >> 1) & 0x3
                        body_blocks_header_len_block = many >> 3
                        at += 3
                        if not (body_blocks_header_kind in range(0, 3)):
                            raise LayoutError("header.kind", at - 3, at, "a value of block_kind", body_blocks_header_kind)
                        size = 1 if body_blocks_header_kind == 1 else body_blocks_header_len_block
                        if not 0 <= size <= end - at:
                            raise short("content", at, end, size)
                        rest_body_blocks_content = end
                        end = at + size
                        at_body_blocks_content_data = at
                        at = end_body_blocks_content_data = max(at, end)
                        at = end
                        end = rest_body_blocks_content
                        many_body_blocks += 1
                        if body_blocks_header_is_last:
                            break
                except LayoutError as error:
                    error.within(f"body.blocks[{many_body_blocks}]")
                    raise
                end_body_blocks = at
                if body_descriptor_has_checksum:
                    if end - at < 4:
                        raise short("body.checksum", at, end, 4)
                    (body_checksum,) = _unpack0(view, at)
                    at += 4
                else:
                    body_checksum = 0
            else:
                body_descriptor_content_size_flag = body_descriptor_is_single_segment = body_descriptor_unused = body_descriptor_reserved = body_descriptor_has_checksum = body_descriptor_dictionary_id_flag = body_window_exponent = body_window_mantissa = body_dictionary_id1 = body_dictionary_id2 = body_dictionary_id4 = body_content_size1 = body_content_size2 = body_content_size4 = body_content_size8 = at_body_blocks = end_body_blocks = body_checksum = 0
            add_at(first)
            add_magic(magic)
            add_skippable_data_start(at_skippable_data)
            add_skippable_data_end(end_skippable_data)
            add_body_descriptor_content_size_flag(body_descriptor_content_size_flag)
            add_body_descriptor_is_single_segment(body_descriptor_is_single_segment)
            add_body_descriptor_unused(body_descriptor_unused)
            add_body_descriptor_reserved(body_descriptor_reserved)
            add_body_descriptor_has_checksum(body_descriptor_has_checksum)
            add_body_descriptor_dictionary_id_flag(body_descriptor_dictionary_id_flag)
            add_body_window_exponent(body_window_exponent)
            add_body_window_mantissa(body_window_mantissa)
            add_body_dictionary_id1(body_dictionary_id1)
            add_body_dictionary_id2(body_dictionary_id2)
            add_body_dictionary_id4(body_dictionary_id4)
            add_body_content_size1(body_content_size1)
            add_body_content_size2(body_content_size2)
            add_body_content_size4(body_content_size4)
            add_body_content_size8(body_content_size8)
            add_body_blocks_start(at_body_blocks)
            add_body_blocks_end(end_body_blocks)
            add_body_checksum(body_checksum)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


class SkippableBody:
    """Bytes that a decoder skips."""
    __slots__ = ('len_data', 'data')
    len_data: int
    data: View
    """Whatever who wrote it wanted."""


def read_skippable_body(view: View, at: int, end: int) -> tuple[SkippableBody, int]:
    """`zstd_frame::skippable_body` at `at`, and where it ends. Raises `LayoutError`."""
    value = SkippableBody()
    if end - at < 4:
        raise short("len_data", at, end, 4)
    (len_data,) = _unpack0(view, at)
    at += 4
    if len_data > end - at:
        raise LayoutError("len_data", at - 4, at, f"at most {end - at}", len_data)
    value.len_data = len_data
    data = view[at : at + len_data]
    at += len_data
    value.data = data
    return value, at


class ZstandardBody:
    """What follows the magic of a Zstandard frame."""
    __slots__ = ('descriptor', 'window', 'dictionary_id1', 'dictionary_id2', 'dictionary_id4', 'content_size1', 'content_size2', 'content_size4', 'content_size8', 'blocks', 'checksum', '_is_stored')
    descriptor: FrameDescriptor
    window: WindowDescriptor | None
    dictionary_id1: int | None
    """Number of the dictionary; 0 when it is not said."""
    dictionary_id2: int | None
    """The same in two bytes."""
    dictionary_id4: int | None
    """The same in four bytes."""
    content_size1: int | None
    """Bytes of the payload."""
    content_size2: int | None
    """Stored minus 256."""
    content_size4: int | None
    """Bytes of the payload."""
    content_size8: int | None
    """Bytes of the payload."""
    blocks: list[Block]
    checksum: int | None
    """Low four bytes of the XXH64 of the payload, seed 0."""

    @property
    def is_stored(self) -> bool:
        """The payload of this frame is exactly one raw block."""
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = len(self.blocks) == 1 and self.blocks[0].is_raw
        return self._is_stored


def read_zstandard_body(view: View, at: int, end: int) -> tuple[ZstandardBody, int]:
    """`zstd_frame::zstandard_body` at `at`, and where it ends. Raises `LayoutError`."""
    value = ZstandardBody()
    try:
        descriptor, at = read_frame_descriptor(view, at, end)
    except LayoutError as error:
        error.within("descriptor")
        raise
    value.descriptor = descriptor
    if not descriptor.is_single_segment:
        try:
            window, at = read_window_descriptor(view, at, end)
        except LayoutError as error:
            error.within("window")
            raise
    else:
        window = None
    value.window = window
    if descriptor.dictionary_id_flag == 1:
        if at >= end:
            raise short("dictionary_id1", at, end, 1)
        dictionary_id1 = view[at]
        at += 1
    else:
        dictionary_id1 = None
    value.dictionary_id1 = dictionary_id1
    if descriptor.dictionary_id_flag == 2:
        if end - at < 2:
            raise short("dictionary_id2", at, end, 2)
        (dictionary_id2,) = _unpack1(view, at)
        at += 2
    else:
        dictionary_id2 = None
    value.dictionary_id2 = dictionary_id2
    if descriptor.dictionary_id_flag == 3:
        if end - at < 4:
            raise short("dictionary_id4", at, end, 4)
        (dictionary_id4,) = _unpack0(view, at)
        at += 4
    else:
        dictionary_id4 = None
    value.dictionary_id4 = dictionary_id4
    if descriptor.content_size_flag == 0 and descriptor.is_single_segment:
        if at >= end:
            raise short("content_size1", at, end, 1)
        content_size1 = view[at]
        at += 1
    else:
        content_size1 = None
    value.content_size1 = content_size1
    if descriptor.content_size_flag == 1:
        if end - at < 2:
            raise short("content_size2", at, end, 2)
        (content_size2,) = _unpack1(view, at)
        at += 2
    else:
        content_size2 = None
    value.content_size2 = content_size2
    if descriptor.content_size_flag == 2:
        if end - at < 4:
            raise short("content_size4", at, end, 4)
        (content_size4,) = _unpack0(view, at)
        at += 4
    else:
        content_size4 = None
    value.content_size4 = content_size4
    if descriptor.content_size_flag == 3:
        if end - at < 8:
            raise short("content_size8", at, end, 8)
        (content_size8,) = _unpack2(view, at)
        at += 8
    else:
        content_size8 = None
    value.content_size8 = content_size8
    blocks = []
    try:
        while True:
            one, at = read_block(view, at, end)
            blocks.append(one)
            if one.header.is_last:
                break
    except LayoutError as error:
        error.within(f"blocks[{len(blocks)}]")
        raise
    value.blocks = blocks
    if descriptor.has_checksum:
        if end - at < 4:
            raise short("checksum", at, end, 4)
        (checksum,) = _unpack0(view, at)
        at += 4
    else:
        checksum = None
    value.checksum = checksum
    return value, at


class FrameDescriptor:
    """Which header fields follow."""
    __slots__ = ('content_size_flag', 'is_single_segment', 'unused', 'reserved', 'has_checksum', 'dictionary_id_flag')
    content_size_flag: int
    """Size of the content size field, 0 (or 1), 2, 4 or 8 bytes."""
    is_single_segment: bool
    """No window descriptor; the window is the whole content."""
    unused: bool
    reserved: bool
    has_checksum: bool
    """A checksum of the payload follows the last block."""
    dictionary_id_flag: int
    """Size of the dictionary id, 0, 1, 2 or 4 bytes."""


def read_frame_descriptor(view: View, at: int, end: int) -> tuple[FrameDescriptor, int]:
    """`zstd_frame::frame_descriptor` at `at`, and where it ends. Raises `LayoutError`."""
    value = FrameDescriptor()
    if at >= end:
        raise short((("content_size_flag", 1), ("is_single_segment", 1), ("unused", 1), ("reserved", 1), ("has_checksum", 1), ("dictionary_id_flag", 1),), at, end, 1)
    many = view[at]
    content_size_flag = many >> 6
    is_single_segment = (many >> 5) & 1 == 1
    unused = (many >> 4) & 1 == 1
    reserved = (many >> 3) & 1 == 1
    has_checksum = (many >> 2) & 1 == 1
    dictionary_id_flag = many & 0x3
    at += 1
    value.content_size_flag = content_size_flag
    value.is_single_segment = is_single_segment
    value.unused = unused
    value.reserved = reserved
    value.has_checksum = has_checksum
    value.dictionary_id_flag = dictionary_id_flag
    return value, at


class WindowDescriptor:
    """Size of the window, that is of the memory a decoder needs."""
    __slots__ = ('exponent', 'mantissa', '_log_window')
    exponent: int
    """Binary logarithm of the base size, minus 10."""
    mantissa: int
    """Eighths of the base size that are added to it."""

    @property
    def log_window(self) -> int:
        """Binary logarithm of the base size."""
        try:
            return self._log_window
        except AttributeError:
            pass
        self._log_window = 10 + self.exponent
        return self._log_window


def read_window_descriptor(view: View, at: int, end: int) -> tuple[WindowDescriptor, int]:
    """`zstd_frame::window_descriptor` at `at`, and where it ends. Raises `LayoutError`."""
    value = WindowDescriptor()
    if at >= end:
        raise short((("exponent", 1), ("mantissa", 1),), at, end, 1)
    many = view[at]
    exponent = many >> 3
    mantissa = many & 0x7
    at += 1
    value.exponent = exponent
    value.mantissa = mantissa
    return value, at


class Block:
    """One block: three header bytes, then its content."""
    __slots__ = ('header', 'content', '_len_content', '_is_raw')
    header: BlockHeader
    content: BlockContent
    """Raw bytes, the one byte to repeat, or a compressed block."""

    @property
    def len_content(self) -> int:
        try:
            return self._len_content
        except AttributeError:
            pass
        self._len_content = 1 if self.header.kind == 1 else self.header.len_block
        return self._len_content

    @property
    def is_raw(self) -> bool:
        try:
            return self._is_raw
        except AttributeError:
            pass
        self._is_raw = self.header.kind == 0
        return self._is_raw


def read_block(view: View, at: int, end: int) -> tuple[Block, int]:
    """`zstd_frame::block` at `at`, and where it ends. Raises `LayoutError`."""
    value = Block()
    try:
        header, at = read_block_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    size = 1 if header.kind == 1 else header.len_block
    if not 0 <= size <= end - at:
        raise short("content", at, end, size)
    stop = at + size
    try:
        content, _ = read_block_content(view, at, stop, at)
    except LayoutError as error:
        error.within("content")
        raise
    at = stop
    value.content = content
    return value, at


class BlockContent:
    """Content of a block; a stream of its own, so that other schemas can open a raw block."""
    __slots__ = ('data', '_io')
    data: View
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]


def read_block_content(view: View, at: int, end: int, base: int | None = None) -> tuple[BlockContent, int]:
    """`zstd_frame::block_content` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlockContent()
    if base is None:
        base = at
    value._io = (view, base, end)
    data = view[at:end]
    at = max(at, end)
    value.data = data
    return value, at


class BlockHeader:
    """Little-endian 24 bits: last flag, two bits of type, 21 bits of size."""
    __slots__ = ('is_last', 'kind', 'len_block')
    is_last: bool
    """No block follows in the frame."""
    kind: int
    """How the content is to be read."""
    len_block: int
    """Stored size; for a repeated byte the number of repetitions."""


def read_block_header(view: View, at: int, end: int) -> tuple[BlockHeader, int]:
    """`zstd_frame::block_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlockHeader()
    if end - at < 3:
        if end - at >= 1:
            many = view[at]
            is_last = many & 1 == 1
            kind = (many >> 1) & 0x3
            if not (kind in range(0, 3)):
                raise LayoutError("kind", at, at + 1, "a value of block_kind", kind)
        raise short((("is_last", 1), ("kind", 1), ("len_block", 3),), at, end, 3)
    many = int.from_bytes(view[at : at + 3], "little")
    is_last = many & 1 == 1
    kind = (many >> 1) & 0x3
    len_block = many >> 3
    at += 3
    if not (kind in range(0, 3)):
        raise LayoutError("kind", at - 3, at, "a value of block_kind", kind)
    value.is_last = is_last
    value.kind = kind
    value.len_block = len_block
    return value, at
