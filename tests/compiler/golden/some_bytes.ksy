meta: {id: some_bytes, endian: le}
seq:
  - {id: len_body, type: u2}
  - {id: fixed, size: 3}
  - {id: body, size: len_body}
  - {id: padded, size: 6, pad-right: 0x20, terminator: 0x40, include: true}
  - {id: rest, size-eos: true}
