meta:
  id: leveldb_internal_key
  title: LevelDB internal key
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  The key under which tables and manifests file an entry: the key the user gave,
  then eight bytes that hold the sequence number of the write and what it was.

  Sorted by user key ascending, then by sequence descending, so that the newest
  version of a key comes first.
doc-ref: https://github.com/google/leveldb/blob/main/db/dbformat.h
-element: true
-webide-representation: '{user_key:str} {value_type} {sequence:dec}'
seq:
  - id: user_key
    size: _io.size - 8
    doc: What the user of the database calls the entry.
  - id: value_type
    -orig-id: type
    type: u1
    enum: value_types
    doc: The low eight bits of the packed number.
  - id: sequence_lo
    type: u4
    doc: Bits 0 to 31 of the sequence number.
  - id: sequence_hi
    type: u2
    doc: Bits 32 to 47 of the sequence number.
  - id: sequence_top
    type: u1
    doc: Bits 48 to 55 of the sequence number.
instances:
  sequence:
    value: >-
      (sequence_lo.as<s8> + sequence_hi.as<s8> * 0x100000000
      + sequence_top.as<s8> * 0x1000000000000).as<u8>
    doc: |
      Number of the write, growing by one per operation in LevelDB and RocksDB,
      by one per batch in dacha.
    -webide-parse-mode: eager
enums:
  value_types:
    0:
      id: deletion
      -orig-id: kTypeDeletion
      doc: The key was deleted; the value is empty.
    1:
      id: value
      -orig-id: kTypeValue
    2:
      id: merge
      -orig-id: kTypeMerge
    7:
      id: single_deletion
      -orig-id: kTypeSingleDeletion
    15:
      id: range_deletion
      -orig-id: kTypeRangeDeletion
    17:
      id: blob_index
      -orig-id: kTypeBlobIndex
    20:
      id: deletion_with_timestamp
      -orig-id: kTypeDeletionWithTimestamp
    22:
      id: wide_column_entity
      -orig-id: kTypeWideColumnEntity
    24:
      id: value_preferred_seqno
      -orig-id: kTypeValuePreferredSeqno
