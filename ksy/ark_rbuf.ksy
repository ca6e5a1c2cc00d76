meta:
  id: ark_rbuf
  title: Ark rbuf serialization, framing of objects and groups
  application: Ark robotics framework
  tags:
    - robotics
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: le
  bit-endian: be
doc: |
  rbuf is the serialization of the Ark robotics framework. Everything is
  little-endian and packed. Which fields an object has is not on the wire: a
  schema registry (JSON) declares it, found in the manifest of the log.

  Read as a file, this schema shows what is known of any object without its
  registry: the header byte, and the bytes that hold fields and groups. The
  types below are what the other Ark schemas are made of.
doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ On-Disk Format
seq:
  - id: header
    -orig-id: rbuf bitstream header
    type: object_header
instances:
  body:
    pos: 1
    size: _io.size - 1
    doc: Fields in the order of the schema, then the groups.
types:
  object_header:
    doc: |
      Opens every object but those of `final` schemas. 0xd1: no groups; 0xd5:
      at least one group follows the fields. The state is per object.
    seq:
      - id: magic
        type: b4
        valid: 0xd
        doc: Always 0xd.
      - id: reserved
        type: b1
        doc: |
          0 in everything that readers of real logs accept. One description
          says that this bit announces groups; it is then read so.
      - id: has_groups
        type: b1
        doc: A group follows the fields.
      - id: version
        type: b2
        valid: 1
        doc: Version of the serialization, 1.
    instances:
      groups_follow:
        value: has_groups or reserved
        doc: A group follows the fields, said by either bit.
  group_header:
    doc: |
      Opens a group of fields that was added to a schema after its first
      version. Its fields follow directly, without an object header.
    -element: true
    seq:
      - id: magic
        type: b4
        valid: 0xe
        doc: Always 0xe.
      - id: reserved
        type: b1
        doc: Always 0.
      - id: has_more
        type: b1
        doc: Another group follows this one.
      - id: reserved1
        type: b2
        doc: Always 0.
      - id: number
        -orig-id: group header number
        type: u1
        doc: Identifier of the group in its schema.
      - id: len_body
        -orig-id: group_size
        type: u4
        valid:
          max: _io.size - _io.pos
        doc: Bytes of the group, counted from the end of this header.
  group:
    doc: A group whose number the schema does not know; readers skip it.
    -webide-representation: 'group {header.number:dec}, {header.len_body:dec} bytes'
    seq:
      - id: header
        type: group_header
      - id: body
        size: header.len_body
        doc: Fields of the group.
  group_list:
    doc: The groups of an object, in the order of its schema.
    seq:
      - id: groups
        type: group
        repeat: until
        repeat-until: not _.header.has_more
        doc: Ends with the first group that does not announce another.
  guid:
    doc: |
      A GUID as two integers: the first eight bytes of its text form reversed,
      then the last eight bytes reversed. 00112233-4455-6677-8899-aabbccddeeff
      is stored as 77 66 55 44 33 22 11 00 ff ee dd cc bb aa 99 88.
    -webide-representation: '{digits0} {digits1} {digits2} {digits3}'
    -element: true
    seq:
      - id: digits1
        type: u4
        doc: Hexadecimal digits 9 to 16 of the text form.
      - id: digits0
        type: u4
        doc: The first eight of them; parts of 32 bits are exact in JavaScript too.
      - id: digits3
        type: u4
        doc: The last eight.
      - id: digits2
        type: u4
        doc: Digits 17 to 24.
    instances:
      high:
        value: (digits0.as<s8> * 0x100000000 + digits1.as<s8>).as<u8>
        doc: The first 16 hexadecimal digits of the text form.
      low:
        value: (digits2.as<s8> * 0x100000000 + digits3.as<s8>).as<u8>
        doc: The last 16 hexadecimal digits of the text form.
  text:
    doc: A string, counted in bytes, without a terminator.
    -webide-representation: '{value:str}'
    -scalar: value
    seq:
      - id: len_value
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: value
        size: len_value
        type: str
        doc: UTF-8 text.
  byte_buffer:
    -lint-ok: A field that a registry declares may be one.
    doc: Bytes, counted.
    -webide-representation: '{value}'
    -scalar: value
    -element: true
    seq:
      - id: len_value
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: value
        size: len_value
        doc: The bytes themselves.
  count:
    -lint-ok: A field that a registry declares may start with one.
    doc: Opens an arraylist or a dictionary, whose elements or pairs follow.
    -webide-representation: '{value:dec}'
    -scalar: value
    -element: true
    seq:
      - id: value
        type: u4
        doc: Elements, or pairs of key and value.
  variant_header:
    -lint-ok: A field that a registry declares may be a variant.
    doc: Opens an object of one of several types.
    -webide-representation: 'type {index:dec}, {len_object:dec} bytes'
    -element: true
    seq:
      - id: index
        type: u1
        doc: Which of the types that the registry lists.
      - id: len_object
        type: u4
        valid:
          max: _io.size - _io.pos
        doc: Bytes of the object, its header included.
  optional_time:
    doc: A time that may be absent.
    seq:
      - id: is_present
        type: u1
        doc: Not 0 when the value follows.
      - id: value
        type: u8
        if: is_present != 0
        doc: Nanoseconds of the steady clock.
  string_list:
    doc: An arraylist of strings.
    seq:
      - id: num_items
        type: u4
        valid:
          max: (_io.size - _io.pos) / 4
      - id: items
        type: text
        repeat: expr
        repeat-expr: num_items
        doc: The strings, in order.
