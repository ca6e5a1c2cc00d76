# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSTableMetadata(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Stream(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        ofs_stream: int
        len_uncompressed: int
    class Table(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        stream_id: int
        ofs_table: int
        schema_id: int
        num_messages: int
    num_streams: int
    streams: list[ClpSTableMetadata.Stream]
    num_separate_column_schemas: int
    num_tables: int
    tables: list[ClpSTableMetadata.Table]
