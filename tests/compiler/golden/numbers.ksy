meta: {id: numbers, endian: le}
seq:
  - {id: one, type: u1}
  - {id: two, type: s2}
  - {id: four, type: u4be}
  - {id: eight, type: u8}
  - {id: signed, type: s8}
  - {id: small, type: f4}
  - {id: real, type: f8be}
