meta: {id: bit_fields}
seq:
  - {id: flag, type: b1}
  - {id: many, type: b11}
  - {id: kind, type: b4, enum: kinds}
  - {id: flags, type: b1le, repeat: expr, repeat-expr: 3}
enums: {kinds: {1: good, 2: bad}}
