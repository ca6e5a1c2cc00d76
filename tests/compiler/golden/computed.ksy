meta: {id: computed, endian: le}
seq:
  - {id: a, type: u4}
  - {id: b, type: s4}
  - {id: c, type: u8}
  - {id: text, size: 4, type: str, encoding: ASCII}
instances:
  sum: {value: a + b}
  product: {value: a * b * c}
  quotient: {value: b / 7}
  rest: {value: b % 7}
  shifted: {value: 'a << 40 | b & 0xff'}
  large: {value: c >= 0x8000000000000000}
  number: {value: text.to_i}
  choice: {value: 'a > 10 ? text.length : -1'}
  far: {pos: c, type: u1}
