meta: {id: enums, endian: be}
seq:
  - {id: first, type: u2, enum: colours}
  - {id: others, type: u1, enum: colours, repeat: eos}
instances:
  is_red: {value: 'first == colours::red'}
enums:
  colours: {1: red, 2: green, 300: none}
