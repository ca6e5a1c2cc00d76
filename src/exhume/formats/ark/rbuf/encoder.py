"""Converts values to bytes, driven by a registry: the inverse of the decoder, for the same plain values.

Every group that the schema declares (a block of fields that were added later) is written, in declaration order.
Removed fields are written empty.  A type is compiled once, into a function that appends a value's bytes to a buffer.

Spec: rbuf wire format.
"""

from __future__ import annotations

import operator
import struct
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from exhume.errors import WriterError, shorten
from exhume.formats.ark import assumptions
from exhume.formats.ark.rbuf.defaults import COST_CAP, Defaults
from exhume.formats.ark.rbuf.layout import (
    COUNT_SIZE,
    GROUP_LAST,
    GROUP_MORE,
    HEADER,
    HEADER_WITH_GROUPS,
    guid_bytes,
    pack_count,
    pack_variant_header,
)
from exhume.formats.ark.rbuf.registry import FIXED, Field, Schema

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry

MAX_COUNT = (1 << (COUNT_SIZE << 3)) - 1
"""The largest number of elements or bytes that a count can state."""

Write = Callable[[bytearray, Any], None]
"""Appends the bytes of a value to a buffer."""
FieldEncoder = Callable[[bytearray, Mapping[str, Any]], None]
"""Takes its fields out of the value of an object, and appends their bytes to a buffer."""


class EncodeFailure(Exception):  # noqa: N818 - internal, always turned into WriterError
    """A value that a field cannot hold; the path grows while the stack unwinds.  The values are for its message."""

    expected: Any
    actual: Any

    def __init__(self, what: str, expected: Any = None, actual: Any = None) -> None:
        super().__init__(what)
        self.expected, self.actual = expected, actual
        self.path: list[str] = []


class Encoder:
    """Encodes values of one type.  Thread-safe; get it from `encoder_for`."""

    def __init__(self, registry: Registry, name: str) -> None:
        """Compile the writer of the type `name`. Raises `WriterError` if types nest too deeply."""
        self.registry = registry
        self.type = name
        try:
            self._write = _Compiler(registry).object_writer(name)
        except RecursionError:
            raise WriterError("types nest too deeply", field_path=name) from None

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """The bytes of one object, header included (unless its schema is `final`).

        Raises `WriterError`, with the path of the field, for a value that its type cannot hold, a missing field and a
        field that the schema does not have.
        """
        out = bytearray()
        try:
            self._write(out, value)
        except EncodeFailure as failure:
            path = self.type
            for part in reversed(failure.path):
                path += part if part.startswith("[") else f".{part}"
            raise WriterError(str(failure), field_path=path, expected=failure.expected, actual=failure.actual) from None
        except RecursionError:
            raise WriterError("the value nests too deeply", field_path=self.type) from None
        return bytes(out)

    __call__ = encode


