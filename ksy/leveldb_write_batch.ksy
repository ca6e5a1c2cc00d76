meta:
  id: leveldb_write_batch
  title: LevelDB write batch
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_bytes
    - leveldb_varint
  endian: le
doc: |
  One record of a write-ahead log: operations that were written together.

  LevelDB and RocksDB give operation *i* the sequence number `sequence + i`;
  dacha assigns `sequence` to all of them.
doc-ref: https://github.com/google/leveldb/blob/main/db/write_batch.cc
seq:
  - id: sequence
    type: u8
    doc: Sequence number of the first operation.
  - id: num_operations
    -lint-ok: A batch is read to its end; markers are not counted.
    -orig-id: count
    type: u4
    doc: |
      Operations that take a sequence number; markers and log data of RocksDB do
      not count.
  - id: operations
    -lint-ok: A record is small and read as a whole.
    -orig-id: data
    type: operation
    repeat: eos
types:
  operation:
    -columns: true
    -element: true
    doc: One write, or a marker of a transaction.
    -webide-representation: '{operation_type} {key}{transaction_name} {value}'
    seq:
      - id: operation_type
        type: u1
        enum: operation_types
        valid:
          in-enum: true
        doc: What is done, and so which fields follow.
      - id: column_family
        type: leveldb_varint
        if: has_column_family
        doc: RocksDB column family; 0 (default) when absent.
      - id: key
        type: leveldb_bytes
        if: has_key
        doc: For a range deletion its first key; for log data the note.
      - id: value
        type: leveldb_bytes
        if: has_value
        doc: For a range deletion the key it ends before.
      - id: commit_timestamp
        type: leveldb_bytes
        if: operation_type == operation_types::commit_with_timestamp
        doc: Commit time of the transaction; precedes its name.
      - id: transaction_name
        -orig-id: xid
        type: leveldb_bytes
        if: has_transaction_name
        doc: Name of the transaction that the marker is about.
    instances:
      has_column_family:
        value: |
          operation_type == operation_types::cf_deletion
          or operation_type == operation_types::cf_value
          or operation_type == operation_types::cf_merge
          or operation_type == operation_types::cf_single_deletion
          or operation_type == operation_types::cf_range_deletion
          or operation_type == operation_types::cf_blob_index
          or operation_type == operation_types::cf_wide_column_entity
          or operation_type == operation_types::cf_value_preferred_seqno
      has_key:
        value: |
          operation_type != operation_types::begin_prepare
          and operation_type != operation_types::no_operation
          and operation_type != operation_types::begin_persisted_prepare
          and operation_type != operation_types::begin_unprepare
          and not has_transaction_name
        doc: Markers have none.
      has_transaction_name:
        value: |
          operation_type == operation_types::end_prepare
          or operation_type == operation_types::commit
          or operation_type == operation_types::rollback
          or operation_type == operation_types::commit_with_timestamp
      has_value:
        value: |
          operation_type == operation_types::value
          or operation_type == operation_types::merge
          or operation_type == operation_types::range_deletion
          or operation_type == operation_types::blob_index
          or operation_type == operation_types::wide_column_entity
          or operation_type == operation_types::value_preferred_seqno
          or operation_type == operation_types::cf_value
          or operation_type == operation_types::cf_merge
          or operation_type == operation_types::cf_range_deletion
          or operation_type == operation_types::cf_blob_index
          or operation_type == operation_types::cf_wide_column_entity
          or operation_type == operation_types::cf_value_preferred_seqno
enums:
  operation_types:
    0:
      id: deletion
      -orig-id: kTypeDeletion
    1:
      id: value
      -orig-id: kTypeValue
    2:
      id: merge
      -orig-id: kTypeMerge
    3:
      id: log_data
      -orig-id: kTypeLogData
      doc: A note to replication; changes nothing in the database.
    4:
      id: cf_deletion
      -orig-id: kTypeColumnFamilyDeletion
    5:
      id: cf_value
      -orig-id: kTypeColumnFamilyValue
    6:
      id: cf_merge
      -orig-id: kTypeColumnFamilyMerge
    7:
      id: single_deletion
      -orig-id: kTypeSingleDeletion
    8:
      id: cf_single_deletion
      -orig-id: kTypeColumnFamilySingleDeletion
    9:
      id: begin_prepare
      -orig-id: kTypeBeginPrepareXID
    10:
      id: end_prepare
      -orig-id: kTypeEndPrepareXID
    11:
      id: commit
      -orig-id: kTypeCommitXID
    12:
      id: rollback
      -orig-id: kTypeRollbackXID
    13:
      id: no_operation
      -orig-id: kTypeNoop
    14:
      id: cf_range_deletion
      -orig-id: kTypeColumnFamilyRangeDeletion
    15:
      id: range_deletion
      -orig-id: kTypeRangeDeletion
    16:
      id: cf_blob_index
      -orig-id: kTypeColumnFamilyBlobIndex
    17:
      id: blob_index
      -orig-id: kTypeBlobIndex
    18:
      id: begin_persisted_prepare
      -orig-id: kTypeBeginPersistedPrepareXID
    19:
      id: begin_unprepare
      -orig-id: kTypeBeginUnprepareXID
    21:
      id: commit_with_timestamp
      -orig-id: kTypeCommitXIDAndTimestamp
    22:
      id: wide_column_entity
      -orig-id: kTypeWideColumnEntity
    23:
      id: cf_wide_column_entity
      -orig-id: kTypeColumnFamilyWideColumnEntity
    24:
      id: value_preferred_seqno
      -orig-id: kTypeValuePreferredSeqno
    25:
      id: cf_value_preferred_seqno
      -orig-id: kTypeColumnFamilyValuePreferredSeqno
