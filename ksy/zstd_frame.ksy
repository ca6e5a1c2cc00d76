meta:
  id: zstd_frame
  title: Zstandard frames
  application: Zstandard
  file-extension: zst
  xref:
    mime: application/zstd
    rfc: 8878
    wikidata: Q28453796
  tags:
    - compressed
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  The framing of a Zstandard stream: frame headers, block headers and
  skippable frames, back to back to the end. Compressed blocks stay opaque;
  the bytes of raw blocks are the payload itself, which is how an archive
  recoded with stored payloads shows them in place.
doc-ref: https://www.rfc-editor.org/rfc/rfc8878
seq:
  - id: frames
    -lint-ok: Frames hold nothing but blocks, and blocks bytes.
    type: frame
    repeat: eos
instances:
  is_stored:
    value: frames.size == 1 and frames[0].is_stored
    doc: The whole payload is one raw block of one frame.
types:
  frame:
    doc: One Zstandard frame or one skippable frame.
    -columns: true
    -webide-representation: '{magic}'
    seq:
      - id: magic
        -orig-id: Magic_Number
        type: u4
        enum: frame_kind
        valid:
          in-enum: true
        doc: A Zstandard frame, or any of the sixteen skippable ones.
      - id: skippable
        type: skippable_body
        if: magic != frame_kind::zstandard
      - id: body
        type: zstandard_body
        if: magic == frame_kind::zstandard
    instances:
      is_stored:
        value: 'magic == frame_kind::zstandard and body.is_stored'
        doc: The payload of this frame is exactly one raw block.
  skippable_body:
    doc: Bytes that a decoder skips.
    doc-ref: RFC 8878, 3.1.2
    seq:
      - id: len_data
        -orig-id: Frame_Size
        type: u4
        valid:
          max: '_io.size - _io.pos'
      - id: data
        -orig-id: User_Data
        size: len_data
        doc: Whatever who wrote it wanted.
  zstandard_body:
    doc: What follows the magic of a Zstandard frame.
    doc-ref: RFC 8878, 3.1.1
    seq:
      - id: descriptor
        -orig-id: Frame_Header_Descriptor
        type: frame_descriptor
      - id: window
        -orig-id: Window_Descriptor
        type: window_descriptor
        if: not descriptor.is_single_segment
      - id: dictionary_id1
        -orig-id: Dictionary_ID
        type: u1
        if: descriptor.dictionary_id_flag == 1
        doc: Number of the dictionary; 0 when it is not said.
      - id: dictionary_id2
        -orig-id: Dictionary_ID
        type: u2
        if: descriptor.dictionary_id_flag == 2
        doc: The same in two bytes.
      - id: dictionary_id4
        -orig-id: Dictionary_ID
        type: u4
        if: descriptor.dictionary_id_flag == 3
        doc: The same in four bytes.
      - id: content_size1
        -orig-id: Frame_Content_Size
        type: u1
        if: descriptor.content_size_flag == 0 and descriptor.is_single_segment
        doc: Bytes of the payload.
      - id: content_size2
        -orig-id: Frame_Content_Size
        type: u2
        if: descriptor.content_size_flag == 1
        doc: Stored minus 256.
      - id: content_size4
        -orig-id: Frame_Content_Size
        type: u4
        if: descriptor.content_size_flag == 2
        doc: Bytes of the payload.
      - id: content_size8
        -orig-id: Frame_Content_Size
        type: u8
        if: descriptor.content_size_flag == 3
        doc: Bytes of the payload.
      - id: blocks
        -orig-id: Data_Block
        type: block
        repeat: until
        repeat-until: _.header.is_last
      - id: checksum
        -orig-id: Content_Checksum
        -checksum: XXH64, low half
        type: u4
        if: descriptor.has_checksum
        doc: Low four bytes of the XXH64 of the payload, seed 0.
    instances:
      is_stored:
        value: blocks.size == 1 and blocks[0].is_raw
        doc: The payload of this frame is exactly one raw block.
  frame_descriptor:
    meta:
      bit-endian: be
    doc: Which header fields follow.
    seq:
      - id: content_size_flag
        -orig-id: Frame_Content_Size_Flag
        type: b2
        doc: Size of the content size field, 0 (or 1), 2, 4 or 8 bytes.
      - id: is_single_segment
        -orig-id: Single_Segment_Flag
        type: b1
        doc: No window descriptor; the window is the whole content.
      - id: unused
        -orig-id: Unused_Bit
        type: b1
      - id: reserved
        -orig-id: Reserved_Bit
        type: b1
      - id: has_checksum
        -orig-id: Content_Checksum_Flag
        type: b1
        doc: A checksum of the payload follows the last block.
      - id: dictionary_id_flag
        -orig-id: Dictionary_ID_Flag
        type: b2
        doc: Size of the dictionary id, 0, 1, 2 or 4 bytes.
  window_descriptor:
    meta:
      bit-endian: be
    doc: Size of the window, that is of the memory a decoder needs.
    seq:
      - id: exponent
        -orig-id: Exponent
        type: b5
        doc: Binary logarithm of the base size, minus 10.
      - id: mantissa
        -orig-id: Mantissa
        type: b3
        doc: Eighths of the base size that are added to it.
    instances:
      log_window:
        -orig-id: windowLog
        value: 10 + exponent
        doc: Binary logarithm of the base size.
  block:
    doc: |
      One block: three header bytes, then its content.
    -webide-representation: '{header.kind}, {header.len_block:dec} bytes'
    seq:
      - id: header
        -orig-id: Block_Header
        type: block_header
      - id: content
        -orig-id: Block_Content
        size: len_content
        type: block_content
        doc: |
          Raw bytes, the one byte to repeat, or a compressed block.
    instances:
      len_content:
        value: 'header.kind == block_kind::rle ? 1 : header.len_block'
      is_raw:
        value: header.kind == block_kind::raw
  block_content:
    doc: |
      Content of a block; a stream of its own, so that other schemas can open a
      raw block.
    seq:
      - id: data
        size-eos: true
  block_header:
    meta:
      bit-endian: le
    doc: |
      Little-endian 24 bits: last flag, two bits of type, 21 bits of size.
    seq:
      - id: is_last
        -orig-id: Last_Block
        type: b1
        doc: No block follows in the frame.
      - id: kind
        -orig-id: Block_Type
        type: b2
        enum: block_kind
        valid:
          in-enum: true
        doc: How the content is to be read.
      - id: len_block
        -orig-id: Block_Size
        type: b21
        doc: Stored size; for a repeated byte the number of repetitions.
enums:
  frame_kind:
    0xfd2fb528:
      id: zstandard
      -orig-id: Zstandard_Frame
    0x184d2a50: skippable0
    0x184d2a51: skippable1
    0x184d2a52: skippable2
    0x184d2a53: skippable3
    0x184d2a54: skippable4
    0x184d2a55: skippable5
    0x184d2a56: skippable6
    0x184d2a57: skippable7
    0x184d2a58: skippable8
    0x184d2a59: skippable9
    0x184d2a5a: skippable10
    0x184d2a5b: skippable11
    0x184d2a5c: skippable12
    0x184d2a5d: skippable13
    0x184d2a5e: skippable14
    0x184d2a5f: skippable15
  block_kind:
    0:
      id: raw
      -orig-id: Raw_Block
    1:
      id: rle
      -orig-id: RLE_Block
      doc: One byte, repeated.
    2:
      id: compressed
      -orig-id: Compressed_Block
