"""Compiled from ksy/clp_ir.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short
from .clp_kv_ir import read_preamble

_unpack0 = struct.Struct("<b").unpack_from
_unpack1 = struct.Struct(">h").unpack_from
_unpack2 = struct.Struct(">i").unpack_from
_unpack3 = struct.Struct(">q").unpack_from
_unpack4 = struct.Struct(">H").unpack_from
_unpack5 = struct.Struct(">I").unpack_from


class ClpIr:
    """Log messages with timestamps as CLP's loggers write them, before they are compressed into an archive: a
    preamble, then tokens to the end. Mostly such a stream is inside Zstandard frames (`.clp.zst`). This is the
    format that precedes key-value pair IR streams (clp_kv_ir.ksy), which begin with the same preamble; the
    `VERSION` in the metadata distinguishes them.

    Tokens make up consecutive units:

    - a log event: the variables of its message, the `log_type_` token that says where they are, and a token with
    the time; - a change of the offset from UTC that the logger writes in; - the end of the stream.

    Variables have four bytes or eight, as the preamble says. Streams with four bytes hold the time of an event as
    the milliseconds since the event before (`delta_`), and for the first one since `REFERENCE_TIMESTAMP` in the
    metadata. Streams with eight bytes hold milliseconds since the epoch (`timestamp`).
    """
    __slots__ = ('head', 'body')
    head: Preamble
    body: Units


def read_clp_ir(view: View, at: int, end: int, base: int | None = None) -> tuple[ClpIr, int]:
    """`clp_ir` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpIr()
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


class Units:
    """Tokens to the one that ends the stream, or as far as there are any."""
    __slots__ = ('tokens',)
    tokens: list[Token]


def read_units(view: View, at: int, end: int, base: int | None = None) -> tuple[Units, int]:
    """`clp_ir::units` at `at`, and where it ends. Raises `LayoutError`."""
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
    __slots__ = ('tag', 'number1', 'number2', 'number4', 'number8', 'len_text1', 'len_text2', 'len_text4', 'text', '_has_text1', '_has_text2', '_has_text4')
    tag: int
    """What the token is, and what follows."""
    number1: int | None
    """Milliseconds since the event before; less than zero where clocks were set back."""
    number2: int | None
    number4: int | None
    number8: int | None
    """Timestamps and offsets from UTC are milliseconds."""
    len_text1: int | None
    len_text2: int | None
    len_text4: int | None
    text: View | None
    """UTF-8. In a log type some bytes stand for variables (`clp_kv_ir::marks`), and a backslash takes the special
    meaning from the next byte.
    """

    @property
    def has_text1(self) -> bool:
        try:
            return self._has_text1
        except AttributeError:
            pass
        self._has_text1 = self.tag in (17, 33)
        return self._has_text1

    @property
    def has_text2(self) -> bool:
        try:
            return self._has_text2
        except AttributeError:
            pass
        self._has_text2 = self.tag in (18, 34)
        return self._has_text2

    @property
    def has_text4(self) -> bool:
        try:
            return self._has_text4
        except AttributeError:
            pass
        self._has_text4 = self.tag in (19, 35)
        return self._has_text4


