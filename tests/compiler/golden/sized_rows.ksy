meta: {id: sized_rows, endian: be, encoding: ASCII}
seq:
  - {id: len_row, type: u1}
  - {id: num_rows, type: u1}
  - {id: rows, type: row, size: len_row, repeat: expr, repeat-expr: num_rows}
  - {id: rest, type: pair, size: 3, repeat: eos}
types:
  row:
    seq:
      - {id: number, type: u2}
      - {id: name, type: str, size: _io.size - 2}
  pair:
    seq:
      - {id: one, type: u1}
      - {id: two, type: u1, enum: kinds}
    instances:
      sum: {value: one + two.to_i}
enums:
  kinds: {0: none, 7: some}
