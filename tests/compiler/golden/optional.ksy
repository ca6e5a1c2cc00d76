meta: {id: optional, endian: be}
seq:
  - {id: version, type: u1}
  - {id: flags, type: u2, if: version > 1}
  - {id: extra, type: extra, if: version == 3 and flags != 0}
  - {id: tail, type: u1, if: not _io.eof}
types:
  extra: {seq: [{id: value, type: u4}]}
