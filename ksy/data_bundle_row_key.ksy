meta:
  id: data_bundle_row_key
  title: DataBundle index row, its internal key
  application: dacha
  tags:
    - archive
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_key
    - leveldb_internal_key
  endian: le
doc: |
  The key of a row as tables of the index file it: which row, then the eight bytes
  of LevelDB that say whether it was written or deleted, and when. The first part
  is as this project writes it; see `data_bundle_key`.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
-webide-representation: '{row} {version}'
seq:
  - id: row
    size: _io.size - 8
    type: data_bundle_key
    doc: The key of the row.
instances:
  version:
    pos: _io.size - 8
    size: 8
    type: leveldb_internal_key
    doc: Put or deleted, and the sequence number; the part for the user's key is empty.
    -webide-parse-mode: eager
