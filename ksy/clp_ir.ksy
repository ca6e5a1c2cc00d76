meta:
  id: clp_ir
  title: CLP IR stream of text messages
  application: CLP
  file-extension: clp
  tags:
    - log
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - clp_kv_ir
  endian: be
doc: |
  Log messages with timestamps as CLP's loggers write them, before they are
  compressed into an archive: a preamble, then tokens to the end. Mostly such a
  stream is inside Zstandard frames (`.clp.zst`). This is the format that
  precedes key-value pair IR streams (clp_kv_ir.ksy), which begin with the same
  preamble; the `VERSION` in the metadata distinguishes them.

  Tokens make up consecutive units:

  - a log event: the variables of its message, the `log_type_` token that says
    where they are, and a token with the time;
  - a change of the offset from UTC that the logger writes in;
  - the end of the stream.

  Variables have four bytes or eight, as the preamble says. Streams with four
  bytes hold the time of an event as the milliseconds since the event before
  (`delta_`), and for the first one since `REFERENCE_TIMESTAMP` in the metadata.
  Streams with eight bytes hold milliseconds since the epoch (`timestamp`).
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp/ffi/ir_stream
seq:
  - id: head
    type: clp_kv_ir::preamble
  - id: body
    type: units
types:
  units:
    doc: Tokens to the one that ends the stream, or as far as there are any.
    seq:
      - id: tokens
        -lint-ok: A stream ends with a token that says so.
        type: token
        repeat: until
        repeat-until: _.tag == tags::end_of_stream or _io.eof
  token:
    -element: true
    doc: One byte that says what this is, and a number or bytes.
    -webide-representation: '{tag} {number1:dec}{number2:dec}{number4:dec}{number8:dec}{text}'
    seq:
      - id: tag
        type: u1
        enum: tags
        valid:
          in-enum: true
        doc: What the token is, and what follows.
      - id: number1
        type: s1
        if: tag == tags::delta_1
        doc: Milliseconds since the event before; less than zero where clocks were set back.
      - id: number2
        type: s2
        if: tag == tags::delta_2
      - id: number4
        type: s4
        if: tag == tags::delta_4 or tag == tags::variable_4
      - id: number8
        type: s8
        if: |
          tag == tags::delta_8 or tag == tags::variable_8
          or tag == tags::timestamp or tag == tags::utc_offset_change
        doc: Timestamps and offsets from UTC are milliseconds.
      - id: len_text1
        type: u1
        valid:
          max: _io.size - _io.pos
        if: tag == tags::variable_text_1 or tag == tags::log_type_1
      - id: len_text2
        type: u2
        valid:
          max: _io.size - _io.pos
        if: tag == tags::variable_text_2 or tag == tags::log_type_2
      - id: len_text4
        type: u4
        valid:
          max: (_io.size - _io.pos).as<u4>
        if: tag == tags::variable_text_4 or tag == tags::log_type_4
      - id: text
        size: '(has_text1 ? len_text1 : has_text2 ? len_text2 : len_text4).as<u4>'
        if: has_text1 or has_text2 or has_text4
        doc: |
          UTF-8. In a log type some bytes stand for variables
          (`clp_kv_ir::marks`), and a backslash takes the special meaning from
          the next byte.
    instances:
      has_text1:
        value: tag == tags::variable_text_1 or tag == tags::log_type_1
      has_text2:
        value: tag == tags::variable_text_2 or tag == tags::log_type_2
      has_text4:
        value: tag == tags::variable_text_4 or tag == tags::log_type_4
enums:
  tags:
    0x00:
      id: end_of_stream
      -orig-id: Eof
    0x11:
      id: variable_text_1
      -orig-id: VarStrLenUByte
      doc: A variable that is kept as text; the digit is how many bytes its length takes.
    0x12:
      id: variable_text_2
      -orig-id: VarStrLenUShort
    0x13:
      id: variable_text_4
      -orig-id: VarStrLenInt
    0x18:
      id: variable_4
      -orig-id: VarFourByteEncoding
      doc: A variable that is an integer, or a decimal fraction (`clp_kv_ir::decimal_4`).
    0x19:
      id: variable_8
      -orig-id: VarEightByteEncoding
      doc: The same in streams with eight bytes (`clp_kv_ir::decimal_8`).
    0x21:
      id: log_type_1
      -orig-id: LogtypeStrLenUByte
      doc: Text with marks for the variables before it.
    0x22:
      id: log_type_2
      -orig-id: LogtypeStrLenUShort
    0x23:
      id: log_type_4
      -orig-id: LogtypeStrLenInt
    0x30:
      id: timestamp
      -orig-id: TimestampVal
      doc: Ends an event in streams with eight bytes.
    0x31:
      id: delta_1
      -orig-id: TimestampDeltaByte
      doc: Ends an event in streams with four bytes; the digit is how many bytes it takes.
    0x32:
      id: delta_2
      -orig-id: TimestampDeltaShort
    0x33:
      id: delta_4
      -orig-id: TimestampDeltaInt
    0x34:
      id: delta_8
      -orig-id: TimestampDeltaLong
    0x3f:
      id: utc_offset_change
      -orig-id: UtcOffsetChange
