# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class LeveldbBlobFile(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Expiration(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        first: int
        last: int
    class FileFooter(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: bytes
        num_blobs: int
        expiration: LeveldbBlobFile.Expiration
        checksum: int
    class FileHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: bytes
        version: int
        column_family: int
        flags: int
        compression: int
        expiration: LeveldbBlobFile.Expiration
    class Record(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_key: int
        len_value: int
        expiration: int
        head_checksum: int
        checksum: int
        key: bytes
        value: bytes
    class RecordList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        records: list[LeveldbBlobFile.Record]
    header: LeveldbBlobFile.FileHeader
    records: LeveldbBlobFile.RecordList
    footer: LeveldbBlobFile.FileFooter
    has_footer: bool
    last_magic: int | None
