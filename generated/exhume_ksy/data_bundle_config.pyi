# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_field
from ._struct import KaitaiStruct

class DataBundleConfig(KaitaiStruct):
    class CompressionMethods(enum.IntEnum):
        unknown = 0
        none = 1
        snappy = 2
        zlib = 3
    class Names(enum.IntEnum):
        version_magic = 1
        block_size = 2
        record_size = 3
        compression_method = 4
        raw_packed = 6
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        compression_method: DataBundleConfig.CompressionMethods | int | None
        name: DataBundleConfig.Names | int
        version_magic: str | None
    fields: list[DataBundleConfig.Field]
