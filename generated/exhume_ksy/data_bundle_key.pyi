# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class DataBundleKey(KaitaiStruct):
    class Tables(enum.IntEnum):
        unknown = 0
        config = 1
        files = 2
        records = 3
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Chunk(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        text: bytes
        marker: int
        content: str
    class ConfigKey(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Escaped(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        text: bytes
        marker: int
        more: list[Any]
        content: str
    class FileKey(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        directory: DataBundleKey.Escaped
        name: DataBundleKey.Escaped
    class RecordKey(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        shard_index: DataBundleKey.Varuint
        shard_uncompressed_offset: DataBundleKey.Varuint
    class UnknownKey(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        rest: bytes
    class Varuint(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        first: int
        byte1: int
        byte2: int
        byte3: int
        byte4: int
        byte5: int
        byte6: int
        byte7: int
        byte8: int
        value: int
    table: DataBundleKey.Varuint
    body: DataBundleKey.ConfigKey | DataBundleKey.FileKey | DataBundleKey.RecordKey | DataBundleKey.UnknownKey
    table_name: DataBundleKey.Tables | int
