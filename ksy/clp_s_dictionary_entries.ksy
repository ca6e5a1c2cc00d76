meta:
  id: clp_s_dictionary_entries
  title: clp-s dictionary entries, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  Variables, log types or array log types. The id of an entry is its position.

  In a log type some bytes stand for variables (`marks`), and a backslash takes
  the special meaning from the next byte.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s DictionaryWriter
seq:
  - id: entries
    -lint-ok: A payload holds nothing else.
    type: entry
    repeat: eos
types:
  entry:
    -columns: true
    doc: One dictionary value.
    -webide-representation: '{text}'
    seq:
      - id: len_value
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: value
        size: len_value
        doc: Unescaped text in UTF-8.
    instances:
      text:
        value: value.to_s("UTF-8")
        doc: The same as text.
        -webide-parse-mode: eager
  log_type_byte:
    -lint-ok: Only the entries of two of the three dictionaries hold such bytes.
    doc: A byte of a log type that is not text, from 0.4.0 on.
    -webide-representation: '{mark}'
    seq:
      - id: mark
        type: u1
        enum: marks
  classic_log_type_byte:
    -lint-ok: Only the entries of two of the three dictionaries hold such bytes.
    doc: A byte of a log type that is not text, before 0.4.0.
    -webide-representation: '{mark}'
    seq:
      - id: mark
        type: u1
        enum: classic_marks
enums:
  marks:
    0x11:
      id: integer
      -orig-id: Integer
    0x12:
      id: dictionary_entry
      -orig-id: Dictionary
    0x13:
      id: decimal
      -orig-id: Float
    0x5c:
      id: escape
      -orig-id: Escape
  classic_marks:
    0x11: integer_or_dictionary_entry
    0x12: decimal
    0x5c: escape
