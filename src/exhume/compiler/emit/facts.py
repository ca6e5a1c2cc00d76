"""Facts of a specification that need no data: enums, magics, sizes, and positions of fixed fields.

One module per specification: an `IntEnum` for each enum, made when it is first imported, and for each type a class
(at run time a plain namespace, which takes less time to make) with

- `size`: its bytes, if their number is fixed, or `most`: those with all optional fields, if only these may be absent;
- `at.<field>`: start and end of a field at a fixed place from the start of the type;
- `shift.<field>`: how far a bit field, or an instance that is some bits of the type's only number, is shifted in it;
- `<instance>(word)`: for a type that is one number, the value that an instance derives from that number;
- `each.<field>`: bytes of each element of a repeated field;
- `before_end.<instance>`: distances of start and end of an instance from the end of the stream, in bytes, if fixed;
- `form.<instance>`: the `struct` format of an instance that is a number, or of each number if it is repeated;
- `means.<instance>`: the bytes that a field has to be for the instance to be true;
- `cases.<field>`: the values for which a field has a type of its own (`switch-on`);
- `<field>`: the bytes or number that a field must be (`contents`, `valid`), or the tuple of those that it may be;
- `dtype`: fields and formats for `numpy.dtype`, where all are fixed;
- `packed`: the same for `struct`, in the order of the fields;
- `prefix`, `suffix`: where not all fields are fixed, the fixed ones before the first and after the last that is not;
- `format.<field>`: the format for `struct` of a number that is alone, repeated, or at no fixed place.

For compiled code the integers among them are constants of C, named after the path to them in capitals:
`LEVELDB_INTERNAL_KEY_VALUE_TYPES_MERGE`, `LEVELDB_TABLE_BLOCK_TRAILER_SIZE`, `..._AT_CHECKSUM`, `..._END_CHECKSUM`,
`CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE`.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Iterator
from itertools import takewhile

from exhume.compiler.emit import c_numbers
from exhume.compiler.emit.text import literal, safe, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, Bits, Enum, Integer, Kind, SimpleKind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import (
    byte_order,
    contents,
    element_size,
    fixed_bytes,
    fixed_size,
    number_of,
    places,
    shifts,
    struct_format,
    type_size,
)
from exhume.compiler.ir.needs import STREAM_SIZE


def constant(field: Field) -> str | None:
    """Return the value that a field must have, as Python; None if it may have any of several."""
    if "contents" in field.raw:
        return repr(contents(field))
    valid = field.raw.get("valid")
    if isinstance(valid, dict) and set(valid) == {"any-of"}:
        # A tuple of all values that are allowed, if all are constants.
        several = [ex.parse(one) for one in valid["any-of"]]
        values = [literal(one.value) for one in several if isinstance(one, ex.Literal)]
        return f"({', '.join(values)},)" if len(values) == len(several) else None
    if isinstance(valid, dict) and set(valid) == {"eq"}:
        valid = valid["eq"]
    if valid is None or isinstance(valid, dict):
        return None
    found = ex.parse(valid)
    return literal(found.value) if isinstance(found, ex.Literal) else None


def _format(kind: Kind, field: Field) -> str | None:
    """Return the data type of a field as NumPy spells it, such as `"<u4"`, as code; None if its size is not fixed."""
    if isinstance(kind, Integer) and kind.size:
        letter = "i" if kind.signed else "u"
        if kind.size == 1:
            return f'"{letter}1"'
        return f'"{">" if kind.big else "<"}{letter}{kind.size}"'
    if isinstance(kind, SimpleKind) and kind.size:
        return f'"{">" if kind.big else "<"}f{kind.size}"'
    if fixed_bytes(field) and isinstance(field.size, ex.Literal):
        return f'"V{field.size.value}"'
    if isinstance(kind, Structure) and kind.type.scalar is None and field.size is None:
        inner = dtype(kind.type)
        return None if inner is None else f"[{inner}]"
    return None


def dtype(type: Type) -> str | None:
    """Return the fields of a type as NumPy's description of a record, as code; None if not all are fixed."""
    found = []
    for field in type.seq:
        if field.size == ex.Literal(0):  # it takes no bytes
            continue
        if field.repeat or field.condition is not None:
            return None
        format = _format(field.value_kind, field)
        if format is None:
            return None
        found.append(f'("{field.id}", {format})')
    return ", ".join(found) or None


def _leaves(field: Field) -> list[Field] | None:
    """Return the stored fields that a field consists of, in order; None if its size is not fixed or it is bits."""
    size = fixed_size(field)
    if size is None or isinstance(field.value_kind, Bits):
        return None
    if isinstance(field.value_kind, Structure) and field.size is None:
        parts = [_leaves(one) for one in field.value_kind.type.seq]
        found = [part for part in parts if part is not None]
        return [leaf for part in found for leaf in part] if len(found) == len(parts) else None
    return [field] if size else []


