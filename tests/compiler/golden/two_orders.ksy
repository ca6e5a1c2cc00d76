meta:
  id: two_orders
  endian: {switch-on: mark, cases: {1: le, 2: be}}
seq:
  - {id: number, type: u2}
  - {id: inner, type: inner}
  - {id: numbers, type: u4, repeat: eos}
instances:
  mark: {pos: 0, type: u1}
types:
  inner: {seq: [{id: a, type: u2}, {id: b, type: f4}]}
