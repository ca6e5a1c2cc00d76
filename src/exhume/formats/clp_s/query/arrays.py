"""A condition on an array that is kept as text: whether one of its elements fulfils it."""

from __future__ import annotations

from typing import Any

from exhume.formats.clp_s.query.condition import EXISTS
from exhume.formats.clp_s.query.operand import FLOATS
from exhume.formats.clp_s.query.requirement import Check
from exhume.formats.clp_s.query.tree import EQUAL
from exhume.formats.clp_s.query.wildcard import STAR, Wildcard


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object in order, equal names included."""


def _parse_array(text: bytes) -> Any:
    decoded = text.decode("utf-8", "surrogateescape")
    import json

    return json.loads(decoded, strict=False, object_pairs_hook=_Members)


class ArrayTest:
    """Whether an array (its JSON text) holds a value that a filter looks for.

    A filter on one column follows the keys left over through objects; a filter on any column looks everywhere.  As in
    the native search a range over array elements means "differs from", and a number that cannot be an integer is
    compared with integers without its fraction.
    """

    def __init__(self, check: Check, *, ignore_case: bool) -> None:
        self.test = check.test
        self.anywhere: bool = check.node is None
        self.keys: list[str] = [key.name.decode("utf-8", "surrogateescape") for key in check.rest]
        operand = check.test.operand
        self.exists: bool = check.test.op == EXISTS
        self.equal: bool = check.test.op == EQUAL
        self.operand = operand
        self.pattern: Wildcard | None = (
            Wildcard(operand.text, ignore_case) if operand is not None and operand.text is not None else None
        )
        self.numbers: bool = operand is not None and operand.number
        if self.anywhere:
            self.numbers = self.numbers and bool(check.types & FLOATS)
        self.needle: bytes = self._needle()
        self._known: dict[bytes, bool] = {}

    def _needle(self) -> bytes:
        """Bytes that an array without escapes must contain for a string in it to match; b"" if unknown."""
        operand = self.operand
        if operand is None or self.pattern is None or not self.equal or self.numbers or self.pattern.ignore_case:
            return b""
        if operand.null or operand.boolean is not None:
            return b""
        longest, piece = b"", bytearray()
        for code in [*self.pattern.codes, STAR]:
            if code < STAR and code not in b'"\\':
                piece.append(code)
                continue
            longest = max(longest, bytes(piece), key=len)
            piece.clear()
        return longest

    def rules_out(self, text: bytes) -> bool:
        """Whether the text of one or more arrays cannot contain a match, decided without parsing it."""
        return bool(self.needle) and self.needle not in text and b"\\" not in text

    def verdict(self, text: bytes) -> bool:
        """The result of `matches`, computed once per text because arrays repeat."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) > 65536:
                self._known.clear()
            found = self._known[text] = not self.rules_out(text) and self.matches(text)
        return found

    def matches(self, text: bytes) -> bool:
        """Whether the array of this text matches; what is not JSON does not."""
        try:
            return self._elements(_parse_array(text), 0)
        except (ValueError, RecursionError):
            return False

    def _elements(self, items: Any, depth: int) -> bool:
        return any(self._value(item, depth) for item in items)

    def _value(self, item: Any, depth: int) -> bool:
        if isinstance(item, _Members):
            if self.anywhere:
                return self._elements([value for _, value in item], depth)
            return self._members(item, depth)
        if isinstance(item, list):
            return self._elements(item, depth)
        operand = self.operand
        if self.exists or operand is None:
            return False
        if item is None:
            return operand.null and self.equal
        if depth != len(self.keys) and not self.anywhere:
            return False
        if isinstance(item, bool):
            return operand.boolean is not None and self.equal and item is operand.boolean
        if isinstance(item, str):
            return (
                self.equal
                and self.pattern is not None
                and self.pattern.matches(item.encode("utf-8", "surrogateescape"))
            )
        if not self.numbers:
            return False
        same = item == operand.real if isinstance(item, float) else not (item - operand.array_integer) % (1 << 64)
        return bool(same) == self.equal

    def _members(self, item: _Members, depth: int) -> bool:
        if depth >= len(self.keys):
            return False
        for name, value in item:
            if name == self.keys[depth]:
                if depth + 1 == len(self.keys) and self.exists:
                    return True
                return self._value(value, depth + 1)
        return False
