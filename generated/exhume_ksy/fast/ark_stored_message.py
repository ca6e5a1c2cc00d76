"""Compiled from ksy/ark_stored_message.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<IBB").unpack_from


class ArkStoredMessage:
    """One message of a column whose compression type is not "none": the output of the codec, then a footer of 6 bytes.
    Messages of uncompressed columns have no footer. Parse with a window that holds exactly the bytes that the index
    entry names.
    """
    __slots__ = ('_payload', '_footer', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def payload(self) -> View:
        """Output of the codec; lz4 is one raw block, zstd one standard frame."""
        try:
            return self._payload
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        size = end - base - 6
        if not 0 <= size <= max(0, end - at):
            raise short("payload", at, end, size)
        payload = view[at : at + size]
        at += size
        self._payload = payload
        return self._payload

    @property
    def footer(self) -> MessageFooter:
        try:
            return self._footer
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 6
        if at < base:
            raise LayoutError("footer", base, end, "a position in the stream", at - base)
        try:
            footer, at = read_message_footer(view, at, end)
        except LayoutError as error:
            error.within("footer")
            raise
        self._footer = footer
        return self._footer


def read_ark_stored_message(view: View, at: int, end: int, base: int | None = None) -> tuple[ArkStoredMessage, int]:
    """`ark_stored_message` at `at`, and where it ends. Raises `LayoutError`."""
    value = ArkStoredMessage()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class MessageFooter:
    """The last six bytes of a compressed message."""
    __slots__ = ('len_message', 'codec', 'magic')
    len_message: int
    """Bytes of the message before compression."""
    codec: int
    """How the message is compressed."""
    magic: int


def read_message_footer(view: View, at: int, end: int) -> tuple[MessageFooter, int]:
    """`ark_stored_message::message_footer` at `at`, and where it ends. Raises `LayoutError`."""
    value = MessageFooter()
    if end - at < 6:
        raise short((("len_message", 4), ("codec", 5), ("magic", 6),), at, end, 6)
    len_message, codec, magic = _unpack0(view, at)
    at += 6
    value.len_message = len_message
    value.codec = codec
    value.magic = magic
    if magic != 0xf0:
        raise LayoutError("magic", at - 1, at, 0xf0, magic)
    return value, at


def flat_message_footer(view: View, at: int, end: int) -> tuple[int, int, int, int]:
    """Where the `ark_stored_message::message_footer` at `at` ends, and its fields: len_message, codec, magic. Raises
    `LayoutError`.
    """
    if native is not None and (found := native.flat_ark_stored_message_message_footer(view, at, end)) is not None:
        return found
    if end - at < 6:
        raise short((("len_message", 4), ("codec", 5), ("magic", 6),), at, end, 6)
    len_message, codec, magic = _unpack0(view, at)
    at += 6
    if magic != 0xf0:
        raise LayoutError("magic", at - 1, at, 0xf0, magic)
    return at, len_message, codec, magic
