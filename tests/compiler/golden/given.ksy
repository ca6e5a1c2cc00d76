meta: {id: given, endian: le}
seq:
  - {id: width, type: u1}
  - {id: cells, type: 'cell(width, _index)', repeat: expr, repeat-expr: 3}
types:
  cell:
    params: [{id: width, type: u1}, {id: number, type: s4}]
    seq: [{id: content, size: width}]
    instances:
      next: {value: number + 1}
