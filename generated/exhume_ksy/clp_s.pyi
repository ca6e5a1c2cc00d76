# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import clp_s_dictionary
from . import clp_s_metadata
from . import clp_s_schema_ids
from . import clp_s_schema_tree
from . import clp_s_table
from . import clp_s_table_metadata
from . import zstd_frame
from ._struct import KaitaiStruct

class ClpS(KaitaiStruct):
    class Compression(enum.IntEnum):
        zstd = 0
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Column(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        content: bytes | clp_s_table.ClpSTable.BooleanColumn | clp_s_table.ClpSTable.ClpColumn | clp_s_table.ClpSTable.DateColumn | clp_s_table.ClpSTable.FloatColumn | clp_s_table.ClpSTable.FormattedFloatColumn | clp_s_table.ClpSTable.IdColumn | clp_s_table.ClpSTable.IntegerColumn | clp_s_table.ClpSTable.TimestampColumn | None
        is_inside: bool
        is_leaf: bool
        is_split: bool
        is_text: bool
        key: Any
        len_row: int
        node_id: Any
        num_block: int
        num_variables: ClpS.Word | None
        num_words: Any
        ofs_after: Any
        ofs_column: Any
        pieces: list[ClpS.Piece] | None
        type_number: int
        words: list[ClpS.Word] | None
    class FileHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: bytes
        version: ClpS.Version
        len_original: int
        len_archive: int
        reserved1: bytes
        len_metadata: int
        compression_type: ClpS.Compression | int
        reserved2: int
    class Piece(KaitaiStruct):
        def __init__(self, ofs_start: Any, ofs_end: Any, num_block: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        ofs_start: Any
        ofs_end: Any
        num_block: Any
        data: bytes | None
        len_block: Any
        ofs_first: int
        ofs_last: Any
    class SchemaMapSection(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        compressed: zstd_frame.ZstdFrame
        payload: clp_s_schema_ids.ClpSSchemaIds | None
    class SchemaSearch(KaitaiStruct):
        def __init__(self, idx: Any, schema_id: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        schema_id: Any
        is_over: bool
    class SchemaTreeSection(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        compressed: zstd_frame.ZstdFrame
        payload: clp_s_schema_tree.ClpSSchemaTree | None
    class Section(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        body: ClpS.SchemaMapSection | ClpS.SchemaTreeSection | ClpS.TableMetadataSection | ClpS.TablesSection | bytes | clp_s_dictionary.ClpSDictionary | None
        name: Any
        ofs_next: Any
        ofs_section: Any
    class Stream(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        compressed: zstd_frame.ZstdFrame
        is_raw: bool
        len_block: Any
        ofs_next: Any
        ofs_stream: Any
    class Table(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        columns: list[ClpS.Column] | None
        num_columns: Any
        num_messages: Any
        ofs_table: Any
        schema_id: Any
        search: list[Any]
        stream: Any
    class TableMetadataSection(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        compressed: zstd_frame.ZstdFrame
        payload: clp_s_table_metadata.ClpSTableMetadata | None
    class TablesSection(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        streams: list[ClpS.Stream]
    class Version(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        patch: int
        minor: int
        major: int
    class Word(KaitaiStruct):
        def __init__(self, ofs_word: Any, is_float: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        ofs_word: Any
        is_float: Any
        head: bytes | None
        high: Any
        integer: Any
        len_block: Any
        len_head: int
        low: Any
        num_block: int
        number: float | None
        tail: bytes | None
        whole: int | None
    header: ClpS.FileHeader
    file_entries: Any
    files: bytes | None
    metadata: zstd_frame.ZstdFrame
    metadata_payload: clp_s_metadata.ClpSMetadata | None
    ofs_files: int
    schema_map: Any
    schema_tree: Any
    sections: list[ClpS.Section] | None
    table_metadata: Any
    tables: list[ClpS.Table] | None
