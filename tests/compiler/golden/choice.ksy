meta: {id: choice, endian: le}
seq:
  - {id: parts, type: part, repeat: eos}
types:
  part:
    seq:
      - {id: kind, type: u1}
      - {id: len_body, type: u1}
      - id: body
        size: len_body
        type:
          switch-on: kind
          cases: {1: point, 2: name, '_': other}
  point: {seq: [{id: x, type: s4}, {id: y, type: s4}]}
  name: {seq: [{id: text, type: strz, encoding: ASCII}]}
  other: {seq: [{id: number, type: u1}, {id: rest, size-eos: true}]}
