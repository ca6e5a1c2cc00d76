meta:
  id: leveldb_bytes
  title: LevelDB length-prefixed byte string
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_varint
  endian: le
doc: |
  A byte string preceded by its length ("length-prefixed slice").
doc-ref: https://github.com/google/leveldb/blob/main/util/coding.cc GetLengthPrefixedSlice
-webide-representation: '{data:str}'
seq:
  - id: len_data
    -orig-id: len
    type: leveldb_varint
    valid:
      expr: _.value <= (_io.size - _io.pos).as<u8>
  - id: data
    size: len_data.value
    doc: The bytes themselves.
