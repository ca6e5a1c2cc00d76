"""Messages above the limit `payload_size`: checked and printed as JSON in one pass, without making their values.

The fields, their order and the faults are those of the readers that `compiler` makes.  Memory is that of a chunk, or of
the longest key of a dictionary.

An object of rbuf has fields and groups (blocks of fields that were added to its type later); a variant is a value of
one of several types.  The methods of `_MessageWalk` are generators of JSON text: `end` is where the value around what
they read ends, and reading stops there with a `DecodeFailure`.

Spec: rbuf wire format.
"""

from __future__ import annotations

import codecs
import json
import struct
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from exhume.codecs.passing import PIECE, ForwardReader
from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    COUNT,
    ENDS_EARLY,
    GROUP_LENGTH,
    GROUP_TWICE,
    GROUP_UNKNOWN,
    MESSAGE_TRAILING,
    NESTING,
    VARIANT_LENGTH,
    VARIANT_UNKNOWN,
)
from exhume.formats.ark.layout import TRAILER_MAGIC_BYTES
from exhume.formats.ark.rbuf.compiler import group_failed, no_group
from exhume.formats.ark.rbuf.defaults import Defaults
from exhume.formats.ark.rbuf.layout import (
    COUNT_SIZE,
    GROUP_HEADER_SIZE,
    GROUPED,
    GUID_SIZE,
    HEADERS,
    VARIANT_HEADER_SIZE,
    LayoutError,
    flat_group_header,
    flat_variant_header,
    guid_text,
    read_byte_buffer,
    read_count,
    read_text,
)
from exhume.formats.ark.rbuf.registry import Field, Group, Schema
from exhume.formats.ark.rbuf.wire import (
    MAX_DEPTH,
    DecodeFailure,
    Note,
    Sizes,
    State,
    check_header,
    cost_of,
    failed,
    letter_of,
    plain_letter,
    short,
)
from exhume.io.jsonout import dumps, large_pieces
from exhume.io.values import LargeValue

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.decoder import Decoder

NUMBERS: Final = 1 << 13
"""Elements of a list of numbers that are read at a time."""


class UncheckedError(Exception):
    """A value that cannot be printed field by field, as it has to be in memory as a whole."""


def check_value(decoder: Decoder, data: LargeValue, span: Span, notes: list[Note] | None = None) -> None:
    """Read a message as `Decoder.decode` does, in windows; `span` is its place, for errors.

    Raises the errors of the broken rules, and `LimitExceededError` for a message that has to be in memory.
    """
    for _ in _texts(decoder, data, span, notes):
        pass


def value_pieces(decoder: Decoder, data: LargeValue, span: Span) -> Iterator[str]:
    """The JSON text of the value of a message that `check_value` accepts, in chunks."""
    return _texts(decoder, data, span, None)


def _texts(decoder: Decoder, data: LargeValue, span: Span, notes: list[Note] | None) -> Iterator[str]:
    """Yield the JSON of a message as it is read."""
    walk = _MessageWalk(decoder, data, notes)
    try:
        yield from walk.message(decoder.type)
        if walk.end != (size := len(data)):
            expected, actual = counted(walk.end, "bytes"), counted(size, "bytes")
            raise MESSAGE_TRAILING.error(span=span.sub(walk.end, size), expected=expected, actual=actual)
    except DecodeFailure as failure:
        raise decoder.error(failure, span) from None
    except UncheckedError:
        raise data.refusal() from None
    except RecursionError:
        raise NESTING.error(span=span, field_path=decoder.type) from None


