meta:
  id: ark_stored_message
  title: Ark log message, as stored in a compressed column
  application: Ark robotics framework
  tags:
    - compression
    - robotics
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  One message of a column whose compression type is not "none": the output of
  the codec, then a footer of 6 bytes. Messages of uncompressed columns have
  no footer. Parse with a window that holds exactly the bytes that the index
  entry names.
doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ footer of compressed messages, as lqs-client reads it
instances:
  payload:
    pos: 0
    size: _io.size - 6
    doc: Output of the codec; lz4 is one raw block, zstd one standard frame.
  footer:
    pos: _io.size - 6
    type: message_footer
types:
  message_footer:
    doc: The last six bytes of a compressed message.
    -element: true
    seq:
      - id: len_message
        -lint-ok: Of the message once it is decompressed.
        -orig-id: uncompressed size
        type: u4
        doc: Bytes of the message before compression.
      - id: codec
        type: u1
        enum: codec
        doc: How the message is compressed.
      - id: magic
        type: u1
        valid: 0xf0
enums:
  codec:
    0:
      id: none
      doc: Stored as it is; only the footer was added.
    1:
      id: lz4
      doc: Raw lz4 block, without a frame and without its size.
    2: zstd
    3: bz2
    4:
      id: lzma
      doc: The .xz or .lzma container that liblzma recognizes by itself.
