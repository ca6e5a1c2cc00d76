meta:
  id: foreign_looks
  endian: le
doc: Structures that look around themselves.
seq:
  - id: num_rows
    type: u1
    valid:
      max: 4
  - id: rows
    type: 'row(_index, _index > 0 ? rows[_index - 1].width : 0)'
    repeat: expr
    repeat-expr: num_rows
  - id: block
    type: block
    size: 12
  - id: far
    type: u2
    valid:
      min: sizeof<pair>
      max: 0xff
types:
  pair:
    seq:
      - id: x
        type: u2
      - id: y
        type: b12
      - id: z
        type: b4
  row:
    params:
      - id: number
        type: s4
      - id: before
        type: u1
    seq:
      - id: width
        type: u1
      - id: cells
        type: u1
        repeat: expr
        repeat-expr: width % 4
        valid:
          expr: _ < 250
    instances:
      total:
        value: 'width + before + (number == 0 ? 0 : _parent.rows[number - 1].width)'
      of_all:
        value: _root.num_rows
      negative:
        value: -(width - before)
      widest:
        value: cells.max
        if: cells.size > 0
      sum_of_ends:
        value: cells.first + cells.last
        if: cells.size != 0
  block:
    seq:
      - id: head
        type: pair
      - id: size
        type: u2
      - id: tail
        size-eos: true
    instances:
      length_of_head:
        value: head._sizeof + sizeof<u8>
      outside:
        io: _root._io
        pos: _io.size
        type: u1
      first_of_all:
        io: _root._io
        pos: 0
        type: u1
      notes:
        type: note(head.x)
      shared:
        value: _parent.rows.size * 2
  note:
    params:
      - id: x
        type: u2
    instances:
      halved:
        value: x / 2
      parted:
        value: x / 2.0
      folded:
        value: '(x << 3) & 0xff ^ 0b101 | ~x % 3'
