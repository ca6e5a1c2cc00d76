meta:
  id: data_bundle_record_metadata
  title: DataBundle record row
  application: dacha
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_field
  endian: le
doc: |
  `BundleRecordMetadata`, value of a `SHARD_METADATA` row of the index, a Protocol
  Buffers message. Either `shard_byte_offset` or `all_zeros` is there.
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
enums:
  names:
    1:
      id: shard_index
      doc: Shard that holds the record.
    2:
      id: shard_uncompressed_offset
      doc: Where the record starts in the uncompressed stream of the shard.
    3:
      id: shard_byte_offset
      doc: |
        Where the stored record starts in the shard file. Some bundles count from
        `data_offset`; then the smallest one of the shard is 0.
    4:
      id: all_zeros
      -orig-id: [all_zeros, zeros]
      doc: Every byte of the record is zero and nothing is stored.
