meta: {id: texts, encoding: UTF-8}
seq:
  - {id: len_name, type: u1}
  - {id: name, type: str, size: len_name}
  - {id: wide, type: str, size: 4, encoding: UTF-16LE}
  - {id: short, type: strz, encoding: ASCII}
  - {id: rest, type: str, size-eos: true, encoding: ISO-8859-1}
