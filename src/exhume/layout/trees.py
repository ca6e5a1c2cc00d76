"""Field trees: a field, the one value that stands for a structure, trees that are made when shown, and JSON of all.

`explain` shows a parsed structure as a tree of fields, each with its position, value and documentation.  Structures
are objects of Kaitai's debug classes, which record positions, or `Traced` ones of a specification of a user.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exhume_ksy.debug._stream import Position

from exhume.errors import Span, shorten
from exhume.findings import Check
from exhume.io.jsonout import dumps
from exhume.layout.fast import RAISED
from exhume.layout.kaitai import FAILURES
from exhume.layout.specifications import FieldDoc, camel
from exhume.layout.tracing import Lazily, Traced, slot, type_of

if TYPE_CHECKING:
    from exhume.compiler.front.model import Type


@dataclass(slots=True)
class Field:
    """One field of a parsed structure, with everything known about it.

    `span` is absolute in the file (with the payload range when the bytes were decompressed first); None for values that
    a specification derives.  `children` are in the order of the specification; `omitted` counts the array elements that
    were left out.  `checksum` names the algorithm of a field that is a checksum, and `check` is its verdict.
    """

    name: str
    path: str
    type: str
    span: Span | None
    value: Any = None
    doc: str = ""
    doc_ref: str = ""
    meaning: str = ""
    checksum: str = ""
    check: Check | None = None
    note: str = ""
    children: list[Field] = field(default_factory=list)
    omitted: int = 0
    unread: bool = False
    """Whether an array may have further elements, which were not searched for."""

    @property
    def shown(self) -> Any:
        """The value as a person reads it: a large number that identifies a format is in hexadecimal."""
        if "magic" not in self.name:
            return self.value
        number = re.match(r"(\d{5,})( \(\w+\))?$", str(self.value))
        return self.value if number is None else f"0x{int(number[1]):x}{number[2] or ''}"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Field]]:
        """Yield `(depth, field)` of this field and all below it, outermost first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


class EvenPositions(Sequence[Any]):
    """Start and end of elements that all have the same number of bytes."""

    def __init__(self, start: int, width: int, many: int) -> None:
        """`many` elements of `width` bytes each, from the offset `start` on."""
        self._start = start
        self._width = width
        self._many = many

    def __len__(self) -> int:
        return self._many

    def __getitem__(self, index: Any) -> Any:
        """Return start and end of an element of fixed width."""
        first = self._start + self._width * index
        return first, first + self._width


class ElementPlaces(Sequence[Any]):
    """The places of elements as the debug classes have them, made when they are used."""

    def __init__(self, many: Sequence[Any], view: Any) -> None:
        """`many` has start and end (None: reading failed) of each element, in the bytes `view`."""
        self.many = many
        self.view = view

    def __len__(self) -> int:
        return len(self.many)

    def __getitem__(self, index: Any) -> Any:
        """Return where an element is, in the form of Kaitai's debug positions."""
        first, last = self.many[index]
        return {"start": Position(first, self.view)} | ({} if last is None else {"end": last})


class Trees(list[Field]):
    """The trees of the elements of a list, each made when it is used and not kept."""

    def __init__(self, indexes: Sequence[int], make: Callable[[int], Field]) -> None:
        """Describe fields with these indexes; `make` makes one when it is needed."""
        super().__init__()
        self._indexes = indexes
        self._make = make
        self.more: Callable[[int], Sequence[int] | None] | None = None
        """Finds elements up to a count, if the rest of an array was not searched for yet; else None."""

    def read_on(self, count: int) -> None:
        """Find elements up to a count, as far as there are any."""
        found = self.more(count) if self.more is not None else None
        if found is None:
            self.more = None
        else:
            self._indexes = found

    def __len__(self) -> int:
        return len(self._indexes)

    def __bool__(self) -> bool:
        return len(self._indexes) > 0

    def __iter__(self) -> Iterator[Field]:
        """Yield all trees, each made now; the rest of an array is searched for when those before it were used."""
        done = 0
        while done < len(self):
            yield from map(self._make, self._indexes[done:])
            done = len(self)
            self.read_on(done)

    def __getitem__(self, index: Any) -> Any:
        """Return the field of an element, or the fields of a slice, which are made when they are needed."""
        if isinstance(index, slice):
            return list(map(self._make, self._indexes[index]))
        return self._make(self._indexes[index])


