meta: {id: ruled, endian: be}
seq:
  - {id: version, type: u1, valid: {any-of: [1, 2]}}
  - {id: size, type: u2, valid: {min: 4, max: 100}}
  - {id: even, type: u1, valid: {expr: _ % 2 == 0}}
  - {id: kind, type: u1, enum: kinds, valid: {in-enum: true}}
enums: {kinds: {1: first, 2: second}}
