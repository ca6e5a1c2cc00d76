"""Wildcard patterns over bytes (`*` any bytes, `?` one byte, backslash before a literal): compiled, in bounded time.

Pieces between stars have a fixed length, so taking the leftmost place for each of them in turn decides a match: no
backtracking over stars, and the time is at most text length times pattern length, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

STAR: Final = 0x100
ANY: Final = 0x101
"""Codes of `*` and `?` in a parsed pattern; all other codes are bytes."""


_BACKSLASH, _ASTERISK, _QUESTION_MARK = b"\\*?"


def parse_pattern(pattern: bytes) -> list[int]:
    """Return the pattern as codes: byte values, `ANY`, `STAR`.

    A run of wildcards becomes its `ANY`s followed by one `STAR`, which means the same.
    """
    codes: list[int] = []
    at, size = 0, len(pattern)
    while at < size:
        byte = pattern[at]
        if byte == _BACKSLASH and at + 1 < size:
            at += 1
            codes.append(pattern[at])
        elif byte == _ASTERISK:
            if not codes or codes[-1] != STAR:
                codes.append(STAR)
        elif byte == _QUESTION_MARK:
            if codes and codes[-1] == STAR:
                codes.insert(len(codes) - 1, ANY)
            else:
                codes.append(ANY)
        else:
            codes.append(byte)
        at += 1
    return codes


class Wildcard:
    """A compiled pattern.  `literal` is its text when it has no wildcard, else None."""

    __slots__ = ("_match", "codes", "ignore_case", "literal", "pattern")

    def __init__(self, pattern: bytes, ignore_case: bool = False) -> None:
        """Parse a pattern; `codes` are its bytes, with numbers above 255 for `*` and `?`.

        `ignore_case`: ASCII letters match in any case; `codes` then has them in lower case.
        """
        self.pattern: bytes = pattern
        self.ignore_case: bool = ignore_case
        codes = parse_pattern(pattern)
        if ignore_case:
            codes = [code + 32 if 0x41 <= code <= 0x5A else code for code in codes]
        self.codes: list[int] = codes
        self.literal: bytes | None = bytes(codes) if max(codes, default=0) < STAR else None
        self._match: Callable[[bytes], object] | None = None

    @classmethod
    def from_codes(cls, codes: list[int], ignore_case: bool = False) -> Wildcard:
        """Return the pattern for codes as `parse_pattern` returns them, with the literals among them escaped again."""
        text = {STAR: b"*", ANY: b"?", 0x2A: rb"\*", 0x3F: rb"\?", 0x5C: rb"\\"}
        return cls(b"".join(text.get(code) or bytes((code,)) for code in codes), ignore_case)

    def pieces(self) -> list[list[int]]:
        """Return the codes before, between and after the stars."""
        out: list[list[int]] = [[]]
        for code in self.codes:
            if code == STAR:
                out.append([])
            else:
                out[-1].append(code)
        return out

    def matches(self, text: bytes) -> bool:
        """Whether the whole text matches; the case of ASCII letters is ignored if the pattern states it."""
        if self._match is None:
            self._match = self._compile()
        return bool(self._match(text))

    def _compile(self) -> Callable[[bytes], object]:
        """Return a function from a string to a true value if it matches.  Simple patterns do without `re`."""
        if self.literal is not None:
            literal = self.literal
            return (lambda text: text.lower() == literal) if self.ignore_case else literal.__eq__
        pieces = self.pieces()
        # `*word*`, the most frequent pattern.
        contains = len(pieces) == 3 and not pieces[0] and not pieces[2] and not self.ignore_case
        if contains and max(pieces[1], default=STAR) < STAR:
            needle = bytes(pieces[1])
            return lambda text: needle in text
        flags = re.DOTALL | (re.IGNORECASE if self.ignore_case else 0)
        if len(pieces) == 1:
            return re.compile(_regex(pieces[0]) + rb"\Z", flags).match
        # An atomic group keeps the leftmost place of each piece: the engine never tries another one.
        parts = [_regex(pieces[0]), *[b"(?>.*?" + _regex(piece) + b")" for piece in pieces[1:-1]]]
        # The last piece has to be at the end of the text, so its place is not a choice: take all but its size, and
        # compare.
        last = pieces[-1]
        if last:
            parts.append(b"(?>.{%d,})(?<=%s)" % (len(last), _regex(last)))
        return re.compile(b"".join(parts), flags).match

    def __repr__(self) -> str:
        return f"Wildcard({self.pattern!r}{', ignore_case=True' if self.ignore_case else ''})"


def _regex(piece: list[int]) -> bytes:
    """Return the regular expression for codes without `STAR`."""
    return b"".join(b"." if code == ANY else re.escape(bytes((code,))) for code in piece)
