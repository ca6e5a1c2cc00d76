# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_field
from . import data_bundle_inline_table
from ._struct import KaitaiStruct

class DataBundleShardHeader(KaitaiStruct):
    class CompressionMethods(enum.IntEnum):
        unknown = 0
        none = 1
        snappy = 2
        zlib = 3
    class Names(enum.IntEnum):
        shard_index = 1
        shard_count = 2
        record_size = 3
        record_alignment = 4
        compression_method = 5
        inline_metadata_table = 6
        metadata_at_eof = 7
        external_metadata = 8
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        wire: data_bundle_field.DataBundleField
        compression_method: DataBundleShardHeader.CompressionMethods | int | None
        inline_metadata_table: data_bundle_inline_table.DataBundleInlineTable | None
        name: DataBundleShardHeader.Names | int
    fields: list[DataBundleShardHeader.Field]
