meta: {id: elsewhere, endian: le}
seq:
  - {id: ofs_table, type: u4}
  - {id: num_entries, type: u1}
instances:
  table: {pos: ofs_table, type: entry, repeat: expr, repeat-expr: num_entries}
  last: {pos: _io.size - 2, type: u2}
types:
  entry:
    seq: [{id: ofs_data, type: u2}, {id: len_data, type: u1}]
    instances:
      data: {pos: ofs_data, size: len_data, io: _root._io}
