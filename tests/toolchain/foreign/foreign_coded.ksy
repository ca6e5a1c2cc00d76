meta:
  id: foreign_coded
  endian: le
doc: Bytes that are encoded, plain and with a structure in them.
seq:
  - id: key
    type: u1
  - id: one
    size: 4
    process: xor(key)
  - id: many
    size: 5
    process: xor([0x12, 0x34])
  - id: left
    size: 3
    process: rol(3)
  - id: right
    size: 3
    process: ror(key % 8)
  - id: inside
    type: body
    size: 7
    process: xor(0x5a)
  - id: len_packed
    type: u1
  - id: packed
    type: body
    size: len_packed
    process: zlib
    if: len_packed > 100
types:
  body:
    seq:
      - id: number
        type: u2
      - id: where
        type: u1
    instances:
      last:
        pos: _io.size - 1
        type: u1
