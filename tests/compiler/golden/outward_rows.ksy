meta: {id: outward_rows, encoding: UTF-8}
seq:
  - {id: magic, type: u1, enum: magics}
  - {id: head, type: head}
  - {id: rows, type: row, repeat: expr, repeat-expr: head.most % 4}
  - {id: marked, type: marked, repeat: until, repeat-until: _.n % 4 == 3 or _.text.length > 4 or _io.eof}
  - {id: list, type: list}
types:
  head:
    seq:
      - {id: most, type: u1}
      - {id: odd, type: b1}
      - {id: width, type: b7}
  row:
    meta: {endian: {switch-on: _root.magic, cases: {'magics::little': le, _: be}}}
    seq:
      - {id: len, type: u2}
      - {id: body, size: 'len % 8 < _root.head.most ? len % 8 : _root.head.most', type: {switch-on: _root.head.width, cases: {1: deep, 2: number}}}
      - {id: more, type: s4le, if: _parent.head.odd}
  number: {seq: [{id: value, type: u1, if: _parent.len > 2}]}
  marked: {seq: [{id: n, type: u1}, {id: text, type: strz, size: n % 6, encoding: ISO-8859-1}]}
  deep: {seq: [{id: n, type: u1}, {id: next, type: deep, if: n > 99}]}
  list:
    meta: {endian: {switch-on: _root.magic, cases: {'magics::little': le, _: be}}}
    seq:
      - {id: points, type: point, repeat: eos}
    types:
      point: {seq: [{id: x, type: u2}, {id: y, type: f4, if: x > 1000 and _root.head.odd}]}
enums:
  magics: {0: little, 1: big}
