meta:
  id: leveldb_index_delta
  title: RocksDB index block with delta-encoded handles, decompressed
  application: RocksDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_block_handle
    - leveldb_varint
  endian: le
doc: |
  The index of a RocksDB table from version 4 (property
  `rocksdb.index.value.is.delta.encoded`). Entries have no value length. At a
  restart the value is a whole block handle; elsewhere it is how much longer the
  block is than the one before, and the block starts right after it.
doc-ref: https://github.com/facebook/rocksdb/blob/main/table/block_based/block_builder.cc
instances:
  packed_num_restarts:
    pos: _io.size - 4
    type: u4
    valid:
      expr: _ < 0x40000000 and _ % 0x20000000 < 0x10000000
    doc: |
      The number of restarts, with a flag: bit 29 says that keys are spread so
      evenly that a position can be guessed. The other high bits are not used in
      an index.
  num_restarts:
    -lint-ok: Too many make `ofs_restarts` negative, and `entries` refuses that.
    value: packed_num_restarts % 0x10000000
  ofs_restarts:
    value: _io.size - 4 - 4 * num_restarts.as<s8>
  entries:
    pos: 0
    size: ofs_restarts
    type: entry_list
  restarts:
    pos: ofs_restarts
    type: u4
    repeat: expr
    repeat-expr: num_restarts
    doc: Offsets of entries that spell out their whole key; the first is 0.
types:
  entry_list:
    doc: Entries back to back, up to the restarts.
    seq:
      - id: entries
        type: entry
        repeat: eos
  entry:
    -columns: true
    doc: A key not below the last one of a data block, and where that block is.
    -webide-representation: '{key_suffix:str}: {handle}{raw_delta}'
    seq:
      - id: len_shared
        -lint-ok: it counts bytes of the key before, which whoever puts the key together compares
        -orig-id: shared_bytes
        type: leveldb_varint
      - id: len_key_suffix
        -orig-id: unshared_bytes
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
      - id: key_suffix
        -orig-id: key_delta
        size: len_key_suffix.value
        doc: The rest of the key.
      - id: handle
        type: leveldb_block_handle
        if: len_shared.value == 0
      - id: raw_delta
        type: leveldb_varint
        if: len_shared.value != 0
        doc: Zigzag; 0, 1, 2, 3 stand for 0, -1, 1, -2.
