meta: {id: upward, endian: le}
seq:
  - {id: scale, type: u1}
  - {id: groups, type: group, repeat: eos}
types:
  group:
    seq:
      - {id: len_items, type: u1}
      - {id: items, type: items, size: len_items}
  items:
    seq:
      - {id: first, type: u1}
      - {id: rest, type: item, repeat: eos}
  item:
    seq: [{id: raw, type: u2}]
    instances:
      scaled: {value: raw * _root.scale + _parent._parent.len_items}
      place: {value: _io.pos}
