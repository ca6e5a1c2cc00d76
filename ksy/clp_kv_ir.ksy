meta:
  id: clp_kv_ir
  title: CLP key-value pair IR stream
  application: CLP
  file-extension: clp
  tags:
    - log
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: be
doc: |
  Structured log events as loggers write them, before they are compressed into
  an archive: a preamble, then tokens to the end. Such a stream is usually
  stored in Zstandard frames (`.clp.zst`).

  Tokens make up consecutive units:

  - a key is declared: a `node_` token with its type, the `parent_` token of
    the object that contains it, and the `text_` token of its name. The keys
    that a logger adds itself and those of its user make up two trees; in each
    the root is node 0 and the others are numbered in the order of their
    declarations;
  - a log event: pairs of a `key_` token of the first tree and a value, then
    `key_` tokens of the second tree, then as many values. `empty_object`
    stands for the latter two where an event has no user's keys;
  - a change of the offset from UTC that the logger writes in;
  - the end of the stream.

  A value is one token, or, after `four_byte_encoding` or `eight_byte_encoding`,
  an encoded text: variables, and a `log_type_` token that states where they
  are.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp/ffi/ir_stream
seq:
  - id: head
    type: preamble
  - id: body
    type: units
types:
  preamble:
    doc: What the stream is, and the metadata.
    -webide-representation: '{encoding} {metadata:str}'
    seq:
      - id: magic_start
        contents: [0xfd, 0x2f, 0xb5]
      - id: encoding
        type: u1
        enum: encodings
        valid:
          in-enum: true
        doc: How wide variables are; a value says it again.
      - id: metadata_type
        type: u1
        enum: metadata_types
        valid:
          in-enum: true
        doc: How the metadata is written.
      - id: metadata_length
        type: u1
        enum: metadata_lengths
        valid:
          in-enum: true
        doc: How wide the next length is.
      - id: len_metadata1
        type: u1
        if: metadata_length == metadata_lengths::one_byte
      - id: len_metadata2
        type: u2
        valid:
          max: _io.size - _io.pos
        if: metadata_length == metadata_lengths::two_bytes
      - id: metadata
        size: '(metadata_length == metadata_lengths::one_byte ? len_metadata1 : len_metadata2).as<u2>'
        doc: |
          A JSON object. `VERSION` is "0.1.0" for streams of key-value pairs, and
          `USER_DEFINED_METADATA` an object of the program that wrote the stream.
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
    -webide-representation: '{tag} {number1:dec}{number2:dec}{number4:dec}{number8:dec}{real}{text}'
    seq:
      - id: tag
        type: u1
        enum: tags
        valid:
          in-enum: true
        doc: What the token is, and what follows.
      - id: number1
        type: s1
        if: tag == tags::key_1 or tag == tags::parent_1 or tag == tags::integer_1
        doc: A number of one byte. Keys of the logger are stored as -1 - id.
      - id: number2
        type: s2
        if: tag == tags::key_2 or tag == tags::parent_2 or tag == tags::integer_2
      - id: number4
        type: s4
        if: |
          tag == tags::key_4 or tag == tags::parent_4 or tag == tags::integer_4
          or tag == tags::variable_4
      - id: number8
        type: s8
        if: |
          tag == tags::integer_8 or tag == tags::variable_8
          or tag == tags::utc_offset_change
        doc: Offsets from UTC are milliseconds.
      - id: real
        type: f8
        if: tag == tags::real
        doc: A float.
      - id: len_text1
        type: u1
        valid:
          max: _io.size - _io.pos
        if: |
          tag == tags::text_1 or tag == tags::variable_text_1
          or tag == tags::log_type_1
      - id: len_text2
        type: u2
        valid:
          max: _io.size - _io.pos
        if: |
          tag == tags::text_2 or tag == tags::variable_text_2
          or tag == tags::log_type_2
      - id: len_text4
        type: u4
        valid:
          max: (_io.size - _io.pos).as<u4>
        if: |
          tag == tags::text_4 or tag == tags::variable_text_4
          or tag == tags::log_type_4
      - id: text
        size: '(has_text1 ? len_text1 : has_text2 ? len_text2 : len_text4).as<u4>'
        if: has_text1 or has_text2 or has_text4
        doc: |
          UTF-8. In a log type some bytes stand for variables (`marks`), and a
          backslash takes the special meaning from the next byte.
    instances:
      has_text1:
        value: tag == tags::text_1 or tag == tags::variable_text_1 or tag == tags::log_type_1
      has_text2:
        value: tag == tags::text_2 or tag == tags::variable_text_2 or tag == tags::log_type_2
      has_text4:
        value: tag == tags::text_4 or tag == tags::variable_text_4 or tag == tags::log_type_4
  log_type_byte:
    -lint-ok: Bytes of texts that are log types.
    doc: A byte of a log type that is not text.
    -webide-representation: '{mark}'
    seq:
      - id: mark
        type: u1
        enum: marks
  decimal_4:
    -lint-ok: What a variable is only its log type tells.
    -scalar: word
    doc: |
      What `variable_4` holds at a mark for decimal fractions: how many digits
      there are, the position of the point, the digits and the sign.
    -webide-representation: '{digits:dec}, {num_digits:dec} digits'
    seq:
      - id: word
        type: u4
    instances:
      num_fraction_digits:
        value: word % 8 + 1
        doc: Digits after the point.
      num_digits:
        value: word / 8 % 8 + 1
        -webide-parse-mode: eager
      digits:
        value: word / 0x40 % 0x2000000
        doc: As one number, without the point.
        -webide-parse-mode: eager
      sign:
        value: word / 0x80000000
        doc: 1 if a minus sign precedes the digits.
  decimal_8:
    -lint-ok: What a variable is only its log type tells.
    -scalar: word
    doc: The same of `variable_8`.
    -webide-representation: '{digits:dec}, {num_digits:dec} digits'
    seq:
      - id: word
        type: u8
    instances:
      num_fraction_digits:
        value: word.as<s8> % 0x10 + 1
        doc: Digits after the point.
      num_digits:
        value: (word / 0x10).as<s8> % 0x10 + 1
        -webide-parse-mode: eager
      digits:
        value: ((word / 0x100).as<s8> % 0x40000000000000).as<s8>
        doc: As one number, without the point.
        -webide-parse-mode: eager
      sign:
        value: word / 0x4000000000000000 / 2
        doc: 1 if a minus sign precedes the digits.
