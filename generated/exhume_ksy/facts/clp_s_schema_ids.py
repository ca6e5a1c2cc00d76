"""What ksy/clp_s_schema_ids.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class ClpSSchemaIds:
    """`clp_s_schema_ids`"""

    prefix: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        num_schemas: Final = (0, 8)


class Schema:
    """`clp_s_schema_ids::schema`"""

    prefix: Final = "<iII"

    class at:
        """Where fields start and end, in bytes from the start."""

        schema_id: Final = (0, 4)
        num_entries: Final = (4, 8)
        num_ordered: Final = (8, 12)


class Entry:
    """`clp_s_schema_ids::entry`"""

    size: Final = 4
    dtype: Final = [("value", "<i4")]
    packed: Final = "<i"

    class at:
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 4)

    class form:
        """Formats of numbers for `struct`."""

        word: Final = '<I'
