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

  In a log type the bytes 0x11, 0x12 and, from 0.4.0 on, 0x13 stand for
  variables, and a backslash takes the special meaning from the next byte.
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
          max: _io.size - _io.pos
      - id: value
        size: len_value
        doc: Unescaped text in UTF-8.
    instances:
      text:
        value: value.to_s("UTF-8")
        -webide-parse-mode: eager
