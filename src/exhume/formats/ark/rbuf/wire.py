"""What decoding is made of: limits, headers, failures, sizes, and the readers of single values and of containers.

A reader is a function of bytes, a position, an end that it must not pass, and the state of the call; it returns a value
and the position after it.  `compiler` puts readers together to those of object types.  A variant is a value of one of
several types; a reader of one gets the readers of these.

Spec: rbuf wire format.
"""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from exhume.counts import counted
from exhume.errors import Span
from exhume.findings import Finding, Rule
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    COUNT,
    ENDS_EARLY,
    EXPANSION,
    OBJECT_HEADER,
    REPEATED_KEY,
    RESERVED_BIT,
    TEXT,
    VARIANT_LENGTH,
    VARIANT_UNKNOWN,
)
from exhume.formats.ark.rbuf.layout import (
    COUNT_SIZE,
    GUID_SIZE,
    OBJECTS,
    VARIANT_HEADER_SIZE,
    LayoutError,
    flat_variant_header,
    guid_text,
    read_byte_buffer,
    read_count,
    read_text,
)
from exhume.formats.ark.rbuf.registry import FIXED, Field
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry


MAX_DEPTH: Final = 100
"""Objects inside objects; real types stay below ten, and deeper recursion would overrun the interpreter's stack."""

MAX_ELEMENTS: Final = 1 << 24
"""Cost units of one value (about 32 bytes of memory each), so that a small message cannot fill the memory."""

MAX_NOTES: Final = 1000
"""Notes on one value, so that a damaged message cannot fill the memory with them."""

SIZE_CAP: Final = 1 << 40
"""Computed sizes stop growing here: types of types of arrays can request any number."""

LARGE: Final = 1 << 20
"""Bytes of a message above which its strings are decoded without a copy."""

UNPACKED: Final = 8
"""Numbers of a list up to which `struct` is faster than a cast of the memory."""

NATIVE = sys.byteorder == "little"
"""Whether numbers in memory are stored as rbuf stores them."""


class DecodeFailure(Exception):  # noqa: N818 - internal, always turned into the rule's error
    """A broken rule at a position; the path grows while the stack unwinds."""

    rule: Rule
    start: int
    end: int
    detail: str
    expected: Any
    actual: Any

    def __init__(
        self, rule: Rule, start: int, end: int, detail: str = "", expected: Any = None, actual: Any = None
    ) -> None:
        """Describe the rule that bytes `[start, end)` break; readers add the field path while they unwind."""
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
    within: Mapping[str, Any] | None = None
    """The object whose groups it is about: there is more or less of it than is shown."""

    def finding(self, span: Span) -> Finding:
        """The finding for a value at `span`."""
        return self.rule.finding(self.detail, span=span.sub(self.start, self.end))


class State:
    """The remaining budget of one decoding call, and what it noticed."""

    __slots__ = ("budget", "depth", "notes")

    def __init__(self, notes: list[Note] | None, depth: int = MAX_DEPTH, budget: int = MAX_ELEMENTS) -> None:
        self.depth: int = depth  # objects that may still be inside each other
        self.budget: int = budget  # cost units that are left
        self.notes: list[Note] | None = notes  # None: notes are not wanted

    def note(self, rule: Rule, start: int, end: int, detail: str = "", within: Mapping[str, Any] | None = None) -> None:
        """Add a note, unless there are `MAX_NOTES`."""
        if self.notes is not None and len(self.notes) < MAX_NOTES:
            self.notes.append(Note(rule, start, end, detail, within))

    def spend(self, cost: int, position: int) -> None:
        """Take `cost` units of the budget for expansion; raise `DecodeFailure` when it is used up."""
        self.budget -= cost
        if self.budget < 0:
            raise DecodeFailure(EXPANSION, position, position, expected=f"at most {MAX_ELEMENTS} cost units")


Read = Callable[[bytes, int, int, State], tuple[Any, int]]
"""A reader: (bytes, position, end, state) to (value, position after it)."""
Step = Callable[[bytes, int, int, State, dict[str, Any]], int]
"""Reads fields of an object, adds them to a dictionary, and returns the position after them."""


