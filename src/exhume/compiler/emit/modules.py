"""One Python module per specification: for each type a slotted class and a function that reads it.

    read_entry(view, at, end) -> (Entry, at)

`view` holds the bytes, `at` is where the structure begins and `end` where its stream ends, both positions in `view`;
what is returned with the value is where it ends.  Instances are properties, read when they are asked for and kept.  A
type with `-scalar: value` is read as that value.  What does not fit raises `LayoutError` with the path of the field and
its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exhume.compiler.emit.classes import ClassEmitter
from exhume.compiler.emit.columns import scan_text
from exhume.compiler.emit.ends import ends_text
from exhume.compiler.emit.paused import PausedReader
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.scan import flat_text
from exhume.compiler.emit.shared import Module, UntracedReaders, untraced_readers
from exhume.compiler.emit.text import pruned, words_of
from exhume.compiler.emit.traced import TracedClass, TracedReader
from exhume.compiler.front.kinds import combined, family
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.needs import ReaderNeeds, find_needs


def module_text(
    schema: Type,
    needs: dict[Type, ReaderNeeds],
    *,
    traced: bool,
    beside: UntracedReaders | None = None,
    paused: Field | None = None,
) -> str:
    """The module of one specification; the reader of the type that has the list `paused` stops there."""
    module = Module(schema, needs, traced=traced, beside=beside, paused=paused)
    parts = [part for type in schema.all() for part in _parts(module, type)]
    if module.foreign:
        parts = list(map(pruned, parts))
    if module.foreign and not traced:
        parts.append("\n".join(_names(schema)))
    body = "\n\n\n".join(parts + module.later)
    words = frozenset(words_of(body) if module.foreign else ())
    return "\n".join(module.head(words)).rstrip() + f"\n\n\n{body}\n"


def _parts(module: Module, type: Type) -> Iterator[str]:
    """The source of what a module has for one type: its class, its reader, and the functions that its marks request."""
    if module.traced:
        yield TracedClass(module, type).text()
        yield TracedReader(module, type).text()
        return
    if type.scalar is None:
        yield ClassEmitter(module, type).text()
    stops = module.paused is not None and module.paused.owner is type
    yield (PausedReader if stops else Reader)(module, type).text()
    if module.foreign and type in module.packed:
        yield Reader(module, type).many_text()
    if type.raw.get("-columns") or type.raw.get("-tabled"):
        yield scan_text(module, type)
    if type.raw.get("-element"):
        yield flat_text(module, type)
    yield from (ends_text(module, type, field) for field in type.seq if field.raw.get("-ends"))


def _names(schema: Type) -> Iterator[str]:
    """Statements that follow the classes: the names that Kaitai's users know, and what finds readers and members."""
    for type in schema.all():
        for enum in type.enums.values():
            yield f"{enum.names} = {type.class_name}.{enum.class_name}._value2member_map_.get"
    for type in schema.all():
        yield f"{type.class_name}._reader = {type.reader_name}"
        if type.raw.get("-tabled"):
            yield f"{type.class_name}Columns._scan = {type.reader_name.replace('read_', 'scan_', 1)}"
        if type.params:
            yield f"{type.class_name}._accepts = ({''.join(f'{accepted(one)}, ' for one in type.params)})"
        if type.parent is None:
            yield f"{type.class_name}._inside = False"
        if type.parent is not None:
            yield f"{type.parent.class_name}.{type.plain_name} = {type.class_name}"


def accepted(param: Field) -> str:
    """The classes of Python that a parameter may have, as code: a tuple, empty for any."""
    word = family(combined(param.kind))
    return f"({''.join(f'{one}, ' for one in ACCEPTED.get(word, ()))})"


ACCEPTED = {
    "integer": ("int",),
    "enum": ("int",),
    "bool": ("bool", "int"),
    "float": ("float", "int"),
    "text": ("str",),
    "bytes": ("bytes", "memoryview"),
    "sequence": ("list", "tuple", "bytes", "memoryview"),
}
"""The classes of what callers give as a parameter, by family; of others nothing is required."""


def module_texts(model: Model, *, traced: bool = False, plain: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every module by the id of its specification; `traced` readers record the position of each field.

    With `plain`, the source of the readers that do not, they read lists by those, and elements only where they are
    shown.
    """
    needs = find_needs(model)
    beside = None if plain is None else untraced_readers(model, plain)
    return {id: module_text(schema, needs, traced=traced, beside=beside) for id, schema in model.schemas.items()}
