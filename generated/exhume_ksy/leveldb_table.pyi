# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_block
from . import leveldb_block_handle
from . import leveldb_data_block
from . import leveldb_filter
from . import leveldb_footer
from . import leveldb_index_delta
from . import leveldb_properties
from ._struct import KaitaiStruct

class LeveldbTable(KaitaiStruct):
    class Compressions(enum.IntEnum):
        none = 0
        snappy = 1
        zlib = 2
        bzip2 = 3
        lz4 = 4
        lz4hc = 5
        xpress = 6
        zstd = 7
        early_zstd = 64
    class Kinds(enum.IntEnum):
        unknown = 0
        handles = 1
        data = 2
        filter = 3
        properties = 4
        handle_deltas = 5
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Block(KaitaiStruct):
        def __init__(self, ofs_block: Any, len_block: Any, kind: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        ofs_block: Any
        len_block: Any
        kind: Any
        content: bytes | leveldb_block.LeveldbBlock | leveldb_data_block.LeveldbDataBlock | leveldb_filter.LeveldbFilter | leveldb_index_delta.LeveldbIndexDelta | leveldb_properties.LeveldbProperties | None
        contents: bytes
        is_stored: bool
        trailer: LeveldbTable.BlockTrailer
    class BlockTrailer(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        compression: LeveldbTable.Compressions | int
        checksum: int
    class DataBlock(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        block: LeveldbTable.Block
        handle: leveldb_block_handle.LeveldbBlockHandle
    class DeltaBlock(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        block: LeveldbTable.Block
        len_block: Any
        ofs_block: Any
        raw_delta: Any
    class IndexSearch(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        is_index: bool
        is_over: bool
    class MetaBlock(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        block: LeveldbTable.Block
        handle: leveldb_block_handle.LeveldbBlockHandle
        kind: Any
        name: str
    data_blocks: list[LeveldbTable.DataBlock] | None
    delta_blocks: list[LeveldbTable.DeltaBlock] | None
    footer: leveldb_footer.LeveldbFooter
    has_handles: bool
    has_index: bool
    index: LeveldbTable.Block | None
    len_footer: int
    magic: bytes
    meta_blocks: list[LeveldbTable.MetaBlock] | None
    metaindex: LeveldbTable.Block | None
    search: list[Any] | None