class _Compiler:
    """Makes the writers of types, each once; a writer appends the bytes of a value to a buffer."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._objects: dict[str, Write] = {}
        self._defaults = Defaults(registry, for_wire=True)

    def object_writer(self, name: str) -> Write:
        """Return the writer of the object type `name`, compiled on first use.

        While it is compiled, the table has a placeholder that calls the finished writer, so that a type can contain
        itself.
        """
        name = name.removeprefix("::")
        found = self._objects.get(name)
        if found is not None:
            return found
        schema = self._registry.schema(name)
        table = self._objects

        def recursive(out: bytearray, value: Any) -> None:
            table[name](out, value)

        table[name] = recursive
        try:
            table[name] = self._object(schema)
        except BaseException:
            del table[name]
            raise
        return table[name]

    def _object(self, schema: Schema) -> Write:
        """Return the writer of an object, which takes a mapping of its field names to values.

        The size of a group is filled in once its body is written. The writer raises `EncodeFailure` for unknown or
        missing fields.
        """
        known = frozenset(each.name for each in schema.visible_fields())
        parts = self._parts(schema.fields)
        groups = () if schema.final else tuple((group.identifier, self._parts(group.fields)) for group in schema.groups)
        head = b"" if schema.final else bytes([HEADER_WITH_GROUPS if groups else HEADER])
        name = schema.name

        def write(out: bytearray, value: Any) -> None:
            """Write an object: header byte, fields, then each group with its size."""
            if not isinstance(value, Mapping):
                raise EncodeFailure("not an object", f"the fields of {name}", shorten(value))
            if len(value) > len(known) or not known.issuperset(value):
                unknown = next(key for key in value if key not in known)
                raise EncodeFailure("the schema has no such field", None, shorten(unknown))
            out += head
            for part in parts:
                part(out, value)
            for position, (number, group_parts) in enumerate(groups):
                more = GROUP_MORE if position + 1 < len(groups) else 0
                # The size of the group is filled in after its fields.
                out += bytes((GROUP_LAST | more, number)) + bytes(COUNT_SIZE)
                body = len(out)
                for part in group_parts:
                    part(out, value)
                out[body - COUNT_SIZE : body] = _count(len(out) - body, "a group")

        return write

    def _parts(self, fields: tuple[Field, ...]) -> tuple[FieldEncoder, ...]:
        """Return the encoders of these fields, with one encoder for each run of fixed-size fields."""
        parts: list[FieldEncoder] = []
        run: list[Field] = []
        for each in fields:
            if each.constant:  # not stored
                continue
            if each.removed:
                if run:
                    parts.append(self._fixed_part(run))
                    run = []
                parts.append(self._removed_part(each))
            elif not each.optional and not each.packed_timespec and (each.type in FIXED or each.type == "enum"):
                run.append(each)
            else:
                if run:
                    parts.append(self._fixed_part(run))
                    run = []
                parts.append(_named(each.name, self.value_writer(each)))
        if run:
            parts.append(self._fixed_part(run))
        return tuple(parts)

    def _fixed_part(self, run: list[Field]) -> FieldEncoder:
        """Return one encoder that writes a run of fixed-size fields with a single `struct` call."""
        letters = [self._letter(each) for each in run]
        pack = struct.Struct("<" + "".join(letters)).pack
        names = tuple(each.name for each in run)
        parts = [_named(name, _number(letter)) for name, letter in zip(names, letters, strict=True)]
        if len(parts) == 1:
            return parts[0]
        getter = operator.itemgetter(*names)
        booleans = tuple(each.name for each in run if each.type == "bool")

        def many(out: bytearray, value: Mapping[str, Any]) -> None:
            """Write consecutive fields of fixed size at once."""
            try:
                for name in booleans:  # `struct` takes anything as a boolean
                    if not isinstance(value[name], (bool, int)):
                        raise struct.error  # caught below
                out += pack(*getter(value))
                return
            except (KeyError, struct.error, OverflowError, TypeError):
                pass
            for part in parts:  # the slow way, to find the field that is to blame
                part(out, value)

        return many

    def _letter(self, each: Field) -> str:
        """The `struct` format of a field of fixed size; that of an enumeration is its integer type's."""
        if each.type == "enum":
            return FIXED[self._registry.enum(each.object_type or "").enum_class]
        return FIXED[each.type]

    def _removed_part(self, each: Field) -> FieldEncoder:
        """Return the writer of a field that the schema removed: its default is written."""
        if each.optional:
            return lambda out, value: out.append(0)
        write = self.value_writer(each)
        make, cost = self._defaults.maker(each)
        if cost >= COST_CAP:
            raise WriterError("a removed field cannot be written: its default is too large", field_path=each.name)
        return lambda out, value: write(out, make())

    def value_writer(self, each: Field) -> Write:
        """The writer of one value, including its optional flag."""
        inner = self._plain_writer(each)
        if not each.optional:
            return inner

        def write(out: bytearray, value: Any) -> None:
            """Append a byte that states whether there is a value, and the value."""
            if value is None:
                out.append(0)
            else:
                out.append(1)
                inner(out, value)

        return write

    def _plain_writer(self, each: Field) -> Write:
        """Return the writer of a value that is not optional."""
        if each.packed_timespec:
            return _write_timespec
        match each.type:
            case "string":
                return _write_string
            case "byte_buffer":
                return _write_bytes
            case "guid":
                return _write_guid
            case "object":
                return self.object_writer(each.object_type or "")
            case "variant":
                return self._variant_writer(each)
            case "arraylist" | "array":
                return self._list_writer(each)
            case "dictionary":
                return self._dictionary_writer(each)
        return _number(self._letter(each))

    def _list_writer(self, each: Field) -> Write:
        """Return the writer of an `arraylist` (with a count) or an `array` (of a fixed size, without).

        Numbers are packed with one `struct` call; if that fails, element by element, so that the error names the
        element.
        """
        element = each.value
        assert element is not None
        write = self.value_writer(element)
        counted, size = each.type == "arraylist", each.array_size
        plain = (
            not element.optional and not element.packed_timespec and (element.type in FIXED or element.type == "enum")
        )
        # Booleans are checked one by one: `struct` takes anything for one.
        letter = self._letter(element) if plain and element.type != "bool" else None

        def write_list(out: bytearray, value: Any) -> None:
            """Write a list; numbers are packed at once."""
            if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__"):
                raise EncodeFailure("not a list", each.type, shorten(value))
            count = len(value)
            if counted:
                out += _count(count, "a list")
            elif count != size:
                raise EncodeFailure("wrong number of elements", size, count)
            if letter is not None and count > 2:  # one or two are as fast in the loop
                try:
                    out += struct.pack(f"<{count}{letter}", *value)
                except (struct.error, OverflowError, TypeError):
                    pass  # the loop below finds the element that is to blame
                else:
                    return
            for position, item in enumerate(value):
                try:
                    write(out, item)
                except EncodeFailure as failure:
                    failure.path.append(f"[{position}]")
                    raise

        return write_list

    def _dictionary_writer(self, each: Field) -> Write:
        """Return the writer of a dictionary, which takes a mapping or a list of pairs."""
        assert each.key is not None
        assert each.value is not None
        write_key, write_value = self.value_writer(each.key), self.value_writer(each.value)

        def write(out: bytearray, value: Any) -> None:
            """Write a dictionary, from a mapping or from pairs."""
            if isinstance(value, Mapping):
                pairs: Any = value.items()
            elif isinstance(value, (list, tuple)):
                pairs = value
            else:
                raise EncodeFailure("not a dictionary", "a mapping or a list of pairs", shorten(value))
            out += _count(len(pairs), "a dictionary")
            for position, pair in enumerate(pairs):
                if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                    raise EncodeFailure("not a pair", "[key, value]", shorten(pair))
                try:
                    write_key(out, pair[0])
                    write_value(out, pair[1])
                except EncodeFailure as failure:
                    failure.path.append(f"[{position}]")
                    raise

        return write

    def _variant_writer(self, each: Field) -> Write:
        """Return the writer of a variant, which takes a mapping with `index` or `type`, and `value`.

        An index that the schema does not declare needs the encoded bytes as `raw`.
        """
        writers = {index: self.object_writer(name) for index, name in each.variants}
        by_name = {name: index for index, name in reversed(each.variants)}

        def write(out: bytearray, value: Any) -> None:
            """Write a variant, chosen by index or by type name."""
            if not isinstance(value, Mapping):
                raise EncodeFailure("not a variant", '{"index", "value"}', shorten(value))
            index = value.get("index")
            if index is None:
                index = by_name.get(str(value.get("type")).removeprefix("::"))
            if not isinstance(index, int) or not 0 <= index <= 255:
                raise EncodeFailure("a variant without index", f"one of {sorted(writers)}", shorten(index))
            body = bytearray()
            writer = writers.get(index)
            if writer is not None:
                writer(body, value.get("value"))
            elif isinstance(value.get("raw"), (bytes, bytearray, memoryview)):
                body += bytes(value["raw"])  # of a view of any shape
            else:
                raise EncodeFailure("a variant of unknown index", f"one of {sorted(writers)}", index)
            _count(len(body), "a variant")  # raises if it is too long
            out += pack_variant_header(index, len(body)) + body

        return write


