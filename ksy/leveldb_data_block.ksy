meta:
  id: leveldb_data_block
  title: LevelDB or RocksDB data block, decompressed
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_internal_key
    - leveldb_varint
  endian: le
doc: |
  The layout of `leveldb_block` with the keys reassembled: entries sorted by
  internal key, each without the prefix that it shares with the previous key,
  except at a restart.
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
        type: entry(_index)
        repeat: eos
  entry:
    doc: A version of a key, or the mark that it was deleted.
    -webide-representation: '{user_key} {key_parts.value_type} {key_parts.sequence:dec}: {value:str}'
    params:
      - id: number
        type: s4
        doc: Position of the entry in the block.
    seq:
      - id: len_shared
        -lint-ok: it counts bytes of the key before, which whoever puts the key together compares
        -orig-id: shared_bytes
        type: leveldb_varint
        doc: Bytes that the key has in common with the one before.
      - id: len_key_suffix
        -orig-id: unshared_bytes
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
        doc: Bytes of the key that follow here.
      - id: len_value
        -orig-id: value_length
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8> - len_key_suffix.value
        doc: Bytes of the value.
      - id: key_suffix
        -orig-id: key_delta
        size: len_key_suffix.value
        type: key_suffix
        doc: The rest of the key.
      - id: value
        size: len_value.value
        doc: What the key stands for; empty when it was deleted.
    instances:
      key:
        -parsed-as: leveldb_internal_key
        value: >-
          len_shared.value == 0 or number == 0 ? key_suffix.text :
          _parent.entries[number - 1].key.as<str>.substring(0, len_shared.value.as<s4>) + key_suffix.text
        doc: The whole key, each byte as the character of that number.
      user_key:
        value: 'key.length < 8 ? key : key.substring(0, key.length - 8)'
        doc: The same without the eight bytes of type and sequence number.
        -webide-parse-mode: eager
      key_parts:
        io: key_suffix._io
        pos: 0
        size-eos: true
        type: leveldb_internal_key
        if: len_key_suffix.value >= 8
        doc: |
          Offset of the type and the sequence number, after the part of the
          user's key that is not shared.
        -webide-parse-mode: eager
  key_suffix:
    doc: The bytes of a key that differ from the key before.
    seq:
      - id: bytes
        size-eos: true
    instances:
      text:
        value: bytes.to_s("ISO-8859-1")
        doc: The same, each byte as the character of that number.
