meta:
  id: leveldb_properties
  title: Properties block of a RocksDB or dacha table
  application:
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_varint
  endian: le
doc: |
  Facts about a table, by name, found under `rocksdb.properties` in the
  metaindex. A block in the common form. dacha and older RocksDB spell every name
  out; newer RocksDB leaves off what a name has in common with the one before.
  Numbers are varints, some RocksDB ones are little-endian integers of fixed
  size, the rest is text.
doc-ref: https://github.com/facebook/rocksdb/blob/main/include/rocksdb/table_properties.h
instances:
  num_restarts:
    -lint-ok: Too many make `ofs_restarts` negative, and `properties` refuses that.
    pos: _io.size - 4
    type: u4
  ofs_restarts:
    value: _io.size - 4 - 4 * num_restarts.as<s8>
  properties:
    pos: 0
    size: ofs_restarts
    type: property_list
  restarts:
    pos: ofs_restarts
    type: u4
    repeat: expr
    repeat-expr: num_restarts
    doc: Offsets of properties that spell out their whole name; the first is 0.
types:
  property_list:
    doc: Properties back to back, up to the restarts.
    seq:
      - id: properties
        type: property(_index.as<s4>)
        repeat: eos
  property:
    doc: A name and a value.
    -webide-representation: '{whole_name}: {text} ({len_value} bytes)'
    params:
      - id: number
        type: s4
        doc: Position of the property in the block.
    seq:
      - id: len_shared
        -lint-ok: Of the name before, whose length no specification adds up.
        -orig-id: shared_bytes
        type: leveldb_varint
        doc: Bytes that the name has in common with the one before.
      - id: len_name
        -orig-id: unshared_bytes
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
      - id: len_value
        -orig-id: value_length
        type: leveldb_varint
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8> - len_name.value
      - id: name
        -orig-id: key_delta
        size: len_name.value
        type: str
        encoding: UTF-8
        doc: The rest of the name.
      - id: value
        size: len_value.value
        doc: A varint, an integer of fixed size, or text, depending on the name.
    instances:
      whole_name:
        value: >-
          len_shared.value == 0 or number == 0 ? name :
          _parent.properties[number - 1].whole_name.as<str>.substring(0, len_shared.value.as<s4>) + name
        doc: What it has in common with the one before, and the rest.
        -webide-parse-mode: eager
      text:
        value: value.to_s("UTF-8")
        if: >-
          whole_name == "rocksdb.column.family.name" or
          whole_name == "rocksdb.comparator" or
          whole_name == "rocksdb.compression" or
          whole_name == "rocksdb.compression_options" or
          whole_name == "rocksdb.creating.db.identity" or
          whole_name == "rocksdb.creating.host.identity" or
          whole_name == "rocksdb.creating.session.identity" or
          whole_name == "rocksdb.filter.policy" or
          whole_name == "rocksdb.merge.operator" or
          whole_name == "rocksdb.prefix.extractor.name" or
          whole_name == "rocksdb.property.collectors"
        doc: The value, if the property is a string.
        -webide-parse-mode: eager
