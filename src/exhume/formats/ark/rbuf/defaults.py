"""Values of fields that are not on the wire: those of groups that an older writer did not know.

A group is a block of fields that was added to a type later.  A maker is a function that returns a new default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from exhume.formats.ark import assumptions
from exhume.formats.ark.rbuf.layout import NIL

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Field, Registry

Make = Callable[[], Any]
"""Returns a default value."""

COST_CAP = 1 << 40
"""Costs stop growing here: arrays of arrays can request any number."""


class Defaults:
    """Default values by field: zero, empty, absent.

    A type that contains itself has no finite default; where it occurs inside itself, the default is None.  Each default
    comes with its cost in elements, which the caller checks before making it: a schema can request an array of 2^32.
    """

    def __init__(self, registry: Registry, *, for_wire: bool = False) -> None:
        """`for_wire` makes defaults that can be encoded: a variant then has an index that its schema does not know."""
        self._registry = registry
        self._for_wire = for_wire
        self._objects: dict[str, tuple[Make, int]] = {}  # results of `_object`

    def filler(self, fields: tuple[Field, ...]) -> tuple[Callable[[dict[str, Any]], None], int]:
        """A function that adds the defaults of `fields` to a value, and its cost."""
        makers = []
        cost = 0
        for each in fields:
            if each.removed or each.constant:
                continue
            make, price = self.maker(each)
            makers.append((each.name, make))
            cost += price
        plan = tuple(makers)

        def fill(out: dict[str, Any]) -> None:
            """Add the default of each field to an object."""
            for name, make in plan:
                out[name] = make()

        return fill, cost

    def maker(self, each: Field) -> tuple[Make, int]:
        """A function that makes the default of one field, and its cost."""
        if each.optional:
            return _none, 1
        if each.packed_timespec:
            return _constant(bytes(assumptions.PACKED_TIMESPEC_SIZE)), 1
        match each.type:
            case "dictionary":
                return (dict if each.key is not None and each.key.type == "string" else list), 1
            case "variant":
                if not self._for_wire:
                    return _none, 1
                taken = {index for index, _ in each.variants}  # 256 if all are taken, which cannot be encoded
                return _constant({"index": next(index for index in range(257) if index not in taken), "raw": b""}), 1
            case "array":
                assert each.value is not None
                make, price = self.maker(each.value)
                count = each.array_size
                return (lambda: [make() for _ in range(count)]), min(COST_CAP, 1 + count * price)
            case "object":
                return self._object(each.object_type or "")
        return _PLAIN.get(each.type, int), 1

    def _object(self, name: str) -> tuple[Make, int]:
        """Return a function that makes the default of a type, and what each call costs."""
        found = self._objects.get(name)
        if found is None:
            schema = self._registry.schema(name)
            self._objects[name] = (_none, 1)  # stands for the type inside itself meanwhile
            plan = [(each.name, *self.maker(each)) for each in schema.visible_fields()]
            cost = min(COST_CAP, 8 + sum(price for _, _, price in plan))  # 8 for the dictionary itself
            found = self._objects[name] = (lambda: {key: make() for key, make, _ in plan}), cost
        return found


def _none() -> None:
    return None


def _constant(value: Any) -> Make:
    return lambda: value


_PLAIN: dict[str, Make] = {
    "string": str,
    "byte_buffer": bytes,
    "guid": _constant(NIL),
    "bool": _constant(False),
    "float": _constant(0.0),
    "double": _constant(0.0),
    "arraylist": list,
}
"""Functions that make the defaults of plain types; types without one are numbers."""