def _packed(parts: Iterable[list[Field]]) -> str | None:
    """Return the `struct` format of fields, given in groups; None without any, or if they are of both byte orders."""
    fields = [leaf for part in parts for leaf in part]
    if not fields or len({byte_order(one.value_kind) for one in fields} - {None}) > 1:
        return None
    order = ">" if any(byte_order(one.value_kind) for one in fields) else "<"
    letters = (
        f"{fixed_size(one)}s"
        if one.value_kind == BYTES or "contents" in one.raw
        else struct_format([one.value_kind])[1:]
        for one in fields
    )
    return order + "".join(letters)


def formats(type: Type) -> Iterator[tuple[str, str]]:
    """Yield name and `struct` format: `packed` of all fields, or `prefix` and `suffix` of those at the two ends."""
    parts = [_leaves(one) for one in type.seq]
    fixed = list(takewhile(lambda part: part is not None, parts))
    if len(fixed) == len(parts):
        found = {"packed": fixed}
    else:
        found = {"prefix": fixed, "suffix": list(takewhile(lambda part: part is not None, reversed(parts)))[::-1]}
    for name, run in found.items():
        if (format := _packed(part for part in run if part is not None)) is not None:
            yield name, format


def _alone(field: Field) -> str | None:
    """Return the `struct` format of a field's number, or of each if it is repeated; None for other fields."""
    kind = number_of(field.value_kind)
    if "contents" in field.raw or not isinstance(kind, (Integer, SimpleKind)) or not kind.size:
        return None
    return struct_format([kind])


def _cases(field: Field) -> str | None:
    """Return the numbers that a field is switched by, as code for a tuple; None if it has no such numbers."""
    if not isinstance(field.value_kind, Switch):
        return None
    numbers = [_number(case, field.owner) for case, _ in field.value_kind.cases]
    return str(tuple(numbers)) if None not in numbers else None


def _number(expr: ex.Expr, here: Type) -> int | None:
    """Return the integer that an expression is: a literal, or a value of an enum; None for any other."""
    if isinstance(expr, ex.EnumValue):
        return here.enum("::".join(expr.path)).number(expr.value)
    return expr.value if isinstance(expr, ex.Literal) and type(expr.value) is int else None


def _size_if_present(field: Field) -> int | None:
    """Return the size of a field in data that has it; None if the data decides the size.

    `fixed_size` alone returns None for each field with a condition, which may be absent.
    """
    return fixed_size(dataclasses.replace(field, raw={**field.raw, "if": None}))


def _max_size(type: Type) -> int | None:
    """Return the bytes of a type with all its fields; None if the data also decides their sizes."""
    sizes = [_size_if_present(one) for one in type.seq]
    return sum(size for size in sizes if size is not None) if sizes and None not in sizes else None


def _from_end(type: Type) -> Iterator[tuple[Field, tuple[int, int]]]:
    """Yield the instances at a fixed distance from the end of their stream, with the distances of start and end."""
    for one in type.instances.values():
        match one.expr("pos"):
            # Such as `pos: _io.size - 48`.
            case ex.Binary("-", left, ex.Literal(int(distance))) if left == STREAM_SIZE and one.expr("io") is None:
                size = _size_if_present(one)
                if size is not None:
                    yield one, (distance, distance - size)


def _forms(type: Type) -> Iterator[tuple[Field, str]]:
    """Yield the instances that are stored numbers, with their `struct` format as code."""
    for one in type.instances.values():
        if (
            one.value is None
            and isinstance(one.value_kind, (Integer, SimpleKind))
            and one.value_kind.size
            and one.size is None
        ):
            yield one, literal(struct_format([one.value_kind]))


def _meanings(type: Type) -> Iterator[tuple[Field, str]]:
    """Yield the instances that only test whether a field is certain bytes, with these as code."""
    for one in type.instances.values():
        match one.value:
            case ex.Binary("==", ex.Name(_), ex.Literal(bytes(wanted))):
                yield one, literal(wanted)


def enum_name(enum: Enum) -> str:
    """Return the name of the class of an enum, which starts with that of the type around it."""
    above = "" if enum.type.parent is None else enum.type.class_name
    return above + "".join(part[:1].upper() + part[1:] for part in enum.id.split("_"))


def _enum(enum: Enum) -> str:
    """Return the class of an enum, for type checkers and readers."""
    lines = [f"class {enum_name(enum)}(IntEnum):", *written_doc(f"`{enum.type.where}::{enum.id}`")]
    lines += [f"    {name.upper()} = {number}" for number, name in sorted(enum.values.items())]
    return "\n".join(lines)


def _members(enum: Enum) -> str:
    """Return the members of an enum as an entry of the table from which its class is made when it is first imported."""
    members = ", ".join(f'("{name.upper()}", {number})' for number, name in sorted(enum.values.items()))
    return f'        "{enum_name(enum)}": ({members},),'


