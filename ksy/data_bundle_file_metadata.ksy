meta:
  id: data_bundle_file_metadata
  title: DataBundle file row
  application: dacha
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_any
    - data_bundle_field
    - leveldb_varint
  endian: le
doc: |
  `BundleFileMetadata`, value of a `FILE_METADATA` row of the index, a Protocol
  Buffers message.
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
      file_type:
        value: wire.value.as<leveldb_varint>.value
        enum: file_types
        if: wire.key.value == 8
        doc: The value by its name.
      user_data:
        io: wire.value.as<data_bundle_field::byte_string>.data._io
        pos: 0
        size-eos: true
        type: data_bundle_any
        if: wire.key.value == 50
        doc: The message in it; 50 is the key of field 6 with a value of bytes.
enums:
  file_types:
    0:
      id: unknown
      -orig-id: UNKNOWN
      doc: Read as a file.
    1:
      id: regular_file
      -orig-id: [REGULAR, FILE]
    2:
      id: directory
      -orig-id: DIRECTORY
  names:
    1:
      id: file_type
      -orig-id: type
      doc: 0 unknown (read as a file), 1 regular file, 2 directory.
    2:
      id: shard_index
      doc: Shard that holds the file.
    3:
      id: shard_uncompressed_offset
      -orig-id: [shard_uncompressed_offset, shard_offset]
      doc: Where the file starts in the uncompressed stream of the shard.
    4:
      id: uncompressed_size
      -orig-id: [uncompressed_size, size]
      doc: Bytes in the file.
    5:
      id: crc32c
      -orig-id: [crc32c, checksum]
      doc: CRC-32C of the file, not masked.
      -checksum: CRC-32C
    6:
      id: user_data
      doc: A `google.protobuf.Any`, attached by the maker of the bundle.
