# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_field
from ._struct import KaitaiStruct

class DataBundleAny(KaitaiStruct):
    class Names(enum.IntEnum):
        type_url = 1
        value = 2
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        name: DataBundleAny.Names | int
        type_url: str | None
    fields: list[DataBundleAny.Field]
