"""Compiles the types of a registry into readers, each once.

A reader is a closure that takes bytes, an offset and an end, and returns a value and the offset after it.  The reader
of an object calls a step for each field, or one for a run of fields of fixed size, which a single `struct` call reads.
The values are those that `decoder` describes.

An object is a header byte, its fields, and groups: blocks of fields that were added to its type later, each with number
and size.  A removed field is still stored and not shown; a constant one is not stored.  A default costs elements, which
are taken from a budget (`State.spend`), so that a short message cannot make large values.

Arguments: `buf`, the message; `pos`, where to read; `end`, which must not be passed; `out`, the dictionary of the
object; `state`, of the call: the budget, how many objects may still nest (`depth`), and `notes` on tolerated faults.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from exhume.counts import counted
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    ENDS_EARLY,
    GROUP_HEADER,
    GROUP_LENGTH,
    GROUP_SIZE,
    GROUP_TWICE,
    GROUP_UNKNOWN,
    NESTING,
)
from exhume.formats.ark.rbuf.defaults import Defaults
from exhume.formats.ark.rbuf.layout import (
    GROUPED,
    HEADERS,
    LayoutError,
    flat_group_header,
    guid_text,
    read_text,
)
from exhume.formats.ark.rbuf.registry import Field, Schema
from exhume.formats.ark.rbuf.wire import (
    LARGE,
    MAX_DEPTH,
    SIZE_CAP,
    DecodeFailure,
    Read,
    Sizes,
    State,
    Step,
    byte_buffer,
    check_header,
    cost_of,
    dictionary_reader,
    failed,
    guid,
    is_fixed,
    large_text,
    letter_of,
    list_reader,
    number_reader,
    plain_letter,
    raw_reader,
    short,
    text,
    variant_reader,
)

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry


class Compiler:
    """Makes the readers of the types of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._objects: dict[str, Read] = {}  # readers by type name
        self._sizes = Sizes(registry)
        self._defaults = Defaults(registry)

    # Objects

    def object_reader(self, name: str) -> Read:
        """Return the reader of the object type `name`, compiled on first use.

        While it is compiled, the table has a placeholder that calls the finished reader, so that a type can contain
        itself.
        """
        name = name.removeprefix("::")
        found = self._objects.get(name)
        if found is not None:
            return found
        schema = self._registry.schema(name)
        table = self._objects

        def recursive(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            return table[name](buf, pos, end, state)

        table[name] = recursive
        try:
            table[name] = self._final_object(schema) if schema.final else self._object(schema)
        except BaseException:
            del table[name]
            raise
        return table[name]

    def flat_plan(self, schema: Schema) -> tuple[tuple[str, ...], int, Callable[..., tuple[Any, ...]]] | None:
        """Names, message size and unpacker of an object that has only numbers (a common sensor message)."""
        wire = [each for each in schema.fields if not each.constant]
        if schema.final or schema.groups or not all(plain_letter(self._registry, each) for each in wire):
            return None
        names = tuple(each.name for each in wire if not each.removed)
        letters = "".join(self._letter(each) for each in wire)
        plan = struct.Struct("<" + letters)
        return names, 1 + plan.size, plan.unpack_from  # 1 for the header byte

    def _object(self, schema: Schema) -> Read:
        """Return the reader of an object with a header byte: fields, then groups.

        The reader returns a dict of the visible fields, and the offset after the object. Fields of groups that are
        absent get their defaults.
        """
        steps = self._steps(schema.fields)
        read_groups = self._groups(schema)
        # Adds the defaults of all groups, for an object without any.
        fill, fill_cost = self._defaults.filler(tuple(each for group in schema.groups for each in group.fields))

        def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            """Read an object: header byte, fields, then its groups or their defaults."""
            if pos >= end:
                raise short(pos, 1, end)
            head = buf[pos]
            if head not in HEADERS:  # one that is read with a warning, or none
                check_header(head, pos, state)
            if state.depth <= 0:
                raise DecodeFailure(NESTING, pos, end, expected=f"at most {MAX_DEPTH} objects in one another")
            state.depth -= 1
            pos += 1
            out: dict[str, Any] = {}
            for step in steps:
                pos = step(buf, pos, end, state, out)
            if head in GROUPED:
                pos = read_groups(buf, pos, end, state, out)
            elif fill_cost:  # 0: no field of a group has a default
                state.spend(fill_cost, pos)
                fill(out)
            state.depth += 1
            return out, pos

        return read

    def _final_object(self, schema: Schema) -> Read:
        """Return the reader of an object of a `final` schema: no header byte and no groups."""
        steps = self._steps(schema.fields)

        def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            """Read an object of a final type, which has neither header nor groups."""
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
        """Return a step that reads all groups after an object's fields and adds their fields to `out`.

        Unknown groups are skipped and noted; groups of the schema that are absent get defaults. The step raises
        `DecodeFailure` for a group that occurs twice.
        """
        plans = {group.identifier: self._group(group.fields) for group in schema.groups}
        fillers = {group.identifier: self._defaults.filler(group.fields) for group in schema.groups}

        def read(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
            """Read groups up to the last; unknown ones are skipped, missing ones get their defaults."""
            seen: set[int] = set()
            more = 1
            while more:
                try:
                    # The header of a group: two reserved bits, whether another group follows, number and size.
                    body, _, reserved, more, reserved1, number, size = flat_group_header(buf, pos, end)
                except LayoutError as error:
                    raise group_failed(error, buf, pos, pos) from None
                if reserved or reserved1:
                    raise no_group(buf, pos, pos)
                stop = body + size
                if number in seen:
                    raise DecodeFailure(GROUP_TWICE, pos + 1, pos + 2, actual=f"group {number}")
                seen.add(number)
                # A group of a known number is read; fewer bytes than it has are a note.
                plan = plans.get(number)
                if plan is None:
                    state.note(GROUP_UNKNOWN, pos, stop, f"group {number}, {counted(size, 'bytes')}", out)
                elif (at := plan(buf, body, stop, state, out)) != stop:
                    state.note(GROUP_LENGTH, at, stop, f"group {number} has {counted(stop - at, 'bytes')} more", out)
                pos = stop
            # Groups that are missing get their defaults.
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
        least = min(SIZE_CAP, sum(self._sizes.least(each) for each in fields))
        # For each field alone: its steps, the function that adds its default, and the cost of that in the budget.
        single = [(self._steps((each,)), *self._defaults.filler((each,))) for each in fields if not each.constant]

        def read(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
            """Read the fields of a group. Fields that an older writer did not know get their defaults."""
            if end - pos >= least:
                # The group can still end early, as fields can take more than their fewest bytes.  If it ends between
                # two fields, they are read again below, with defaults; in the middle of a field, that is damage.
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
                    if cost and not noted:  # 0: a removed field, which has no default
                        state.note(GROUP_LENGTH, end, end, "the group ends before its last field", out)
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
        """Return the steps for these fields, with one step for each run of fixed-size fields.

        Constants are not stored.
        """
        steps: list[Step] = []
        run: list[Field] = []
        for each in fields:
            if each.constant:
                continue
            if is_fixed(each):
                run.append(each)
                continue
            if run:
                steps.append(self._fixed_step(run))
                run = []
            steps.append(self._variable_step(each))
        if run:
            steps.append(self._fixed_step(run))
        return tuple(steps)

    def _letter(self, each: Field) -> str:
        """The `struct` format of a field of fixed size; a removed field is as many padding bytes, which are skipped."""
        letter = letter_of(self._registry, each)
        return f"{struct.calcsize('<' + letter)}x" if each.removed else letter

    def _fixed_step(self, run: list[Field]) -> Step:
        """Return one step that reads a run of fixed-size fields with a single `struct` call.

        If the bytes end too soon, the `DecodeFailure` names the first field that does not fit.
        """
        plan = struct.Struct("<" + "".join(self._letter(each) for each in run))
        unpack, size = plan.unpack_from, plan.size
        names = tuple(each.name for each in run if not each.removed)
        guids = tuple(one.name for one in run if one.type == "guid" and not one.removed and not one.packed_timespec)
        sizes = [(each.name, struct.calcsize("<" + letter_of(self._registry, each))) for each in run]
        if len(run) == 1 and names and not guids:
            return _number_step(names[0], plan)

        def step(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
            """Read consecutive fields of fixed size at once."""
            stop = pos + size
            # Name the first field that does not fit.
            if stop > end:
                for name, width in sizes:
                    if pos + width > end:
                        failure = short(pos, width, end)
                        failure.path.append(name)
                        raise failure
                    pos += width
            out.update(zip(names, unpack(buf, pos), strict=True))
            for name in guids:
                out[name] = guid_text(out[name])
            return stop

        return step

    def _variable_step(self, each: Field) -> Step:
        """Return the step of one field that is not part of a run of fixed size.

        A removed field is read and dropped.
        """
        if each.type == "string" and not each.optional and not each.removed:
            return _text_step(each.name)
        read = self.value_reader(each)
        name = each.name
        if each.removed:

            def drop(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
                """Read past a field that the schema removed."""
                notes, state.notes = state.notes, None  # no notes about a dropped value
                try:
                    _, pos = read(buf, pos, end, state)
                    return pos
                except DecodeFailure as failure:
                    failure.path.append(name)
                    raise
                finally:
                    state.notes = notes

            return drop

        def step(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
            try:
                out[name], pos = read(buf, pos, end, state)
            except DecodeFailure as failure:
                failure.path.append(name)
                raise
            return pos

        return step

    # Values

    def value_reader(self, each: Field) -> Read:
        """The reader of one value, including its optional flag."""
        inner = self._plain_reader(each)
        if not each.optional:
            return inner

        def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            if pos >= end:
                raise short(pos, 1, end)
            if not buf[pos]:
                return None, pos + 1
            return inner(buf, pos + 1, end, state)

        return read

    def _plain_reader(self, each: Field) -> Read:
        """Return the reader of a value that is not optional."""
        if each.packed_timespec:  # two numbers whose layout is not documented: kept as bytes
            return raw_reader(assumptions.PACKED_TIMESPEC_SIZE)
        match each.type:
            case "string":
                return text
            case "byte_buffer":
                return byte_buffer
            case "guid":
                return guid
            case "object":
                return self.object_reader(each.object_type or "")
            case "variant":
                return variant_reader({index: (name, self.object_reader(name)) for index, name in each.variants})
            case "arraylist" | "array":
                return self._list_reader(each)
            case "dictionary":
                return self._dictionary_reader(each)
        return number_reader(letter_of(self._registry, each))

    def _list_reader(self, each: Field) -> Read:
        """Return the reader of a list or an array of fixed size."""
        element = each.value
        assert element is not None
        return list_reader(
            self.value_reader(element),
            None if each.type == "arraylist" else each.array_size,
            plain_letter(self._registry, element),
            self._sizes.least(element),
            cost_of(element),
        )

    def _dictionary_reader(self, each: Field) -> Read:
        """Return the reader of a dictionary."""
        key, value = each.key, each.value
        assert key is not None
        assert value is not None
        return dictionary_reader(
            self.value_reader(key),
            self.value_reader(value),
            key.type == "string" and not key.optional,
            self._sizes.least(key) + self._sizes.least(value),
            cost_of(key) + cost_of(value) + 2,  # 2 for the pair itself
        )


def _number_step(name: str, plan: struct.Struct) -> Step:
    """Return the step of a single number; `plan` is its `struct` form."""
    unpack, size = plan.unpack_from, plan.size

    def step(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
        """Read one number."""
        stop = pos + size
        if stop > end:
            failure = short(pos, size, end)
            failure.path.append(name)
            raise failure
        (out[name],) = unpack(buf, pos)
        return stop

    return step


def _text_step(name: str) -> Step:
    """Read text, the most common field of variable size, without a call in between."""

    def step(buf: bytes, pos: int, end: int, state: State, out: dict[str, Any]) -> int:
        """Read one string."""
        try:
            out[name], pos = read_text(buf, pos, end) if end - pos < LARGE else large_text(buf, pos, end)
        except LayoutError as error:
            failure = failed(error, "length of a string")
            failure.path.append(name)
            raise failure from None
        return pos

    return step


def group_failed(error: LayoutError, buf: bytes, pos: int, start: int) -> DecodeFailure:
    """The failure for the header of a group at `pos` of a buffer, which is at `start` of its message.

    Either its first byte is wrong, or the size that it states passes the end.
    """
    wrong = error.path == "magic" and not error.short
    return no_group(buf, pos, start) if wrong else failed(error, over=GROUP_SIZE, unit=" bytes")


def no_group(buf: bytes, pos: int, start: int) -> DecodeFailure:
    """The failure for bytes that are not the header of a group; see `group_failed`."""
    return DecodeFailure(GROUP_HEADER, start, start + 1, expected="0xe0 or 0xe4", actual=f"0x{buf[pos]:02x}")
