# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_config
from . import data_bundle_file_metadata
from . import data_bundle_record_metadata
from . import data_bundle_row_key
from . import leveldb_varint
from ._struct import KaitaiStruct

class DataBundleIndexBlock(KaitaiStruct):
    class Tables(enum.IntEnum):
        unknown = 0
        config = 1
        files = 2
        records = 3
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class KeySuffix(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        bytes: bytes
        text: str
    class Row(KaitaiStruct):
        def __init__(self, number: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: Any
        len_shared: leveldb_varint.LeveldbVarint
        len_key_suffix: leveldb_varint.LeveldbVarint
        len_value: leveldb_varint.LeveldbVarint
        key_suffix: DataBundleIndexBlock.KeySuffix
        value: bytes | data_bundle_config.DataBundleConfig | data_bundle_file_metadata.DataBundleFileMetadata | data_bundle_record_metadata.DataBundleRecordMetadata
        key: Any
        table: DataBundleIndexBlock.Tables | int
        whole_key: data_bundle_row_key.DataBundleRowKey | None
    class RowList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        rows: list[DataBundleIndexBlock.Row]
    buckets: bytes | None
    has_hash_index: bool
    num_buckets: int | None
    num_restarts: int
    ofs_restarts: int
    packed_num_restarts: int
    restarts: list[int]
    rows: DataBundleIndexBlock.RowList
