meta:
  id: data_bundle_inline_table
  title: DataBundle index rows inside the header of a shard
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
  `BundleInlineTable`, a Protocol Buffers message in the header of a shard, for
  bundles without an `index/`. No program is known that writes it; its rows
  presumably are those of the index.
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
    -webide-representation: '{name}: {row}'
    seq:
      - id: wire
        type: data_bundle_field
    instances:
      name:
        value: wire.number
        enum: names
        doc: The number of the field by its name.
        -webide-parse-mode: eager
      row:
        io: wire.value.as<data_bundle_field::byte_string>.data._io
        pos: 0
        size-eos: true
        type: row
        if: wire.key.value == 10
        doc: The message in it; 10 is the key of field 1 with a value of bytes.
        -webide-parse-mode: eager
  row:
    doc: One row of the index.
    -webide-representation: '{fields}'
    seq:
      - id: fields
        type: row_field
        repeat: eos
  row_field:
    doc: One field of a row, with its number as a name.
    -webide-representation: '{name}: {wire}'
    seq:
      - id: wire
        type: data_bundle_field
    instances:
      name:
        value: wire.number
        enum: row_names
        doc: The number of the field by its name.
        -webide-parse-mode: eager
enums:
  names:
    1:
      id: row
      doc: One row; the field repeats.
  row_names:
    1:
      id: key
      doc: Key of the row.
    2:
      id: value
      doc: Value of the row.
