meta: {id: counted, endian: le}
seq:
  - {id: num_values, type: u1}
  - {id: values, type: u2, repeat: expr, repeat-expr: num_values}
  - {id: names, type: name, repeat: expr, repeat-expr: num_values}
types:
  name:
    seq:
      - {id: len_text, type: u1}
      - {id: text, type: str, size: len_text, encoding: ASCII, if: len_text > 0}
