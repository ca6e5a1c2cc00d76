meta: {id: coded, endian: le}
seq:
  - {id: key, type: u1}
  - {id: len_hidden, type: u1}
  - {id: hidden, size: len_hidden, process: xor(key), type: inner}
  - {id: packed, size-eos: true, process: zlib, type: inner}
types:
  inner: {seq: [{id: number, type: u2}, {id: rest, size-eos: true}]}
