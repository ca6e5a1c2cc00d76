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

class LeveldbWriteBatch(KaitaiStruct):
    """One record of a write-ahead log: operations that were written together.
    
    LevelDB and RocksDB give operation *i* the sequence number `sequence + i`;
    dacha assigns `sequence` to all of them.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/db/write_batch.cc
    """

    class OperationTypes(IntEnum):
        deletion = 0
        value = 1
        merge = 2
        log_data = 3
        cf_deletion = 4
        cf_value = 5
        cf_merge = 6
        single_deletion = 7
        cf_single_deletion = 8
        begin_prepare = 9
        end_prepare = 10
        commit = 11
        rollback = 12
        no_operation = 13
        cf_range_deletion = 14
        range_deletion = 15
        cf_blob_index = 16
        blob_index = 17
        begin_persisted_prepare = 18
        begin_unprepare = 19
        commit_with_timestamp = 21
        wide_column_entity = 22
        cf_wide_column_entity = 23
        value_preferred_seqno = 24
        cf_value_preferred_seqno = 25
    SEQ_FIELDS = ["sequence", "num_operations", "operations"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbWriteBatch, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['sequence']['start'] = self._io.pos()
        self.sequence = self._io.read_u8le()
        self._debug['sequence']['end'] = self._io.pos()
        self._debug['num_operations']['start'] = self._io.pos()
        self.num_operations = self._io.read_u4le()
        self._debug['num_operations']['end'] = self._io.pos()
        self._debug['operations']['start'] = self._io.pos()
        self._debug['operations']['arr'] = []
        self.operations = []
        if not self._io.passes(self, 'operations', lambda i, io: LeveldbWriteBatch.Operation(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['operations']['arr'].append({'start': self._io.pos()})
                _t_operations = LeveldbWriteBatch.Operation(self._io, self, self._root)
                try:
                    _t_operations._read()
                finally:
                    self.operations.append(_t_operations)
                self._debug['operations']['arr'][len(self.operations) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['operations']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.operations)):
            pass
            self.operations[i]._fetch_instances()


    class Operation(KaitaiStruct):
        """One write, or a marker of a transaction."""
        SEQ_FIELDS = ["operation_type", "column_family", "key", "value", "commit_timestamp", "transaction_name"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbWriteBatch.Operation, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['operation_type']['start'] = self._io.pos()
            self.operation_type = KaitaiStream.resolve_enum(LeveldbWriteBatch.OperationTypes, self._io.read_u1())
            self._debug['operation_type']['end'] = self._io.pos()
            if not isinstance(self.operation_type, LeveldbWriteBatch.OperationTypes):
                raise kaitaistruct.ValidationNotInEnumError(self.operation_type, self._io, u"/types/operation/seq/0")
            if self.has_column_family:
                pass
                self._debug['column_family']['start'] = self._io.pos()
                self.column_family = leveldb_varint.LeveldbVarint(self._io)
                self.column_family._read()
                self._debug['column_family']['end'] = self._io.pos()

            if self.has_key:
                pass
                self._debug['key']['start'] = self._io.pos()
                self.key = leveldb_bytes.LeveldbBytes(self._io)
                self.key._read()
                self._debug['key']['end'] = self._io.pos()

            if self.has_value:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = leveldb_bytes.LeveldbBytes(self._io)
                self.value._read()
                self._debug['value']['end'] = self._io.pos()

            if self.operation_type == LeveldbWriteBatch.OperationTypes.commit_with_timestamp:
                pass
                self._debug['commit_timestamp']['start'] = self._io.pos()
                self.commit_timestamp = leveldb_bytes.LeveldbBytes(self._io)
                self.commit_timestamp._read()
                self._debug['commit_timestamp']['end'] = self._io.pos()

            if self.has_transaction_name:
                pass
                self._debug['transaction_name']['start'] = self._io.pos()
                self.transaction_name = leveldb_bytes.LeveldbBytes(self._io)
                self.transaction_name._read()
                self._debug['transaction_name']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.has_column_family:
                pass
                self.column_family._fetch_instances()

            if self.has_key:
                pass
                self.key._fetch_instances()

            if self.has_value:
                pass
                self.value._fetch_instances()

            if self.operation_type == LeveldbWriteBatch.OperationTypes.commit_with_timestamp:
                pass
                self.commit_timestamp._fetch_instances()

            if self.has_transaction_name:
                pass
                self.transaction_name._fetch_instances()


        @property
        def has_column_family(self):
            if hasattr(self, '_m_has_column_family'):
                return self._m_has_column_family

            self._m_has_column_family =  ((self.operation_type == LeveldbWriteBatch.OperationTypes.cf_deletion) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_value) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_merge) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_single_deletion) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_range_deletion) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_blob_index) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_wide_column_entity) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_value_preferred_seqno)) 
            return getattr(self, '_m_has_column_family', None)

        @property
        def has_key(self):
            """Markers have none."""
            if hasattr(self, '_m_has_key'):
                return self._m_has_key

            self._m_has_key =  ((self.operation_type != LeveldbWriteBatch.OperationTypes.begin_prepare) and (self.operation_type != LeveldbWriteBatch.OperationTypes.no_operation) and (self.operation_type != LeveldbWriteBatch.OperationTypes.begin_persisted_prepare) and (self.operation_type != LeveldbWriteBatch.OperationTypes.begin_unprepare) and ((not (self.has_transaction_name)))) 
            return getattr(self, '_m_has_key', None)

        @property
        def has_transaction_name(self):
            if hasattr(self, '_m_has_transaction_name'):
                return self._m_has_transaction_name

            self._m_has_transaction_name =  ((self.operation_type == LeveldbWriteBatch.OperationTypes.end_prepare) or (self.operation_type == LeveldbWriteBatch.OperationTypes.commit) or (self.operation_type == LeveldbWriteBatch.OperationTypes.rollback) or (self.operation_type == LeveldbWriteBatch.OperationTypes.commit_with_timestamp)) 
            return getattr(self, '_m_has_transaction_name', None)

        @property
        def has_value(self):
            if hasattr(self, '_m_has_value'):
                return self._m_has_value

            self._m_has_value =  ((self.operation_type == LeveldbWriteBatch.OperationTypes.value) or (self.operation_type == LeveldbWriteBatch.OperationTypes.merge) or (self.operation_type == LeveldbWriteBatch.OperationTypes.range_deletion) or (self.operation_type == LeveldbWriteBatch.OperationTypes.blob_index) or (self.operation_type == LeveldbWriteBatch.OperationTypes.wide_column_entity) or (self.operation_type == LeveldbWriteBatch.OperationTypes.value_preferred_seqno) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_value) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_merge) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_range_deletion) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_blob_index) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_wide_column_entity) or (self.operation_type == LeveldbWriteBatch.OperationTypes.cf_value_preferred_seqno)) 
            return getattr(self, '_m_has_value', None)



