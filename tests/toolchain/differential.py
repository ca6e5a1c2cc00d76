"""Compares the fast readers with Kaitai's own classes: values, what is refused, and where.

The classes with positions (`exhume_ksy.debug`) are the oracle.  Kaitai fails on a lazy instance once and returns the
partial value the second time; so a comparison ends with the first instance that both reject.
"""

from __future__ import annotations

import enum
import functools
import importlib
import random
import re
from collections.abc import Iterator
from typing import Any

from exhume_ksy.debug._stream import KaitaiStream
from exhume_ksy.fast._layout import LayoutError
from kaitaistruct import BytesIO, KaitaiStruct

from exhume.compiler.emit.text import safe
from exhume.compiler.front.kinds import Bits, Sequence
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.layout.foreign import Specification
from exhume.layout.kaitai import FAILURES
from exhume.layout.specifications import camel, spec
from tests.conftest import ROOT
from tools import ksy_facts

ENOUGH = 20_000
"""Values that one comparison examines; a damaged count may make millions."""


FOREIGN: dict[str, Specification] = {}
"""Specifications of others, by the package that holds Kaitai's classes for them."""


@functools.cache
def model() -> Model:
    """The specifications of the project."""
    return Model({file.stem: spec(file.stem) for file in sorted((ROOT / "ksy").glob("*.ksy"))})


class DifferenceError(AssertionError):
    """The two do not agree; `args` say where and on what."""


def fast_failures(schema: str) -> Iterator[str]:
    """Yield the expectations about a schema that the fast readers do not meet, where the debug classes do."""
    for case in ksy_facts.cases(schema):
        type = next(one for one in model().schemas[schema].all() if case.type in ("", one.id))
        data = bytes(case.data)
        for fact in case.facts:
            try:
                fast = read_whole(type, data, case.args)[0]
                if fact.verb in ("refuses", "ends"):
                    found = _follow(None, fast, fact.path)[1]
                    yield f"{schema}:{fact.line}: {fact.path}: {found!r}, and nothing refused it"
                    continue
                slow = getattr(importlib.import_module(f"exhume_ksy.debug.{schema}"), camel(schema))
                slow = (getattr(slow, camel(case.type)) if case.type else slow)(*case.args, KaitaiStream(BytesIO(data)))
                slow._read()
                Comparison().value(*_follow(slow, fast, fact.path), fact.path)
            except LayoutError as error:
                last = fact.path.rpartition(".")[2].partition("[")[0]
                refused = not error.short and last in re.split(r"[.\[]", error.path)
                if not (refused if fact.verb == "refuses" else error.short and fact.verb == "ends"):
                    yield f"{schema}:{fact.line}: {fact.path}: {error}"
            except (*FAILURES, DifferenceError, EndedError) as error:
                yield f"{schema}:{fact.line}: {fact.path}: {error!r}"


def _follow(slow: Any, fast: Any, path: str) -> tuple[Any, Any, Any]:
    """The value at the end of a path for Kaitai (unless that is None) and for the fast readers, and its kind."""
    kind: Any = None
    for name, index in ksy_facts.STEP.findall(path):
        if index:
            slow, fast = slow and slow[int(index)], fast[int(index)]
            kind = kind.of if isinstance(kind, Sequence) else None
        elif name == "size" and hasattr(fast, "__len__"):
            slow, fast, kind = len(slow) if slow is not None else None, len(fast), None
        else:
            if isinstance(slow, KaitaiStruct):
                type = type_of(slow)
                kind, slow = type.field(name).kind, getattr(slow, name, None)
                if type.scalar not in (None, name):
                    return slow, slow, kind  # a part of a number; the fast readers keep only the value
            if hasattr(fast, "__slots__"):
                fast = getattr(fast, safe(name))
    return slow, fast, kind


class EndedError(Exception):
    """A comparison goes no further; what it is raised with is the instance that both refuse."""


def fast_reader(schema: str) -> Any:
    """The fast reader of a schema."""
    return getattr(importlib.import_module(f"exhume_ksy.fast.{schema}"), f"read_{schema}")


