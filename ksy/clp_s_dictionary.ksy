meta:
  id: clp_s_dictionary
  title: clp-s dictionary section
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - clp_s_dictionary_entries
    - zstd_frame
  endian: le
doc: |
  A dictionary as stored in the file: the number of its entries in the clear,
  then the compressed entries, or nothing when there are none.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s DictionaryWriter
seq:
  - id: num_entries
    -lint-ok: Of the entries once they are decompressed.
    type: u8
    doc: How many entries there are; each takes eight bytes or more once decompressed.
  - id: compressed
    -lint-ok: A section holds nothing else.
    size-eos: true
    type: zstd_frame
instances:
  entries:
    io: compressed.frames[0].body.blocks[0].content._io
    pos: 0
    size-eos: true
    type: clp_s_dictionary_entries
    if: compressed.is_stored
    doc: The entries, in place, when they are stored uncompressed.
