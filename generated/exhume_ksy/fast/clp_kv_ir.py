"""Compiled from ksy/clp_kv_ir.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct(">H").unpack_from
_unpack1 = struct.Struct("<b").unpack_from
_unpack2 = struct.Struct(">h").unpack_from
_unpack3 = struct.Struct(">i").unpack_from
_unpack4 = struct.Struct(">q").unpack_from
_unpack5 = struct.Struct(">d").unpack_from
_unpack6 = struct.Struct(">I").unpack_from
_unpack7 = struct.Struct(">Q").unpack_from


class ClpKvIr:
    """Structured log events as loggers write them, before they are compressed into an archive: a preamble, then tokens
    to the end. Such a stream is usually stored in Zstandard frames (`.clp.zst`).

    Tokens make up consecutive units:

    - a key is declared: a `node_` token with its type, the `parent_` token of the object that contains it, and the
    `text_` token of its name. The keys that a logger adds itself and those of its user make up two trees; in each
    the root is node 0 and the others are numbered in the order of their declarations; - a log event: pairs of a
    `key_` token of the first tree and a value, then `key_` tokens of the second tree, then as many values.
    `empty_object` stands for the latter two where an event has no user's keys; - a change of the offset from UTC
    that the logger writes in; - the end of the stream.

    A value is one token, or, after `four_byte_encoding` or `eight_byte_encoding`, an encoded text: variables, and a
    `log_type_` token that states where they are.
    """
    __slots__ = ('head', 'body')
    head: Preamble
    body: Units


def read_clp_kv_ir(view: View, at: int, end: int, base: int | None = None) -> tuple[ClpKvIr, int]:
    """`clp_kv_ir` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpKvIr()
    if base is None:
        base = at
    try:
        head, at = read_preamble(view, at, end)
    except LayoutError as error:
        error.within("head")
        raise
    value.head = head
    try:
        body, at = read_units(view, at, end, base)
    except LayoutError as error:
        error.within("body")
        raise
    value.body = body
    return value, at


class Preamble:
    """What the stream is, and the metadata."""
    __slots__ = ('magic_start', 'encoding', 'metadata_type', 'metadata_length', 'len_metadata1', 'len_metadata2', 'metadata')
    magic_start: View
    encoding: int
    """How wide variables are; a value says it again."""
    metadata_type: int
    """How the metadata is written."""
    metadata_length: int
    """How wide the next length is."""
    len_metadata1: int | None
    len_metadata2: int | None
    metadata: View
    """A JSON object. `VERSION` is "0.1.0" for streams of key-value pairs, and `USER_DEFINED_METADATA` an object of the
    program that wrote the stream.
    """


def read_preamble(view: View, at: int, end: int) -> tuple[Preamble, int]:
    """`clp_kv_ir::preamble` at `at`, and where it ends. Raises `LayoutError`."""
    value = Preamble()
    if end - at < 3:
        raise short("magic_start", at, end, 3)
    magic_start = view[at : at + 3]
    if magic_start != b'\xfd/\xb5':
        raise LayoutError("magic_start", at, at + 3, b'\xfd/\xb5', magic_start)
    at += 3
    value.magic_start = magic_start
    if at >= end:
        raise short("encoding", at, end, 1)
    encoding = view[at]
    at += 1
    if not (encoding in (41, 48,)):
        raise LayoutError("encoding", at - 1, at, "a value of encodings", encoding)
    value.encoding = encoding
    if at >= end:
        raise short("metadata_type", at, end, 1)
    metadata_type = view[at]
    at += 1
    if not (metadata_type in (1,)):
        raise LayoutError("metadata_type", at - 1, at, "a value of metadata_types", metadata_type)
    value.metadata_type = metadata_type
    if at >= end:
        raise short("metadata_length", at, end, 1)
    metadata_length = view[at]
    at += 1
    if not (metadata_length in (17, 18,)):
        raise LayoutError("metadata_length", at - 1, at, "a value of metadata_lengths", metadata_length)
    value.metadata_length = metadata_length
    if metadata_length == 17:
        if at >= end:
            raise short("len_metadata1", at, end, 1)
        len_metadata1 = view[at]
        at += 1
    else:
        len_metadata1 = None
    value.len_metadata1 = len_metadata1
    if metadata_length == 18:
        start = at
        if end - at < 2:
            raise short("len_metadata2", at, end, 2)
        (len_metadata2,) = _unpack0(view, at)
        at += 2
        if len_metadata2 > end - at:
            raise LayoutError("len_metadata2", start, at, f"at most {end - at}", len_metadata2)
    else:
        len_metadata2 = None
    value.len_metadata2 = len_metadata2
    size = len_metadata1 if metadata_length == 17 else len_metadata2
    if not 0 <= size <= end - at:
        raise short("metadata", at, end, size)
    metadata = view[at : at + size]
    at += size
    value.metadata = metadata
    return value, at


