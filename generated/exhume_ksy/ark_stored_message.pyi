# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ArkStoredMessage(KaitaiStruct):
    class Codec(enum.IntEnum):
        none = 0
        lz4 = 1
        zstd = 2
        bz2 = 3
        lzma = 4
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class MessageFooter(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_message: int
        codec: ArkStoredMessage.Codec | int
        magic: int
    footer: ArkStoredMessage.MessageFooter
    payload: bytes
