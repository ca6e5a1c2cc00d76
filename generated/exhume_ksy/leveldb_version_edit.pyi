# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_bytes
from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbVersionEdit(KaitaiStruct):
    class AttributeTags(enum.IntEnum):
        terminate = 1
        need_compaction = 2
        min_log_number_to_keep = 3
        oldest_blob_file_number = 4
        oldest_ancestor_time = 5
        file_creation_time = 6
        file_checksum = 7
        file_checksum_function = 8
        temperature = 9
        min_timestamp = 10
        max_timestamp = 11
        unique_id = 12
        epoch_number = 13
        compensated_range_deletion_size = 14
        tail_size = 15
        user_defined_timestamps_persisted = 16
        path_id = 65
    class Tags(enum.IntEnum):
        comparator = 1
        log_number = 2
        next_file_number = 3
        last_sequence = 4
        compact_pointer = 5
        deleted_file = 6
        new_file = 7
        previous_log_number = 9
        min_log_number_to_keep = 10
        new_file2 = 100
        new_file3 = 102
        new_file4 = 103
        column_family = 200
        column_family_add = 201
        column_family_drop = 202
        max_column_family = 203
        in_atomic_group = 300
        blob_file_addition = 400
        blob_file_garbage = 401
        compaction_waterline = 800
        ignorable = 8192
        wal_addition = 8196
        wal_deletion = 8197
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Attribute(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tag: leveldb_varint.LeveldbVarint
        data: leveldb_bytes.LeveldbBytes
        name: LeveldbVersionEdit.AttributeTags | int
    class BlobAttribute(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tag: leveldb_varint.LeveldbVarint
        data: leveldb_bytes.LeveldbBytes
    class BlobFileAddition(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: leveldb_varint.LeveldbVarint
        num_blobs: leveldb_varint.LeveldbVarint
        len_blobs: leveldb_varint.LeveldbVarint
        checksum_method: leveldb_bytes.LeveldbBytes
        checksum_value: leveldb_bytes.LeveldbBytes
        attributes: list[Any]
    class BlobFileGarbage(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: leveldb_varint.LeveldbVarint
        num_blobs: leveldb_varint.LeveldbVarint
        len_blobs: leveldb_varint.LeveldbVarint
        attributes: list[Any]
    class CompactPointer(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        level: leveldb_varint.LeveldbVarint
        internal_key: leveldb_bytes.LeveldbBytes
    class DeletedFile(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        level: leveldb_varint.LeveldbVarint
        number: leveldb_varint.LeveldbVarint
    class Field(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        raw_tag: leveldb_varint.LeveldbVarint
        body: LeveldbVersionEdit.BlobFileAddition | LeveldbVersionEdit.BlobFileGarbage | LeveldbVersionEdit.CompactPointer | LeveldbVersionEdit.DeletedFile | LeveldbVersionEdit.NewFile | LeveldbVersionEdit.NewFile2 | LeveldbVersionEdit.NewFile3 | LeveldbVersionEdit.NewFile4 | LeveldbVersionEdit.NoPayload | LeveldbVersionEdit.WalAddition | leveldb_bytes.LeveldbBytes | leveldb_varint.LeveldbVarint
        name: str | None
        tag: LeveldbVersionEdit.Tags | int
    class NewFile(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        level: leveldb_varint.LeveldbVarint
        number: leveldb_varint.LeveldbVarint
        len_file: leveldb_varint.LeveldbVarint
        smallest: leveldb_bytes.LeveldbBytes
        largest: leveldb_bytes.LeveldbBytes
    class NewFile2(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        file: LeveldbVersionEdit.NewFile
        smallest_sequence: leveldb_varint.LeveldbVarint
        largest_sequence: leveldb_varint.LeveldbVarint
    class NewFile3(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        level: leveldb_varint.LeveldbVarint
        number: leveldb_varint.LeveldbVarint
        path_id: leveldb_varint.LeveldbVarint
        len_file: leveldb_varint.LeveldbVarint
        smallest: leveldb_bytes.LeveldbBytes
        largest: leveldb_bytes.LeveldbBytes
        smallest_sequence: leveldb_varint.LeveldbVarint
        largest_sequence: leveldb_varint.LeveldbVarint
    class NewFile4(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        file: LeveldbVersionEdit.NewFile2
        attributes: list[Any]
    class NoPayload(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class WalAddition(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: leveldb_varint.LeveldbVarint
        attributes: list[Any]
    class WalAttribute(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tag: leveldb_varint.LeveldbVarint
        len_synced: leveldb_varint.LeveldbVarint
    fields: list[LeveldbVersionEdit.Field]
