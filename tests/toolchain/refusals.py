"""What readers give, and what they refuse first, and where: the fast ones, and Kaitai's own.

All of a tree is read, in the order of the specification: the fields, then the instances.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

from exhume_ksy.debug._stream import KaitaiStream
from exhume_ksy.fast._layout import LayoutError
from kaitaistruct import BytesIO, KaitaiStruct

from exhume.compiler.emit.text import safe
from exhume.compiler.front.kinds import Bits, Sequence
from exhume.compiler.front.model import Type
from exhume.compiler.instances.roles import reached
from exhume.compiler.strategies import type_of
from exhume.layout.elements import debug_class
from exhume.layout.kaitai import FAILURES
from tests.toolchain.differential import (
    Comparison,
    DifferenceError,
    ask,
    compare_read,
    model,
    read_whole,
)
from tests.toolchain.differential import type_of as type_of_object
from tools.ksy_facts import STEP

Place = tuple[str, int | None]
"""The path of a field and its offset (None for bits, for which Kaitai has none)."""


def check(schema: str, data: bytes, arguments: list[Any], ways: Iterable[bool] = (True,)) -> bool:
    """Compare values, and what is refused first and where; say whether all was read.  Raises `DifferenceError`.

    The fast readers read once for each of `ways`: by compiled code as far as there is some (True), or without (False).
    `schema` may be a type below one, `zs::file_header`.
    """
    plain = _Plain(data)
    expected = plain.read(schema, arguments)
    type, given, whole = type_at(schema), _given(arguments), True
    try:
        for native in ways:
            _switch(schema, native)
            try:
                fast, at = read_whole(type, data, given)
            except LayoutError as error:
                found = error.path, error.offset
                if plain.problem is None:
                    raise DifferenceError("refused only by the fast reader", str(error)) from error
                if expected is not None and not same_place(found, expected, named=True):
                    raise DifferenceError("refused at different places", expected, found, plain.problem) from error
                whole = False
            else:
                if plain.problem is not None:
                    raise DifferenceError("refused only by Kaitai", expected, plain.problem)
                whole = compare_read(plain.value, fast, type, plain.end, at, _WithPlaces(plain)) and whole
    finally:
        _switch(schema, True)
    return whole


def is_compiled(schema: str) -> bool:
    """Whether compiled code reads some of a schema."""
    return any(native is not None for _, native in _natives(schema))


@functools.cache
def type_at(schema: str) -> Type:
    """A type of the project by its path."""
    return type_of(model(), schema)


@functools.cache
def _natives(schema: str) -> list[tuple[Any, Any]]:
    """The modules that read a schema and may use compiled code, with that code."""
    ids = sorted({type.root.id for type in reached(type_at(schema))})
    modules = [importlib.import_module(f"exhume_ksy.fast.{id}") for id in ids]
    return [(module, module.native) for module in modules if hasattr(module, "native")]


def _switch(schema: str, on: bool) -> None:
    """Turn the compiled readers of a schema on or off."""
    for module, native in _natives(schema):
        module.native = native if on else None


def _given(arguments: list[Any]) -> list[Any]:
    """Parameters as the fast readers take them."""
    return [bytes(one) if isinstance(one, list) and all(0 <= x < 256 for x in one) else one for one in arguments]


class _WithPlaces(Comparison):
    """A walk over two trees that also compares where both refuse an instance."""

    def __init__(self, plain: _Plain) -> None:
        super().__init__()
        self.plain = plain

    def requested(self, slow: Any, name: str) -> tuple[Any, BaseException | None]:
        if (error := self.plain.refused.get((id(slow), name))) is not None:
            return None, error  # Kaitai hands out what it had when it is asked again
        found, error = ask(slow, name)
        if error is not None:
            self.plain.refused[id(slow), name] = error
        return found, error

    def refused(self, slow: Any, name: str, path: str, found: BaseException) -> None:
        path = path.removeprefix(".")
        if not isinstance(found, LayoutError):
            return
        fast = f"{path}.{found.path}" if path else found.path, found.offset
        self.plain.follow(path)
        error = self.plain.refused[id(slow), name]
        expected = self.plain.broken(slow, error, path, f"_m_{name}")
        if expected is not None and not same_place(fast, expected):
            raise DifferenceError("refused at different places", expected, fast, str(error))


def fast_refusal(schema: str, data: bytes, arguments: list[Any]) -> Place | None:
    """The first field that the fast readers refuse; None when they take everything."""
    type = model().schemas[schema]
    try:
        return _fast(read_whole(type, data, _given(arguments))[0], type, "")
    except LayoutError as error:
        return error.path, error.offset


def _fast(value: Any, type: Type, path: str) -> Place | None:
    if type.scalar is not None:
        return None
    for field in (*type.seq, *type.instances.values()):
        here = f"{path}.{field.id}" if path else field.id
        try:
            found = _fast_below(getattr(value, safe(field.id), None), here)
        except LayoutError as error:
            return f"{path}.{error.path}" if path else error.path, error.offset
        except FAILURES:
            return here, None
        if found is not None:
            return found
    return None


def _fast_below(value: Any, path: str) -> Place | None:
    if isinstance(value, (list, tuple)) or hasattr(value, "resume_at"):
        for number in range(len(value)):
            if found := _fast_below(value[number], f"{path}[{number}]"):
                return found
            if not hasattr(value[number], "__slots__"):
                break
    elif hasattr(value, "__slots__") and not isinstance(value, (bytes, memoryview)):
        return _fast(value, _type_of_fast(value), path)
    return None


def _type_of_fast(value: Any) -> Type:
    id = type(value).__module__.rpartition(".")[2]
    return next(one for one in model().schemas[id].all() if one.class_name == type(value).__name__)


def plain_refusal(schema: str, data: bytes, arguments: list[Any]) -> Place | None:
    """The first field that Kaitai's classes refuse; None when they take everything."""
    return _Plain(data).refusal(schema, arguments)