def short(position: int, size: int, end: int) -> DecodeFailure:
    """The failure for `size` bytes at `position` that would pass `end`."""
    return DecodeFailure(
        ENDS_EARLY, position, end, expected=counted(size, "bytes"), actual=counted(max(0, end - position), "bytes")
    )


def failed(error: LayoutError, detail: str = "", over: Rule = COUNT, unit: str = "") -> DecodeFailure:
    """The failure for an error of a generated reader: rule `over` when a size, in `unit`, passes the end.

    `error.short` is whether the bytes end too early; `detail` names the size, for the message.
    """
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
    """Accept a header with the reserved bit, if such objects are read, with a note: those in `HEADERS` lack it.

    Raises `DecodeFailure` for any other byte.
    """
    if head not in OBJECTS or not assumptions.READ_RESERVED_BIT_AS_GROUPS:
        raise DecodeFailure(OBJECT_HEADER, position, position + 1, expected="0xd1 or 0xd5", actual=f"0x{head:02x}")
    state.note(RESERVED_BIT, position, position + 1, f"0x{head:02x}")


def text(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
    """The string at `pos` and the offset after it; raises `DecodeFailure` if it passes `end`."""
    try:
        return read_text(buf, pos, end) if end - pos < LARGE else large_text(buf, pos, end)
    except LayoutError as error:
        raise failed(error, "length of a string") from None


def large_text(buf: bytes, pos: int, end: int) -> tuple[str, int]:
    """The string at `pos` and the offset after it, read without a copy of its bytes."""
    with contextlib.suppress(LayoutError):
        return read_text(memoryview(buf), pos, end)
    return read_text(buf, pos, end)  # whose error has the bytes


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
    """Return a reader of `size` bytes."""

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        """Return the bytes, unchanged, and the offset after them."""
        if pos + size > end:
            raise short(pos, size, end)
        return buf[pos : pos + size], pos + size

    return read


def number_reader(letter: str) -> Read:
    """Return a reader of a number, by its letter in `struct`."""
    plan = struct.Struct("<" + letter)
    unpack, size = plan.unpack_from, plan.size

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        """Return the number and the offset after it."""
        stop = pos + size
        if stop > end:
            raise short(pos, size, end)
        return unpack(buf, pos)[0], stop

    return read


def list_reader(read: Read, count: int | None, letter: str | None, least: int, cost: int) -> Read:
    """The reader of a list.

    Args:
        read: The reader of an element.
        count: How many elements there are; None if the list itself states it.
        letter: The `struct` letter of the elements, if they are numbers that need no conversion.
        least: The fewest bytes that an element takes.
        cost: The cost units of an element.
    """

    def element_count(buf: bytes, pos: int, end: int, state: State) -> tuple[int, int]:
        """Return the number of elements and the offset of the first; checks that so many can fit."""
        start = pos
        number = count
        if number is None:
            try:
                number, pos = read_count(buf, pos, end)
            except LayoutError as error:
                raise failed(error) from None
        if number * least > end - pos:
            # A stated count is wrong; for a count that the schema states, the bytes end too early.
            rule, stop = (COUNT, pos) if count is None else (ENDS_EARLY, end)
            raise DecodeFailure(
                rule, start, stop, expected=counted(number, "elements"), actual=counted(end - pos, "bytes")
            )
        state.spend(number * cost, start)
        return number, pos

    # Numbers are read at once, other elements one by one.
    if letter is not None:
        width = struct.calcsize("<" + letter)

        def read_numbers(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            """Read all elements at once, which is faster than one by one."""
            number, pos = element_count(buf, pos, end, state)
            stop = pos + number * width
            if number > UNPACKED and NATIVE:
                return memoryview(buf)[pos:stop].cast(letter).tolist(), stop  # type: ignore[call-overload]
            return list(struct.unpack_from(f"<{number}{letter}", buf, pos)), stop

        return read_numbers

    def read_list(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        """Read the elements one by one."""
        number, pos = element_count(buf, pos, end, state)
        out: list[Any] = []
        append = out.append
        try:
            for _ in range(number):
                value, pos = read(buf, pos, end, state)
                append(value)
        except DecodeFailure as failure:
            failure.path.append(f"[{len(out)}]")
            raise
        return out, pos

    return read_list


def dictionary_reader(read_key: Read, read_value: Read, as_map: bool, least: int, cost: int) -> Read:
    """The reader of a dictionary whose value is a dict (`as_map`) or a list of pairs.

    `least` bytes and `cost` units are those of a pair.
    """

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        """Read a dictionary, as a dict if `as_map`, else as pairs."""
        start = pos
        try:
            count, pos = read_count(buf, pos, end)
        except LayoutError as error:
            raise failed(error) from None
        # Checked before anything is made: the count may be damaged.
        if count * least > end - pos:
            raise DecodeFailure(COUNT, start, pos, expected=counted(count, "pairs"), actual=counted(end - pos, "bytes"))
        state.spend(count * cost, start)
        pairs: list[tuple[Any, Any]] = []
        try:
            for _ in range(count):
                name, pos = read_key(buf, pos, end, state)
                item, pos = read_value(buf, pos, end, state)
                pairs.append((name, item))
        except DecodeFailure as failure:
            failure.path.append(f"[{len(pairs)}]")
            raise
        if not as_map:
            return pairs, pos
        out = dict(pairs)
        if len(out) != count:
            state.note(REPEATED_KEY, start, pos)
        return out, pos

    return read


def variant_reader(readers: Mapping[int, tuple[str, Read]]) -> Read:
    """The reader of a variant, made from the name and the reader of each alternative."""

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        """Read a variant; one of an unknown type keeps its raw bytes."""
        try:
            body, index, size = flat_variant_header(buf, pos, end)
        except LayoutError as error:
            raise failed(error, over=VARIANT_LENGTH, unit=" bytes") from None
        stop = body + size
        known = readers.get(index)
        if known is None:
            state.note(VARIANT_UNKNOWN, pos, stop, f"index {index}, {counted(size, 'bytes')}")
            return {"index": index, "type": None, "raw": buf[body:stop]}, stop
        name, read_object = known
        value, at = read_object(buf, body, stop, state)
        if at != stop:
            raise DecodeFailure(
                VARIANT_LENGTH, pos + 1, body, expected=counted(at - body, "bytes"), actual=counted(size, "bytes")
            )
        return {"index": index, "type": name, "value": value}, stop

    return read


def is_fixed(each: Field) -> bool:
    """Whether every value of a field has the same size."""
    return not each.optional and (each.packed_timespec or each.type in FIXED or each.type in ("enum", "guid"))


class Sizes:
    """The fewest bytes that fields can take; those of an object type are worked out once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._sizes: dict[str, int] = {}  # of object types

    def least(self, each: Field) -> int:
        """The fewest bytes that a field can take (a lower bound: capped, and recursion counts as its header only)."""
        if each.constant:
            return 0
        if each.optional:
            return 1
        if is_fixed(each):
            return struct.calcsize("<" + letter_of(self._registry, each))
        match each.type:
            case "string" | "byte_buffer" | "arraylist" | "dictionary":
                return COUNT_SIZE
            case "variant":
                return VARIANT_HEADER_SIZE
            case "array":
                assert each.value is not None
                return min(SIZE_CAP, each.array_size * self.least(each.value))
        name = each.object_type or ""
        if name not in self._sizes:
            schema = self._registry.schema(name)
            self._sizes[name] = header = 0 if schema.final else 1  # for the type inside itself meanwhile
            self._sizes[name] = min(SIZE_CAP, header + sum(self.least(each) for each in schema.fields))
        return self._sizes[name]


def cost_of(each: Field) -> int:
    """Cost units of one element in a list, without the elements of its own lists; about 32 bytes of memory each."""
    match each.type:
        case "object" | "variant":
            return 8
        case "string" | "byte_buffer" | "guid" | "arraylist" | "array" | "dictionary":
            return 3
    return 1
