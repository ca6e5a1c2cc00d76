meta:
  id: leveldb_block
  title: LevelDB table block, decompressed
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
  Sorted entries with shared key prefixes, and offsets where the sharing starts
  again. Data, index, metaindex and properties blocks have this form; filter
  blocks have their own, and so have RocksDB's index blocks from version 4.

  Keys are internal keys in data blocks and, as a rule, in index blocks; plain
  names in metaindex and properties blocks. An index entry's value is a block
  handle.
doc-ref: https://github.com/google/leveldb/blob/main/table/block_builder.cc
instances:
  packed_num_restarts:
    pos: _io.size - 4
    type: u4
    valid:
      expr: _ % 0x80000000 < 0x40000000 and _ % 0x20000000 < 0x10000000
    doc: |
      The number of restarts, in RocksDB with flags in the four highest bits. Bit
      28 means that keys and values are stored apart, bit 30 has no meaning yet:
      neither layout is this one.
  has_hash_index:
    value: packed_num_restarts >= 0x80000000
    doc: RocksDB; a table of buckets is stored between the restarts and their number.
  is_uniform:
    value: packed_num_restarts % 0x40000000 >= 0x20000000
    doc: RocksDB; keys are spread so evenly that a position can be guessed.
  num_restarts:
    value: packed_num_restarts % 0x10000000
  num_buckets:
    pos: _io.size - 6
    type: u2
    valid:
      max: _io.size - 6
    if: has_hash_index
  ofs_restarts:
    value: '_io.size - 4 - 4 * num_restarts - (has_hash_index ? 2 + num_buckets : 0)'
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
  buckets:
    pos: ofs_restarts + 4 * num_restarts
    size: num_buckets.as<u2>
    if: has_hash_index
    doc: Per bucket the number of a restart, 254 for several, 255 for none.
types:
  entry_list:
    doc: Entries back to back, up to the restarts.
    seq:
      - id: entries
        type: entry
        repeat: eos
  entry:
    -columns: true
    doc: A key, which may share its first bytes with the previous key, and a value.
    -webide-representation: '{len_shared} + {key_suffix:str}: {len_value} bytes'
    seq:
      - id: len_shared
        -lint-ok: Of the key before, whose length no specification adds up.
        -orig-id: shared_bytes
        type: leveldb_varint
        doc: Bytes that the key has in common with the one before.
      - id: len_key_suffix
        -orig-id: unshared_bytes
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
      - id: len_value
        -orig-id: value_length
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8> - len_key_suffix.value
      - id: key_suffix
        -orig-id: key_delta
        size: len_key_suffix.value
        doc: The rest of the key.
      - id: value
        size: len_value.value
        type: entry_value
  entry_value:
    doc: A stream of its own, so that other schemas can open it.
    seq:
      - id: data
        size-eos: true
