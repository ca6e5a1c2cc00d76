meta:
  id: leveldb_blob_file
  title: RocksDB blob file
  application: RocksDB
  file-extension: blob
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  Large values (`NNNNNN.blob`), to which entries of tables refer: a header,
  records back to back, and a footer if the file was closed.

  Every checksum is a CRC-32C, rotated right by 15 bits, plus 0xa282ead8.
doc-ref: https://github.com/facebook/rocksdb/blob/main/db/blob/blob_log_format.h
seq:
  - id: header
    type: file_header
  - id: records
    size: '_io.size - 30 - (has_footer ? 32 : 0)'
    type: record_list
  - id: footer
    type: file_footer
    if: has_footer
instances:
  last_magic:
    pos: _io.size - 32
    type: u4
    if: _io.size >= 62
    doc: The magic number that a footer starts with.
  has_footer:
    value: _io.size >= 62 and last_magic == 2395959
    doc: A file that was not closed ends after a record.
types:
  file_header:
    doc: What kind of values the file has.
    -webide-representation: 'column family {column_family:dec}, {compression:dec}'
    seq:
      - id: magic
        contents: [0x37, 0x8f, 0x24, 0x00]
      - id: version
        type: u4
        valid: 1
        doc: The only version there is.
      - id: column_family
        -orig-id: cf id
        type: u4
        doc: Number of the column family whose values these are.
      - id: flags
        type: u1
        doc: 1 if values expire, as in the old BlobDB.
      - id: compression
        type: u1
        doc: How the values are compressed; the numbers are those of table blocks.
      - id: expiration
        type: expiration
  expiration:
    doc: |
      When the first and the last of the values expire, in seconds since 1970; 0
      when they do not.
    seq:
      - id: first
        type: u8
        doc: The earliest time.
      - id: last
        type: u8
        doc: The latest time.
  record_list:
    doc: Records back to back.
    seq:
      - id: records
        type: record
        repeat: eos
  record:
    doc: A key and its value.
    -webide-representation: '{key:str}: {len_value:dec} bytes'
    seq:
      - id: len_key
        -orig-id: key length
        type: u8
        valid:
          max: (_io.size - 32).as<u8>
      - id: len_value
        -orig-id: value length
        type: u8
        valid:
          max: (_io.size - 32).as<u8> - len_key
      - id: expiration
        type: u8
        doc: When the value expires; 0 when it does not.
      - id: head_checksum
        -orig-id: header CRC
        -checksum: of the three numbers before it
        type: u4
        doc: CRC-32C of the three numbers before it.
      - id: checksum
        -orig-id: blob CRC
        -checksum: of key and value
        type: u4
        doc: CRC-32C of key and value.
      - id: key
        size: len_key
        doc: The user's key.
      - id: value
        size: len_value
        doc: |
          Compressed as the file states, preceded by the decompressed size as in
          tables of version 2.
  file_footer:
    doc: The footer, written when the file was closed.
    -webide-representation: '{num_blobs:dec} values'
    seq:
      - id: magic
        contents: [0x37, 0x8f, 0x24, 0x00]
      - id: num_blobs
        -lint-ok: Records are read to their end.
        -orig-id: blob count
        type: u8
      - id: expiration
        type: expiration
      - id: checksum
        -orig-id: footer CRC
        -checksum: of the footer before it
        type: u4
        doc: CRC-32C of the footer before it.
