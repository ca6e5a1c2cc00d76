"""JSON text as a flat list of tokens, with the source text of numbers and arrays: the pure-Python implementation of the
compiled encoder's scanner.

Strict RFC 8259, in UTF-8.  A document is one JSON value, in general an object; documents may follow each other with or
without white space.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Final

from exhume.formats.clp_s.layout_packed import I64_MAX, I64_MIN
from exhume.formats.clp_s.write.status import MAX_DEPTH, Status

MAX_TOKENS: Final = 1 << 24
"""Most values and brackets of one document: more could not be distinguished by the 24-bit ids of nodes."""


class Kind(enum.Enum):
    """Kind of a token.  An array is one ARRAY_TEXT, or a token for each bracket and element (`structurize`)."""

    STRING = enum.auto()
    INTEGER = enum.auto()
    FLOAT = enum.auto()
    BOOLEAN = enum.auto()
    NULL = enum.auto()
    ARRAY_TEXT = enum.auto()
    OPEN_OBJECT = enum.auto()
    CLOSE_OBJECT = enum.auto()
    EMPTY_OBJECT = enum.auto()
    OPEN_ARRAY = enum.auto()
    CLOSE_ARRAY = enum.auto()
    EMPTY_ARRAY = enum.auto()


@dataclass(slots=True)
class Token:
    """One token: a value, or a bracket."""

    kind: Kind
    key: bytes = b""  # of a member of an object; empty for others
    text: bytes = b""  # the unescaped string, or the source of numbers, words and arrays
    broken: bool = False  # whether a lone surrogate in the key or the string was replaced


class ScanError(Exception):
    """Scanning stopped at `position` (of the data) for `status`."""

    status: Status
    position: int

    def __init__(self, status: Status, position: int) -> None:
        super().__init__(status)
        self.status, self.position = status, position


_QUOTE, _COMMA, _COLON, _BACKSLASH, _LETTER_U = b'",:\\u'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')  # a run of a string without escapes
_NUMBER_START: Final = frozenset(b"-0123456789")
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# What may be the beginning of a number, if the data ends after it.
_NUMBER_HEAD: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?")
_HEX4: Final = re.compile(rb"[0-9A-Fa-f]{4}")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES: Final = {
    0x22: b'"', 0x5C: b"\\", 0x2F: b"/", 0x62: b"\b", 0x66: b"\f", 0x6E: b"\n", 0x72: b"\r", 0x74: b"\t",
}  # fmt: skip
_REPLACEMENT: Final = "\ufffd".encode()


class Scanner:
    """Scans documents out of one buffer.

    Args:
        data: The text.
        structurize: Whether arrays are opened up; else each is one ARRAY_TEXT token.
        arrays: Whether a document may be an array.
    """

    def __init__(self, data: bytes, *, structurize: bool, arrays: bool) -> None:
        self.data = data
        self.structurize = structurize
        self.arrays = arrays
        self.tokens: list[Token] = []

    def skip_space(self, at: int) -> int:
        """The position of the first byte at or after `at` that is not white space."""
        match = _SPACE.match(self.data, at)
        return match.end() if match else at

    def document(self, at: int) -> int:  # noqa: C901 - in methods of their own the states take 1.4 times as long
        """Scan the document at `at` into `tokens`; return its end.  Raises `ScanError`."""
        data = self.data
        tokens: list[Token] = []
        self.tokens = tokens
        size = len(data)
        stack: list[bool] = []  # the open objects (False) and arrays (True)
        mute = 0  # depth of the array that becomes one token of its text: no tokens are made in it; 0: none
        array_start, array_key, array_broken = 0, b"", False  # where it starts, and its `key` and `broken`
        key, broken = b"", False  # of the next value
        want_value, want_key, want_end = 0, 1, 2  # what comes next; end: a comma or a closing bracket
        state = want_value
        while True:
            at = self.skip_space(at)
            if at >= size:
                raise ScanError(Status.MORE, at)
            if len(tokens) >= MAX_TOKENS:
                raise ScanError(Status.TOO_LARGE, at)
            char = data[at]
            if state == want_end:
                if not stack:
                    return at
                if char == _COMMA:
                    at, state = at + 1, want_value if stack[-1] else want_key
                    continue
                if char != (_CLOSE_ARRAY if stack[-1] else _CLOSE_OBJECT):
                    raise ScanError(Status.BAD_JSON, at)
                at += 1
                was_array = stack.pop()
                if not mute:
                    tokens.append(Token(Kind.CLOSE_ARRAY if was_array else Kind.CLOSE_OBJECT))
                elif len(stack) == mute - 1:
                    mute = 0
                    tokens.append(Token(Kind.ARRAY_TEXT, array_key, data[array_start:at], array_broken))
                if not stack:
                    return at
                continue
            if state == want_key:  # a key and its colon
                if char != _QUOTE:
                    raise ScanError(Status.BAD_JSON, at)
                key, broken, at = self._string(at + 1)
                at = self.skip_space(at)
                if at >= size:
                    raise ScanError(Status.MORE, at)
                if data[at] != _COLON:
                    raise ScanError(Status.BAD_JSON, at)
                at, state = at + 1, want_value
                continue
            # A value; a document is an object, or an array if these are accepted.
            if not stack and char != _OPEN_OBJECT and not (char == _OPEN_ARRAY and self.arrays):
                raise ScanError(Status.NOT_OBJECT, at)
            if char in (_OPEN_OBJECT, _OPEN_ARRAY):
                if len(stack) >= MAX_DEPTH:
                    raise ScanError(Status.TOO_DEEP, at)
                start = at
                at = self.skip_space(at + 1)
                if at >= size:
                    raise ScanError(Status.MORE, at)
                if data[at] == char + 2:  # empty: `}` is two codes after `{`, as `]` is after `[`
                    at += 1
                    if not mute:
                        if char == _OPEN_OBJECT:
                            tokens.append(Token(Kind.EMPTY_OBJECT, key, b"", broken))
                        elif self.structurize:
                            tokens.append(Token(Kind.EMPTY_ARRAY, key, b"", broken))
                        else:
                            tokens.append(Token(Kind.ARRAY_TEXT, key, data[start:at], broken))
                    if not stack:
                        return at
                    state = want_end
                else:
                    if mute:
                        pass  # its text is part of the array's
                    elif char == _OPEN_ARRAY and not self.structurize:
                        mute, array_start, array_key, array_broken = len(stack) + 1, start, key, broken
                    else:
                        kind = Kind.OPEN_OBJECT if char == _OPEN_OBJECT else Kind.OPEN_ARRAY
                        tokens.append(Token(kind, key, b"", broken))
                    stack.append(char == _OPEN_ARRAY)
                    state = want_key if char == _OPEN_OBJECT else want_value
            else:
                token, at = self._scalar(char, at)
                if not mute:
                    token.key = key
                    token.broken |= broken
                    tokens.append(token)
                state = want_end
            key, broken = b"", False

    def _scalar(self, char: int, at: int) -> tuple[Token, int]:
        """Return the token of the string, number or word at `at`, and the offset after it.  Raises `ScanError`.

        `char` is its first byte.
        """
        data = self.data
        if char == _QUOTE:
            text, broken, end = self._string(at + 1)
            return Token(Kind.STRING, b"", text, broken), end
        if char in _NUMBER_START:
            return self._number(at)
        for word, kind in ((b"true", Kind.BOOLEAN), (b"false", Kind.BOOLEAN), (b"null", Kind.NULL)):
            if data.startswith(word, at):
                return Token(kind, b"", word), at + len(word)
            if word.startswith(data[at : at + 5]):  # the data ends within the word (no word has more than 5 letters)
                raise ScanError(Status.MORE, len(data))
        raise ScanError(Status.BAD_JSON, at)

    def _number(self, at: int) -> tuple[Token, int]:
        """Return the number at `at` and the offset after it.

        Raises `ScanError` with MORE if the data ends inside it.
        """
        longest = _NUMBER_HEAD.match(self.data, at)
        end = longest.end() if longest else at
        match = _NUMBER.match(self.data, at)
        if end == len(self.data):  # a number may continue after any of its characters
            raise ScanError(Status.MORE, end)
        if match is None or match.end() != end or self.data[end : end + 1].isdigit():
            raise ScanError(Status.BAD_NUMBER, end)
        is_float = match[1] is not None or match[2] is not None
        return Token(Kind.FLOAT if is_float else Kind.INTEGER, b"", match[0]), end

    def _string(self, at: int) -> tuple[bytes, bool, int]:
        """Return `(text, whether a surrogate was replaced, end)` of the string whose opening quote is before `at`."""
        data, size = self.data, len(self.data)
        parts: list[bytes] = []
        broken = False
        while True:
            # Bytes up to the next quote, backslash or control character.
            match = _PLAIN.match(data, at)
            end = match.end() if match else at
            self._check_utf8(at, end)
            parts.append(data[at:end])
            if end >= size:
                raise ScanError(Status.MORE, end)
            char = data[end]
            if char == _QUOTE:
                return b"".join(parts), broken, end + 1
            if char != _BACKSLASH:  # no backslash, so a control character
                raise ScanError(Status.BAD_CONTROL, end)
            if end + 1 >= size:
                raise ScanError(Status.MORE, size)
            # An escape: one letter, or `u` and a code, and two codes may be a surrogate pair.
            escape = data[end + 1]
            at = end + 2
            if escape != _LETTER_U:
                if escape not in _ESCAPES:
                    raise ScanError(Status.BAD_ESCAPE, at)
                parts.append(_ESCAPES[escape])
                continue
            code = self._hex4(at)
            at += 4
            if not 0xD800 <= code <= 0xDFFF:
                parts.append(chr(code).encode())
                continue
            # A surrogate: the second of the pair may not have arrived yet; if it is missing, the first is replaced.
            if code < 0xDC00 and size - at < 2 and b"\\u".startswith(data[at:]):
                raise ScanError(Status.MORE, size)
            low = self._hex4(at + 2) if code < 0xDC00 and data.startswith(b"\\u", at) else -1
            if 0xDC00 <= low <= 0xDFFF:
                parts.append(chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00).encode())
                at += 6
            else:
                broken = True
                parts.append(_REPLACEMENT)

    def _hex4(self, at: int) -> int:
        """Return the four hexadecimal digits at `at` as a number."""
        match = _HEX4.match(self.data, at)
        if match:
            return int(match[0], 16)
        rest = self.data[at : at + 4]
        if len(rest) < 4 and all(byte in _HEX for byte in rest):
            raise ScanError(Status.MORE, len(self.data))
        raise ScanError(Status.BAD_ESCAPE, at)

    def _check_utf8(self, start: int, end: int) -> None:
        """Check that bytes `[start, end)` are UTF-8; a character that the end of the data divides needs more data."""
        try:
            self.data[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            at = start + error.start
            cut = end == len(self.data) and error.reason == "unexpected end of data"
            raise ScanError(Status.MORE if cut else Status.BAD_UTF8, at) from None


_LONGEST_INTEGER: Final = 21  # characters above which no integer fits 64 bits
_NO_FIT: Final = 1 << 70  # stands for all integers that are longer


def fits_integer(text: bytes) -> tuple[int, bool, bool]:
    """Return `(value of an integer wrapped to i64, whether it fits i64, whether it fits u64 or i64)`."""
    value = int(text) if len(text) <= _LONGEST_INTEGER else _NO_FIT
    signed = I64_MIN <= value <= I64_MAX
    wrapped = (value - I64_MIN) % (1 << 64) + I64_MIN
    return wrapped, signed, signed or 0 <= value < 1 << 64
