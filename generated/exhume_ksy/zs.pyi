# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import uleb128
from . import zs_data_block
from . import zs_index_block
from ._struct import KaitaiStruct

class Zs(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Block(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_body: uleb128.Uleb128
        body: Zs.BlockBody
        crc: Zs.Crc64
    class BlockBody(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        level: int
        payload: bytes
        data_block: zs_data_block.ZsDataBlock | None
        index_block: zs_index_block.ZsIndexBlock | None
    class Crc64(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        low: int
        high: int
        value: int
    class FileHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        ofs_root: int
        len_root: int
        len_file: int
        sha256_data: bytes
        codec: bytes
        len_metadata: int
        metadata: bytes
        extensions: bytes
        codec_name: str
        is_stored: bool
        metadata_text: str
    magic: bytes
    len_header: int
    header: Zs.FileHeader
    crc_header: Zs.Crc64
    blocks: list[Zs.Block]
    is_complete: bool
    ofs_blocks: int
    root: Zs.Block | None
