meta: {id: packed, endian: le, encoding: UTF-8}
doc: Rows whose fields all have fixed places, with structures and lists in them, are unpacked together.
seq:
  - {id: count, type: u1}
  - {id: corners, type: triangle, repeat: expr, repeat-expr: count}
  - {id: labels, type: label, size: 8, repeat: eos}
types:
  triangle:
    seq:
      - {id: points, type: point, repeat: expr, repeat-expr: 3}
      - {id: middle, type: point}
  point:
    seq:
      - {id: x, type: u1}
      - {id: y, type: s2}
    instances:
      side: {value: x + y}
  label:
    seq:
      - {id: value, type: s2}
      - {id: text, type: str, size: 4}
