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
  dacha gives `sequence` to all of them.
doc-ref: https://github.com/google/leveldb/blob/main/db/write_batch.cc
seq:
  - id: sequence
    type: u8
    doc: Sequence number of the first operation.
  - id: num_operations
    -lint-ok: A batch is read to its end; markers are not counted.
    type: u4
    doc: |
      Operations that take a sequence number; markers and log data of RocksDB do
      not count.
  - id: operations
    -lint-ok: A record is small and read as a whole.
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
        doc: When the transaction is committed; stands before its name.
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
    0: deletion
    1: value
    2: merge
    3:
      id: log_data
      doc: A note to replication; changes nothing in the database.
    4: cf_deletion
    5: cf_value
    6: cf_merge
    7: single_deletion
    8: cf_single_deletion
    9: begin_prepare
    10: end_prepare
    11: commit
    12: rollback
    13: no_operation
    14: cf_range_deletion
    15: range_deletion
    16: cf_blob_index
    17: blob_index
    18: begin_persisted_prepare
    19: begin_unprepare
    21: commit_with_timestamp
    22: wide_column_entity
    23: cf_wide_column_entity
    24: value_preferred_seqno
    25: cf_value_preferred_seqno