_class = functools.cache(debug_class)


class _Plain:
    """One reading by the classes that remember positions."""

    def __init__(self, data: bytes) -> None:
        self.stream = KaitaiStream(BytesIO(data))
        self.bases: dict[int, int] = {id(self.stream): 0}
        self.value: Any = None
        self.end = 0
        self.problem: str | None = None
        self.refused: dict[tuple[int, str], BaseException] = {}
        """Why instances are not there, by their structures and names."""

    def read(self, schema: str, arguments: list[Any]) -> Place | None:
        """Read all but instances into `value`; where that breaks off, and why is the `problem`."""
        self.value = _class(schema)(*arguments, self.stream)
        try:
            self.value._read()
        except FAILURES as error:
            self.problem = str(error) or repr(error)
            return self.broken(self.value, error, "")
        self.end = self.stream.pos()
        return None

    def refusal(self, schema: str, arguments: list[Any]) -> Place | None:
        """The first field that is refused, instances included."""
        place = self.read(schema, arguments)
        return place if self.problem is not None else self.below(self.value, "")

    def follow(self, path: str) -> None:
        """Note where the streams begin that are entered on the way to a structure."""
        value, place = self.value, dict[str, Any]()
        for name, index in STEP.findall(path):
            if index:
                value, place = value[int(index)], place.get("arr", [{}] * (int(index) + 1))[int(index)]
            else:
                type = type_of_object(value)
                place = value._debug.get(f"_m_{name}" if name in type.instances else name, {})
                value = getattr(value, name)
            if isinstance(value, KaitaiStruct) and "start" in place:
                self.based(value, place["start"])

    def below(self, value: Any, path: str) -> Place | None:
        """The first refusal among what a structure holds."""
        type = type_of_object(value)
        for field in (*type.seq, *type.instances.values()):
            here = f"{path}.{field.id}" if path else field.id
            try:
                held = getattr(value, field.id, None) if not field.instance else getattr(value, field.id)
            except FAILURES as error:
                return self.broken(value, error, path, f"_m_{field.id}") or (here, None)
            places = value._debug.get(f"_m_{field.id}" if field.instance else field.id, {})
            if isinstance(field.kind, Sequence) and isinstance(held, list):
                for number, one in enumerate(held):
                    if not isinstance(one, KaitaiStruct):
                        break
                    if "arr" in places:
                        self.based(one, places["arr"][number]["start"])
                    if found := self.below(one, f"{here}[{number}]"):
                        return found
            elif isinstance(held, KaitaiStruct):
                if "start" in places:
                    self.based(held, places["start"])
                if found := self.below(held, here):
                    return found
        return None

    def based(self, value: Any, start: Any) -> None:
        """Note where the stream of a structure begins."""
        if (at := self.absolute(start)) is not None:
            self.bases.setdefault(id(value._io), at)

    def absolute(self, start: Any) -> int | None:
        base = self.bases.get(id(getattr(start, "stream", None)))
        return None if base is None else base + int(start)

    def broken(self, value: Any, error: BaseException, path: str, instance: str = "") -> Place | None:
        """The field in which reading broke off."""
        places = value._debug
        for name in [instance] if instance else value.SEQ_FIELDS:
            place = places.get(name)
            if place is None or "end" in place:
                continue
            held, id = getattr(value, name, None), name.removeprefix("_m_")
            here, start = f"{path}.{id}" if path else id, place["start"]
            if many := place.get("arr"):
                number, start = len(many) - 1, many[-1]["start"]
                here = f"{here}[{number}]"
                held = held[number] if isinstance(held, list) and number < len(held) else None
                if "end" in many[-1]:
                    return here, self.absolute(start)
            if isinstance(held, KaitaiStruct):
                self.based(held, start)
                if below := self.broken(held, error, here):
                    return below
            return here, self.absolute(start)
        at = getattr(error, "src_path", None) or ""
        for name, id in ((name, name.removeprefix("_m_")) for name in ([instance] if instance else value.SEQ_FIELDS)):
            type = type_of_object(value)
            position = at.rpartition("/")[2]
            if name not in places or not at.endswith((f"/instances/{id}", f"/seq/{position}")):
                continue
            if at.endswith(f"/seq/{position}") and type.seq[int(position)].id != id:
                continue
            if many := places[name].get("arr"):
                return f"{path}.{id}[{len(many) - 1}]".lstrip("."), self.absolute(many[-1]["start"])
            of_bits = isinstance(type.field(id).value_kind, Bits)
            return f"{path}.{id}".lstrip("."), None if of_bits else self.absolute(places[name]["start"])
        return None


def same_place(fast: Place, plain: Place, *, named: bool = False) -> bool:
    """Whether both name the same field and offset, as far as each names one; `named` where each names its field.

    Columns do not take the bytes of an element first: they name the field at its beginning instead.  Where what is
    computed fails, there is no offset; Kaitai then names what was requested, and not what failed on the way.
    """
    if None in (fast[1], plain[1]):
        return not named or f"{fast[0]}.".startswith(f"{plain[0]}.")
    return f"{fast[0]}.".startswith(f"{plain[0]}.") and fast[1] == plain[1]
