"""Values to bytes of a KV-IR stream, in the shortest forms that there are, as the loggers write them."""

from __future__ import annotations

import struct
from typing import Final

from exhume.counts import counted
from exhume.errors import WriterError
from exhume.formats.kv_ir.layout import (
    LENGTHS,
    MAGIC_START,
    NUMBERS,
    Encodings,
    MetadataLengths,
    MetadataTypes,
    Tags,
)

END: Final = bytes((Tags.END_OF_STREAM,))
"""The last byte of a stream."""


def build_preamble(encoding: Encodings, metadata: bytes) -> bytes:
    """The preamble before the units; `metadata` is JSON.  Raises `WriterError` past 65,535 bytes."""
    head = MAGIC_START + bytes((encoding, MetadataTypes.JSON))
    if len(metadata) < 1 << 8:
        length = bytes((MetadataLengths.ONE_BYTE,)) + struct.pack(LENGTHS.len_metadata1, len(metadata))
    elif len(metadata) < 1 << 16:
        length = bytes((MetadataLengths.TWO_BYTES,)) + struct.pack(LENGTHS.len_metadata2, len(metadata))
    else:
        raise WriterError("the metadata is too large", expected="at most 65535 bytes", actual=len(metadata))
    return head + length + metadata


def build_node(type: int, parent: int, name: bytes, *, auto: bool) -> bytes:
    """A declaration of a key: its type (a tag), its parent node, and its name."""
    return bytes((type,)) + _number(_PARENTS, -1 - parent if auto else parent) + build_text(name)


def build_key(node: int, *, auto: bool) -> bytes:
    """The key of a pair."""
    return _number(_KEYS, -1 - node if auto else node)


def build_integer(value: int) -> bytes:
    """An integer of 64 bits with a sign."""
    return _number(_INTEGERS, value)


def build_real(value: float) -> bytes:
    """A float."""
    return bytes((Tags.REAL,)) + struct.pack(NUMBERS.real, value)


def build_text(value: bytes) -> bytes:
    """A string as it is."""
    return _sized((Tags.TEXT_1, Tags.TEXT_2, Tags.TEXT_4), value)


def build_variable(value: int) -> bytes:
    """A variable of four bytes."""
    return bytes((Tags.VARIABLE_4,)) + struct.pack(NUMBERS.number4, value)


def build_variable_text(value: bytes) -> bytes:
    """A variable that is kept as text."""
    return _sized((Tags.VARIABLE_TEXT_1, Tags.VARIABLE_TEXT_2, Tags.VARIABLE_TEXT_4), value)


def build_log_type(value: bytes) -> bytes:
    """A log type, which ends an encoded string."""
    return _sized((Tags.LOG_TYPE_1, Tags.LOG_TYPE_2, Tags.LOG_TYPE_4), value)


_PARENTS: Final = (
    (7, Tags.PARENT_1, NUMBERS.number1),
    (15, Tags.PARENT_2, NUMBERS.number2),
    (31, Tags.PARENT_4, NUMBERS.number4),
)
_KEYS: Final = ((7, Tags.KEY_1, NUMBERS.number1), (15, Tags.KEY_2, NUMBERS.number2), (31, Tags.KEY_4, NUMBERS.number4))
_INTEGERS: Final = (
    (7, Tags.INTEGER_1, NUMBERS.number1),
    (15, Tags.INTEGER_2, NUMBERS.number2),
    (31, Tags.INTEGER_4, NUMBERS.number4),
    (63, Tags.INTEGER_8, NUMBERS.number8),
)


def _number(forms: tuple[tuple[int, int, str], ...], value: int) -> bytes:
    """The shortest of these forms, each with its bits besides the sign.  Raises `WriterError` where none is enough."""
    for bits, tag, form in forms:
        if -(1 << bits) <= value < 1 << bits:
            return bytes((tag,)) + struct.pack(form, value)
    raise WriterError("a number does not fit a KV-IR stream", expected=counted(forms[-1][0] + 1, "bits"), actual=value)


def _sized(tags: tuple[int, int, int], value: bytes) -> bytes:
    """Return a string with the shortest of three tags that can store its length."""
    forms = ((8, NUMBERS.len_text1), (16, NUMBERS.len_text2), (32, NUMBERS.len_text4))
    for tag, (bits, form) in zip(tags, forms, strict=True):
        if len(value) < 1 << bits:
            return bytes((tag,)) + struct.pack(form, len(value)) + value
    raise WriterError("string is too large", expected="less than 4 GiB", actual=len(value))
