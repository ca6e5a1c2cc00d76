"""What ksy/clp_s_schema_tree.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class NodeType(IntEnum):
        """`clp_s_schema_tree::node_type`"""
        INTEGER = 0
        FLOAT = 1
        CLP_STRING = 2
        VAR_STRING = 3
        BOOLEAN = 4
        OBJECT = 5
        UNSTRUCTURED_ARRAY = 6
        NULL_VALUE = 7
        DATE_STRING = 8
        STRUCTURED_ARRAY = 9
        METADATA = 10
        DELTA_INTEGER = 11
        FORMATTED_FLOAT = 12
        DICTIONARY_FLOAT = 13
        TIMESTAMP = 14
        UNKNOWN = 255

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "NodeType": (("INTEGER", 0), ("FLOAT", 1), ("CLP_STRING", 2), ("VAR_STRING", 3), ("BOOLEAN", 4), ("OBJECT", 5), ("UNSTRUCTURED_ARRAY", 6), ("NULL_VALUE", 7), ("DATE_STRING", 8), ("STRUCTURED_ARRAY", 9), ("METADATA", 10), ("DELTA_INTEGER", 11), ("FORMATTED_FLOAT", 12), ("DICTIONARY_FLOAT", 13), ("TIMESTAMP", 14), ("UNKNOWN", 255),),
    })


class ClpSSchemaTree(metaclass=fixed):
    """`clp_s_schema_tree`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_nodes: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_nodes: Final = "<Q"


class Node(metaclass=fixed):
    """`clp_s_schema_tree::node`"""

    prefix: Final = "<iQ"
    suffix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        parent_id: Final = (0, 4)
        len_key: Final = (4, 12)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        parent_id: Final = "<i"
        len_key: Final = "<Q"
        type: Final = "<B"
