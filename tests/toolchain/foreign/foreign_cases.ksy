meta:
  id: foreign_cases
  endian: be
  encoding: ASCII
doc: Choices by numbers, names and strings, with and without a size.
seq:
  - id: items
    type: item
    repeat: until
    repeat-until: _.tag == "end" or _io.eof
types:
  item:
    seq:
      - id: tag
        type: str
        size: 3
        valid:
          any-of: ['"num"', '"str"', '"zzz"', '"sub"', '"end"', '"raw"']
      - id: len_value
        type: u1
        valid:
          max: 9
      - id: value
        size: len_value
        type:
          switch-on: tag
          cases:
            '"num"': u1
            '"str"': str
            '"zzz"': strz
            '"sub"': sub(len_value)
        if: tag != "end"
      - id: kind
        type: u1
        enum: kinds
      - id: free
        type:
          switch-on: kind
          cases:
            kinds::few: u2
            kinds::some: strz
            kinds::many: sub(1)
      - id: choice
        type:
          switch-on: len_value
          cases:
            0: u1
            _: sub(2)
        size: 2
    enums:
      kinds:
        0: few
        1: some
        2: many
  sub:
    params:
      - id: given
        type: u1
    seq:
      - id: one
        type: u1
      - id: two
        type: u1
        if: given > 1
