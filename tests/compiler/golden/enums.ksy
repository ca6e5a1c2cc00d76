meta: {id: enums, endian: be}
seq:
  - {id: first, type: u2, enum: colors}
  - {id: others, type: u1, enum: colors, repeat: eos}
instances:
  is_red: {value: 'first == colors::red'}
enums:
  colors: {1: red, 2: green, 300: none}
