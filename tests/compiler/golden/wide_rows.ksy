meta: {id: wide_rows, endian: le, encoding: UTF-8}
seq:
  - {id: rows, type: row, repeat: eos}
types:
  row:
    seq:
      - {id: kind, type: u1, enum: kinds}
      - {id: extra, type: u2, if: kind == kinds::more}
      - {id: body, type: {switch-on: kind, cases: {'kinds::none': u1, 'kinds::more': pair, _: words}}}
      - {id: title, type: strz, if: kind == kinds::more and extra > 0x8000}
      - {id: samples, type: s2, repeat: expr, repeat-expr: 2}
  pair:
    seq:
      - {id: x, type: u1}
      - {id: y, type: f4, if: x < 128}
  words:
    seq:
      - {id: num_words, type: u1}
      - {id: words, type: word, repeat: expr, repeat-expr: num_words % 4}
  word:
    seq:
      - {id: len, type: u1}
      - {id: text, type: str, size: len % 8, encoding: ISO-8859-1}
enums:
  kinds: {0: none, 1: more}
