meta:
  id: leveldb_wide_columns
  title: RocksDB wide-column entity
  application: RocksDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_bytes
    - leveldb_varint
  endian: le
doc: |
  The value of an entry of type `wide_column_entity`: named columns, sorted by
  name. First come all names, each with the length of its value, then all values.
  The column with the empty name is what a reader gets that requests one value.
doc-ref: https://github.com/facebook/rocksdb/blob/main/db/wide/wide_column_serialization.h
seq:
  - id: version
    type: leveldb_varint
    valid:
      expr: _.value == 1
    doc: The only version there is.
  - id: num_columns
    -orig-id: number of columns
    type: leveldb_varint
    valid:
      expr: _.value <= (_io.size - _io.pos).as<u8>
  - id: columns
    type: column
    repeat: expr
    repeat-expr: num_columns.value
  - id: values
    type: value(_index)
    repeat: expr
    repeat-expr: num_columns.value
types:
  column:
    doc: Name of a column, and how long its value is.
    -webide-representation: '{name}'
    seq:
      - id: name
        type: leveldb_bytes
      - id: len_value
        -orig-id: column value size
        -lint-ok: Of a value further on, whose type compares it.
        type: leveldb_varint
  value:
    doc: Value of the column with the same position.
    -webide-representation: '{data}'
    params:
      - id: idx
        type: s4
        doc: Position of the column.
    seq:
      - id: data
        size: _parent.columns[idx].len_value.value
