"""What a value takes: the fewest bytes on the wire, and cost units once it is decoded."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from exhume.formats.ark.rbuf.layout import COUNT_SIZE, VARIANT_HEADER_SIZE
from exhume.formats.ark.rbuf.registry import FIXED, Field
from exhume.formats.ark.rbuf.wire import SIZE_CAP, letter_of

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry


def is_fixed(each: Field) -> bool:
    """Whether every value of a field has the same size."""
    return not each.optional and (each.packed_timespec or each.type in FIXED or each.type in ("enum", "guid"))


class Sizes:
    """The fewest bytes that fields can take; those of an object type are worked out once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._sizes: dict[str, int] = {}

    def least(self, each: Field) -> int:
        """The fewest bytes that a field can take (a lower bound: capped, and recursion counts as its header only)."""
        if each.constant:
            return 0
        if each.optional:
            return 1
        if is_fixed(each):
            return struct.calcsize("<" + letter_of(self._registry, each))
        match each.type:
            case "string" | "byte_buffer" | "arraylist" | "dictionary":
                return COUNT_SIZE
            case "variant":
                return VARIANT_HEADER_SIZE
            case "array":
                assert each.value is not None
                return min(SIZE_CAP, each.array_size * self.least(each.value))
        name = each.object_type or ""
        if name not in self._sizes:
            schema = self._registry.schema(name)
            self._sizes[name] = header = 0 if schema.final else 1
            self._sizes[name] = min(SIZE_CAP, header + sum(self.least(f) for f in schema.fields))
        return self._sizes[name]


def cost_of(each: Field) -> int:
    """Cost units of one element in a list, not counting what its own lists hold."""
    match each.type:
        case "object" | "variant":
            return 8
        case "string" | "byte_buffer" | "guid" | "arraylist" | "array" | "dictionary":
            return 3
    return 1
