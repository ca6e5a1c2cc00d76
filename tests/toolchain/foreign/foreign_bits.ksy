meta:
  id: foreign_bits
  endian: be
doc: Bits in both orders, repeated, conditional and named.
seq:
  - id: flag
    type: b1
  - id: kind
    type: b1
    enum: kinds
  - id: high
    type: b14
  - id: low
    type: b5le
  - id: lower
    type: b11le
  - id: nibbles
    type: b4
    repeat: expr
    repeat-expr: 3
  - id: maybe
    type: b3
    if: flag
  - id: after
    type: b5
  - id: whole
    type: u2
  - id: mixed
    type:
      switch-on: kind
      cases:
        'kinds::yes': b8
        'kinds::no': u1
    repeat: expr
    repeat-expr: 2
  - id: gap
    type: u1
  - id: pieces
    type: piece
    repeat: expr
    repeat-expr: 2
  - id: ruled
    type: ruled
    repeat: expr
    repeat-expr: 2
  - id: rest
    type: b4
    repeat: eos
instances:
  at_start:
    pos: 1
    type: b3
    repeat: until
    repeat-until: _ == 0 or _index == 4
enums:
  kinds:
    0: no
    1: yes
types:
  piece:
    seq:
      - id: a
        type: b9
      - id: b
        type: b7
  ruled:
    seq:
      - id: c
        type: b3
        valid:
          max: 6
      - id: d
        type: b13
        valid:
          expr: _ != c
      - id: e
        type: b2le
        valid:
          any-of: [0, 1, 2]
      - id: f
        type: b22le