class Units:
    """Tokens to the one that ends the stream, or as far as there are any."""
    __slots__ = ('tokens',)
    tokens: list[Token]


def read_units(view: View, at: int, end: int, base: int | None = None) -> tuple[Units, int]:
    """`clp_kv_ir::units` at `at`, and where it ends. Raises `LayoutError`."""
    value = Units()
    if base is None:
        base = at
    tokens = []
    try:
        while True:
            one, at = read_token(view, at, end)
            tokens.append(one)
            if one.tag == 0 or at >= end:
                break
    except LayoutError as error:
        error.within(f"tokens[{len(tokens)}]")
        raise
    value.tokens = tokens
    return value, at


class Token:
    """One byte that says what this is, and a number or bytes."""
    __slots__ = ('tag', 'number1', 'number2', 'number4', 'number8', 'real', 'len_text1', 'len_text2', 'len_text4', 'text', '_has_text1', '_has_text2', '_has_text4')
    tag: int
    """What the token is, and what follows."""
    number1: int | None
    """A number of one byte. Keys of the logger are stored as -1 - id."""
    number2: int | None
    number4: int | None
    number8: int | None
    """Offsets from UTC are milliseconds."""
    real: float | None
    """A float."""
    len_text1: int | None
    len_text2: int | None
    len_text4: int | None
    text: View | None
    """UTF-8. In a log type some bytes stand for variables (`marks`), and a backslash takes the special meaning from
    the next byte.
    """

    @property
    def has_text1(self) -> bool:
        try:
            return self._has_text1
        except AttributeError:
            pass
        self._has_text1 = self.tag in (65, 17, 33)
        return self._has_text1

    @property
    def has_text2(self) -> bool:
        try:
            return self._has_text2
        except AttributeError:
            pass
        self._has_text2 = self.tag in (66, 18, 34)
        return self._has_text2

    @property
    def has_text4(self) -> bool:
        try:
            return self._has_text4
        except AttributeError:
            pass
        self._has_text4 = self.tag in (67, 19, 35)
        return self._has_text4


def read_token(view: View, at: int, end: int) -> tuple[Token, int]:
    """`clp_kv_ir::token` at `at`, and where it ends. Raises `LayoutError`."""
    value = Token()
    if at >= end:
        raise short("tag", at, end, 1)
    tag = view[at]
    at += 1
    if not (tag in (0, 17, 18, 19, 24, 25, 33, 34, 35, 63, 65, 66, 67, 81, 82, 83, 84, 86, 87, 88, 89, 90, 94, 95, 96, 97, 98, 101, 102, 103, 113, 114, 115, 116, 117, 118,)):
        raise LayoutError("tag", at - 1, at, "a value of tags", tag)
    value.tag = tag
    if tag in (101, 96, 81):
        if at >= end:
            raise short("number1", at, end, 1)
        (number1,) = _unpack1(view, at)
        at += 1
    else:
        number1 = None
    value.number1 = number1
    if tag in (102, 97, 82):
        if end - at < 2:
            raise short("number2", at, end, 2)
        (number2,) = _unpack2(view, at)
        at += 2
    else:
        number2 = None
    value.number2 = number2
    if tag in (103, 98, 83, 24):
        if end - at < 4:
            raise short("number4", at, end, 4)
        (number4,) = _unpack3(view, at)
        at += 4
    else:
        number4 = None
    value.number4 = number4
    if tag in (84, 25, 63):
        if end - at < 8:
            raise short("number8", at, end, 8)
        (number8,) = _unpack4(view, at)
        at += 8
    else:
        number8 = None
    value.number8 = number8
    if tag == 86:
        if end - at < 8:
            raise short("real", at, end, 8)
        (real,) = _unpack5(view, at)
        at += 8
    else:
        real = None
    value.real = real
    if tag in (65, 17, 33):
        start = at
        if at >= end:
            raise short("len_text1", at, end, 1)
        len_text1 = view[at]
        at += 1
        if len_text1 > end - at:
            raise LayoutError("len_text1", start, at, f"at most {end - at}", len_text1)
    else:
        len_text1 = None
    value.len_text1 = len_text1
    if tag in (66, 18, 34):
        start = at
        if end - at < 2:
            raise short("len_text2", at, end, 2)
        (len_text2,) = _unpack0(view, at)
        at += 2
        if len_text2 > end - at:
            raise LayoutError("len_text2", start, at, f"at most {end - at}", len_text2)
    else:
        len_text2 = None
    value.len_text2 = len_text2
    if tag in (67, 19, 35):
        start = at
        if end - at < 4:
            raise short("len_text4", at, end, 4)
        (len_text4,) = _unpack6(view, at)
        at += 4
        if len_text4 > end - at:
            raise LayoutError("len_text4", start, at, f"at most {end - at}", len_text4)
    else:
        len_text4 = None
    value.len_text4 = len_text4
    if tag in (65, 17, 33) or tag in (66, 18, 34) or tag in (67, 19, 35):
        size = len_text1 if tag in (65, 17, 33) else len_text2 if tag in (66, 18, 34) else len_text4
        if not 0 <= size <= end - at:
            raise short("text", at, end, size)
        text = view[at : at + size]
        at += size
    else:
        text = None
    value.text = text
    return value, at


