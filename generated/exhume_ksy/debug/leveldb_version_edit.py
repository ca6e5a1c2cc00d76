# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_bytes
from . import leveldb_varint
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbVersionEdit(KaitaiStruct):
    """One record of a manifest: what changed in the set of files that make up the
    database. Replaying all of them in order yields the current set.
    
    Tags up to 9 are LevelDB's; 10, 100 to 401 and those from 8192 are RocksDB's,
    where readers may skip the latter; 800 is dacha's. A field with a tag that is
    not listed and below 8192 cannot be skipped, for its length is not known.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/db/version_edit.cc
    
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/version_edit.h
    """

    class AttributeTags(IntEnum):
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

    class Tags(IntEnum):
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
    SEQ_FIELDS = ["fields"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbVersionEdit, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['fields']['start'] = self._io.pos()
        self._debug['fields']['arr'] = []
        self.fields = []
        if not self._io.passes(self, 'fields', lambda i, io: LeveldbVersionEdit.Field(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = LeveldbVersionEdit.Field(self._io, self, self._root)
                try:
                    _t_fields._read()
                finally:
                    self.fields.append(_t_fields)
                self._debug['fields']['arr'][len(self.fields) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['fields']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.fields)):
            pass
            self.fields[i]._fetch_instances()


    class Attribute(KaitaiStruct):
        """One attribute of a table."""
        SEQ_FIELDS = ["tag", "data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.Attribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = leveldb_varint.LeveldbVarint(self._io)
            self.tag._read()
            self._debug['tag']['end'] = self._io.pos()
            if self.tag.value != 1:
                pass
                self._debug['data']['start'] = self._io.pos()
                self.data = leveldb_bytes.LeveldbBytes(self._io)
                self.data._read()
                self._debug['data']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.tag._fetch_instances()
            if self.tag.value != 1:
                pass
                self.data._fetch_instances()


        @property
        def name(self):
            """The tag by its name."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = KaitaiStream.resolve_enum(LeveldbVersionEdit.AttributeTags, self.tag.value)
            return getattr(self, '_m_name', None)


    class BlobAttribute(KaitaiStruct):
        """One attribute of a blob file."""
        SEQ_FIELDS = ["tag", "data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.BlobAttribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = leveldb_varint.LeveldbVarint(self._io)
            self.tag._read()
            self._debug['tag']['end'] = self._io.pos()
            if self.tag.value != 0:
                pass
                self._debug['data']['start'] = self._io.pos()
                self.data = leveldb_bytes.LeveldbBytes(self._io)
                self.data._read()
                self._debug['data']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.tag._fetch_instances()
            if self.tag.value != 0:
                pass
                self.data._fetch_instances()



    class BlobFileAddition(KaitaiStruct):
        """A file of large values that is part of the database from now on."""
        SEQ_FIELDS = ["number", "num_blobs", "len_blobs", "checksum_method", "checksum_value", "attributes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.BlobFileAddition, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()
            self._debug['num_blobs']['start'] = self._io.pos()
            self.num_blobs = leveldb_varint.LeveldbVarint(self._io)
            self.num_blobs._read()
            self._debug['num_blobs']['end'] = self._io.pos()
            self._debug['len_blobs']['start'] = self._io.pos()
            self.len_blobs = leveldb_varint.LeveldbVarint(self._io)
            self.len_blobs._read()
            self._debug['len_blobs']['end'] = self._io.pos()
            self._debug['checksum_method']['start'] = self._io.pos()
            self.checksum_method = leveldb_bytes.LeveldbBytes(self._io)
            self.checksum_method._read()
            self._debug['checksum_method']['end'] = self._io.pos()
            self._debug['checksum_value']['start'] = self._io.pos()
            self.checksum_value = leveldb_bytes.LeveldbBytes(self._io)
            self.checksum_value._read()
            self._debug['checksum_value']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self._debug['attributes']['arr'] = []
            self.attributes = []
            if not self._io.passes(self, 'attributes', lambda i, io: LeveldbVersionEdit.BlobAttribute(io, self, self._root), until=lambda _, io: _.tag.value == 0):
                i = 0
                while True:
                    self._debug['attributes']['arr'].append({'start': self._io.pos()})
                    _t_attributes = LeveldbVersionEdit.BlobAttribute(self._io, self, self._root)
                    try:
                        _t_attributes._read()
                    finally:
                        _ = _t_attributes
                        self.attributes.append(_)
                    self._debug['attributes']['arr'][len(self.attributes) - 1]['end'] = self._io.pos()
                    if _.tag.value == 0:
                        break
                    i += 1
            self._debug['attributes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.number._fetch_instances()
            self.num_blobs._fetch_instances()
            self.len_blobs._fetch_instances()
            self.checksum_method._fetch_instances()
            self.checksum_value._fetch_instances()
            for i in range(len(self.attributes)):
                pass
                self.attributes[i]._fetch_instances()



    class BlobFileGarbage(KaitaiStruct):
        """Values in a blob file that nothing refers to any more."""
        SEQ_FIELDS = ["number", "num_blobs", "len_blobs", "attributes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.BlobFileGarbage, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()
            self._debug['num_blobs']['start'] = self._io.pos()
            self.num_blobs = leveldb_varint.LeveldbVarint(self._io)
            self.num_blobs._read()
            self._debug['num_blobs']['end'] = self._io.pos()
            self._debug['len_blobs']['start'] = self._io.pos()
            self.len_blobs = leveldb_varint.LeveldbVarint(self._io)
            self.len_blobs._read()
            self._debug['len_blobs']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self._debug['attributes']['arr'] = []
            self.attributes = []
            if not self._io.passes(self, 'attributes', lambda i, io: LeveldbVersionEdit.BlobAttribute(io, self, self._root), until=lambda _, io: _.tag.value == 0):
                i = 0
                while True:
                    self._debug['attributes']['arr'].append({'start': self._io.pos()})
                    _t_attributes = LeveldbVersionEdit.BlobAttribute(self._io, self, self._root)
                    try:
                        _t_attributes._read()
                    finally:
                        _ = _t_attributes
                        self.attributes.append(_)
                    self._debug['attributes']['arr'][len(self.attributes) - 1]['end'] = self._io.pos()
                    if _.tag.value == 0:
                        break
                    i += 1
            self._debug['attributes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.number._fetch_instances()
            self.num_blobs._fetch_instances()
            self.len_blobs._fetch_instances()
            for i in range(len(self.attributes)):
                pass
                self.attributes[i]._fetch_instances()



    class CompactPointer(KaitaiStruct):
        """Where the next compaction of a level starts."""
        SEQ_FIELDS = ["level", "internal_key"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.CompactPointer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['level']['start'] = self._io.pos()
            self.level = leveldb_varint.LeveldbVarint(self._io)
            self.level._read()
            self._debug['level']['end'] = self._io.pos()
            self._debug['internal_key']['start'] = self._io.pos()
            self.internal_key = leveldb_bytes.LeveldbBytes(self._io)
            self.internal_key._read()
            self._debug['internal_key']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.level._fetch_instances()
            self.internal_key._fetch_instances()


    class DeletedFile(KaitaiStruct):
        """A table that is no longer part of the database."""
        SEQ_FIELDS = ["level", "number"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.DeletedFile, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['level']['start'] = self._io.pos()
            self.level = leveldb_varint.LeveldbVarint(self._io)
            self.level._read()
            self._debug['level']['end'] = self._io.pos()
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.level._fetch_instances()
            self.number._fetch_instances()


    class Field(KaitaiStruct):
        """A tag and what it announces."""
        SEQ_FIELDS = ["raw_tag", "body"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.Field, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['raw_tag']['start'] = self._io.pos()
            self.raw_tag = leveldb_varint.LeveldbVarint(self._io)
            self.raw_tag._read()
            self._debug['raw_tag']['end'] = self._io.pos()
            _ = self.raw_tag
            if not  ((_.value & 8192 != 0) or ( ((_.value > 0) and (_.value <= 10) and (_.value != 8)) ) or (_.value == 100) or (_.value == 102) or (_.value == 103) or ( ((_.value >= 200) and (_.value <= 203)) ) or (_.value == 300) or (_.value == 400) or (_.value == 401) or (_.value == 800)) :
                raise kaitaistruct.ValidationExprError(self.raw_tag, self._io, u"/types/field/seq/0")
            self._debug['body']['start'] = self._io.pos()
            _on = self.tag
            if _on == LeveldbVersionEdit.Tags.blob_file_addition:
                pass
                self.body = LeveldbVersionEdit.BlobFileAddition(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.blob_file_garbage:
                pass
                self.body = LeveldbVersionEdit.BlobFileGarbage(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.column_family:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.column_family_add:
                pass
                self.body = leveldb_bytes.LeveldbBytes(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.column_family_drop:
                pass
                self.body = LeveldbVersionEdit.NoPayload(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.compact_pointer:
                pass
                self.body = LeveldbVersionEdit.CompactPointer(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.compaction_waterline:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.comparator:
                pass
                self.body = leveldb_bytes.LeveldbBytes(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.deleted_file:
                pass
                self.body = LeveldbVersionEdit.DeletedFile(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.ignorable:
                pass
                self.body = leveldb_bytes.LeveldbBytes(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.in_atomic_group:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.last_sequence:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.log_number:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.max_column_family:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.min_log_number_to_keep:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.new_file:
                pass
                self.body = LeveldbVersionEdit.NewFile(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.new_file2:
                pass
                self.body = LeveldbVersionEdit.NewFile2(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.new_file3:
                pass
                self.body = LeveldbVersionEdit.NewFile3(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.new_file4:
                pass
                self.body = LeveldbVersionEdit.NewFile4(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.next_file_number:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.previous_log_number:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.wal_addition:
                pass
                self.body = LeveldbVersionEdit.WalAddition(self._io, self, self._root)
                self.body._read()
            elif _on == LeveldbVersionEdit.Tags.wal_deletion:
                pass
                self.body = leveldb_varint.LeveldbVarint(self._io)
                self.body._read()
            self._debug['body']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.raw_tag._fetch_instances()
            _on = self.tag
            if _on == LeveldbVersionEdit.Tags.blob_file_addition:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.blob_file_garbage:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.column_family:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.column_family_add:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.column_family_drop:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.compact_pointer:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.compaction_waterline:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.comparator:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.deleted_file:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.ignorable:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.in_atomic_group:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.last_sequence:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.log_number:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.max_column_family:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.min_log_number_to_keep:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.new_file:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.new_file2:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.new_file3:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.new_file4:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.next_file_number:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.previous_log_number:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.wal_addition:
                pass
                self.body._fetch_instances()
            elif _on == LeveldbVersionEdit.Tags.wal_deletion:
                pass
                self.body._fetch_instances()

        @property
        def name(self):
            """The name of the comparator, or of the column family, as text."""
            if hasattr(self, '_m_name'):
                return self._m_name

            if  ((self.tag == LeveldbVersionEdit.Tags.comparator) or (self.tag == LeveldbVersionEdit.Tags.column_family_add)) :
                pass
                self._m_name = (self.body.data).decode(u"UTF-8")

            return getattr(self, '_m_name', None)

        @property
        def tag(self):
            """Readers may skip every tag that has the bit 8192, since its length
            follows; early forms of two of them have none.
            """
            if hasattr(self, '_m_tag'):
                return self._m_tag

            self._m_tag = KaitaiStream.resolve_enum(LeveldbVersionEdit.Tags, (8192 if  ((self.raw_tag.value & 8192 != 0) and (self.raw_tag.value != 8196) and (self.raw_tag.value != 8197))  else self.raw_tag.value))
            return getattr(self, '_m_tag', None)


    class NewFile(KaitaiStruct):
        """A table that is part of the database from now on."""
        SEQ_FIELDS = ["level", "number", "len_file", "smallest", "largest"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.NewFile, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['level']['start'] = self._io.pos()
            self.level = leveldb_varint.LeveldbVarint(self._io)
            self.level._read()
            self._debug['level']['end'] = self._io.pos()
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()
            self._debug['len_file']['start'] = self._io.pos()
            self.len_file = leveldb_varint.LeveldbVarint(self._io)
            self.len_file._read()
            self._debug['len_file']['end'] = self._io.pos()
            self._debug['smallest']['start'] = self._io.pos()
            self.smallest = leveldb_bytes.LeveldbBytes(self._io)
            self.smallest._read()
            self._debug['smallest']['end'] = self._io.pos()
            self._debug['largest']['start'] = self._io.pos()
            self.largest = leveldb_bytes.LeveldbBytes(self._io)
            self.largest._read()
            self._debug['largest']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.level._fetch_instances()
            self.number._fetch_instances()
            self.len_file._fetch_instances()
            self.smallest._fetch_instances()
            self.largest._fetch_instances()


    class NewFile2(KaitaiStruct):
        """RocksDB; the only form that dacha writes."""
        SEQ_FIELDS = ["file", "smallest_sequence", "largest_sequence"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.NewFile2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['file']['start'] = self._io.pos()
            self.file = LeveldbVersionEdit.NewFile(self._io, self, self._root)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['smallest_sequence']['start'] = self._io.pos()
            self.smallest_sequence = leveldb_varint.LeveldbVarint(self._io)
            self.smallest_sequence._read()
            self._debug['smallest_sequence']['end'] = self._io.pos()
            self._debug['largest_sequence']['start'] = self._io.pos()
            self.largest_sequence = leveldb_varint.LeveldbVarint(self._io)
            self.largest_sequence._read()
            self._debug['largest_sequence']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.file._fetch_instances()
            self.smallest_sequence._fetch_instances()
            self.largest_sequence._fetch_instances()


    class NewFile3(KaitaiStruct):
        """RocksDB; adds the path that holds the table."""
        SEQ_FIELDS = ["level", "number", "path_id", "len_file", "smallest", "largest", "smallest_sequence", "largest_sequence"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.NewFile3, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['level']['start'] = self._io.pos()
            self.level = leveldb_varint.LeveldbVarint(self._io)
            self.level._read()
            self._debug['level']['end'] = self._io.pos()
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()
            self._debug['path_id']['start'] = self._io.pos()
            self.path_id = leveldb_varint.LeveldbVarint(self._io)
            self.path_id._read()
            self._debug['path_id']['end'] = self._io.pos()
            self._debug['len_file']['start'] = self._io.pos()
            self.len_file = leveldb_varint.LeveldbVarint(self._io)
            self.len_file._read()
            self._debug['len_file']['end'] = self._io.pos()
            self._debug['smallest']['start'] = self._io.pos()
            self.smallest = leveldb_bytes.LeveldbBytes(self._io)
            self.smallest._read()
            self._debug['smallest']['end'] = self._io.pos()
            self._debug['largest']['start'] = self._io.pos()
            self.largest = leveldb_bytes.LeveldbBytes(self._io)
            self.largest._read()
            self._debug['largest']['end'] = self._io.pos()
            self._debug['smallest_sequence']['start'] = self._io.pos()
            self.smallest_sequence = leveldb_varint.LeveldbVarint(self._io)
            self.smallest_sequence._read()
            self._debug['smallest_sequence']['end'] = self._io.pos()
            self._debug['largest_sequence']['start'] = self._io.pos()
            self.largest_sequence = leveldb_varint.LeveldbVarint(self._io)
            self.largest_sequence._read()
            self._debug['largest_sequence']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.level._fetch_instances()
            self.number._fetch_instances()
            self.path_id._fetch_instances()
            self.len_file._fetch_instances()
            self.smallest._fetch_instances()
            self.largest._fetch_instances()
            self.smallest_sequence._fetch_instances()
            self.largest_sequence._fetch_instances()


    class NewFile4(KaitaiStruct):
        """RocksDB; adds attributes that may be skipped."""
        SEQ_FIELDS = ["file", "attributes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.NewFile4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['file']['start'] = self._io.pos()
            self.file = LeveldbVersionEdit.NewFile2(self._io, self, self._root)
            self.file._read()
            self._debug['file']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self._debug['attributes']['arr'] = []
            self.attributes = []
            if not self._io.passes(self, 'attributes', lambda i, io: LeveldbVersionEdit.Attribute(io, self, self._root), until=lambda _, io: _.tag.value == 1):
                i = 0
                while True:
                    self._debug['attributes']['arr'].append({'start': self._io.pos()})
                    _t_attributes = LeveldbVersionEdit.Attribute(self._io, self, self._root)
                    try:
                        _t_attributes._read()
                    finally:
                        _ = _t_attributes
                        self.attributes.append(_)
                    self._debug['attributes']['arr'][len(self.attributes) - 1]['end'] = self._io.pos()
                    if _.tag.value == 1:
                        break
                    i += 1
            self._debug['attributes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.file._fetch_instances()
            for i in range(len(self.attributes)):
                pass
                self.attributes[i]._fetch_instances()



    class NoPayload(KaitaiStruct):
        """No payload."""
        SEQ_FIELDS = []
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.NoPayload, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass


    class WalAddition(KaitaiStruct):
        """A log, as RocksDB 6.15 tracked it; later ones write tag 8199."""
        SEQ_FIELDS = ["number", "attributes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.WalAddition, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['number']['start'] = self._io.pos()
            self.number = leveldb_varint.LeveldbVarint(self._io)
            self.number._read()
            self._debug['number']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self._debug['attributes']['arr'] = []
            self.attributes = []
            if not self._io.passes(self, 'attributes', lambda i, io: LeveldbVersionEdit.WalAttribute(io, self, self._root), until=lambda _, io: _.tag.value == 1):
                i = 0
                while True:
                    self._debug['attributes']['arr'].append({'start': self._io.pos()})
                    _t_attributes = LeveldbVersionEdit.WalAttribute(self._io, self, self._root)
                    try:
                        _t_attributes._read()
                    finally:
                        _ = _t_attributes
                        self.attributes.append(_)
                    self._debug['attributes']['arr'][len(self.attributes) - 1]['end'] = self._io.pos()
                    if _.tag.value == 1:
                        break
                    i += 1
            self._debug['attributes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.number._fetch_instances()
            for i in range(len(self.attributes)):
                pass
                self.attributes[i]._fetch_instances()



    class WalAttribute(KaitaiStruct):
        """One attribute of a log."""
        SEQ_FIELDS = ["tag", "len_synced"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbVersionEdit.WalAttribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = leveldb_varint.LeveldbVarint(self._io)
            self.tag._read()
            self._debug['tag']['end'] = self._io.pos()
            _ = self.tag
            if not  ((_.value == 1) or (_.value == 2)) :
                raise kaitaistruct.ValidationExprError(self.tag, self._io, u"/types/wal_attribute/seq/0")
            if self.tag.value == 2:
                pass
                self._debug['len_synced']['start'] = self._io.pos()
                self.len_synced = leveldb_varint.LeveldbVarint(self._io)
                self.len_synced._read()
                self._debug['len_synced']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.tag._fetch_instances()
            if self.tag.value == 2:
                pass
                self.len_synced._fetch_instances()




