"""Bytes to values, driven by a registry.

Every type is compiled once into closures: runs of fixed-size fields become one `struct` call, everything else one
closure per field.  Values are plain: an object is a `dict` of its fields and those of its groups, a GUID its text, an
enumeration an integer, a time or duration an integer of nanoseconds, a byte buffer `bytes`, an absent optional `None`,
a dictionary a `dict` when its keys are strings and else a list of pairs, a variant `{"index", "type", "value"}`
(unknown index: `{"index", "type": None, "raw"}`).  Removed and constant fields are left out.

Spec: rbuf wire format.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, Rule
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    COUNT,
    ENDS_EARLY,
    EXPANSION,
    GROUP_HEADER,
    GROUP_LENGTH,
    GROUP_SIZE,
    GROUP_TWICE,
    GROUP_UNKNOWN,
    MESSAGE_REST,
    NESTING,
    OBJECT_HEADER,
    REPEATED_KEY,
    RESERVED_BIT,
    TEXT,
    VARIANT_LENGTH,
    VARIANT_UNKNOWN,
)
from exhume.formats.ark.rbuf.defaults import Defaults
from exhume.formats.ark.rbuf.guid import guid_text
from exhume.formats.ark.rbuf.registry import FIXED, Field, Schema

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry

MAX_DEPTH: Final = 100
"""Objects inside objects; real types stay below ten, and deeper recursion would overrun the interpreter's stack."""

MAX_ELEMENTS: Final = 1 << 24
"""Cost units of one value (about 32 bytes of memory each), so that a small message cannot fill the memory."""

SIZE_CAP: Final = 1 << 40
"""Computed sizes stop growing here: types of types of arrays can ask for any number."""

HEADER: Final = 0xD1
HEADER_WITH_GROUPS: Final = 0xD5
GROUPS_BIT: Final = 0x04
RESERVED: Final = 0x08
GROUP_LAST: Final = 0xE0
GROUP_HEADER_SIZE: Final = 6

