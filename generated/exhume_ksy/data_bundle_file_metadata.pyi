# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_any
from . import data_bundle_field
from ._struct import KaitaiStruct

class DataBundleFileMetadata(KaitaiStruct):
    class FileTypes(enum.IntEnum):
        unknown = 0
        regular_file = 1
        directory = 2
    class Names(enum.IntEnum):
        file_type = 1
        shard_index = 2
        shard_uncompressed_offset = 3
        uncompressed_size = 4
        crc32c = 5
        user_data = 6
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        file_type: DataBundleFileMetadata.FileTypes | int | None
        name: DataBundleFileMetadata.Names | int
        user_data: data_bundle_any.DataBundleAny | None
    fields: list[DataBundleFileMetadata.Field]