def held(node: Field) -> Iterator[Field]:
    """Yield a field and all below it whose trees exist already."""
    yield node
    if not isinstance(node.children, Trees):
        for child in node.children:
            yield from held(child)


def paged(page: tuple[str, int] | None, path: str, count: int, size: int) -> Sequence[int] | None:
    """Return the elements of an array to show for a page of `size` elements: those on it, or the one that contains it.

    `page` is the path of an array and the number of its first element to show; `path` and `count` are the path and the
    length of the array that is being shown.  Returns None if the page is neither in this array nor in an element of it.
    """
    if page is None:
        return None
    wanted, first = page
    if path == wanted:
        return range(min(first, count), min(first + size, count))
    if not wanted.startswith(f"{path}["):
        return None
    number = wanted.removeprefix(f"{path}[").partition("]")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 20):  # longer than any index
        return None
    return [int(number)] if int(number) < count else []


@functools.cache
def instances_of(cls: Any) -> tuple[str, ...]:
    """Return the instances of a generated class, in the order of the specification."""
    return tuple(name for name, value in vars(cls).items() if isinstance(value, property))


_NUMBER = re.compile(r"[usb]\d")
"""Type of a stored integer."""

PLACEHOLDER = re.compile(r"\{([\w.]+)(?::(\w+)(?:[^\w{}][^{}]*)?)?\}")
"""Placeholder of a representation: `{path}` or `{path:form}`, where the form is `dec`, `hex` or `sep`."""


def is_one_line(made: Field, kind: FieldDoc) -> bool:
    """Return whether a structure only encodes one value, and so is shown on one line.

    This is so if its type has `-scalar` in the specification (`kind.is_scalar`).  It is so, too, if its representation
    is one placeholder `{field}`, that field is computed (it has no position), and there is exactly one other field, the
    stored bytes.
    """
    whole = PLACEHOLDER.fullmatch(kind.representation)
    if whole is None or kind.is_scalar:
        return kind.is_scalar
    name, _ = whole.groups()  # the field, and a form
    derived = any(child.name == name and child.span is None for child in made.children)
    return derived and len(made.children) == 2 and not any(child.children for child in made.children)


def _represented(made: Field, path: str, form: str | None) -> Any:
    """Return the value of the field at `path` (`a.b`), for a placeholder of a representation; None if it is absent.

    `form`: `hex` for bytes as digits, `dec` for a number in decimal, `sep` to join the elements of a list without
    commas; None: numbers in hexadecimal, bytes as text.
    """
    field = _below(made, path)
    if field is None:
        return None
    value = field.value
    match value:
        case bytes() | bytearray():
            if form == "hex":
                return value.hex()
            return shorten(bytes(value), 80) if value else ""
        case int() if not isinstance(value, bool) and form != "dec" and _NUMBER.match(field.type):
            if value < 0:
                return str(value)
            is_stored = field.span is not None and field.span.payload is None
            digits = 2 * field.span.size if is_stored and field.span is not None else 0  # two for each byte
            return f"0x{value:0{digits}x}"
        case str() if field.children and field.children[0].name == "[0]":
            return ("" if form == "sep" else ", ").join(str(child.value) for child in field.children)
        case str() if named := re.fullmatch(r"\d+ \((\w+)\)", value):  # of an enum
            return named[1]
    return value


def _below(made: Field, path: str) -> Field | None:
    """Return the field at a path such as `a.b` below another one; None if there is none."""
    field = made
    for name in path.split("."):
        if field is not made and not field.children:
            break  # a structure of one line has no fields any more: its value is that of the rest of the path
        child = next((child for child in field.children if child.name == name), None)
        if child is None:
            return None
        field = child
    return field


def _empty(value: Any) -> Any:
    """Return an empty string in place of None."""
    return "" if value is None else value


