meta: {id: words_of_others, endian: le}
seq:
  - {id: cdef, type: u1}
  - {id: nogil, type: u2}
  - {id: unsigned, type: u4, if: cdef > 1}
  - {id: sizeof_, type: union, repeat: eos}
types:
  union: {seq: [{id: free, type: u1}, {id: malloc, type: include}]}
  include: {seq: [{id: k, type: u1}, {id: o, type: u1, enum: again}]}
enums: {again: {1: raise, 2: 'null'}}
