meta:
  id: data_bundle_index_block
  title: DataBundle index block, decompressed
  application: dacha
  tags:
    - archive
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_config
    - data_bundle_file_metadata
    - data_bundle_record_metadata
    - data_bundle_row_key
    - leveldb_varint
  endian: le
doc: |
  A data block of the index: the layout of `leveldb_block`, with the values read
  as the rows that they are. Keys are as this project writes them; see
  `data_bundle_key`.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
instances:
  packed_num_restarts:
    pos: _io.size - 4
    type: u4
    doc: The number of restarts, in RocksDB with a flag in the highest bit.
  has_hash_index:
    value: packed_num_restarts >= 0x80000000
    doc: RocksDB; a table of buckets is stored between the restarts and their number.
  num_restarts:
    value: packed_num_restarts % 0x80000000
  num_buckets:
    pos: _io.size - 6
    type: u2
    valid:
      max: _io.size - 6
    if: has_hash_index
  ofs_restarts:
    value: '_io.size - 4 - 4 * num_restarts - (has_hash_index ? 2 + num_buckets : 0)'
  rows:
    pos: 0
    size: ofs_restarts
    type: row_list
  restarts:
    pos: ofs_restarts
    type: u4
    repeat: expr
    repeat-expr: num_restarts
    doc: Offsets of rows that spell out their whole key; the first is 0.
  buckets:
    pos: ofs_restarts + 4 * num_restarts
    size: num_buckets.as<u2>
    if: has_hash_index
    doc: Per bucket the number of a restart, 254 for several, 255 for none.
types:
  row_list:
    doc: Rows back to back, up to the restarts.
    seq:
      - id: rows
        type: row(_index)
        repeat: eos
  row:
    doc: |
      An internal key, which may share its first bytes with the previous key,
      and its value.
    -webide-representation: '{table} {whole_key}: {value}'
    params:
      - id: number
        type: s4
        doc: Position of the row in the block.
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
      - id: len_value
        -orig-id: value_length
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8> - len_key_suffix.value
      - id: key_suffix
        -orig-id: key_delta
        size: len_key_suffix.value
        type: key_suffix
        doc: The rest of the key.
      - id: value
        size: len_value.value
        type:
          switch-on: table
          cases:
            'tables::config': data_bundle_config
            'tables::files': data_bundle_file_metadata
            'tables::records': data_bundle_record_metadata
        doc: Empty when the key says that the row was deleted.
    instances:
      key:
        -parsed-as: data_bundle_row_key
        value: >-
          len_shared.value == 0 or number == 0 ? key_suffix.text :
          _parent.rows[number - 1].key.as<str>.substring(0, len_shared.value.as<s4>) + key_suffix.text
        doc: The whole key, each byte as the character of that number.
        -webide-parse-mode: eager
      whole_key:
        io: key_suffix._io
        pos: 0
        size-eos: true
        type: data_bundle_row_key
        if: len_shared.value == 0 and len_key_suffix.value > 8
        doc: The key where it is spelled out.
        -webide-parse-mode: eager
      table:
        value: |
          len_shared.value == 0 and len_key_suffix.value > 0 ? key_suffix.bytes[0]
          : number > 0 ? _parent.rows[number - 1].table.to_i : 0
        enum: tables
        doc: |
          First byte of the whole key; a key that shares bytes with the one before
          shares this one too.
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
enums:
  tables:
    0:
      id: unknown
      doc: A key of no bytes.
    1:
      id: config
      -orig-id: BUNDLE_CONFIG
    2:
      id: files
      -orig-id: FILE_METADATA
    3:
      id: records
      -orig-id: SHARD_METADATA