def summary_of(value: Any, made: Field, representation: str) -> Any:
    """Return the one value that represents a structure: the specification's `-webide-representation`, else its `value`
    instance, else its `name` (fields distinguished by a number).
    """
    if whole := PLACEHOLDER.fullmatch(representation):
        name, form = whole.groups()
        found = next((child for child in made.children if child.name == name), None)
        if found is not None and isinstance(found.value, (int, str)) and not found.children:
            return found.shown
        return _represented(made, name, form)
    if representation:
        # Parameters have no position and do not count as children.
        if isinstance(value, Traced):
            known = {one.id: getattr(value, slot(one.id), None) for one in type_of(value).params}
        else:
            known = vars(value)
        given = {name: one for name, one in known.items() if isinstance(one, int)}

        def filled_for(one: re.Match[str]) -> str:
            """Return the text for one placeholder."""
            name, form = one.groups()
            found = _represented(made, name, form)
            return str(_empty(given.get(name) if found is None else found))

        filled = PLACEHOLDER.sub(filled_for, representation)
        # No representation if all of its placeholders are empty: only the text between them is left then.
        return filled if PLACEHOLDER.sub("", representation).strip() != filled.strip() else None
    instances = type_of(value).instances if isinstance(value, Traced) else instances_of(value.__class__)
    wanted = next((name for name in ("value", "name") if name in instances), None)
    return next((child.value for child in made.children if child.name == wanted), None)


def qualified_name(value: Any) -> str:
    """Return the qualified name of a structure's type in Kaitai's Python classes, enclosing types first."""
    if not isinstance(value, Traced):
        return type(value).__qualname__
    names: list[str] = []
    around: Type | None = type_of(value)
    while around is not None:
        names.insert(0, camel(around.id))
        around = around.parent
    return ".".join(names)


def element_of(values: Sequence[Any], index: int) -> tuple[Any, str]:
    """Return one element of a list, or as much of it as could be parsed, and why not more."""
    try:
        return (values.shown(index) if isinstance(values, Lazily) else values[index]), ""
    except (*FAILURES, *RAISED) as error:
        return getattr(error, "partial", None), shorten(error, 160)


def begins_here(start: Any) -> bool:
    """Whether any byte of a field is in the explained window: a field elsewhere is in another section."""
    stream = getattr(start, "stream", None)
    return stream is not None and int(start) < stream.size()


def has_elements(node: Field) -> bool:
    """Return whether a field contains an array whose elements are made on access."""
    return isinstance(node.children, Trees) or any(map(has_elements, node.children))


def tree_pieces(node: Field) -> Iterator[str]:
    """Yield a field and its children as JSON in chunks, so that a long list is never held as one string."""
    if not has_elements(node):
        yield dumps(field_to_dict(node))
        return
    yield f'{dumps(own_values(node))[:-1]},"children":['
    for number, child in enumerate(node.children):
        if number:
            yield ","
        yield from tree_pieces(child)
    yield "]}"


def field_to_dict(node: Field) -> dict[str, Any]:
    """A field tree as JSON-able values; absent keys mean "nothing to say"."""
    out = own_values(node)
    if node.children:
        out["children"] = [field_to_dict(child) for child in node.children]
    return out


def own_values(node: Field) -> dict[str, Any]:
    """A field without those in it as JSON-able values."""
    out: dict[str, Any] = {"name": node.name, "path": node.path, "type": node.type}
    if node.span is not None:
        out |= {"offset": node.span.start, "size": node.span.size}
        if node.span.payload is not None:
            start, end = node.span.payload
            out |= {"payload_offset": start, "payload_size": end - start}
    for key in ("doc", "doc_ref", "meaning", "note"):
        if text := getattr(node, key):
            out[key] = text
    if node.check is not None:
        out["checksum"] = {"algorithm": node.checksum, **node.check.to_dict()}
    if node.value is not None:
        out["value"] = _plain(node.value)
    if node.omitted:
        out["omitted"] = node.omitted
    return out


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it; long ones are shortened."""
    if isinstance(value, (bytes, bytearray)):
        return shorten(bytes(value), 200)
    if isinstance(value, (bool, int, float, str)):
        return value
    return shorten(value, 200)
