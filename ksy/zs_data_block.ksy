meta:
  id: zs_data_block
  title: Decompressed payload of a ZS data block
  application: zs
  tags:
    - archive
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - uleb128
doc: |
  The records of one data block, after decompression with the codec that the
  file's header names: at least one, in ascending order of their bytes (equal
  ones may follow each other). No record is smaller than any record of an
  earlier data block.
doc-ref: https://zs.readthedocs.io/en/latest/format.html ZS 0.10, Data block payload
instances:
  records:
    pos: 0
    type: record
    repeat: eos
    doc: Back to back, to the end of the payload.
    -webide-parse-mode: eager
types:
  record:
    -columns: true
    doc: One record, an uninterpreted byte string.
    -webide-representation: '{data:str}'
    seq:
      - id: len_data
        -orig-id: Record length
        type: uleb128
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
        doc: Bytes of the record, 0 included.
      - id: data
        -orig-id: Record contents
        size: len_data.value
        doc: The record itself.
