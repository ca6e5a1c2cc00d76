meta: {id: until}
seq:
  - {id: groups, type: group, repeat: until, repeat-until: not _.has_more}
  - {id: codes, type: u1, repeat: until, repeat-until: '_ == 0 or _index == 4'}
types:
  group:
    seq:
      - {id: has_more, type: b1}
      - {id: value, type: b7}
