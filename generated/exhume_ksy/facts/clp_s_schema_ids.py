"""What ksy/clp_s_schema_ids.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class ContainerTypes(IntEnum):
        """`clp_s_schema_ids::container_types`"""
        OBJECT = 5
        STRUCTURED_ARRAY = 9

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "ContainerTypes": (("OBJECT", 5), ("STRUCTURED_ARRAY", 9),),
    })


class ClpSSchemaIds(metaclass=fixed):
    """`clp_s_schema_ids`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_schemas: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_schemas: Final = "<Q"


class Schema(metaclass=fixed):
    """`clp_s_schema_ids::schema`"""

    prefix: Final = "<iII"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        schema_id: Final = (0, 4)
        num_entries: Final = (4, 8)
        num_ordered: Final = (8, 12)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        schema_id: Final = "<i"
        num_entries: Final = "<I"
        num_ordered: Final = "<I"


class Entry(metaclass=fixed):
    """`clp_s_schema_ids::entry`"""

    size: Final = 4
    dtype: Final = [("value", "<i4")]
    packed: Final = "<i"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value: Final = "<i"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        container_type: Final = 24
        num_beneath: Final = 0

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        word: Final = '<I'

    @staticmethod
    def is_marker(value: int) -> bool:
        """Only meaningful past the ordered entries."""
        return value & 0xffffffff >= 0x1000000

    @staticmethod
    def container_type(value: int) -> int:
        """What the marker opens, by its number among the types of nodes."""
        return (value & 0xffffffff) >> 24

    @staticmethod
    def num_beneath(value: int) -> int:
        """How many of the entries that follow belong to the container."""
        return value & 0xffffffff & 0xffffff
