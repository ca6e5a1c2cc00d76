meta: {id: marked, encoding: ASCII}
seq:
  - {id: line, type: strz, terminator: 0x0a}
  - {id: kept, terminator: 0x3a, include: true, consume: false}
  - {id: last, type: strz, eos-error: false}
