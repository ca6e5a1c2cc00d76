meta:
  id: zs
  title: ZS sorted record archive, version 0.10
  application: zs
  file-extension: zs
  tags:
    - archive
    - database
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - uleb128
    - zs_data_block
    - zs_index_block
  endian: le
doc: |
  A read-only, sorted multiset of byte records in compressed, checksummed blocks
  with a tree of index blocks over them, for fast lookup by prefix or range and
  for streaming.

  A file is a magic number, a header, and blocks without gaps until the end.
  Block payloads are compressed each on its own; `zs_data_block` and
  `zs_index_block` describe them decompressed. Where the codec is `none` they
  are opened in place.
doc-ref: https://zs.readthedocs.io/en/latest/format.html ZS 0.10, On-disk layout
seq:
  - id: magic
    -orig-id: Magic number
    size: 8
    valid:
      any-of:
        - '[0xab, 0x5a, 0x53, 0x66, 0x69, 0x4c, 0x65, 0x01]'
        - '[0xab, 0x5a, 0x53, 0x74, 0x6f, 0x42, 0x65, 0x01]'
    doc: |
      `ZSfiLe` between 0xab and the version 1, or `ZStoBe` in a file whose
      writing was never finished (such a file is not valid).
  - id: len_header
    -orig-id: Length
    type: u8
    valid:
      max: (_io.size - _io.pos).as<u8>
    doc: Bytes of the header, without this field and the checksum.
  - id: header
    -orig-id: Header
    size: len_header
    type: file_header
  - id: crc_header
    -orig-id: CRC-64-xz
    -checksum: CRC-64/XZ
    -covers: header
    type: crc64
    doc: CRC-64/XZ of the header's bytes, without the length field.
instances:
  is_complete:
    value: 'magic == [0xab, 0x5a, 0x53, 0x66, 0x69, 0x4c, 0x65, 0x01]'
    doc: False in a file whose writing was never finished.
  ofs_blocks:
    value: (24 + len_header).as<u8>
    doc: Where the first block starts.
  blocks:
    pos: ofs_blocks.as<s8>
    type: block
    repeat: eos
    doc: Data, index and extension blocks until the end of the file.
  root:
    pos: header.ofs_root.as<s8>
    size: header.len_root
    type: block
    valid:
      expr: _._io.size.as<u8> == header.len_root
    if: is_complete
    doc: |
      The index block with which every search starts. A file that was never
      finished has none.
types:
  file_header:
    doc: What describes the file as a whole.
    seq:
      - id: ofs_root
        -orig-id: Root index offset
        type: u8
        valid:
          max: (0x7fffffffffffffff).as<u8>
        doc: Where the root index block starts.
      - id: len_root
        -orig-id: Root index length
        type: u8
        valid:
          max: (0x7fffffffffffffff).as<u8>
        doc: Bytes of the root index block, its length field and checksum included.
      - id: len_file
        -lint-ok: What the file should have; it is compared with what it has.
        -orig-id: Total file length
        type: u8
        doc: Bytes of the file; the only guard against a cut at a block boundary.
      - id: sha256_data
        -orig-id: SHA-256 of data
        -checksum: SHA-256
        size: 32
        doc: |
          SHA-256 of all data block payloads, decompressed and concatenated in
          file order, the lengths of the records included.
      - id: codec
        -orig-id: Codec
        size: 16
        doc: |
          How payloads are compressed, ASCII padded with NUL: `none`, `deflate`
          (RFC 1951 without any wrapper) or `lzma2;dsize=2^20` (raw LZMA2, at
          most 1 MiB of dictionary).
      - id: len_metadata
        -orig-id: Metadata length
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: metadata
        -orig-id: Metadata
        size: len_metadata
        doc: A JSON object in UTF-8, about the records; any keys are allowed.
      - id: extensions
        -orig-id: <extensions>
        size-eos: true
        doc: Reserved for compatible additions; readers ignore it.
    instances:
      codec_name:
        value: codec.to_s("ISO-8859-1")
        doc: The same as text; any byte is a character.
        -webide-parse-mode: eager
      metadata_text:
        value: metadata.to_s("UTF-8")
        doc: The same as text.
        -webide-parse-mode: eager
      is_stored:
        value: 'codec == [0x6e, 0x6f, 0x6e, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]'
        doc: Whether payloads are stored as they are (codec `none`).
  block:
    -element: true
    doc: One block with its framing.
    -webide-representation: 'level {body.level:dec}, {len_body.value:dec} bytes'
    seq:
      - id: len_body
        -orig-id: Length
        type: uleb128
        valid:
          expr: _.value <= (_io.size - _io.pos).as<u8>
        doc: Bytes of the level and the stored payload together; at least 1.
      - id: body
        size: len_body.value
        type: block_body
      - id: crc
        -orig-id: CRC-64-xz
        -checksum: CRC-64/XZ
        -covers: body
        type: crc64
        doc: CRC-64/XZ of the body as it is stored, compression and all.
  crc64:
    doc: |
      A checksum of 64 bits, least significant byte first. Parts of 32 bits are
      exact in JavaScript too.
    -webide-representation: '{high:hex} {low:hex}'
    -scalar: value
    seq:
      - id: low
        type: u4
        doc: The last eight hexadecimal digits.
      - id: high
        type: u4
        doc: The first eight.
    instances:
      value:
        value: (high.as<s8> * 0x100000000 + low.as<s8>).as<u8>
        doc: All 64 bits.
  block_body:
    doc: |
      What the block's checksum covers. Blocks of level 64 and above are
      reserved for extensions and are to be ignored.
    seq:
      - id: level
        -orig-id: Level
        type: u1
        doc: 0 for a data block, 1 to 63 for an index block.
      - id: payload
        -orig-id: Compressed payload
        size-eos: true
        doc: Compressed with the codec that the header names.
    instances:
      data_block:
        pos: 1
        size-eos: true
        type: zs_data_block
        if: level == 0 and _root.header.is_stored
        doc: The payload of a data block, where it is stored uncompressed.
      index_block:
        pos: 1
        size-eos: true
        type: zs_index_block
        if: level >= 1 and level <= 63 and _root.header.is_stored
        doc: The payload of an index block, where it is stored uncompressed.
