meta:
  id: foreign_orders
doc: A byte order that depends on the data.
seq:
  - id: magic
    size: 2
    valid:
      any-of: ['[0x49, 0x49]', '[0x4d, 0x4d]']
  - id: body
    type: body
types:
  body:
    meta:
      endian:
        switch-on: _root.magic
        cases:
          '[0x49, 0x49]': le
          '[0x4d, 0x4d]': be
    seq:
      - id: a
        type: u2
      - id: b
        type: s4
      - id: c
        type: f4
      - id: always
        type: u2be
      - id: inner
        type: inner(a)
      - id: numbers
        type: u4
        repeat: expr
        repeat-expr: 2
    instances:
      again:
        pos: 2
        type: inner(1)
    types:
      inner:
        params:
          - id: given
            type: u4
        seq:
          - id: d
            type: u8
        instances:
          later:
            pos: 2
            type: u2
          sum:
            value: given + d