def compare_with(plain: Any, type: Type, data: bytes, arguments: list[Any]) -> bool:
    """Read `data` by a foreign type, and with the class of the oracle, and compare all of it.

    Returns whether it was read completely.  Raises `DifferenceError`.
    """
    stream = KaitaiStream(BytesIO(data))
    slow = plain(*arguments, stream)
    refused = None
    try:
        slow._read()
    except (*FAILURES, ZeroDivisionError) as error:
        refused = error
    try:
        fast, at = read_whole(type, data, arguments)
    except (LayoutError, *FAILURES, ZeroDivisionError) as error:
        if refused is None:
            raise DifferenceError("refused only by the fast reader", str(error)) from error
        place = broken(slow, refused)
        if _elsewhere(type, error, refused):
            return False
        if any("process" in one.raw for each in type.root.all() for one in each.seq) and place is not None:
            place = (place[0], None)  # encoded data has no offset
        assert isinstance(error, LayoutError)
        # Columns do not take the bytes of an element first: they name the field at its beginning instead.
        if place is not None and (
            not f"{error.path}.".startswith(f"{place[0]}.") or place[1] not in (error.offset, None)
        ):
            raise DifferenceError(
                "refused at different places", place, (error.path, error.offset), str(refused)
            ) from error
        return False
    if isinstance(refused, AttributeError):
        return False  # an expression over a field that is not there: Python has no value for it
    if refused is not None:
        raise DifferenceError("refused only by Kaitai", str(refused))
    compare_read(slow, fast, type, stream.pos(), at, Comparison())
    return True


def compare_read(slow: Any, fast: Any, type: Type, end: int, at: int, comparison: Comparison) -> bool:
    """Compare what both have read, and where that ends; say whether there was all that instances request."""
    if at != end:
        raise DifferenceError("different ends", end, at)
    if type.scalar is not None:
        if getattr(slow, type.scalar) != fast:
            raise DifferenceError("different values", getattr(slow, type.scalar), fast)
        return True
    try:
        comparison.structure(slow, fast, type, "")
    except EndedError as ended:
        return not ended.args
    return True


def _elsewhere(type: Type, error: Exception, refused: BaseException) -> bool:
    """Whether the two cannot name the same place in a specification of others.

    Expressions there may make no sense, and Kaitai does not say that it was reading an instance for one.
    """
    if not isinstance(error, LayoutError) or isinstance(refused, AttributeError):
        return True
    names = {id for one in type.root.model.types() for id in one.instances}
    return not names.isdisjoint(re.findall(r"\w+", error.path))


def read_whole(type: Type, data: bytes, arguments: list[Any]) -> tuple[Any, int]:
    """The fast reader of a type on all of `data`; the place of one with parameters is given for each it requests."""
    reader, wanted = _reader(type)
    if not wanted:
        return reader(data, 0, len(data))  # type: ignore[no-any-return]
    named = dict(zip([one.id for one in type.params], arguments, strict=True))
    rest = {name: named.get(name.removesuffix("_") if name not in named else name, None) for name in wanted}
    found, end = reader(data, 0, len(data), **({**rest, "base": 0} if "base" in wanted else rest))
    if hasattr(getattr(found, "_io", None), "at"):  # instances of others' specifications ask where reading is
        found._io.at = end
    return found, end


@functools.cache
def _reader(type: Type) -> tuple[Any, tuple[str, ...]]:
    """The fast reader of a type, and what it wants besides the view and where to read in it."""
    reader = getattr(fast_module(type), type.reader_name)
    return reader, reader.__code__.co_varnames[3 : reader.__code__.co_argcount]


def fast_module(type: Type) -> Any:
    """The module of the fast readers of a type."""
    for one in FOREIGN.values():
        if one.model is type.root.model:
            return one.module
    return importlib.import_module(f"exhume_ksy.fast.{type.root.id}")


def broken(slow: Any, error: BaseException, base: int = 0, path: str = "") -> tuple[str, int | None] | None:
    """The path of the field in which reading failed, and its position (None for bits: Kaitai has none)."""
    places = slow._debug
    for name in slow.SEQ_FIELDS:
        place = places.get(name)
        if place is None or "end" in place:
            continue
        value, inner, many = getattr(slow, name, None), f"{path}.{name}".lstrip("."), place.get("arr")
        start = place["start"]
        if many:
            number, start = len(many) - 1, many[-1]["start"]
            inner = f"{inner}[{number}]"
            value = value[number] if isinstance(value, list) and number < len(value) else None
        if isinstance(value, KaitaiStruct):
            below = broken(value, error, base if value._io is slow._io else base + start, inner)
            if below is not None:
                return below
        return inner, base + start
    found = re.search(r"/seq/(\d+)$", getattr(error, "src_path", None) or "")
    if found is None:
        return None
    name = slow.SEQ_FIELDS[int(found[1])] if int(found[1]) < len(slow.SEQ_FIELDS) else ""
    if name not in places:
        return None
    many = places[name].get("arr")
    if many:
        return f"{path}.{name}[{len(many) - 1}]".lstrip("."), base + many[-1]["start"]
    of_bits = isinstance(type_of(slow).field(name).value_kind, Bits)
    return f"{path}.{name}".lstrip("."), None if of_bits else base + places[name]["start"]


