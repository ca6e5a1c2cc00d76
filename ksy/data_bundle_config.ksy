meta:
  id: data_bundle_config
  title: DataBundle configuration row
  application: dacha
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_field
    - leveldb_varint
  endian: le
doc: |
  Value of the one `BUNDLE_CONFIG` row of the index, a Protocol Buffers message.

  Upstream left the message out of its code, and the compression method out of
  the message; field 4 is where this project writes it.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
-webide-representation: '{fields}'
seq:
  - id: fields
    -lint-ok: A row is small and read as a whole.
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
        if: wire.key.value == 32
        doc: The value by its name.
      version_magic:
        value: wire.value.as<data_bundle_field::byte_string>.data.bytes.to_s("UTF-8")
        if: wire.key.value == 10
        doc: The value as text; 10 is the key of field 1 with a value of bytes.
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
      id: version_magic
      doc: '`daBundleV1`.'
    2:
      id: block_size
      doc: Alignment of records.
    3:
      id: record_size
      doc: Uncompressed bytes that a record is meant to hold.
    4:
      id: compression_method
      -orig-id: compression_algorithm
      doc: 1 none, 2 snappy, 3 zlib.
    6:
      id: raw_packed
      doc: Data stored as they are, without records.