class _MessageWalk:
    """One pass over the bytes of a message: its methods read a value and yield its JSON text."""

    def __init__(self, decoder: Decoder, data: LargeValue, notes: list[Note] | None) -> None:
        self._registry = decoder.registry
        self._data = data
        self._bytes = ForwardReader(data)
        self._state = State(notes)
        self._sizes = Sizes(decoder.registry)
        self._defaults = Defaults(decoder.registry)
        self._quiet = 0
        """Above 0 within removed fields: values are only checked, without notes, and their JSON is not needed."""
        self.end = 0
        """Where the object of the message ended; see `message`."""

    @property
    def _at(self) -> int:
        return self._bytes.at

    def message(self, name: str) -> Iterator[str]:
        """The text of the object; `end` is then where it ends.

        Raises `DecodeFailure`, and `UncheckedError` for a message with a trailer: `messages` reads that from memory.
        """
        size = len(self._data)
        yield from self._object(self._registry.schema(name), size)
        self.end = end = self._at
        last = b""
        for piece in self._bytes.pieces(size - end + 1):  # one more than there are: checksums are compared at the end
            last = (last + piece)[-len(TRAILER_MAGIC_BYTES) :]
        if end != size and last == TRAILER_MAGIC_BYTES:
            raise UncheckedError

    def _note(self, rule: Any, start: int, end: int, detail: str = "") -> None:
        """Add a note about bytes `[start, end)`, except within a value that is dropped."""
        if not self._quiet:
            self._state.note(rule, start, end, detail)

    def _framed(self, read: Callable[[bytes, int, int], Any], size: int, end: int) -> Any:
        """The result of a generated reader that needs the next `size` bytes; its offsets are relative to them."""
        head = self._bytes.peek(min(size, max(0, end - self._at)))
        try:
            return read(head, 0, end - self._at)
        except LayoutError as error:
            error.offset += self._at
            error.stop += self._at
            raise

    def _fixed(self, size: int, end: int) -> bytes:
        """Take the next `size` bytes.  Raises `DecodeFailure` if they exceed `end`."""
        if self._at + size > end:
            raise short(self._at, size, end)
        return self._bytes.take(size)

    # Objects

    def _object(self, schema: Schema, end: int) -> Iterator[str]:
        """Yield the JSON text of the object at the current position; its bytes end before `end`."""
        start, state = self._at, self._state
        head = 0
        if not schema.final:
            if start >= end:
                raise short(start, 1, end)
            head = self._bytes.peek(1)[0]
            if head not in HEADERS:
                check_header(head, start, State(None) if self._quiet else state)
        if state.depth <= 0:
            raise DecodeFailure(NESTING, start, end, expected=f"at most {MAX_DEPTH} objects in one another")
        names = [each.name for each in schema.visible_fields()]
        if len(names) != len(set(names)):  # the readers keep the last
            raise UncheckedError
        state.depth -= 1
        self._bytes.skip(0 if schema.final else 1)
        yield "{"
        lead = ""
        for each in schema.fields:
            lead = yield from self._member(each, end, lead)
        if schema.final:
            pass  # such a type has no groups
        elif head in GROUPED:
            yield from self._groups(schema, end, lead)
        else:
            for group in schema.groups:
                lead = yield from self._filled(group.fields, lead)
        state.depth += 1
        yield "}"

    def _member(self, each: Field, end: int, lead: str) -> Generator[str, None, str]:
        """Yield a field as a member of its object, preceded by `lead`; return the `lead` of the next: a comma, or "".

        Constants and removed fields have no text; the bytes of a removed one are read past.
        """
        if each.constant:
            return lead
        try:
            if each.removed:
                self._quiet += 1
                for _ in self._value(each, end):
                    pass
                self._quiet -= 1
                return lead
            yield f"{lead}{dumps(each.name)}:"
            yield from self._value(each, end)
        except DecodeFailure as failure:
            failure.path.append(each.name)
            raise
        return ","

    def _filled(self, fields: Sequence[Field], lead: str) -> Generator[str, None, str]:
        """Yield the defaults of fields without bytes, preceded by `lead`; return the `lead` of the next member."""
        fill, cost = self._defaults.filler(tuple(fields))
        self._state.spend(cost, self._at)
        out: dict[str, Any] = {}
        fill(out)
        if out:
            yield lead + dumps(out)[1:-1]  # without braces
        return "," if out else lead

    def _groups(self, schema: Schema, end: int, lead: str) -> Iterator[str]:
        """Yield the members of all groups, present or defaulted; `lead` is "," after another member, else ""."""
        known = {group.identifier: group for group in schema.groups}
        seen: set[int] = set()
        more = 1
        while more:
            start, head = self._at, self._bytes.peek(1)
            try:
                # The header of a group: two reserved bits, whether another group follows, number and size.
                body, _, reserved, more, reserved1, number, size = self._framed(
                    flat_group_header, GROUP_HEADER_SIZE, end
                )
            except LayoutError as error:
                raise group_failed(error, head, 0, start) from None
            if reserved or reserved1:
                raise no_group(head, 0, start)
            self._bytes.skip(body)
            stop = self._at + size
            if number in seen:
                raise DecodeFailure(GROUP_TWICE, start + 1, start + 2, actual=f"group {number}")
            seen.add(number)
            group = known.get(number)
            if group is None:
                self._note(GROUP_UNKNOWN, start, stop, f"group {number}, {counted(size, 'bytes')}")
            else:
                lead = yield from self._group(group, stop, lead)
                if self._at != stop:
                    left = counted(stop - self._at, "bytes")
                    self._note(GROUP_LENGTH, self._at, stop, f"group {number} has {left} more")
            self._bytes.skip(stop - self._at)
        for group in schema.groups:  # missing ones get their defaults
            if group.identifier not in seen:
                lead = yield from self._filled(group.fields, lead)

    def _group(self, group: Group, end: int, lead: str) -> Generator[str, None, str]:
        """Fields of a group: once its bytes are used up, the remaining fields take their defaults."""
        fields = [each for each in group.fields if not each.constant]
        for number, each in enumerate(fields):
            # Unless all that remain take no bytes, as objects of final types without fields do.
            if self._at >= end and any(self._sizes.least(one) for one in fields[number:]):
                self._note(GROUP_LENGTH, end, end, "the group ends before its last field")
                return (yield from self._filled(fields[number:], lead))
            lead = yield from self._member(each, end, lead)
        return lead

    # Values

    def _value(self, each: Field, end: int) -> Iterator[str]:
        """The text of a value, including its optional flag."""
        if each.optional and not self._fixed(1, end)[0]:
            yield "null"
            return
        if each.packed_timespec:
            yield dumps(self._fixed(assumptions.PACKED_TIMESPEC_SIZE, end))
            return
        match each.type:
            case "string":
                yield from self._string(end)
            case "byte_buffer":
                yield from self._buffer(end)
            case "guid":
                yield dumps(guid_text(self._fixed(GUID_SIZE, end)))
            case "object":
                yield from self._object(self._registry.schema(each.object_type or ""), end)
            case "variant":
                yield from self._variant(each, end)
            case "arraylist" | "array":
                yield from self._list(each, end)
            case "dictionary":
                yield from self._dictionary(each, end)
            case _:
                plan = "<" + letter_of(self._registry, each)
                yield dumps(struct.unpack(plan, self._fixed(struct.calcsize(plan), end))[0])

    def _count(self, end: int) -> int:
        """Read the number of elements of a list or dictionary."""
        try:
            number, _ = self._framed(read_count, COUNT_SIZE, end)
        except LayoutError as error:
            raise failed(error) from None
        self._bytes.skip(COUNT_SIZE)
        return int(number)

    def _counted(self, read: Callable[[bytes, int, int], Any], what: str, end: int) -> int:
        """Read the size that a value states, in bytes, which it must have before `end`.

        `read` is the generated reader of such a value, which makes the error; `what` names the size in it.
        """
        try:
            size = int(self._framed(read_count, COUNT_SIZE, end)[0])
            if size > end - self._at - COUNT_SIZE:
                self._framed(read, COUNT_SIZE, end)  # raises the error
        except LayoutError as error:
            raise failed(error, what) from None
        self._bytes.skip(COUNT_SIZE)
        return size

    def _string(self, end: int) -> Iterator[str]:
        """Yield the JSON of a string in chunks."""
        yield '"'
        for text in self._decoded(self._counted(read_text, "length of a string", end)):
            if not self._quiet:
                yield json.dumps(text)[1:-1]  # without quotes
        yield '"'

    def _decoded(self, size: int) -> Iterator[str]:
        """The next bytes as text.  Raises `DecodeFailure` where they are not UTF-8."""
        held, stop = b"", self._at + size
        for piece in chain(self._bytes.pieces(size), [b""]):
            held += piece  # with the start of a character that the piece before it ended in
            try:
                text, used = codecs.utf_8_decode(held, "strict", self._at >= stop and not piece)
            except UnicodeDecodeError as error:
                before = self._at - len(held)
                # The error that a generated reader raises, from which `failed` makes the failure.
                wrong = LayoutError("value", before, before + len(held), "text in UTF-8", held)
                wrong.__cause__ = error
                raise failed(wrong) from None
            held = held[used:]
            yield text

    def _buffer(self, end: int) -> Iterator[str]:
        """Yield the JSON of a byte buffer in chunks."""
        size = self._counted(read_byte_buffer, "length of a byte buffer", end)
        yield from self._raw(size)

    def _raw(self, size: int) -> Iterator[str]:
        """The text of bytes; those that may not be in memory are read again for each of its parts."""
        if self._quiet or size <= min(PIECE, self._data.most):
            yield dumps(self._bytes.take(size))
        elif size <= self._data.most:
            data = self._bytes.take(size)
            yield from large_pieces(LargeValue.of(data))
        else:
            start = self._at
            self._bytes.skip(size)
            yield from large_pieces(_part(self._data, start, start + size))

    def _variant(self, each: Field, end: int) -> Iterator[str]:
        """Yield the text of a variant: its index, the type of that index, and its value; raw bytes if the index is
        unknown.
        """
        start = self._at
        try:
            body, index, size = self._framed(flat_variant_header, VARIANT_HEADER_SIZE, end)
        except LayoutError as error:
            raise failed(error, over=VARIANT_LENGTH, unit=" bytes") from None
        self._bytes.skip(body)
        stop = start + body + size
        name = dict(each.variants).get(index)
        yield f'{{"index":{index},"type":{dumps(name)},'
        if name is None:
            self._note(VARIANT_UNKNOWN, start, stop, f"index {index}, {counted(size, 'bytes')}")
            yield '"raw":'
            yield from self._raw(size)
        else:
            yield '"value":'
            yield from self._object(self._registry.schema(name), stop)
            if self._at != stop:
                expected, actual = counted(self._at - start - body, "bytes"), counted(size, "bytes")
                raise DecodeFailure(VARIANT_LENGTH, start + 1, start + body, expected=expected, actual=actual)
        yield "}"

    def _list(self, each: Field, end: int) -> Iterator[str]:
        """Yield the text of a list or of an array of fixed size: its elements in brackets, numbers in groups."""
        element, start = each.value, self._at
        assert element is not None
        number = self._count(end) if each.type == "arraylist" else each.array_size
        pos = self._at  # of the first element
        if number * self._sizes.least(element) > end - pos:
            # The stated count of a list is wrong; for an array of fixed size, the bytes end too early.
            rule, stop = (COUNT, pos) if each.type == "arraylist" else (ENDS_EARLY, end)
            expected, actual = counted(number, "elements"), counted(end - pos, "bytes")
            raise DecodeFailure(rule, start, stop, expected=expected, actual=actual)
        self._state.spend(number * cost_of(element), start)
        yield "["
        letter = plain_letter(self._registry, element)
        if letter is not None:
            width = struct.calcsize("<" + letter)
            for first in range(0, number, NUMBERS):
                some = min(NUMBERS, number - first)
                text = dumps(struct.unpack(f"<{some}{letter}", self._bytes.take(some * width)))[1:-1]
                yield f",{text}" if first else text
        else:
            yield from self._joined(self._value(element, end) for _ in range(number))
        yield "]"

    def _joined(self, values: Iterable[Iterator[str]]) -> Iterator[str]:
        """Yield JSON elements, separated by commas; an error gets the number of its element."""
        number = 0
        try:
            for number, value in enumerate(values):
                if number:
                    yield ","
                yield from value
        except DecodeFailure as failure:
            failure.path.append(f"[{number}]")
            raise

    def _dictionary(self, each: Field, end: int) -> Iterator[str]:
        """Yield a dictionary as a JSON object if its keys are strings, else as a list of pairs."""
        key, value, start = each.key, each.value, self._at
        assert key is not None
        assert value is not None
        count, pos = self._count(end), self._at
        if count * (self._sizes.least(key) + self._sizes.least(value)) > end - pos:
            expected, actual = counted(count, "pairs"), counted(end - pos, "bytes")
            raise DecodeFailure(COUNT, start, pos, expected=expected, actual=actual)
        self._state.spend(count * (cost_of(key) + cost_of(value) + 2), start)  # 2 for the pair itself
        as_map = key.type == "string" and not key.optional
        keys: set[int] = set()  # hashes, since the keys themselves may not fit in memory

        def pair(field_of_key: Field, field_of_value: Field) -> Iterator[str]:
            """Yield the text of the next pair."""
            if not as_map:
                yield "["
                yield from self._value(field_of_key, end)
                yield ","
                yield from self._value(field_of_value, end)
                yield "]"
                return
            self._check_key(end)
            name = "".join(self._string(end))
            keys.add(hash(name))
            yield f"{name}:"
            yield from self._value(field_of_value, end)

        yield "{" if as_map else "["
        yield from self._joined(pair(key, value) for _ in range(count))
        if as_map and not self._quiet and len(keys) != count:
            raise UncheckedError  # the readers keep the last
        yield "}" if as_map else "]"

    def _check_key(self, end: int) -> None:
        """Raise `UncheckedError` for a key of a dictionary that cannot be in memory."""
        if self._at + COUNT_SIZE <= end and self._framed(read_count, COUNT_SIZE, end)[0] > self._data.most:
            raise UncheckedError


def _part(data: LargeValue, start: int, stop: int) -> LargeValue:
    """The bytes `[start, stop)` of a value, read from its beginning each time."""

    def pieces() -> Iterator[bytes]:
        """Yield the bytes of the value, in chunks."""
        forward = ForwardReader(data)
        forward.skip(start)
        return forward.pieces(stop - start)

    return LargeValue(stop - start, pieces, data.limits, data.span)
