# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_field
from ._struct import KaitaiStruct

class DataBundleInlineTable(KaitaiStruct):
    class Names(enum.IntEnum):
        row = 1
    class RowNames(enum.IntEnum):
        key = 1
        value = 2
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        name: DataBundleInlineTable.Names | int
        row: DataBundleInlineTable.Row | None
    class Row(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        fields: list[DataBundleInlineTable.RowField]
    class RowField(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        name: DataBundleInlineTable.RowNames | int
    fields: list[DataBundleInlineTable.Field]
