meta:
  id: data_bundle_shard_header
  title: Header message of a DataBundle shard
  application: dacha
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_field
    - data_bundle_inline_table
    - leveldb_varint
  endian: le
doc: |
  `BundleShardHeader`, a Protocol Buffers message. A field that is absent has its
  default: 0, false or empty.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
-webide-representation: '{fields}'
seq:
  - id: fields
    -lint-ok: A header is small and read as a whole.
    type: field
    repeat: eos
types:
  field:
    doc: One field, with its number as a name.
    -webide-representation: '{name}: {wire}'
    seq:
      - id: wire
        type: data_bundle_field
    instances:
      name:
        value: wire.number
        enum: names
        doc: The number of the field by its name.
        -webide-parse-mode: eager
      compression_method:
        value: wire.value.as<leveldb_varint>.value
        enum: compression_methods
        if: wire.key.value == 40
        doc: The value by its name.
      inline_metadata_table:
        io: wire.value.as<data_bundle_field::byte_string>.data._io
        pos: 0
        size-eos: true
        type: data_bundle_inline_table
        if: wire.key.value == 50
        doc: The message in it; 50 is the key of field 6 with a value of bytes.
enums:
  compression_methods:
    0:
      id: unknown
      -orig-id: UNKNOWN
      doc: Not stated.
    1:
      id: none
      -orig-id: NONE
    2:
      id: snappy
      -orig-id: SNAPPY
    3:
      id: zlib
      -orig-id: ZLIB
  names:
    1:
      id: shard_index
      doc: Number of this shard, from 0.
    2:
      id: shard_count
      doc: Shards in the bundle.
    3:
      id: record_size
      doc: Uncompressed bytes that a record is meant to hold.
    4:
      id: record_alignment
      -orig-id: [record_alignment, block_size]
      doc: Stored records start at multiples of this.
    5:
      id: compression_method
      doc: 1 none, 2 snappy, 3 zlib.
    6:
      id: inline_metadata_table
      doc: Index rows in this very message.
    7:
      id: metadata_at_eof
      doc: Index rows at the end of the shard; how to find them was never defined.
    8:
      id: external_metadata
      doc: Index rows in the database under `index/`.
