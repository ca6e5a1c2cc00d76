# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import ark_rbuf
from ._struct import KaitaiStruct

class ArkSplit(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class EntryList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entries: list[ArkSplit.IndexEntry]
    class FileHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        format_version: int
        split_identifier: ark_rbuf.ArkRbuf.Guid
        ofs_index: int
        num_indexed_items: int
        num_maximum_items: int
        num_type_mappings: int
        type_mappings: list[ArkSplit.TypeMapping]
        groups: ark_rbuf.ArkRbuf.GroupList
    class IndexEntry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        timestamp_ns: int
        ofs_data: int
        len_data: int
        object_identifier: int
        flags: int
        data: bytes
    class TypeMapping(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        object_identifier: ark_rbuf.ArkRbuf.Guid
        short_identifier: int
        groups: ark_rbuf.ArkRbuf.GroupList
    header: ArkSplit.FileHeader
    index: list[ArkSplit.IndexEntry]
    index_bytes: bytes
