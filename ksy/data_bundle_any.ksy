meta:
  id: data_bundle_any
  title: Protocol Buffers message of any type
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
  `google.protobuf.Any`: what the creator of a bundle attached to a file, with the
  name of its type.
doc-ref: https://protobuf.dev/programming-guides/proto3/#any
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
      type_url:
        value: wire.value.as<data_bundle_field::byte_string>.data.bytes.to_s("UTF-8")
        if: wire.key.value == 10
        doc: The value as text; 10 is the key of field 1 with a value of bytes.
enums:
  names:
    1:
      id: type_url
      doc: Name of the type, after the last slash of an address that need not exist.
    2:
      id: value
      doc: A message of that type, serialized.
