meta:
  id: foreign_names
  endian: le
  imports:
    - foreign_friend
doc: Names that mean something to Python, or to the readers themselves.
seq:
  - id: len
    type: u1
  - id: range
    type: u1
    valid:
      max: len
  - id: view
    size: range % 3
  - id: at
    type: layout_error
  - id: self
    type: unicode_decode_error
    repeat: expr
    repeat-expr: 2
  - id: end
    type: u2
    repeat: expr
    repeat-expr: 2
  - id: f_len
    type: b3
  - id: bits
    type: b5
  - id: error
    type: foo_bar
  - id: value
    type: foo::bar
  - id: extent
    type: u1
  - id: read_foo
    type: foo
  - id: str
    type: str
    size: 1
    encoding: ASCII
  - id: foreign_friend
    type: foreign_friend
    if: range > 1
  - id: size
    type: u1
  - size: 1
  - id: int
    terminator: 0
types:
  layout_error:
    seq:
      - id: error
        type: u1
    instances:
      max:
        value: error * 2
      io:
        pos: error % 2
        type: u1
  unicode_decode_error:
    seq:
      - id: one
        type: u1
  foo_bar:
    seq:
      - id: start
        type: u1
  foo:
    seq:
      - id: stop
        type: u2
    types:
      bar:
        seq:
          - id: parent
            type: u1
          - id: root
            type: u1
  foreign_names:
    seq:
      - id: short
        type: u1
instances:
  min:
    pos: 0
    type: foreign_names
  extents:
    value: len + f_len + extent
