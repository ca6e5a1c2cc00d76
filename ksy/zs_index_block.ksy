meta:
  id: zs_index_block
  title: Decompressed payload of a ZS index block
  application: zs
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - uleb128
doc: |
  The entries of one index block, after decompression with the codec that the
  file's header names: at least one, keys in ascending order. An index block of
  level n refers to blocks of level n - 1 only; data blocks have level 0.
doc-ref: https://zs.readthedocs.io/en/latest/format.html ZS 0.10, Index block payload
instances:
  entries:
    pos: 0
    type: entry
    repeat: eos
    doc: Back to back, to the end of the payload.
    -webide-parse-mode: eager
types:
  entry:
    -columns: true
    doc: One reference to a block of the level below.
    -webide-representation: '{key:str} at {ofs_block.value:dec}'
    seq:
      - id: len_key
        -orig-id: Key length
        type: uleb128
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
        doc: Bytes of the key, 0 included.
      - id: key
        -orig-id: Key value
        size: len_key.value
        doc: |
          Not greater than the first record below the block referred to, and not
          smaller than any record before that one. Often the first record itself.
      - id: ofs_block
        -orig-id: Block offset
        type: uleb128
        valid:
          expr: _.value <= (0x7fffffffffffffff).as<u8>
        doc: Offset of the length field of the block, from the start of the file.
      - id: len_block
        -orig-id: Block length
        type: uleb128
        valid:
          expr: _.value <= (0x7fffffffffffffff).as<u8>
        doc: Bytes of the whole block, its length field and checksum included.