_U32 = struct.Struct("<I").unpack_from
_GROUP = struct.Struct("<BBI").unpack_from
_VARIANT = struct.Struct("<BI").unpack_from
_NATIVE = sys.byteorder == "little"


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


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing about a value that could be decoded nevertheless; offsets count from its first byte."""

    rule: Rule
    start: int
    end: int
    detail: str = ""

    def finding(self, span: Span) -> Finding:
        """The finding for a value that lies at `span`."""
        return self.rule.finding(self.detail, span=span.sub(self.start, self.end))


class _State:
    """What one decoding call may still spend, and what it noticed."""

    __slots__ = ("budget", "depth", "notes")

    def __init__(self, notes: list[Note] | None, depth: int = MAX_DEPTH, budget: int = MAX_ELEMENTS) -> None:
        self.depth = depth
        self.budget = budget
        self.notes = notes

    def note(self, rule: Rule, start: int, end: int, detail: str = "") -> None:
        if self.notes is not None and len(self.notes) < 1000:
            self.notes.append(Note(rule, start, end, detail))

    def spend(self, cost: int, position: int) -> None:
        self.budget -= cost
        if self.budget < 0:
            raise DecodeFailure(EXPANSION, position, position, expected=f"at most {MAX_ELEMENTS} cost units")


Read = Callable[[bytes, int, int, _State], tuple[Any, int]]
Step = Callable[[bytes, int, int, _State, dict[str, Any]], int]


class Decoder:
    """Decodes values of one type.  Thread-safe; get it from `Registry.decoder`."""

    def __init__(self, registry: Registry, name: str) -> None:
        self.registry = registry
        self.type = name
        compiler = _Compiler(registry)
        try:
            self._read = compiler.object_reader(name)
            self._flat = compiler.flat_plan(registry.schema(name))
        except RecursionError:
            raise NESTING.error("types inside types", field_path=name) from None

    def decode(
        self, data: bytes | bytearray | memoryview, *, span: Span | None = None, notes: list[Note] | None = None
    ) -> dict[str, Any]:
        """The value of a whole message, which must end with its object.

        `span` is where `data` lies, for errors; `notes` collects what is tolerated (unknown groups, other group sizes,
        reserved bits).  Raises the error of the broken rule: ARK-301 to ARK-314, ARK-413, ARK-501, ARK-502.
        """
        flat = self._flat
        if flat is not None and len(data) == flat[1] and data[0] == HEADER:
            return dict(zip(flat[0], flat[2](data, 1), strict=True))
        raw = bytes(data)
        value, end = self.decode_prefix(raw, span=span, notes=notes)
        if end != len(raw):
            where = _place(span, len(raw)).sub(end, len(raw))
            raise MESSAGE_REST.error(span=where, expected=f"{end} bytes", actual=f"{len(raw)} bytes")
        return value

    __call__ = decode

    def decode_prefix(
        self, data: bytes, start: int = 0, *, span: Span | None = None, notes: list[Note] | None = None
    ) -> tuple[dict[str, Any], int]:
        """The object that starts at `start`, and the position after it."""
        try:
            return self._read(data, start, len(data), _State(notes))
        except DecodeFailure as failure:
            raise self._error(failure, _place(span, len(data))) from None
        except RecursionError:
            raise NESTING.error(span=_place(span, len(data)), field_path=self.type) from None

    def _error(self, failure: DecodeFailure, span: Span) -> ExhumeError:
        return failure.rule.error(
            failure.detail,
            span=span.sub(failure.start, max(failure.start, failure.end)),
            field_path=failure.field_path(self.type),
            expected=failure.expected,
            actual=failure.actual,
        )


def _place(span: Span | None, size: int) -> Span:
    return span if span is not None else Span("", 0, size)


def _short(position: int, size: int, end: int) -> DecodeFailure:
    return DecodeFailure(ENDS_EARLY, position, end, expected=f"{size} bytes", actual=f"{max(0, end - position)} bytes")


class _Compiler:
    """Turns schemas into closures; recursive types meet themselves through a table filled when they are complete."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._objects: dict[str, Read] = {}
        self._sizes: dict[str, int] = {}
        self._defaults = Defaults(registry)

    # Objects

    def object_reader(self, name: str) -> Read:
        name = name.removeprefix("::")
        found = self._objects.get(name)
        if found is not None:
            return found
        schema = self._registry.schema(name)
        table = self._objects

        def recursive(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            return table[name](buf, pos, end, state)

        table[name] = recursive
        try:
            table[name] = self._final_object(schema) if schema.final else self._object(schema)
        except BaseException:
            del table[name]
            raise
        return table[name]

    def flat_plan(self, schema: Schema) -> tuple[tuple[str, ...], int, Callable[..., tuple[Any, ...]]] | None:
        """Names, message size and unpacker of an object that is nothing but numbers (the common sensor message)."""
        wire = [f for f in schema.fields if not f.constant]
        if schema.final or schema.groups or not all(_plain_letter(self._registry, f) for f in wire):
            return None
        names = tuple(f.name for f in wire if not f.removed)
        letters = "".join(self._letter(f) for f in wire)
        plan = struct.Struct("<" + letters)
        return names, 1 + plan.size, plan.unpack_from

    def _object(self, schema: Schema) -> Read:
        steps = self._steps(schema.fields)
        read_groups = self._groups(schema)
        fill, fill_cost = self._defaults.filler(tuple(f for g in schema.groups for f in g.fields))

        def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            if pos >= end:
                raise _short(pos, 1, end)
            head = buf[pos]
            if head not in (HEADER, HEADER_WITH_GROUPS):
                _check_header(head, pos, state)
            if state.depth <= 0:
                raise DecodeFailure(NESTING, pos, end, expected=f"at most {MAX_DEPTH} objects in one another")
            state.depth -= 1
            pos += 1
            out: dict[str, Any] = {}
            for step in steps:
                pos = step(buf, pos, end, state, out)
            if head & (GROUPS_BIT | RESERVED):
                pos = read_groups(buf, pos, end, state, out)
            elif fill_cost:
                state.spend(fill_cost, pos)
                fill(out)
            state.depth += 1
            return out, pos

        return read

    def _final_object(self, schema: Schema) -> Read:
        steps = self._steps(schema.fields)

        def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            if state.depth <= 0:
                raise DecodeFailure(NESTING, pos, end, expected=f"at most {MAX_DEPTH} objects in one another")
            state.depth -= 1
            out: dict[str, Any] = {}
            for step in steps:
                pos = step(buf, pos, end, state, out)
            state.depth += 1
            return out, pos

        return read

    def _groups(self, schema: Schema) -> Step:
        plans = {group.identifier: self._group(group.fields) for group in schema.groups}
        fillers = {group.identifier: self._defaults.filler(group.fields) for group in schema.groups}

        def read(buf: bytes, pos: int, end: int, state: _State, out: dict[str, Any]) -> int:
            seen: set[int] = set()
            more = GROUPS_BIT
            while more:
                if end - pos < GROUP_HEADER_SIZE:
                    raise _short(pos, GROUP_HEADER_SIZE, end)
                head, number, size = _GROUP(buf, pos)
                more = head & GROUPS_BIT
                if head & ~GROUPS_BIT != GROUP_LAST:
                    raise DecodeFailure(GROUP_HEADER, pos, pos + 1, expected="0xe0 or 0xe4", actual=f"0x{head:02x}")
                body = pos + GROUP_HEADER_SIZE
                stop = body + size
                if stop > end:
                    raise DecodeFailure(
                        GROUP_SIZE, pos + 2, body, expected=f"at most {end - body} bytes", actual=f"{size} bytes"
                    )
                if number in seen:
                    raise DecodeFailure(GROUP_TWICE, pos + 1, pos + 2, actual=f"group {number}")
                seen.add(number)
                plan = plans.get(number)
                if plan is None:
                    state.note(GROUP_UNKNOWN, pos, stop, f"group {number}, {size} bytes")
                elif (at := plan(buf, body, stop, state, out)) != stop:
                    state.note(GROUP_LENGTH, at, stop, f"group {number} has {stop - at} bytes more")
                pos = stop
            if len(seen) < len(plans) or not seen.issuperset(plans):
                for number, (fill, cost) in fillers.items():
                    if number not in seen:
                        state.spend(cost, pos)
                        fill(out)
            return pos

        return read

    def _group(self, fields: tuple[Field, ...]) -> Step:
        """Fields of a group: once its bytes are used up, the remaining fields take their defaults."""
        whole = self._steps(fields)
        least = min(SIZE_CAP, sum(self._field_size(f) for f in fields))
        single = [(self._steps((f,)), *self._defaults.filler((f,))) for f in fields if not f.constant]

        def read(buf: bytes, pos: int, end: int, state: _State, out: dict[str, Any]) -> int:
            if end - pos >= least:
                # Fields of variable size can still run out of bytes, but only in the middle of one: that is damage
                # unless a field ends exactly where the group does.
                start, depth = pos, state.depth
                try:
                    for step in whole:
                        pos = step(buf, pos, end, state, out)
                    return pos
                except DecodeFailure as failure:
                    if failure.rule is not ENDS_EARLY or failure.start != end:
                        raise
                    pos, state.depth = start, depth
            noted = False
            for steps, fill, cost in single:
                if pos >= end:
                    if cost and not noted:
                        state.note(GROUP_LENGTH, end, end, "the group ends before its last field")
                        noted = True
                    state.spend(cost, pos)
                    fill(out)
                    continue
                for step in steps:
                    pos = step(buf, pos, end, state, out)
            return pos

        return read

    # Fields

    def _steps(self, fields: tuple[Field, ...]) -> tuple[Step, ...]:
        steps: list[Step] = []
        run: list[Field] = []
        for each in fields:
            if each.constant:
                continue
            if self._is_fixed(each):
                run.append(each)
                continue
            if run:
                steps.append(self._fixed_step(run))
                run = []
            steps.append(self._variable_step(each))
        if run:
            steps.append(self._fixed_step(run))
        return tuple(steps)

    def _is_fixed(self, each: Field) -> bool:
        return not each.optional and (each.packed_timespec or each.type in FIXED or each.type in ("enum", "guid"))

    def _letter(self, each: Field) -> str:
        letter = _letter(self._registry, each)
        return f"{struct.calcsize('<' + letter)}x" if each.removed else letter

    def _fixed_step(self, run: list[Field]) -> Step:
        plan = struct.Struct("<" + "".join(self._letter(f) for f in run))
        unpack, size = plan.unpack_from, plan.size
        names = tuple(f.name for f in run if not f.removed)
        guids = tuple(f.name for f in run if f.type == "guid" and not f.removed and not f.packed_timespec)
        sizes = [(f.name, struct.calcsize("<" + _letter(self._registry, f))) for f in run]

        def step(buf: bytes, pos: int, end: int, state: _State, out: dict[str, Any]) -> int:
            stop = pos + size
            if stop > end:
                for name, width in sizes:
                    if pos + width > end:
                        failure = _short(pos, width, end)
                        failure.path.append(name)
                        raise failure
                    pos += width
            out.update(zip(names, unpack(buf, pos), strict=True))
            for name in guids:
                out[name] = guid_text(out[name])
            return stop

        return step

    def _variable_step(self, each: Field) -> Step:
        read = self.value_reader(each)
        name = each.name
        if each.removed:

            def drop(buf: bytes, pos: int, end: int, state: _State, out: dict[str, Any]) -> int:
                notes, state.notes = state.notes, None  # nobody looks at what is dropped
                try:
                    return read(buf, pos, end, state)[1]
                except DecodeFailure as failure:
                    failure.path.append(name)
                    raise
                finally:
                    state.notes = notes

            return drop

        def step(buf: bytes, pos: int, end: int, state: _State, out: dict[str, Any]) -> int:
            try:
                out[name], pos = read(buf, pos, end, state)
            except DecodeFailure as failure:
                failure.path.append(name)
                raise
            return pos

        return step

    # Values

    def value_reader(self, each: Field) -> Read:
        """The reader of one value, optional flag included."""
        inner = self._plain_reader(each)
        if not each.optional:
            return inner

        def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            if pos >= end:
                raise _short(pos, 1, end)
            if not buf[pos]:
                return None, pos + 1
            return inner(buf, pos + 1, end, state)

        return read

    def _plain_reader(self, each: Field) -> Read:
        if each.packed_timespec:
            return _raw_reader(assumptions.PACKED_TIMESPEC_SIZE)
        match each.type:
            case "string":
                return _read_string
            case "byte_buffer":
                return _read_bytes
            case "guid":
                return _read_guid
            case "object":
                return self.object_reader(each.object_type or "")
            case "variant":
                return self._variant_reader(each)
            case "arraylist" | "array":
                return self._list_reader(each)
            case "dictionary":
                return self._dictionary_reader(each)
        return _number_reader(_letter(self._registry, each))

    def _list_reader(self, each: Field) -> Read:
        element = each.value
        assert element is not None
        counted = each.type == "arraylist"
        fixed_count = each.array_size
        least = self._field_size(element)
        cost = self._cost(element)
        letter = _plain_letter(self._registry, element)
        read = self.value_reader(element)

        def read_count(buf: bytes, pos: int, end: int, state: _State) -> tuple[int, int]:
            start = pos
            if counted:
                if end - pos < 4:
                    raise _short(pos, 4, end)
                (count,) = _U32(buf, pos)
                pos += 4
            else:
                count = fixed_count
            if count * least > end - pos:
                rule = COUNT if counted else ENDS_EARLY
                raise DecodeFailure(
                    rule, start, pos if counted else end, expected=f"{count} elements", actual=f"{end - pos} bytes"
                )
            state.spend(count * cost, start)
            return count, pos

        if letter is not None:
            width = struct.calcsize("<" + letter)

            def read_numbers(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
                count, pos = read_count(buf, pos, end, state)
                stop = pos + count * width
                if count > 8 and _NATIVE:
                    return memoryview(buf)[pos:stop].cast(letter).tolist(), stop  # type: ignore[call-overload]
                return list(struct.unpack_from(f"<{count}{letter}", buf, pos)), stop

            return read_numbers

        def read_list(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            count, pos = read_count(buf, pos, end, state)
            out: list[Any] = []
            append = out.append
            try:
                for _ in range(count):
                    value, pos = read(buf, pos, end, state)
                    append(value)
            except DecodeFailure as failure:
                failure.path.append(f"[{len(out)}]")
                raise
            return out, pos

        return read_list

    def _dictionary_reader(self, each: Field) -> Read:
        key, value = each.key, each.value
        assert key is not None
        assert value is not None
        least = self._field_size(key) + self._field_size(value)
        cost = self._cost(key) + self._cost(value) + 2
        read_key, read_value = self.value_reader(key), self.value_reader(value)
        as_map = key.type == "string" and not key.optional

        def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            start = pos
            if end - pos < 4:
                raise _short(pos, 4, end)
            (count,) = _U32(buf, pos)
            pos += 4
            if count * least > end - pos:
                raise DecodeFailure(COUNT, start, pos, expected=f"{count} pairs", actual=f"{end - pos} bytes")
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

    def _variant_reader(self, each: Field) -> Read:
        readers = {index: (name, self.object_reader(name)) for index, name in each.variants}

        def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
            if end - pos < 5:
                raise _short(pos, 5, end)
            index, size = _VARIANT(buf, pos)
            body = pos + 5
            stop = body + size
            if stop > end:
                raise DecodeFailure(
                    VARIANT_LENGTH, pos + 1, body, expected=f"at most {end - body} bytes", actual=f"{size} bytes"
                )
            known = readers.get(index)
            if known is None:
                state.note(VARIANT_UNKNOWN, pos, stop, f"index {index}, {size} bytes")
                return {"index": index, "type": None, "raw": buf[body:stop]}, stop
            name, read_object = known
            value, at = read_object(buf, body, stop, state)
            if at != stop:
                raise DecodeFailure(
                    VARIANT_LENGTH, pos + 1, body, expected=f"{at - body} bytes", actual=f"{size} bytes"
                )
            return {"index": index, "type": name, "value": value}, stop

        return read

    # Sizes

    def _field_size(self, each: Field) -> int:
        """The fewest bytes that a field can take (a lower bound: capped, and recursion counts as its header only)."""
        if each.constant:
            return 0
        if each.optional:
            return 1
        if self._is_fixed(each):
            return struct.calcsize("<" + _letter(self._registry, each))
        match each.type:
            case "string" | "byte_buffer" | "arraylist" | "dictionary":
                return 4
            case "variant":
                return 5
            case "array":
                assert each.value is not None
                return min(SIZE_CAP, each.array_size * self._field_size(each.value))
        name = each.object_type or ""
        if name not in self._sizes:
            schema = self._registry.schema(name)
            self._sizes[name] = header = 0 if schema.final else 1
            self._sizes[name] = min(SIZE_CAP, header + sum(self._field_size(f) for f in schema.fields))
        return self._sizes[name]

    def _cost(self, each: Field) -> int:
        """Cost units of one element in a list, not counting what its own lists hold."""
        match each.type:
            case "object" | "variant":
                return 8
            case "string" | "byte_buffer" | "guid" | "arraylist" | "array" | "dictionary":
                return 3
        return 1


def _letter(registry: Registry, each: Field) -> str:
    """The `struct` letter of a fixed-size field."""
    if each.packed_timespec:
        return f"{assumptions.PACKED_TIMESPEC_SIZE}s"
    if each.type == "guid":
        return "16s"
    if each.type == "enum":
        return FIXED[registry.enum(each.object_type or "").enum_class]
    return FIXED[each.type]


def _plain_letter(registry: Registry, each: Field) -> str | None:
    """The letter of a field that needs no conversion at all, else None."""
    if each.optional or each.packed_timespec or (each.type not in FIXED and each.type != "enum"):
        return None
    return _letter(registry, each)


def _check_header(head: int, position: int, state: _State) -> None:
    """Accepts the headers that are read with a warning; raises for the others."""
    if head & 0xF3 != HEADER or not assumptions.READ_RESERVED_BIT_AS_GROUPS:
        raise DecodeFailure(OBJECT_HEADER, position, position + 1, expected="0xd1 or 0xd5", actual=f"0x{head:02x}")
    state.note(RESERVED_BIT, position, position + 1, f"0x{head:02x}")


def _read_string(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
    body = pos + 4
    if body > end:
        raise _short(pos, 4, end)
    stop = body + _U32(buf, pos)[0]
    if stop > end:
        raise DecodeFailure(
            COUNT, pos, body, "length of a string", expected=f"at most {end - body}", actual=stop - body
        )
    try:
        return str(buf[body:stop], "utf-8"), stop
    except UnicodeDecodeError as error:
        raise DecodeFailure(TEXT, body + error.start, body + error.end, actual=error.reason) from None


def _read_bytes(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
    body = pos + 4
    if body > end:
        raise _short(pos, 4, end)
    stop = body + _U32(buf, pos)[0]
    if stop > end:
        raise DecodeFailure(
            COUNT, pos, body, "length of a byte buffer", expected=f"at most {end - body}", actual=stop - body
        )
    return buf[body:stop], stop


def _read_guid(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
    stop = pos + 16
    if stop > end:
        raise _short(pos, 16, end)
    return guid_text(buf[pos:stop]), stop


def _raw_reader(size: int) -> Read:
    def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
        if pos + size > end:
            raise _short(pos, size, end)
        return buf[pos : pos + size], pos + size

    return read


def _number_reader(letter: str) -> Read:
    plan = struct.Struct("<" + letter)
    unpack, size = plan.unpack_from, plan.size

    def read(buf: bytes, pos: int, end: int, state: _State) -> tuple[Any, int]:
        stop = pos + size
        if stop > end:
            raise _short(pos, size, end)
        return unpack(buf, pos)[0], stop

    return read
