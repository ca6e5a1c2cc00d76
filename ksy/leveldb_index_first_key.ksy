meta:
  id: leveldb_index_first_key
  title: RocksDB index block of deltas and first keys, decompressed
  application: RocksDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_bytes
    - leveldb_index_delta
  endian: le
doc: |
  The index of a RocksDB table from version 4 whose type is
  `kBinarySearchWithFirstKey` (property `rocksdb.block.based.table.index.type`):
  `leveldb_index_delta.ksy` with the first key of the data block after each
  entry.
doc-ref: https://github.com/facebook/rocksdb/blob/main/table/format.cc IndexValue::EncodeTo
instances:
  packed_num_restarts:
    pos: _io.size - 4
    type: u4
    valid:
      expr: _ < 0x40000000 and _ % 0x20000000 < 0x10000000
    doc: The number of restarts, with the flag of `leveldb_index_delta.ksy`.
  num_restarts:
    -lint-ok: Too many make `ofs_restarts` negative, and `entries` refuses that.
    value: packed_num_restarts % 0x10000000
  ofs_restarts:
    value: _io.size - 4 - 4 * num_restarts.as<s8>
  entries:
    pos: 0
    size: ofs_restarts
    type: entry_list
  restarts:
    pos: ofs_restarts
    type: u4
    repeat: expr
    repeat-expr: num_restarts
    doc: Offsets of entries that spell out their whole key; the first is 0.
types:
  entry_list:
    doc: Entries in sequence, up to the restarts.
    seq:
      - id: entries
        type: keyed_entry
        repeat: eos
  keyed_entry:
    doc: An entry as without first keys, and the first key of its data block.
    -webide-representation: '{entry} from {first_key}'
    seq:
      - id: entry
        type: leveldb_index_delta::entry
      - id: first_key
        -orig-id: first_internal_key
        type: leveldb_bytes
        doc: An internal key, which spares reading the block while files are merged.
