meta:
  id: data_bundle_key
  title: Key of a DataBundle index row
  application: DataBundle
  tags:
    - archive
    - database
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Keys are made of parts whose bytes sort as their values do. The first part is
  the number of a table: 1 configuration, 2 files, 3 records.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
-webide-representation: '{body}'
seq:
  - id: table
    type: varuint
  - id: body
    type:
      switch-on: table.value
      cases:
        1: config_key
        2: file_key
        3: record_key
        _: unknown_key
types:
  config_key:
    doc: There is one such row; its key ends here.
    -webide-representation: 'configuration'
  file_key:
    doc: Where a file or directory is in the tree; the parts joined are its path.
    -webide-representation: '{directory}{name}'
    seq:
      - id: directory
        type: escaped
        doc: Starts and ends with a slash; `/` alone for the top.
      - id: name
        type: escaped
  record_key:
    doc: Where a record starts; rows sort by shard, then by offset.
    -webide-representation: 'shard {shard_index}, from {shard_uncompressed_offset}'
    seq:
      - id: shard_index
        type: varuint
      - id: shard_uncompressed_offset
        type: varuint
  unknown_key:
    doc: Rows of a table that nobody defined.
    seq:
      - id: rest
        size-eos: true
  varuint:
    doc: |
      An unsigned integer in 1 to 9 bytes. As many one bits as there are further
      bytes, a zero bit, then the value, most significant bits first.
    -webide-representation: '{value:dec}'
    seq:
      - id: first
        type: u1
      - id: rest
        type: u1
        repeat: expr
        repeat-expr: num_rest
    instances:
      num_rest:
        value: |
          first < 0x80 ? 0 : first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3
          : first < 0xf8 ? 4 : first < 0xfc ? 5 : first < 0xfe ? 6 : first < 0xff ? 7 : 8
      high:
        value: |
          num_rest == 0 ? first : num_rest == 1 ? first % 0x40 : num_rest == 2 ? first % 0x20
          : num_rest == 3 ? first % 0x10 : num_rest == 4 ? first % 8 : num_rest == 5 ? first % 4
          : num_rest == 6 ? first % 2 : 0
        doc: Bits of the value in the first byte.
      after1:
        value: 'num_rest > 0 ? high * 256 + rest[0] : high'
      after2:
        value: 'num_rest > 1 ? after1 * 256 + rest[1] : after1'
      after3:
        value: 'num_rest > 2 ? after2 * 256 + rest[2] : after2'
      after4:
        value: 'num_rest > 3 ? after3 * 256 + rest[3] : after3'
      after5:
        value: 'num_rest > 4 ? after4 * 256 + rest[4] : after4'
      after6:
        value: 'num_rest > 5 ? after5 * 256 + rest[5] : after5'
      after7:
        value: 'num_rest > 6 ? after6 * 256 + rest[6] : after6'
      value:
        value: 'num_rest > 7 ? after7 * 256 + rest[7] : after7'
        -webide-parse-mode: eager
  escaped:
    doc: |
      A byte string that ends with `00 00`; a zero byte in it is written as
      `00 ff`. Longer strings so sort after their prefixes.
    -webide-representation: '{chunks:sep=}'
    seq:
      - id: chunks
        type: chunk
        repeat: until
        repeat-until: _.marker == 0
  chunk:
    doc: Bytes up to a zero byte, and what that zero byte means.
    -webide-representation: '{content}'
    seq:
      - id: text
        terminator: 0
        eos-error: true
        doc: Bytes up to the next zero byte.
      - id: marker
        type: u1
        valid:
          any-of: [0x00, 0xff]
        doc: 0xff when the zero byte belongs to the string, 0 when it ended it.
    instances:
      content:
        value: text.to_s("UTF-8")
        -webide-parse-mode: eager
