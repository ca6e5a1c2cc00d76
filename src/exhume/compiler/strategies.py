"""Hypothesis strategies for any specification: its instances, and data that is almost an instance.

An instance is data that the specification describes.  Needs Hypothesis, and no part of exhume but the compiler,
which needs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.compiler.instances.draw import KNOWN, Checksums, DrawnInstance, NoneDrawnError, draw, seal, spoil
from exhume.compiler.instances.roles import reached
from exhume.compiler.refusal import UnsupportedError

__all__ = ["Instance", "InvalidInstance", "instances", "invalid_instances", "type_of"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Instance:
    """Bytes that fit a specification, and the values of its `params` (mostly none)."""

    data: bytes
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidInstance:
    """Bytes that a reader rejects: `rule` of the field at `path`, which begins at `at`, is the first that is broken.

    `rule` is a key of `valid` (`eq`, `min`, `max`, `any-of`, `in-enum`, `expr`), `contents`, `terminator`,
    `encoding`, or `short`: the data ends before the field does.  `checksum` is a special case: everything can be
    read, but the checksum at `path` is not that of the bytes it covers; a reader that compares checksums rejects
    such data, one that does not accepts it.
    """

    data: bytes
    arguments: tuple[Any, ...]
    path: str
    at: int
    rule: str


class _HypothesisRandom:
    """A `RandomChoices` whose choices Hypothesis makes (`draw`), so that it can shrink failing examples."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def choice(self, options: Many[T]) -> T:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def data(self, size: int) -> bytes:
        return self.draw(st.binary(min_size=size, max_size=size))


def type_of(model: Model, path: str) -> Type:
    """Return the type at a path, `zs` or `zs::block`; raises `UnsupportedError` for one that is not there."""
    id, *names = path.split("::")
    if id not in model.schemas:
        raise UnsupportedError(f"no specification {id}")
    return model.schemas[id].below(names)


def _refuse_what_is_not_drawn(root: Type) -> None:
    """Raise `UnsupportedError` for the first feature of a type that cannot be drawn."""
    for type in sorted(reached(root), key=lambda one: one.where):
        if type.decides is not None:
            raise UnsupportedError("a byte order that depends on the data is not drawn", type.where)
        for field in type.fields():
            for key in ("process", "pad-right"):
                if key in field.raw:
                    raise UnsupportedError(f"{key} is not drawn", field.where)
            if "terminator" in field.raw and ("size" in field.raw or field.raw.get("size-eos")):
                raise UnsupportedError("a terminator within a size is not drawn", field.where)


def instances(
    type: Type, arguments: Many[Any] | None = None, checksums: Checksums = KNOWN
) -> st.SearchStrategy[Instance]:
    """Return a strategy of instances of a type; its parameters are drawn too unless they are given as `arguments`.

    Checksums are right where `-covers` names the fields that they are over; `checksums` has the algorithms by name.

    Everything that the specification describes can be read in them, instances included: sizes, counts and places are
    consistent; `valid`, `contents`, enums and encodings are respected; optional fields are sometimes present and
    sometimes absent.  Raises `UnsupportedError` for `process`, padding, a terminator within a size, and a byte order
    that the data decides.
    """
    _refuse_what_is_not_drawn(type)
    given = None if arguments is None else list(arguments)

    @st.composite
    def one(draw_fn: st.DrawFn) -> Instance:
        """Draw an instance."""
        drawn = _drawn(type, _HypothesisRandom(draw_fn), given, checksums)
        return Instance(drawn.data, drawn.arguments)

    return one()


def invalid_instances(
    type: Type, arguments: Many[Any] | None = None, checksums: Checksums = KNOWN
) -> st.SearchStrategy[InvalidInstance]:
    """Return a strategy of data that would be an instance of a type except for one broken rule.

    The parameters are those of `instances`, whose errors are propagated.
    """
    _refuse_what_is_not_drawn(type)
    given = None if arguments is None else list(arguments)

    @st.composite
    def one(draw_fn: st.DrawFn) -> InvalidInstance:
        """Draw a valid instance and spoil it; up to four tries."""
        chance = _HypothesisRandom(draw_fn)
        for _ in range(4):
            try:
                found = spoil(type, _drawn(type, chance, given, checksums), chance)
            except NoneDrawnError:
                continue
            return InvalidInstance(found.data, found.arguments, found.path, found.at, found.rule)
        raise UnsatisfiedAssumption

    return one()


def _drawn(type: Type, chance: _HypothesisRandom, arguments: list[Any] | None, checksums: Checksums) -> DrawnInstance:
    """Draw an instance with choices by `chance`; where none is found, Hypothesis is to try other choices."""
    try:
        return seal(type, draw(type, chance, arguments), checksums)
    except NoneDrawnError:
        raise UnsatisfiedAssumption from None
