"""What readers that take notes know of those that take none: which lists can be read again, element by element."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Kind, Sequence, combined, family, structures
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.needs import deciding, expressions, words

_SCANS = re.compile(r"^def (scan_\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Beside:
    """What readers that take notes know of those that take none.

    `columned`: the names of readers whose rows they read as columns; `mentioned`: by type, every name in an expression
    of it and of what is in it; `passes_on`: whether instances give structures that others read.
    """

    columned: frozenset[str]
    mentioned: Mapping[Type, frozenset[str]]
    passes_on: bool

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name in an expression."""
        return frozenset().union(*self.mentioned.values())


def beside_of(model: Model, texts: Mapping[str, str]) -> Beside:
    """What is known of the readers of a model whose modules have this source."""
    columned = {name for text in texts.values() for name in _SCANS.findall(text)}
    return Beside(frozenset(columned), _mentioned(model), _passes_on(model))


def _mentioned(model: Model) -> dict[Type, frozenset[str]]:
    """By type, every name in an expression of it and of the structures in it."""
    own: dict[Type, set[str]] = {}
    inner: dict[Type, set[Type]] = {}
    for type in model.types():
        found = [*deciding(type), *(expr for one in type.fields() for expr in expressions(one))]
        if "to-string" in type.raw:
            found.append(ex.parse(type.raw["to-string"]))
        own[type] = set().union(*map(words, found))
        read = [one for one in type.fields() if one.value is None]
        inner[type] = {one.type for field in read for one in structures(field.one)}
    changed = True
    while changed:
        changed = False
        for type, below in inner.items():
            before = len(own[type])
            own[type].update(*(own.get(one, ()) for one in below))
            changed |= len(own[type]) > before
    return {type: frozenset(names) for type, names in own.items()}


def _passes_on(model: Model) -> bool:
    """Whether any computed instance may give structures that something else has read."""
    computed = [one for type in model.types() for one in type.instances.values() if one.value is not None]
    return any(not _is_simple(combined(one.one)) for one in computed)


def _is_simple(kind: Kind) -> bool:
    if isinstance(kind, Sequence):
        return _is_simple(combined(kind.of))
    return family(kind) in ("integer", "enum", "bool", "float", "text", "bytes")
