"""The one value that stands for a structure in a field tree."""

from __future__ import annotations

import functools
import re
from typing import Any

from exhume.errors import shorten
from exhume.layout.described import FieldDoc
from exhume.layout.tracing import Traced, slot, type_of
from exhume.layout.trees import Field


@functools.cache
def instances_of(cls: Any) -> tuple[str, ...]:
    """Instances of a generated class, in the order of the specification."""
    return tuple(name for name, value in vars(cls).items() if isinstance(value, property))


_NUMBER = re.compile(r"[usb]\d")
PLACEHOLDER = re.compile(r"\{([\w.]+)(?::(\w+)(?:[^\w{}][^{}]*)?)?\}")


def is_one_line(made: Field, kind: FieldDoc) -> bool:
    """Whether a structure only encodes one value: a number, or bytes and the text that they spell."""
    whole = PLACEHOLDER.fullmatch(kind.representation)
    if whole is None or kind.is_scalar:
        return kind.is_scalar
    derived = any(child.name == whole[1] and child.span is None for child in made.children)
    return derived and len(made.children) == 2 and not any(child.children for child in made.children)


def _represented(made: Field, path: str, form: str | None) -> Any:
    """The value that a placeholder of a representation stands for; None when it is absent."""
    at: Field | None = made
    for name in path.split("."):
        at = next((child for child in at.children if child.name == name), None) if at is not None else None
    if at is None:
        return None
    value = at.value
    if isinstance(value, (bytes, bytearray)):
        return value.hex() if form == "hex" else shorten(bytes(value), 80) if value else ""
    if isinstance(value, int) and not isinstance(value, bool) and form != "dec" and _NUMBER.match(at.type):
        width = 2 * at.span.size if at.span is not None and at.span.payload is None else 0
        return f"0x{value:0{width}x}" if value >= 0 else str(value)
    if isinstance(value, str) and at.children and at.children[0].name == "[0]":
        return ("" if form == "sep" else ", ").join(str(child.value) for child in at.children)
    if isinstance(value, str) and (named := re.fullmatch(r"\d+ \((\w+)\)", value)):
        return named[1]
    return value


def _empty(value: Any) -> Any:
    return "" if value is None else value


def summary_of(value: Any, made: Field, representation: str) -> Any:
    """The one value that represents a structure: the specification's `-webide-representation`, else its `value`
    instance, else its `name` (fields distinguished by a number).
    """
    if whole := PLACEHOLDER.fullmatch(representation):
        found = next((child for child in made.children if child.name == whole[1]), None)
        if found is not None and isinstance(found.value, (int, str)) and not found.children:
            return found.value
        return _represented(made, whole[1], whole[2])
    if representation:
        # Parameters have no position and do not count as children.
        if isinstance(value, Traced):
            known = {one.id: getattr(value, slot(one.id), None) for one in type_of(value).params}
        else:
            known = vars(value)
        given = {name: one for name, one in known.items() if isinstance(one, int)}

        def told_of(one: re.Match[str]) -> str:
            found = _represented(made, one[1], one[2])
            return str(_empty(given.get(one[1]) if found is None else found))

        told = PLACEHOLDER.sub(told_of, representation)
        return told if PLACEHOLDER.sub("", representation).strip() != told.strip() else None
    instances = type_of(value).instances if isinstance(value, Traced) else instances_of(value.__class__)
    wanted = "value" if "value" in instances else "name" if "name" in instances else None
    return next((child.value for child in made.children if child.name == wanted), None)
