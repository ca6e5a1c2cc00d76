"""What decoding is made of: limits, headers, failures, and the readers of single values.

Spec: rbuf wire format.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exhume.counts import counted
from exhume.errors import Span
from exhume.findings import Finding, Rule
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import COUNT, ENDS_EARLY, EXPANSION, OBJECT_HEADER, RESERVED_BIT, TEXT
from exhume.formats.ark.rbuf.guid import guid_text
from exhume.formats.ark.rbuf.layout import GUID_SIZE, OBJECTS, LayoutError, read_byte_buffer, read_text
from exhume.formats.ark.rbuf.registry import FIXED, Field

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry

MAX_DEPTH: Final = 100
"""Objects inside objects; real types stay below ten, and deeper recursion would overrun the interpreter's stack."""

MAX_ELEMENTS: Final = 1 << 24
"""Cost units of one value (about 32 bytes of memory each), so that a small message cannot fill the memory."""

SIZE_CAP: Final = 1 << 40
"""Computed sizes stop growing here: types of types of arrays can ask for any number."""

NATIVE = sys.byteorder == "little"


class DecodeFailure(Exception):  # noqa: N818 - internal, always turned into the rule's error
    """A broken rule at a position; the path grows while the stack unwinds."""

    def __init__(
        self, rule: Rule, start: int, end: int, detail: str = "", expected: Any = None, actual: Any = None
    ) -> None:
        super().__init__(rule.title)
        self.rule, self.start, self.end, self.detail = rule, start, end, detail
        self.expected, self.actual = expected, actual
        self.path: list[str] = []

    def field_path(self, root: str) -> str:
        """The path of the field, outermost first."""
        out = root
        for part in reversed(self.path):
            out += part if part.startswith("[") else f".{part}"
        return out


class Note(NamedTuple):
    """Something worth knowing about a value that could be decoded nevertheless; offsets count from its first byte."""

    rule: Rule
    start: int
    end: int
    detail: str = ""

    def finding(self, span: Span) -> Finding:
        """The finding for a value at `span`."""
        return self.rule.finding(self.detail, span=span.sub(self.start, self.end))


class State:
    """The remaining budget of one decoding call, and what it noticed."""

    __slots__ = ("budget", "depth", "notes")

    def __init__(self, notes: list[Note] | None, depth: int = MAX_DEPTH, budget: int = MAX_ELEMENTS) -> None:
        self.depth: int = depth
        self.budget: int = budget
        self.notes = notes

    def note(self, rule: Rule, start: int, end: int, detail: str = "") -> None:
        if self.notes is not None and len(self.notes) < 1000:
            self.notes.append(Note(rule, start, end, detail))

    def spend(self, cost: int, position: int) -> None:
        """Take `cost` units of the budget for expansion; raise `DecodeFailure` when it is used up."""
        self.budget -= cost
        if self.budget < 0:
            raise DecodeFailure(EXPANSION, position, position, expected=f"at most {MAX_ELEMENTS} cost units")


Read = Callable[[bytes, int, int, State], tuple[Any, int]]
Step = Callable[[bytes, int, int, State, dict[str, Any]], int]


def short(position: int, size: int, end: int) -> DecodeFailure:
    return DecodeFailure(
        ENDS_EARLY, position, end, expected=counted(size, "bytes"), actual=counted(max(0, end - position), "bytes")
    )


def failed(error: LayoutError, detail: str = "", over: Rule = COUNT, unit: str = "") -> DecodeFailure:
    """The failure for an error of a generated reader: rule `over` when a size, in `unit`, passes the end."""
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return DecodeFailure(TEXT, error.offset + cause.start, error.offset + cause.end, actual=cause.reason)
    if error.short:
        return DecodeFailure(ENDS_EARLY, error.offset, error.stop, expected=error.expected, actual=error.found)
    expected, actual = (f"{error.expected}{unit}", f"{error.found}{unit}") if unit else (error.expected, error.found)
    return DecodeFailure(over, error.offset, error.stop, detail, expected=expected, actual=actual)


def letter_of(registry: Registry, each: Field) -> str:
    """The `struct` letter of a fixed-size field."""
    if each.packed_timespec:
        return f"{assumptions.PACKED_TIMESPEC_SIZE}s"
    if each.type == "guid":
        return f"{GUID_SIZE}s"
    if each.type == "enum":
        return FIXED[registry.enum(each.object_type or "").enum_class]
    return FIXED[each.type]


def plain_letter(registry: Registry, each: Field) -> str | None:
    """The letter of a field that needs no conversion at all, else None."""
    if each.optional or each.packed_timespec or (each.type not in FIXED and each.type != "enum"):
        return None
    return letter_of(registry, each)


def check_header(head: int, position: int, state: State) -> None:
    """Accept the headers that are read with a warning; raise `DecodeFailure` for the others."""
    if head not in OBJECTS or not assumptions.READ_RESERVED_BIT_AS_GROUPS:
        raise DecodeFailure(OBJECT_HEADER, position, position + 1, expected="0xd1 or 0xd5", actual=f"0x{head:02x}")
    state.note(RESERVED_BIT, position, position + 1, f"0x{head:02x}")


def text(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
    """The string at `pos` and the offset after it; raises `DecodeFailure` if it passes `end`."""
    try:
        return read_text(buf, pos, end)
    except LayoutError as error:
        raise failed(error, "length of a string") from None


def byte_buffer(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
    """The bytes at `pos` and the offset after them; raises `DecodeFailure` if they pass `end`."""
    try:
        return read_byte_buffer(buf, pos, end)
    except LayoutError as error:
        raise failed(error, "length of a byte buffer") from None


def guid(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
    """The GUID at `pos` as text and the offset after it; raises `DecodeFailure` if it passes `end`."""
    stop = pos + GUID_SIZE
    if stop > end:
        raise short(pos, GUID_SIZE, end)
    return guid_text(buf[pos:stop]), stop


def raw_reader(size: int) -> Read:
    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        if pos + size > end:
            raise short(pos, size, end)
        return buf[pos : pos + size], pos + size

    return read


def number_reader(letter: str) -> Read:
    plan = struct.Struct("<" + letter)
    unpack, size = plan.unpack_from, plan.size

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        stop = pos + size
        if stop > end:
            raise short(pos, size, end)
        return unpack(buf, pos)[0], stop

    return read
