meta:
  id: foreign_friend
  imports:
    - foreign_names
doc: Imports what imports it.
seq:
  - id: more
    type: u1
  - id: again
    type: foreign_names
    if: more == 1
  - id: foo
    type: foo
types:
  foo:
    seq:
      - id: one
        type: u1
