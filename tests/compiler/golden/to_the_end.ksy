meta: {id: to_the_end, endian: be}
seq:
  - {id: blocks, type: block, repeat: eos}
types:
  block:
    seq:
      - {id: len_body, type: u1, valid: {max: 20}}
      - {id: body, size: len_body, type: body}
  body:
    seq:
      - {id: magic, contents: AB}
      - {id: numbers, type: u2, repeat: eos}