enums:
  encodings:
    0x29:
      id: four_byte
      -orig-id: FourByteEncodingMagicNumber
    0x30:
      id: eight_byte
      -orig-id: EightByteEncodingMagicNumber
  metadata_types:
    0x01:
      id: json
      -orig-id: EncodingJson
  metadata_lengths:
    0x11:
      id: one_byte
      -orig-id: LengthUByte
    0x12:
      id: two_bytes
      -orig-id: LengthUShort
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
      doc: A variable that is an integer, or a decimal fraction.
    0x19:
      id: variable_8
      -orig-id: VarEightByteEncoding
    0x21:
      id: log_type_1
      -orig-id: LogtypeStrLenUByte
      doc: Text with marks for the variables before it; ends an encoded string.
    0x22:
      id: log_type_2
      -orig-id: LogtypeStrLenUShort
    0x23:
      id: log_type_4
      -orig-id: LogtypeStrLenInt
    0x3f:
      id: utc_offset_change
      -orig-id: UtcOffsetChange
    0x41:
      id: text_1
      -orig-id: StrLenUByte
    0x42:
      id: text_2
      -orig-id: StrLenUShort
    0x43:
      id: text_4
      -orig-id: StrLenUInt
    0x51:
      id: integer_1
      -orig-id: ValueInt8
    0x52:
      id: integer_2
      -orig-id: ValueInt16
    0x53:
      id: integer_4
      -orig-id: ValueInt32
    0x54:
      id: integer_8
      -orig-id: ValueInt64
    0x56:
      id: real
      -orig-id: ValueFloat
    0x57:
      id: true_value
      -orig-id: ValueTrue
    0x58:
      id: false_value
      -orig-id: ValueFalse
    0x59:
      id: four_byte_encoding
      -orig-id: ValueFourByteEncodingClpStr
      doc: An encoded text follows, variables first.
    0x5a:
      id: eight_byte_encoding
      -orig-id: ValueEightByteEncodingClpStr
    0x5e:
      id: empty_object
      -orig-id: ValueEmpty
    0x5f:
      id: null_value
      -orig-id: ValueNull
    0x60:
      id: parent_1
      -orig-id: EncodedSchemaTreeNodeParentIdByte
      doc: The parent node of a new key.
    0x61:
      id: parent_2
      -orig-id: EncodedSchemaTreeNodeParentIdShort
    0x62:
      id: parent_4
      -orig-id: EncodedSchemaTreeNodeParentIdInt
    0x65:
      id: key_1
      -orig-id: EncodedSchemaTreeNodeIdByte
    0x66:
      id: key_2
      -orig-id: EncodedSchemaTreeNodeIdShort
    0x67:
      id: key_4
      -orig-id: EncodedSchemaTreeNodeIdInt
    0x71:
      id: node_integer
      -orig-id: SchemaTreeNodeInt
    0x72:
      id: node_real
      -orig-id: SchemaTreeNodeFloat
    0x73:
      id: node_boolean
      -orig-id: SchemaTreeNodeBool
    0x74:
      id: node_text
      -orig-id: SchemaTreeNodeStr
    0x75:
      id: node_array
      -orig-id: SchemaTreeNodeUnstructuredArray
      doc: Its values are JSON text, encoded.
    0x76:
      id: node_object
      -orig-id: SchemaTreeNodeObj
      doc: Also the type of keys whose value is null.
  marks:
    0x11:
      id: integer
      -orig-id: Integer
    0x12:
      id: text
      -orig-id: Dictionary
    0x13:
      id: decimal
      -orig-id: Float
    0x5c:
      id: escape
      -orig-id: Escape
