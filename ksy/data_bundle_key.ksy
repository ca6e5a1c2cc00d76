meta:
  id: data_bundle_key
  title: Key of a DataBundle index row
  application: dacha
  tags:
    - archive
    - database
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Keys are made of parts whose bytes sort as their values do. The first part is
  the number of a table: 1 configuration, 2 files, 3 records.

  The design of the format names the parts of a key without spelling bytes. These
  are as this project writes them, with encodings that dacha has for such keys.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
-webide-representation: '{body}'
seq:
  - id: table
    type: varuint
    doc: Which table the row is of.
  - id: body
    type:
      switch-on: table_name
      cases:
        'tables::config': config_key
        'tables::files': file_key
        'tables::records': record_key
        _: unknown_key
    doc: The rest of the key, in the form of its table.
instances:
  table_name:
    value: 'table.value < 4 ? table.value.as<u1> : 0'
    enum: tables
    doc: The number of the table by its name.
    -webide-parse-mode: eager
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
        -orig-id: file_name
        type: escaped
  record_key:
    doc: Where a record starts; rows sort by shard, then by offset.
    -webide-representation: 'shard {shard_index}, from {shard_uncompressed_offset}'
    -element: true
    seq:
      - id: shard_index
        type: varuint
        doc: Number of the shard.
      - id: shard_uncompressed_offset
        -orig-id: uncompressed_offset
        type: varuint
        doc: Where the record starts in the uncompressed stream of the shard.
  unknown_key:
    doc: Rows of an undefined table.
    seq:
      - id: rest
        size-eos: true
  varuint:
    doc: |
      An unsigned integer in 1 to 9 bytes. As many one bits as there are further
      bytes, a zero bit, then the value, most significant bits first.

      The bytes are fields of their own, not an array, and the value is summed by
      multiplication, because shifts are cut to 32 bits in JavaScript. There it is
      exact up to 2^53, everywhere else up to 2^64 - 1.
    -webide-representation: '{value:dec}'
    -scalar: value
    seq:
      - id: first
        type: u1
        doc: How many bytes follow, and the highest bits of the value.
      - id: byte1
        type: u1
        if: first >= 0x80
        doc: Bits of the value below those of the first byte.
      - id: byte2
        type: u1
        if: first >= 0xc0
      - id: byte3
        type: u1
        if: first >= 0xe0
      - id: byte4
        type: u1
        if: first >= 0xf0
      - id: byte5
        type: u1
        if: first >= 0xf8
      - id: byte6
        type: u1
        if: first >= 0xfc
      - id: byte7
        type: u1
        if: first >= 0xfe
      - id: byte8
        type: u1
        if: first == 0xff
    instances:
      value:
        value: |
          first < 0x80 ? first.as<u8>
          : first < 0xc0 ? (first % 0x40).as<u8> * 0x100 + byte1
          : first < 0xe0 ? ((first % 0x20).as<u8> * 0x100 + byte1) * 0x100 + byte2
          : first < 0xf0 ? (((first % 0x10).as<u8> * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3
          : first < 0xf8 ? ((((first % 8).as<u8> * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4
          : first < 0xfc ? (((((first % 4).as<u8> * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5
          : first < 0xfe ? ((((((first % 2).as<u8> * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6
          : first != 0xff ? (((((byte1.as<u8> * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7
          : ((((((byte1.as<u8> * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7) * 0x100 + byte8
        doc: The integer itself.
        -webide-parse-mode: eager
  escaped:
    doc: |
      A byte string that ends with `00 00`; a zero byte in it is written as
      `00 ff`. Longer strings so sort after their prefixes.
    -webide-representation: '{content}{more:sep=}'
    seq:
      - id: text
        terminator: 0
        doc: Bytes up to the first zero byte; as a rule all there are.
      - id: marker
        type: u1
        valid:
          any-of: [0x00, 0xff]
        doc: 0xff when the zero byte belongs to the string, 0 when it ended it.
      - id: more
        type: chunk
        repeat: until
        repeat-until: _.marker == 0
        if: marker != 0
        doc: What follows zero bytes that belong to the string.
    instances:
      content:
        value: text.to_s("UTF-8")
        doc: The same as text.
        -webide-parse-mode: eager
  chunk:
    doc: Bytes after a zero byte of the string, up to the next one.
    -webide-representation: '{content}'
    -element: true
    seq:
      - id: text
        terminator: 0
        doc: Bytes up to the next zero byte.
      - id: marker
        type: u1
        valid:
          any-of: [0x00, 0xff]
        doc: 0xff when that zero byte belongs to the string, too, 0 when it ended it.
    instances:
      content:
        value: text.to_s("UTF-8")
        doc: The same as text.
        -webide-parse-mode: eager
enums:
  tables:
    0:
      id: unknown
      doc: An undefined table.
    1:
      id: config
      -orig-id: BUNDLE_CONFIG
    2:
      id: files
      -orig-id: FILE_METADATA
    3:
      id: records
      -orig-id: SHARD_METADATA
