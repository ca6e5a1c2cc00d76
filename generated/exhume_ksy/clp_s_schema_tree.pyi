# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSSchemaTree(KaitaiStruct):
    class NodeType(enum.IntEnum):
        integer = 0
        float = 1
        clp_string = 2
        var_string = 3
        boolean = 4
        object = 5
        unstructured_array = 6
        null_value = 7
        date_string = 8
        structured_array = 9
        metadata = 10
        delta_integer = 11
        formatted_float = 12
        dictionary_float = 13
        timestamp = 14
        unknown = 255
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Node(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        parent_id: int
        len_key: int
        key: bytes
        type: ClpSSchemaTree.NodeType | int
        name: str
        path: Any
    num_nodes: int
    nodes: list[ClpSSchemaTree.Node]