def _missing(name: str) -> EncodeFailure:
    """The failure for an object without the field `name`."""
    failure = EncodeFailure("a field is missing")
    failure.path.append(name)
    return failure


def _count(count: int, what: str) -> bytes:
    """The stored form of a count or size; `what` is counted, for the error."""
    if count > MAX_COUNT:
        raise EncodeFailure(f"{what} is too long", f"at most {MAX_COUNT}", count)
    return pack_count(count)


def _named(name: str, write: Write) -> FieldEncoder:
    """Return the encoder of the field `name`; `write` writes its value."""

    def part(out: bytearray, value: Mapping[str, Any]) -> None:
        """Write the field `name` of an object; errors get the name in their path."""
        if name not in value:
            raise _missing(name)
        try:
            write(out, value[name])
        except EncodeFailure as failure:
            failure.path.append(name)
            raise

    return part


def _number(letter: str) -> Write:
    """Return the writer of a number with this `struct` letter."""
    pack = struct.Struct("<" + letter).pack

    def write(out: bytearray, value: Any) -> None:
        """Append a number or boolean in the format of the letter."""
        if letter == "?" and not isinstance(value, (bool, int)):
            raise EncodeFailure("not a boolean", None, shorten(value))
        try:
            out += pack(value)
        except (struct.error, OverflowError, TypeError) as error:
            raise EncodeFailure(f"a number that does not fit ({error})", None, shorten(value)) from None

    return write