def read_token(view: View, at: int, end: int) -> tuple[Token, int]:
    """`clp_ir::token` at `at`, and where it ends. Raises `LayoutError`."""
    value = Token()
    if at >= end:
        raise short("tag", at, end, 1)
    tag = view[at]
    at += 1
    if not (tag in (0, 17, 18, 19, 24, 25, 33, 34, 35, 48, 49, 50, 51, 52, 63,)):
        raise LayoutError("tag", at - 1, at, "a value of tags", tag)
    value.tag = tag
    if tag == 49:
        if at >= end:
            raise short("number1", at, end, 1)
        (number1,) = _unpack0(view, at)
        at += 1
    else:
        number1 = None
    value.number1 = number1
    if tag == 50:
        if end - at < 2:
            raise short("number2", at, end, 2)
        (number2,) = _unpack1(view, at)
        at += 2
    else:
        number2 = None
    value.number2 = number2
    if tag in (51, 24):
        if end - at < 4:
            raise short("number4", at, end, 4)
        (number4,) = _unpack2(view, at)
        at += 4
    else:
        number4 = None
    value.number4 = number4
    if tag in (52, 25, 48, 63):
        if end - at < 8:
            raise short("number8", at, end, 8)
        (number8,) = _unpack3(view, at)
        at += 8
    else:
        number8 = None
    value.number8 = number8
    if tag in (17, 33):
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
    if tag in (18, 34):
        start = at
        if end - at < 2:
            raise short("len_text2", at, end, 2)
        (len_text2,) = _unpack4(view, at)
        at += 2
        if len_text2 > end - at:
            raise LayoutError("len_text2", start, at, f"at most {end - at}", len_text2)
    else:
        len_text2 = None
    value.len_text2 = len_text2
    if tag in (19, 35):
        start = at
        if end - at < 4:
            raise short("len_text4", at, end, 4)
        (len_text4,) = _unpack5(view, at)
        at += 4
        if len_text4 > end - at:
            raise LayoutError("len_text4", start, at, f"at most {end - at}", len_text4)
    else:
        len_text4 = None
    value.len_text4 = len_text4
    if tag in (17, 33) or tag in (18, 34) or tag in (19, 35):
        size = len_text1 if tag in (17, 33) else len_text2 if tag in (18, 34) else len_text4
        if not 0 <= size <= end - at:
            raise short("text", at, end, size)
        text = view[at : at + size]
        at += size
    else:
        text = None
    value.text = text
    return value, at


def flat_token(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int, int, int, int, int]:
    """Where the `clp_ir::token` at `at` ends, and its fields: tag, number1, number2, number4, number8, len_text1,
    len_text2, len_text4, text_start, text_end. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_clp_ir_token(view, at, end)) is not None:
        return found
    if at >= end:
        raise short("tag", at, end, 1)
    tag = view[at]
    at += 1
    if not (tag in (0, 17, 18, 19, 24, 25, 33, 34, 35, 48, 49, 50, 51, 52, 63,)):
        raise LayoutError("tag", at - 1, at, "a value of tags", tag)
    if tag == 49:
        if at >= end:
            raise short("number1", at, end, 1)
        (number1,) = _unpack0(view, at)
        at += 1
    else:
        number1 = 0
    if tag == 50:
        if end - at < 2:
            raise short("number2", at, end, 2)
        (number2,) = _unpack1(view, at)
        at += 2
    else:
        number2 = 0
    if tag in (51, 24):
        if end - at < 4:
            raise short("number4", at, end, 4)
        (number4,) = _unpack2(view, at)
        at += 4
    else:
        number4 = 0
    if tag in (52, 25, 48, 63):
        if end - at < 8:
            raise short("number8", at, end, 8)
        (number8,) = _unpack3(view, at)
        at += 8
    else:
        number8 = 0
    if tag in (17, 33):
        start = at
        if at >= end:
            raise short("len_text1", at, end, 1)
        len_text1 = view[at]
        at += 1
        if len_text1 > end - at:
            raise LayoutError("len_text1", start, at, f"at most {end - at}", len_text1)
    else:
        len_text1 = 0
    if tag in (18, 34):
        start = at
        if end - at < 2:
            raise short("len_text2", at, end, 2)
        (len_text2,) = _unpack4(view, at)
        at += 2
        if len_text2 > end - at:
            raise LayoutError("len_text2", start, at, f"at most {end - at}", len_text2)
    else:
        len_text2 = 0
    if tag in (19, 35):
        start = at
        if end - at < 4:
            raise short("len_text4", at, end, 4)
        (len_text4,) = _unpack5(view, at)
        at += 4
        if len_text4 > end - at:
            raise LayoutError("len_text4", start, at, f"at most {end - at}", len_text4)
    else:
        len_text4 = 0
    if tag in (17, 33) or tag in (18, 34) or tag in (19, 35):
        at_text = at
        size = len_text1 if tag in (17, 33) else len_text2 if tag in (18, 34) else len_text4
        if not 0 <= size <= end - at:
            raise short("text", at, end, size)
        at = end_text = at + size
    else:
        at_text = end_text = 0
    return at, tag, number1, number2, number4, number8, len_text1, len_text2, len_text4, at_text, end_text
