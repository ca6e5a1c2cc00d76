meta:
  id: data_bundle_field
  title: Protocol Buffers field
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_bytes
    - leveldb_varint
  endian: le
doc: |
  One field of a Protocol Buffers message: a key that holds field number and wire
  type, then the value. A message is any number of them; what a number means
  depends on the message.
doc-ref: https://protobuf.dev/programming-guides/encoding/
seq:
  - id: key
    type: leveldb_varint
  - id: check_key
    size: 0
    valid:
      expr: number > 0 and number < 536870912
    doc: Takes no space; field numbers have 29 bits and start at 1.
  - id: value
    type:
      switch-on: wire_type
      cases:
        'wire_types::varint': leveldb_varint
        'wire_types::fixed64': fixed64
        'wire_types::bytes': leveldb_bytes
        'wire_types::fixed32': fixed32
        _: unsupported
instances:
  number:
    value: key.value / 8
  wire_type:
    value: key.value % 8
    enum: wire_types
types:
  fixed64:
    doc: Eight bytes.
    seq:
      - id: value
        type: u8
  fixed32:
    doc: Four bytes.
    seq:
      - id: value
        type: u4
  unsupported:
    doc: Groups (3, 4) are not used; 6 and 7 mean nothing.
    seq:
      - id: check_supported
        size: 0
        valid:
          expr: 'false'
enums:
  wire_types:
    0: varint
    1: fixed64
    2: bytes
    5: fixed32