def flat_token(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int, int, int, int, int, int]:
    """Where the `clp_kv_ir::token` at `at` ends, and its fields: tag, number1, number2, number4, number8, real,
    len_text1, len_text2, len_text4, text_start, text_end. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_clp_kv_ir_token(view, at, end)) is not None:
        return found
    if at >= end:
        raise short("tag", at, end, 1)
    tag = view[at]
    at += 1
    if not (tag in (0, 17, 18, 19, 24, 25, 33, 34, 35, 63, 65, 66, 67, 81, 82, 83, 84, 86, 87, 88, 89, 90, 94, 95, 96, 97, 98, 101, 102, 103, 113, 114, 115, 116, 117, 118,)):
        raise LayoutError("tag", at - 1, at, "a value of tags", tag)
    if tag in (101, 96, 81):
        if at >= end:
            raise short("number1", at, end, 1)
        (number1,) = _unpack1(view, at)
        at += 1
    else:
        number1 = 0
    if tag in (102, 97, 82):
        if end - at < 2:
            raise short("number2", at, end, 2)
        (number2,) = _unpack2(view, at)
        at += 2
    else:
        number2 = 0
    if tag in (103, 98, 83, 24):
        if end - at < 4:
            raise short("number4", at, end, 4)
        (number4,) = _unpack3(view, at)
        at += 4
    else:
        number4 = 0
    if tag in (84, 25, 63):
        if end - at < 8:
            raise short("number8", at, end, 8)
        (number8,) = _unpack4(view, at)
        at += 8
    else:
        number8 = 0
    if tag == 86:
        if end - at < 8:
            raise short("real", at, end, 8)
        (real,) = _unpack5(view, at)
        at += 8
    else:
        real = 0
    if tag in (65, 17, 33):
        start = at
        if at >= end:
            raise short("len_text1", at, end, 1)
        len_text1 = view[at]
        at += 1
        if len_text1 > end - at:
            raise LayoutError("len_text1", start, at, f"at most {end - at}", len_text1)
    else:
        len_text1 = 0
    if tag in (66, 18, 34):
        start = at
        if end - at < 2:
            raise short("len_text2", at, end, 2)
        (len_text2,) = _unpack0(view, at)
        at += 2
        if len_text2 > end - at:
            raise LayoutError("len_text2", start, at, f"at most {end - at}", len_text2)
    else:
        len_text2 = 0
    if tag in (67, 19, 35):
        start = at
        if end - at < 4:
            raise short("len_text4", at, end, 4)
        (len_text4,) = _unpack6(view, at)
        at += 4
        if len_text4 > end - at:
            raise LayoutError("len_text4", start, at, f"at most {end - at}", len_text4)
    else:
        len_text4 = 0
    if tag in (65, 17, 33) or tag in (66, 18, 34) or tag in (67, 19, 35):
        at_text = at
        size = len_text1 if tag in (65, 17, 33) else len_text2 if tag in (66, 18, 34) else len_text4
        if not 0 <= size <= end - at:
            raise short("text", at, end, size)
        at = end_text = at + size
    else:
        at_text = end_text = 0
    return at, tag, number1, number2, number4, number8, real, len_text1, len_text2, len_text4, at_text, end_text


class LogTypeByte:
    """A byte of a log type that is not text."""
    __slots__ = ('mark',)
    mark: int


def read_log_type_byte(view: View, at: int, end: int) -> tuple[LogTypeByte, int]:
    """`clp_kv_ir::log_type_byte` at `at`, and where it ends. Raises `LayoutError`."""
    value = LogTypeByte()
    if at >= end:
        raise short("mark", at, end, 1)
    mark = view[at]
    at += 1
    value.mark = mark
    return value, at


def read_decimal_4(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_kv_ir::decimal_4` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 4:
        raise short("word", at, end, 4)
    (word,) = _unpack6(view, at)
    at += 4
    return word, at


def read_decimal_8(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_kv_ir::decimal_8` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short("word", at, end, 8)
    (word,) = _unpack7(view, at)
    at += 8
    return word, at
