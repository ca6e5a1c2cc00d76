"""A structure of a foreign specification as JSON, and the outline of one.

A foreign specification is one of a user; its readers return objects with the fields as attributes.  Instances are
read or computed when they are accessed, which may fail.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem
from typing import TYPE_CHECKING, Any

from exhume.compiler.front.kinds import Sequence
from exhume.errors import shorten
from exhume.io.jsonout import dump_pieces, dumps
from exhume.layout.fast import RAISED, unread
from exhume.layout.tracing import slot

if TYPE_CHECKING:
    from exhume.layout.foreign import Specification

ELSEWHERE = "read from elsewhere on request"
"""Reason why an instance with a position of its own is not part of the JSON: it could repeat the same bytes again and
again.
"""
SHOWN = 200
"""Most characters or bytes of a value in an outline."""


def json_pieces(specification: Specification, value: Any, omitted: dict[str, str], path: str = "") -> Iterator[str]:
    """Yield the text of a value in JSON, in chunks: fields and computed instances; enums by name, lists as arrays.

    A value that cannot be read is null.  `omitted` gets the reasons why values are missing or null, by their path;
    `path` is that of the value, the same for all elements of a list.
    """
    type = specification.type_of(value)
    if type is not None:
        lead, here = "{", f"{path}." if path else ""
        for field in type.fields():
            if field.value is None and field.instance:
                omitted[f"{here}{field.id}"] = ELSEWHERE
                continue
            yield f"{lead}{dumps(field.id)}:"
            one = _value(partial(getattr, value, slot(field.id)), omitted, f"{here}{field.id}")
            if isinstance(field.kind, Sequence) and isinstance(one, (bytes, memoryview)):
                one = list(one)  # numbers of one byte each
            yield from json_pieces(specification, one, omitted, f"{here}{field.id}")
            lead = ","
        yield "}" if lead == "," else "{}"
    elif isinstance(value, enum.Enum):
        yield dumps(value.name)
    elif isinstance(value, (bytes, memoryview)):
        yield from dump_pieces(bytes(value))
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield from dump_pieces(value)
    elif hasattr(value, "__getitem__") and hasattr(value, "__len__"):
        # A list, perhaps one that reads its elements on request.
        lead = "["
        for index in range(len(value)):
            yield lead
            one = _value(partial(getitem, value, index), omitted, path)
            yield from json_pieces(specification, one, omitted, path)
            lead = ","
        yield "]" if lead == "," else "[]"
    else:
        yield dumps(shorten(value, SHOWN))


def _value(read: Callable[[], Any], omitted: dict[str, str], path: str) -> Any:
    """Return the value that `read` returns, or None if it fails; `omitted` gets the reason."""
    try:
        return read()
    except RAISED as error:
        omitted.setdefault(path, unread(error))
        return None


def described(specification: Specification, value: Any) -> tuple[dict[str, Any], bool]:
    """Return an outline: the values of a structure and of those directly in it, and lists by the number of their
    elements.

    Also return whether all of them could be read.
    """
    found: dict[str, Any] = {"fields": {}, "lists": {}}
    whole = _describe(specification, value, "", found, depth=2)
    return {key: one for key, one in found.items() if one}, whole


def _describe(specification: Specification, value: Any, path: str, found: dict[str, Any], depth: int) -> bool:
    """Add the values of a structure to `found["fields"]`, by path, and the lengths of lists to `found["lists"]`.

    `depth` is the number of levels of structures that are described, including this one.  Return whether all of them
    could be read.
    """
    type, whole = specification.type_of(value), True
    for field in type.fields() if type is not None else ():
        name = f"{path}{field.id}"
        try:
            one = getattr(value, slot(field.id))
        except RAISED as error:
            found["fields"][name] = unread(error)
            whole = False
            continue
        # An absent field.
        if one is None:
            continue
        if field.repeat:
            found["lists"][name] = len(one)
        elif specification.type_of(one) is not None:
            if depth > 1:
                whole &= _describe(specification, one, f"{name}.", found, depth - 1)
        elif isinstance(one, enum.Enum):
            found["fields"][name] = one.name
        elif isinstance(one, (bytes, memoryview)):
            found["fields"][name] = shorten(bytes(one[:SHOWN]), SHOWN)
        elif isinstance(one, (bool, int, float, str)):
            found["fields"][name] = shorten(one, SHOWN) if isinstance(one, str) else one
    return whole
