meta:
  id: foreign_texts
  encoding: UTF-8
  endian: le
doc: Bytes and strings with terminators or padding.
seq:
  - id: plain
    type: strz
  - id: padded
    type: str
    size: 6
    pad-right: 0x20
  - id: ended
    type: str
    size: 6
    terminator: 0x2f
  - id: both
    size: 6
    terminator: 0x2f
    pad-right: 0
    include: true
  - id: kept
    terminator: 0x3a
    include: true
  - id: left
    terminator: 0x3a
    consume: false
  - id: mark
    contents: [0x3a, "é", 0x00]
  - id: wide
    type: strz
    encoding: UTF-16LE
  - id: wide_sized
    type: strz
    encoding: UTF-16BE
    size: 8
  - id: pair
    terminator: 0x0a
  - id: latin
    type: str
    size: 2
    encoding: ISO-8859-1
  - id: words
    type: word
    size: 5
    terminator: 0
    repeat: expr
    repeat-expr: 2
  - id: rest
    type: str
    terminator: 0
    eos-error: false
    encoding: ASCII
types:
  word:
    seq:
      - id: first
        type: u1
      - id: others
        size-eos: true
instances:
  upside:
    value: plain.reverse
  number:
    value: latin.to_i(16)
    if: latin == "1f" or latin == "20"
  part:
    value: padded.substring(1, 3)
  told:
    value: 'f"{padded.length} of {plain} and {pair.length + 1}"'
  of_bytes:
    value: '[0x41, pair.length].as<bytes>.to_s("ASCII")'
