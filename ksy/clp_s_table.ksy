meta:
  id: clp_s_table
  title: One table of a clp-s archive, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  The columns of one table, end to end. The bytes do not state which columns
  there are or how long they are: the caller passes the row count from
  the table metadata and the node types from the schema.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s ColumnWriter
params:
  - id: num_messages
    type: s8
    doc: Number of rows.
  - id: node_types
    type: u1[]
    doc: |
      Node type of each column in schema order, without those that store
      nothing (objects, nulls, structured arrays).
seq:
  - id: columns
    -ends: true
    -lint-ok: What is handed in are plain numbers; `node_type` of the schema tree names them.
    type:
      switch-on: node_types[_index]
      cases:
        0: integer_column(num_messages)
        1: float_column(num_messages)
        2: clp_column(num_messages)
        3: id_column(num_messages)
        4: boolean_column(num_messages)
        6: clp_column(num_messages)
        8: date_column(num_messages)
        11: integer_column(num_messages)
        12: formatted_float_column(num_messages)
        13: id_column(num_messages)
        14: timestamp_column(num_messages)
        _: unknown_column
    repeat: expr
    repeat-expr: num_columns
instances:
  num_columns:
    value: node_types.size
types:
  integer_column:
    doc: |
      Integers, or for node type 11 the first integer and then the difference
      to the row before, modulo 2^64.
    -webide-representation: '{num_values:dec} integers'
    params:
      - id: num_values
        type: s8
    seq:
      - id: values
        type: s8
        repeat: expr
        repeat-expr: num_values
  float_column:
    doc: Binary64 numbers.
    -webide-representation: '{num_values:dec} floats'
    params:
      - id: num_values
        type: s8
    seq:
      - id: values
        type: f8
        repeat: expr
        repeat-expr: num_values
  formatted_float_column:
    doc: Binary64 numbers, then the format of each.
    -webide-representation: '{num_values:dec} formatted floats'
    params:
      - id: num_values
        type: s8
    seq:
      - id: values
        type: f8
        repeat: expr
        repeat-expr: num_values
        doc: The numbers themselves.
      - id: formats
        type: float_format
        repeat: expr
        repeat-expr: num_values
        doc: How each of them was written.
  float_format:
    -scalar: word
    doc: How a number was written.
    -webide-representation: '{notation}, {num_significant_digits:dec} digits'
    seq:
      - id: word
        type: u2
    instances:
      notation:
        value: (word / 0x4000).as<u2>
        enum: float_notation
        doc: With an exponent, and which letter starts it, or without.
        -webide-parse-mode: eager
      exponent_sign:
        value: word / 0x1000 % 4
        enum: exponent_sign
        doc: The sign between that letter and the digits of the exponent.
      num_exponent_digits:
        value: word / 0x400 % 4 + 1
      num_significant_digits:
        value: word / 0x20 % 0x20 + 1
        -webide-parse-mode: eager
  boolean_column:
    doc: One byte each; anything but 0 is true.
    -webide-representation: '{num_values:dec} booleans'
    params:
      - id: num_values
        type: s8
    seq:
      - id: values
        size: num_values
  id_column:
    doc: Positions in the variable dictionary.
    -webide-representation: '{num_values:dec} texts'
    params:
      - id: num_values
        type: s8
    seq:
      - id: values
        type: u8
        repeat: expr
        repeat-expr: num_values
  clp_column:
    doc: |
      Encoded text: which log type each row has and where its variables start,
      then the variables of all rows.
    -webide-representation: '{num_values:dec} encoded texts'
    params:
      - id: num_values
        type: s8
    seq:
      - id: rows
        type: clp_word
        repeat: expr
        repeat-expr: num_values
        doc: One word for each record.
      - id: num_variables
        type: u8
        valid:
          max: ((_io.size - _io.pos) / 8).as<u8>
      - id: variables
        type: s8
        repeat: expr
        repeat-expr: num_variables.as<s8>
        doc: The encoded variables of all rows, back to back.
  clp_word:
    -scalar: word
    doc: Log type and position of the first variable, in one word.
    -webide-representation: 'log type {log_type_id:dec}, variables from {ofs_variable:dec}'
    seq:
      - id: word
        type: u8
    instances:
      log_type_id:
        value: word.as<s8> % 0x1000000
        doc: Position of the log type in its dictionary.
        -webide-parse-mode: eager
      ofs_variable:
        value: (word / 0x1000000).as<u8>
        doc: Index into the variables of the column.
        -webide-parse-mode: eager
  decimal_variable:
    -lint-ok: What a variable is only the log type of its row tells.
    -scalar: word
    doc: |
      What the variable at a mark for decimal fractions holds, from 0.4.0 on:
      number of digits, position of the point, the digits and the sign.
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
        value: word / (0x4000000000000000).as<u8> / 2
        doc: 1 if a minus sign precedes the digits.
  classic_decimal_variable:
    -lint-ok: What a variable is only the log type of its row tells.
    -scalar: word
    doc: The same as before 0.4.0.
    -webide-representation: '{digits:dec}, {num_digits:dec} digits'
    seq:
      - id: word
        type: u8
    instances:
      digits:
        value: (word.as<s8> % 0x40000000000000).as<s8>
        doc: As one number, without the point.
        -webide-parse-mode: eager
      num_fraction_digits:
        value: (word / (0x80000000000000).as<u8>).as<s8> % 0x10 + 1
        doc: Digits after the point.
      num_digits:
        value: (word / (0x800000000000000).as<u8>).as<s8> % 0x10 + 1
        -webide-parse-mode: eager
      sign:
        value: word / (0x4000000000000000).as<u8> / 2
        doc: 1 if a minus sign precedes the digits.
  classic_variable:
    -lint-ok: What a variable is only the log type of its row tells.
    -scalar: value
    doc: |
      What the variable at the other mark holds before 0.4.0: an integer, or a
      position in the variable dictionary.
    -webide-representation: '{value:dec}'
    seq:
      - id: value
        type: s8
    instances:
      first_id:
        value: (0x4000000000000000).as<s8>
        doc: Stands for position 0; integers are below it.
      is_id:
        value: value >= first_id and value != 0x7fffffffffffffff
      dictionary_id:
        value: value - first_id
        doc: The position, where it is one.
  date_column:
    doc: Epochs, then the pattern of each.
    -webide-representation: '{num_values:dec} dates'
    params:
      - id: num_values
        type: s8
    seq:
      - id: epochs
        type: s8
        repeat: expr
        repeat-expr: num_values
        doc: Milliseconds; with the patterns %E and %F as they were.
      - id: pattern_ids
        type: s8
        repeat: expr
        repeat-expr: num_values
        doc: Number of the pattern in the timestamp dictionary.
  timestamp_column:
    doc: Nanoseconds as differences to the row before, then the patterns.
    -webide-representation: '{num_values:dec} timestamps'
    params:
      - id: num_values
        type: s8
    seq:
      - id: deltas
        type: s8
        repeat: expr
        repeat-expr: num_values
        doc: The first in nanoseconds since 1970, then differences.
      - id: pattern_ids
        type: u8
        repeat: expr
        repeat-expr: num_values
        doc: Number of the pattern in the timestamp dictionary.
  unknown_column:
    doc: A node type that stores nothing, as far as is known.
    -webide-representation: 'nothing stored'
enums:
  float_notation:
    0: plain
    1:
      id: lower_exponent
      -orig-id: cScientificNotationLowerCaseEFlag
    2: reserved
    3:
      id: upper_exponent
      -orig-id: cScientificNotationUpperCaseEFlag
  exponent_sign:
    0:
      id: none
      -orig-id: cEmptyExponentSignFlag
    1:
      id: plus
      -orig-id: cPlusExponentSignFlag
    2:
      id: minus
      -orig-id: cMinusExponentSignFlag
    3: reserved
