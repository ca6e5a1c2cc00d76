meta:
  id: leveldb_footer
  title: Footer of a LevelDB or RocksDB table
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_block_handle
  endian: le
doc: |
  The last 48 bytes (LevelDB) or 53 bytes (RocksDB) of a table: where its
  metaindex and its index are. Give it the last 53 bytes of the file, or more;
  it counts from the end.
doc-ref:
  - https://github.com/google/leveldb/blob/main/doc/table_format.md
  - https://github.com/facebook/rocksdb/blob/main/table/format.h
instances:
  magic:
    pos: _io.size - 8
    size: 8
  is_leveldb:
    value: magic == [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb]
  is_rocksdb:
    value: magic == [0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88]
  is_plain:
    -orig-id: kPlainTableMagicNumber
    value: magic == [0x64, 0x95, 0xbf, 0x63, 0x96, 0x22, 0x42, 0x82]
    doc: RocksDB's plain tables, which have another layout.
  is_old_plain:
    -orig-id: kLegacyPlainTableMagicNumber
    value: magic == [0xb8, 0x13, 0x8f, 0x7a, 0xeb, 0x18, 0x34, 0x4f]
  is_cuckoo:
    -orig-id: kCuckooTableMagicNumber
    value: magic == [0x73, 0x78, 0xf1, 0xc5, 0xd0, 0x89, 0x67, 0x92]
    doc: RocksDB's cuckoo tables, which have another layout.
  is_pebble:
    -orig-id: pebbleDBMagic
    value: magic == [0xf0, 0x9f, 0xaa, 0xb3, 0xf0, 0x9f, 0xaa, 0xb3]
    doc: Pebble's own formats, whose blocks and footers differ from RocksDB's.
  leveldb:
    pos: _io.size - 48
    size: 40
    type: handles
    if: is_leveldb
  version:
    -orig-id: format_version
    pos: _io.size - 12
    type: u4
    if: is_rocksdb
    doc: RocksDB's `format_version`; the LevelDB footer counts as version 0.
  checksum_type:
    pos: _io.size - 53
    type: u1
    enum: checksum_types
    if: is_rocksdb
    doc: Kind of the checksum that follows each block.
  rocksdb:
    pos: _io.size - 52
    size: 40
    type: handles
    if: is_rocksdb and version < 6
  rocksdb6:
    pos: _io.size - 52
    size: 40
    type: sealed_handle
    if: is_rocksdb and version >= 6
types:
  handles:
    doc: Where the two blocks are that lead to all others.
    seq:
      - id: metaindex
        -orig-id: metaindex_handle
        type: leveldb_block_handle
      - id: index
        -orig-id: index_handle
        type: leveldb_block_handle
      - id: padding
        size-eos: true
        doc: Zeros.
  sealed_handle:
    doc: |
      Form of version 6. The metaindex block directly precedes the footer, and
      names the index block under `rocksdb.index`.
    seq:
      - id: extended_magic
        contents: [0x3e, 0x00, 0x7a, 0x00]
      - id: footer_checksum
        -checksum: of the footer
        type: u4
        doc: |
          Checksum over the 53 bytes of the footer with this field zero, then
          modified by the base context and the offset of the footer.
      - id: base_context_checksum
        type: u4
        doc: |
          Mixed with a block's offset into its checksum, so that a block that
          ended up elsewhere is found out. 0 switches that off.
      - id: len_metaindex
        -lint-ok: In the table, of which only the end may be here.
        type: u4
      - id: padding
        size-eos: true
        doc: Zeros.
enums:
  checksum_types:
    0:
      id: none
      -orig-id: kNoChecksum
    1:
      id: crc32c
      -orig-id: kCRC32c
      doc: Rotated right by 15 bits, plus 0xa282ead8.
    2:
      id: xxhash32
      -orig-id: kxxHash
    3:
      id: xxhash64
      -orig-id: kxxHash64
      doc: The low 32 bits.
    4:
      id: xxh3
      -orig-id: kXXH3
      doc: |
        The low 32 bits over the contents; the compression byte, multiplied by
        0x6b9083d9, is combined with exclusive or.
