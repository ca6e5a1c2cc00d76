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
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
doc: |
  One MessagePack value with everything beneath it. Integers, strings, maps
  and arrays expose plain values, so that a container schema can follow the
  offsets that a clp-s archive stores this way. Big-endian, unlike the rest
  of the archive.
doc-ref: https://github.com/msgpack/msgpack/blob/master/spec.md
seq:
  - id: tag
    type: u1
    doc: Kind of the value, and for short values the value or the length.
  - id: payload_uint1
    type: u1
    if: tag == 0xcc
  - id: payload_uint2
    type: u2
    if: tag == 0xcd
  - id: payload_uint4
    type: u4
    if: tag == 0xce
  - id: payload_uint8
    type: u8
    if: tag == 0xcf
  - id: payload_int1
    type: s1
    if: tag == 0xd0
  - id: payload_int2
    type: s2
    if: tag == 0xd1
  - id: payload_int4
    type: s4
    if: tag == 0xd2
  - id: payload_int8
    type: s8
    if: tag == 0xd3
  - id: payload_float4
    type: f4
    if: tag == 0xca
  - id: payload_float8
    type: f8
    if: tag == 0xcb
  - id: len_payload1
    type: u1
    if: tag == 0xd9 or tag == 0xc4 or tag == 0xc7
  - id: len_payload2
    type: u2
    if: tag == 0xda or tag == 0xc5 or tag == 0xc8 or tag == 0xdc or tag == 0xde
  - id: len_payload4
    type: u4
    if: tag == 0xdb or tag == 0xc6 or tag == 0xc9 or tag == 0xdd or tag == 0xdf
  - id: extension_type
    type: s1
    if: is_extension
  - id: str_value
    size: len_text
    type: str
    if: is_str
  - id: bin_value
    size: len_bytes
    if: is_bin or is_extension
  - id: array_items
    type: clp_s_msgpack
    repeat: expr
    repeat-expr: num_items
    if: is_array
  - id: map_items
    type: map_entry
    repeat: expr
    repeat-expr: num_items
    if: is_map
instances:
  is_positive_fixint:
    value: tag < 0x80
  is_negative_fixint:
    value: tag >= 0xe0
  is_nil:
    value: tag == 0xc0
  is_bool:
    value: tag == 0xc2 or tag == 0xc3
  is_uint:
    value: tag < 0x80 or (tag >= 0xcc and tag <= 0xcf)
  is_str:
    value: (tag >= 0xa0 and tag < 0xc0) or (tag >= 0xd9 and tag <= 0xdb)
  is_bin:
    value: tag >= 0xc4 and tag <= 0xc6
  is_fixed_extension:
    value: tag >= 0xd4 and tag <= 0xd8
  is_extension:
    value: (tag >= 0xc7 and tag <= 0xc9) or is_fixed_extension
  is_array:
    value: (tag >= 0x90 and tag < 0xa0) or tag == 0xdc or tag == 0xdd
  is_map:
    value: (tag >= 0x80 and tag < 0x90) or tag == 0xde or tag == 0xdf
  len_any:
    value: >-
      (tag == 0xd9 or tag == 0xc4 or tag == 0xc7) ? len_payload1 :
      (tag == 0xda or tag == 0xc5 or tag == 0xc8 or tag == 0xdc or tag == 0xde) ? len_payload2 : len_payload4
    if: (tag >= 0xc4 and tag <= 0xc9) or (tag >= 0xd9 and tag <= 0xdf)
    doc: Length or count that stands after the tag.
  len_text:
    value: 'tag < 0xc0 ? tag & 0x1f : len_any'
  len_bytes:
    value: 'is_fixed_extension ? (1 << (tag - 0xd4)) : len_any'
  num_items:
    value: 'tag < 0xa0 ? tag & 0x0f : len_any'
  uint_value:
    value: >-
      tag < 0x80 ? tag :
      tag == 0xcc ? payload_uint1 :
      tag == 0xcd ? payload_uint2 :
      tag == 0xce ? payload_uint4 : payload_uint8
    if: is_uint
types:
  map_entry:
    doc: One key and its value.
    seq:
      - id: key
        type: clp_s_msgpack
      - id: value
        type: clp_s_msgpack
