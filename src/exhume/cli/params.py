"""Parameter types that options of several verbs and formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exhume.errors import ExhumeError
from exhume.limits import parse_size

if TYPE_CHECKING:
    _IntType = click.ParamType[int]
    _BytesType = click.ParamType[bytes]
else:  # generic only in newer click
    _IntType = _BytesType = click.ParamType


class Size(_IntType):
    """A byte count with an optional K, M, G or T suffix (powers of 1024), or hexadecimal with `0x`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(value, 16) if value.lower().startswith("0x") else parse_size(value)
        except (ExhumeError, ValueError) as error:
            self.fail(getattr(error, "message", None) or f"not a size: {value!r}", param, ctx)


SIZE = Size()

_SIMPLE = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "a": 7, "b": 8, "f": 12, "v": 11}
_HEX = frozenset("0123456789abcdefABCDEF")


class ByteText(_BytesType):
    r"""Text given as bytes: UTF-8, with `\n \t \r \0 \\ \xHH` escapes; bytes of undecodable arguments survive."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if isinstance(value, bytes):
            return value
        out = bytearray()
        text: str = value
        at = 0
        while at < len(text):
            if text[at] == "\\" and at + 1 < len(text):
                follow, digits = text[at + 1], text[at + 2 : at + 4]
                if follow == "x" and len(digits) == 2 and set(digits) <= _HEX:
                    out.append(int(digits, 16))
                    at += 4
                    continue
                if follow in _SIMPLE:
                    out.append(_SIMPLE[follow])
                    at += 2
                    continue
            out += text[at].encode("utf-8", "surrogateescape")
            at += 1
        return bytes(out)


BYTES = ByteText()
