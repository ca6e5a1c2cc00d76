meta:
  id: data_bundle_field
  title: Protocol Buffers field
  xref:
    justsolve: Protobuf
    wikidata: Q1645574
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_varint
  endian: le
doc: |
  One field of a Protocol Buffers message: a key that holds field number and wire
  type, then the value. A message is any number of them; what a number means
  depends on the message.
doc-ref: https://protobuf.dev/programming-guides/encoding/
-webide-representation: '{value}'
seq:
  - id: key
    -orig-id: tag
    type: leveldb_varint
    valid:
      expr: |
        _.value >= 8 and _.value < 0x100000000
        and _.value.as<s8> % 8 != 3 and _.value.as<s8> % 8 != 4 and _.value.as<s8> % 8 < 6
    doc: |
      Eight times the field number, which has 29 bits and starts at 1, plus the
      wire type. Groups (3, 4) are not used; 6 and 7 mean nothing.
  - id: value
    type:
      switch-on: wire_type
      cases:
        'wire_types::varint': leveldb_varint
        'wire_types::fixed64': fixed64
        'wire_types::bytes': byte_string
        'wire_types::fixed32': fixed32
    doc: Never raw bytes, for the key admits no other wire type.
instances:
  number:
    -orig-id: field number
    value: key.value / 8
    doc: Which field of its message it is.
  wire_type:
    -orig-id: wire type
    value: key.value.as<s8> % 8
    enum: wire_types
    doc: How the value is stored, whatever it means.
types:
  byte_string:
    doc: Bytes, text or a message, preceded by their length.
    -webide-representation: '{data}'
    seq:
      - id: len_data
        -orig-id: size
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
      - id: data
        size: len_data.value
        type: content
  content:
    doc: A stream of its own, so that a message can be opened in it.
    -webide-representation: '{bytes:str}'
    seq:
      - id: bytes
        size-eos: true
  fixed64:
    doc: Eight bytes.
    -webide-representation: '{value:dec}'
    seq:
      - id: value
        type: u8
  fixed32:
    doc: Four bytes.
    -webide-representation: '{value:dec}'
    seq:
      - id: value
        type: u4
enums:
  wire_types:
    0:
      id: varint
      -orig-id: VARINT
    1:
      id: fixed64
      -orig-id: I64
    2:
      id: bytes
      -orig-id: LEN
    5:
      id: fixed32
      -orig-id: I32
