# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSSchemaIds(KaitaiStruct):
    class ContainerTypes(enum.IntEnum):
        object = 5
        structured_array = 9
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Entry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        value: int
        container_type: ClpSSchemaIds.ContainerTypes | int | None
        is_marker: bool
        num_beneath: int | None
        word: int
    class Schema(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        schema_id: int
        num_entries: int
        num_ordered: int
        entries: list[ClpSSchemaIds.Entry]
    num_schemas: int
    schemas: list[ClpSSchemaIds.Schema]
