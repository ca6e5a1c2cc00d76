# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_field
from ._struct import KaitaiStruct

class DataBundleRecordMetadata(KaitaiStruct):
    class Names(enum.IntEnum):
        shard_index = 1
        shard_uncompressed_offset = 2
        shard_byte_offset = 3
        all_zeros = 4
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        name: DataBundleRecordMetadata.Names | int
    fields: list[DataBundleRecordMetadata.Field]