def _write_string(out: bytearray, value: Any) -> None:
    """Write a string: its size in bytes, then UTF-8."""
    if not isinstance(value, str):
        raise EncodeFailure("not a string", None, shorten(value))
    try:
        raw = value.encode()
    except UnicodeEncodeError as error:
        raise EncodeFailure("a string that is not Unicode text", None, error.reason) from None
    out += _count(len(raw), "a string")
    out += raw


def _write_bytes(out: bytearray, value: Any) -> None:
    """Append bytes, preceded by their number."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise EncodeFailure("not bytes", None, shorten(value))
    raw = bytes(value)  # a view may have wider elements, or gaps
    out += _count(len(raw), "a byte buffer")
    out += raw


def _write_guid(out: bytearray, value: Any) -> None:
    """Write a GUID as its 16 bytes."""
    if not isinstance(value, (str, uuid.UUID)):
        raise EncodeFailure("not a GUID", None, shorten(value))
    try:
        out += guid_bytes(value)
    except ValueError:
        raise EncodeFailure("not a GUID", None, shorten(value)) from None


def _write_timespec(out: bytearray, value: Any) -> None:
    """Append a time, given as the bytes that are stored."""
    if not isinstance(value, (bytes, bytearray)) or len(value) != assumptions.PACKED_TIMESPEC_SIZE:
        raise EncodeFailure("not a packed time", f"{assumptions.PACKED_TIMESPEC_SIZE} bytes", shorten(value))
    out += value


def encoder_for(registry: Registry, name: str) -> Encoder:
    """The encoder of one type of a registry (a leading `::` is accepted); it is compiled at the first request.

    Raises rule ARK-411 when the registry has no such type.
    """
    name = name.removeprefix("::")
    found: Encoder | None = registry.compiled.get(("encoder", name))
    if found is None:
        found = registry.compiled["encoder", name] = Encoder(registry, name)
    return found
