meta:
  id: leveldb_filter
  title: LevelDB filter block
  application:
    - LevelDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  One bloom filter for the keys of each 2 KiB of the table, so that a lookup can
  skip blocks. Named `filter.` and the policy in the metaindex.
doc-ref: https://github.com/google/leveldb/blob/main/doc/table_format.md Filter Meta Block
instances:
  base_lg:
    -orig-id: 'lg(base)'
    pos: _io.size - 1
    type: u1
    doc: Filter i covers blocks that start in [i << base_lg, (i + 1) << base_lg).
  ofs_offsets:
    -orig-id: offset of beginning of offset array
    pos: _io.size - 5
    type: u4
    valid:
      max: _io.size - 5
  num_filters:
    value: (_io.size - 5 - ofs_offsets) / 4
  offsets:
    pos: ofs_offsets
    type: u4
    repeat: expr
    repeat-expr: num_filters + 1
    doc: Start of each filter, and the end of the last, which is `ofs_offsets`.
  filters:
    pos: 0
    type: filter(_index)
    repeat: expr
    repeat-expr: num_filters
types:
  filter:
    doc: The Bloom filter of one range of the table.
    -webide-representation: 'filter {idx:dec}'
    params:
      - id: idx
        type: s4
        doc: Position of the filter in the block.
    instances:
      raw:
        pos: _parent.offsets[idx]
        size: _parent.offsets[idx + 1] - _parent.offsets[idx]
        if: _parent.offsets[idx + 1] > _parent.offsets[idx]
        doc: |
          Bits of the filter, then one byte with the number of probes. Empty when
          no block starts in the range.
