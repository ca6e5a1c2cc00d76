meta:
  id: leveldb_block_handle
  title: LevelDB block handle
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_varint
  endian: le
doc: |
  Offset and length of a block in its table. The length excludes the five bytes of
  compression and checksum that follow every block.
doc-ref: https://github.com/google/leveldb/blob/main/doc/table_format.md
-element: true
-webide-representation: '{len_block} bytes at {ofs_block}'
seq:
  - id: ofs_block
    -orig-id: offset
    type: leveldb_varint
    valid:
      expr: _.value <= (0x7fffffffffffffff).as<u8>
  - id: len_block
    -orig-id: size
    type: leveldb_varint
    valid:
      expr: _.value <= (0x7fffffffffffffff).as<u8>