def _type(type: Type) -> str:
    """Return the source of the class of facts of one type: `size: Final = 16`, and classes within it such as `at`.

    Empty if the type has no facts.
    """
    lines = _own_facts(type)
    if spans := [(one, f"({start}, {end})") for one, start, end in places(type)]:
        lines += _inner_class("at", "Where fields start and end, in bytes from the start.", spans)
    # Name of the inner class, its doc string, and the facts by field.
    for name, about, facts in (
        ("format", "Numbers by themselves.", [(one, f'"{format}"') for one in type.seq if (format := _alone(one))]),
        ("shift", "How far bits are shifted.", [*shifts(type), *c_numbers.shifts(type)]),
        ("each", "Bytes of each element.", [(one, size) for one in type.fields() if (size := element_size(one))]),
        ("before_end", "Bytes from start and end to the end of the stream.", list(_from_end(type))),
        ("form", "Formats of numbers for `struct`.", list(_forms(type))),
        ("means", "What makes it true.", list(_meanings(type))),
        ("cases", "Values for which there is a type.", [(one, case) for one in type.seq if (case := _cases(one))]),
    ):
        if facts:
            lines += _inner_class(name, about, facts)
    lines += c_numbers.methods(type)
    if not lines:
        return ""
    opening = [f"class {type.class_name}(metaclass=fixed):", *written_doc(f"`{type.where}`")]
    if lines[0]:  # a blank line after the doc string
        opening.append("")
    return "\n".join(opening + lines)


def _own_facts(type: Type) -> list[str]:
    """Return the lines of the constants of the type itself, and of fields and instances that are constants."""
    lines: list[str] = []
    if (size := type_size(type)) is not None:
        lines.append(f"    size: Final = {size}")
    elif (most := _max_size(type)) is not None:
        lines.append(f"    most: Final = {most}")
    lines += [f"    {safe(one.id)}: Final = {value}" for one in type.seq if (value := constant(one)) is not None]
    for one in type.instances.values():
        if one.value is not None and isinstance(made := ex.fold(one.value), ex.Literal):
            lines.append(f"    {safe(one.id)}: Final = {literal(made.value)}")
    if (found := dtype(type)) is not None:
        lines.append(f"    dtype: Final = [{found}]")
    return lines + [f'    {name}: Final = "{format}"' for name, format in formats(type)]


def _inner_class(name: str, about: str, facts: Iterable[tuple[Field, object]]) -> list[str]:
    """Return the lines of a class with one kind of fact about fields, such as `at`; `about` is its doc string."""
    lines = ["", f"    class {name}(metaclass=fixed):", f'        """{about}"""', ""]
    return lines + [f"        {safe(one.id)}: Final = {value}" for one, value in facts]


def facts_text(schema: Type) -> str:
    """Return the module of facts of one specification."""
    enums = [enum for type in schema.all() for enum in type.enums.values()]
    lines = [f'"""What ksy/{schema.id}.ksy fixes.  Written by `make generated`; never edited by hand."""']
    lines += ["# ruff: noqa", "", "from __future__ import annotations", ""]
    lines += ["TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from builtins import type as fixed"]
    lines += ["    from enum import IntEnum"] if enums else []
    lines += ["    from typing import Final"]
    lines += [textwrap.indent(f"\n{_enum(enum)}", "    ") for enum in enums] + ([""] if enums else [])
    lines += ["else:", f"    from exhume_ksy.facts._fixed import {'enums, ' if enums else ''}fixed"]
    if enums:
        lines += ["    __getattr__ = enums(__name__, globals(), {", *map(_members, enums), "    })"]
    types = [text for type in schema.all() if (text := _type(type))]
    return "\n\n\n".join(["\n".join(lines), *types]) + "\n"


FIXED = '''\
"""Facts cost little until they are used (see `make generated`); never edited by hand."""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Facts(SimpleNamespace):
    """What the body of a class defines, without the time that a class takes; itself a key of caches, as a class is."""

    __hash__ = object.__hash__


def fixed(name: str, bases: tuple[type, ...], facts: dict[str, Any]) -> Facts:
    """The facts that a class statement becomes."""
    return Facts(__name__=name, **facts)


def enums(
    module: str, names: dict[str, Any], members: dict[str, tuple[tuple[str, int], ...]]
) -> Callable[[str], Any]:
    """The `__getattr__` of a module of facts: makes the `IntEnum` of a name when it is first imported."""

    def made(name: str) -> Any:
        if name not in members:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from enum import IntEnum

        names[name] = IntEnum(name, members[name], module=module)
        return names[name]

    return made
'''


def facts_texts(model: Model) -> dict[str, str]:
    """Return every module of facts by the id of its specification."""
    return {id: facts_text(schema) for id, schema in model.schemas.items()}


def constants_text(model: Model) -> str:
    """Return the integers of all specifications as constants of C, for Cython to include."""
    lines = ["# What the specifications fix; written by `make generated`, never edited by hand.", "", "cdef enum:"]
    for type in model.types():
        above = type.where.replace("::", "_").upper()
        for enum in type.enums.values():
            named = sorted(enum.values.items())
            lines += [f"    {above}_{enum.id.upper()}_{name.upper()} = {number}" for number, name in named]
        if (size := type_size(type)) is not None:
            lines.append(f"    {above}_SIZE = {size}")
        for one, start, end in places(type):
            lines += [f"    {above}_AT_{one.id.upper()} = {start}", f"    {above}_END_{one.id.upper()} = {end}"]
        lines += [f"    {above}_SHIFT_{one.id.upper()} = {far}" for one, far in c_numbers.shifts(type)]
    return "\n".join(lines) + "\n"
