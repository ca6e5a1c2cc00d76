meta:
  id: clp_s_msgpack
  title: MessagePack value inside a clp-s metadata packet
  application: clp-s
  file-extension: msgpack
  xref:
    wikidata: Q6821738
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: be
doc: |
  One MessagePack value with everything beneath it. Integers, strings, maps
  and arrays expose plain values, so that a container schema can follow the
  offsets that a clp-s archive stores this way. Big-endian, unlike the rest
  of the archive.
doc-ref: https://github.com/msgpack/msgpack/blob/master/spec.md
-webide-representation: '{uint_value:dec}{int_value:dec}{bool_value}{payload_float4}{payload_float8}{str_value}{bin_value:hex}{array_items}{map_items} ({kind})'
seq:
  - id: tag
    type: u1
    doc: Kind of the value, and for short values the value or the length.
  - id: payload_uint1
    -orig-id: uint 8
    type: u1
    if: tag == 0xcc
    doc: An unsigned integer, as wide as the tag says.
  - id: payload_uint2
    -orig-id: uint 16
    type: u2
    if: tag == 0xcd
  - id: payload_uint4
    -orig-id: uint 32
    type: u4
    if: tag == 0xce
  - id: payload_uint8
    -orig-id: uint 64
    type: u8
    if: tag == 0xcf
  - id: payload_int1
    -orig-id: int 8
    type: s1
    if: tag == 0xd0
    doc: A signed integer, as wide as the tag says.
  - id: payload_int2
    -orig-id: int 16
    type: s2
    if: tag == 0xd1
  - id: payload_int4
    -orig-id: int 32
    type: s4
    if: tag == 0xd2
  - id: payload_int8
    -orig-id: int 64
    type: s8
    if: tag == 0xd3
  - id: payload_float4
    -orig-id: float 32
    type: f4
    if: tag == 0xca
    doc: A float, as wide as the tag says.
  - id: payload_float8
    -orig-id: float 64
    type: f8
    if: tag == 0xcb
  - id: len_payload1
    type: u1
    valid:
      max: _io.size - _io.pos
    if: tag == 0xc4 or tag == 0xc7 or tag == 0xd9
    doc: Bytes of a string, of binary data or of an extension.
  - id: len_payload2
    type: u2
    valid:
      max: _io.size - _io.pos
    if: tag == 0xc5 or tag == 0xc8 or tag == 0xda or tag == 0xdc or tag == 0xde
    doc: The same, or how many items follow.
  - id: len_payload4
    type: u4
    valid:
      max: _io.size - _io.pos
    if: tag == 0xc6 or tag == 0xc9 or tag == 0xdb or tag == 0xdd or tag == 0xdf
    doc: The same, or how many items follow.
  - id: extension_type
    -orig-id: type
    type: s1
    if: kind == kinds::extension
    doc: Application-specific from 0 on, predefined below; -1 is a timestamp.
  - id: str_value
    size: '(tag < 0xc0 ? tag % 0x20 : len_payload).as<u4>'
    type: str
    if: kind == kinds::text
    doc: Text, whose length is in the tag or in the bytes after it.
  - id: bin_value
    size: >-
      (tag == 0xd4 ? 1 : tag == 0xd5 ? 2 : tag == 0xd6 ? 4 : tag == 0xd7 ? 8 : tag == 0xd8 ? 16 : len_payload).as<u4>
    if: kind == kinds::binary or kind == kinds::extension
    doc: Bytes, or the content of an extension.
  - id: array_items
    type: clp_s_msgpack
    repeat: expr
    repeat-expr: num_items
    if: kind == kinds::array
  - id: map_items
    type: map_entry
    repeat: expr
    repeat-expr: num_items
    if: kind == kinds::map
instances:
  kind:
    value: >-
      tag < 0x80 ? kinds::unsigned_integer :
      tag < 0x90 ? kinds::map :
      tag < 0xa0 ? kinds::array :
      tag < 0xc0 ? kinds::text :
      tag == 0xc0 ? kinds::nil_value :
      tag == 0xc1 ? kinds::reserved :
      tag < 0xc4 ? kinds::boolean :
      tag < 0xc7 ? kinds::binary :
      tag < 0xca ? kinds::extension :
      tag < 0xcc ? kinds::real :
      tag < 0xd0 ? kinds::unsigned_integer :
      tag < 0xd4 ? kinds::signed_integer :
      tag < 0xd9 ? kinds::extension :
      tag < 0xdc ? kinds::text :
      tag < 0xde ? kinds::array :
      tag < 0xe0 ? kinds::map : kinds::signed_integer
    doc: Kind of the value, taken from the tag.
    -webide-parse-mode: eager
  len_payload:
    value: >-
      tag == 0xc4 or tag == 0xc7 or tag == 0xd9 ? len_payload1.as<u4> :
      tag == 0xc5 or tag == 0xc8 or tag == 0xda or tag == 0xdc or tag == 0xde ? len_payload2.as<u4> :
      len_payload4
    if: (tag >= 0xc4 and tag <= 0xc9) or (tag >= 0xd9 and tag <= 0xdf)
    doc: Length or count that follows the tag.
  num_items:
    value: '(tag < 0xa0 ? tag % 0x10 : len_payload).as<u4>'
    if: kind == kinds::array or kind == kinds::map
  uint_value:
    value: >-
      tag < 0x80 ? tag.as<u8> :
      tag == 0xcc ? payload_uint1.as<u8> :
      tag == 0xcd ? payload_uint2.as<u8> :
      tag == 0xce ? payload_uint4.as<u8> : payload_uint8
    if: kind == kinds::unsigned_integer
    doc: The value of an unsigned integer of any width.
    -webide-parse-mode: eager
  int_value:
    value: >-
      tag >= 0xe0 ? (tag - 0x100).as<s8> :
      tag == 0xd0 ? payload_int1.as<s8> :
      tag == 0xd1 ? payload_int2.as<s8> :
      tag == 0xd2 ? payload_int4.as<s8> : payload_int8
    if: kind == kinds::signed_integer
    doc: The value of a signed integer of any width.
    -webide-parse-mode: eager
  bool_value:
    value: tag == 0xc3
    if: kind == kinds::boolean
    doc: The value of a boolean.
    -webide-parse-mode: eager
types:
  map_entry:
    doc: One key and its value.
    -webide-representation: '{key.str_value}: {value}'
    seq:
      - id: key
        type: clp_s_msgpack
      - id: value
        type: clp_s_msgpack
enums:
  kinds:
    0:
      id: nil_value
      -orig-id: nil
    1:
      id: boolean
      -orig-id: bool
    2:
      id: unsigned_integer
      -orig-id: uint
    3:
      id: signed_integer
      -orig-id: int
    4:
      id: real
      -orig-id: float
    5:
      id: text
      -orig-id: str
    6:
      id: binary
      -orig-id: bin
    7:
      id: extension
      -orig-id: ext
    8: array
    9: map
    10:
      id: reserved
      -orig-id: '(never used)'
