meta: {id: recursive, endian: le}
seq:
  - {id: value, type: u1}
  - {id: children, type: recursive, repeat: expr, repeat-expr: value & 3}
instances:
  first: {value: 'children[0].value', if: value & 3 > 0}
