meta: {id: rows, endian: le, encoding: UTF-8}
seq:
  - {id: num_rows, type: u2}
  - {id: rows, type: row, repeat: expr, repeat-expr: num_rows}
types:
  row:
    seq:
      - {id: time, type: u8}
      - {id: level, type: s2}
      - {id: share, type: f8}
      - {id: len_text, type: u1}
      - {id: text, type: str, size: len_text}
      - {id: place, type: place}
    instances:
      twice: {value: level * 2}
  place:
    seq:
      - {id: x, type: b4}
      - {id: y, type: b12}