class Comparison:
    """One walk over two trees."""

    def __init__(self) -> None:
        self.left = ENOUGH

    def requested(self, slow: Any, name: str) -> tuple[Any, BaseException | None]:
        """An instance of the oracle's, or why there is none."""
        return ask(slow, name)

    def refused(self, slow: Any, name: str, path: str, found: BaseException) -> None:
        """Compare where both refused an instance of the structure at a path."""

    def structure(self, slow: Any, fast: Any, type: Type, path: str) -> None:
        for field in type.seq:
            value = getattr(fast, safe(field.id), None)
            if not hasattr(slow, field.id):
                if value is not None and field.condition is not None:
                    raise DifferenceError(f"{path}.{field.id}", "absent", value)
                continue
            self.value(getattr(slow, field.id), value, field.kind, f"{path}.{field.id}")
        for field in type.instances.values():
            here = f"{path}.{field.id}"
            expected, problem = self.requested(slow, field.id)
            found, other = ask(fast, safe(field.id))
            if isinstance(problem, AttributeError) and other is None:
                continue  # an expression over a field that is not there: Python has no value for it
            if (problem is None) != (other is None):
                raise DifferenceError(here, repr(problem), repr(other))
            if other is not None:
                self.refused(slow, field.id, path, other)
                raise EndedError(here)
            self.value(expected, found, field.kind, here)

    def value(self, slow: Any, fast: Any, kind: Any, path: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise EndedError
        if isinstance(slow, list) and isinstance(kind, Sequence):
            if len(slow) != len(fast):
                raise DifferenceError(path, f"{len(slow)} elements", len(fast))
            for number, (one, other) in enumerate(zip(slow, fast, strict=True)):
                self.value(one, other, kind.of, f"{path}[{number}]")
            columns = fast._if_any() if hasattr(fast, "_if_any") else None
            if columns is not None:  # a second reading of the same elements
                self.value(slow, columns, kind, f"{path}.columns")
        elif isinstance(slow, KaitaiStruct):
            type = type_of(slow)
            if type.scalar is not None:
                self.value(getattr(slow, type.scalar), fast, None, path)
            else:
                if fast.__class__.__name__ != type.class_name:
                    raise DifferenceError(path, type.class_name, fast.__class__.__name__)
                self.structure(slow, fast, type, path)
        else:
            slow = slow.value if isinstance(slow, enum.Enum) else slow
            same = slow == fast or (slow != slow and fast != fast)  # noqa: PLR0124 - NaN is not itself
            if not same or isinstance(slow, bool) != isinstance(fast, bool):
                raise DifferenceError(path, slow, fast)


def ask(value: Any, name: str) -> tuple[Any, BaseException | None]:
    """The value of an instance, or why there is none."""
    try:
        return getattr(value, name), None
    except (*FAILURES, LayoutError, ZeroDivisionError) as error:
        return None, error


@functools.cache
def _type(module: str, qualname: str) -> Type:
    package, _, id = module.rpartition(".")
    found = (FOREIGN[package].model if package in FOREIGN else model()).schemas[id]
    for part in qualname.split(".")[1:]:
        found = next(one for one in found.types.values() if camel(one.id) == part)
    return found


def type_of(value: Any) -> Type:
    """The type of the specification that an object of Kaitai's belongs to."""
    return _type(type(value).__module__, type(value).__qualname__)


def damaged(draw: random.Random, data: bytes) -> bytes:
    """A few bytes of `data` changed, cut, put in or taken away."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        if not out:
            break
        what, at = draw.random(), draw.randrange(len(out))
        if what < 0.25:
            del out[at:]
        elif what < 0.75:
            out[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        elif what < 0.9:
            out[at:at] = draw.randbytes(draw.randrange(1, 5))
        else:
            del out[at : at + draw.randrange(1, 9)]
    return bytes(out)
