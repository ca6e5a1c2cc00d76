meta:
  id: clp_s_metadata
  title: clp-s metadata section, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - clp_s_msgpack
    - utf8_text
  encoding: UTF-8
  endian: le
doc: |
  The packets that describe a clp-s archive: offsets of its sections, the range
  of its timestamps, and which input each range of records came from. Packets
  may come in any order; unknown kinds are skipped by their size.
doc-ref: https://docs.yscope.com/clp/main/dev-docs/design-clp-s-single-file-archive.html Metadata section
seq:
  - id: num_packets
    type: u1
  - id: packets
    type: packet
    repeat: expr
    repeat-expr: num_packets
types:
  packet:
    doc: One typed, sized packet.
    -webide-representation: '{type}, {len_body:dec} bytes'
    seq:
      - id: type
        -orig-id: packet_type
        type: u1
        enum: packet_type
        doc: What the packet holds.
      - id: len_body
        -orig-id: packet_size
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: body
        -orig-id: packet_content
        size: len_body
        type: packet_body(type)
  packet_body:
    doc: |
      Content of a packet, parsed when it is used: a packet that is broken
      or of an unknown kind does not hide the others.
    params:
      - id: packet_type
        type: u1
        enum: packet_type
        doc: The type that the packet says it has.
    instances:
      content:
        pos: 0
        size: _io.size
        type:
          switch-on: packet_type
          cases:
            'packet_type::archive_info': clp_s_msgpack
            'packet_type::archive_file_info': clp_s_msgpack
            'packet_type::timestamp_dictionary': timestamp_dictionary
            'packet_type::range_index': clp_s_msgpack
        doc: Raw bytes when the kind is unknown.
  timestamp_dictionary:
    doc: |
      Ranges of the timestamp columns, and the patterns that turn stored
      epochs back into the text they came from.
    doc-ref: clp-s format description, TimestampDictionary packet
    seq:
      - id: num_ranges
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: ranges
        type: timestamp_range
        repeat: expr
        repeat-expr: num_ranges.as<s8>
      - id: num_patterns
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: patterns
        type: timestamp_pattern
        repeat: expr
        repeat-expr: num_patterns.as<s8>
  timestamp_range:
    doc: Inclusive bounds of one timestamp key.
    -webide-representation: '{key}: {begin_epoch:dec}{begin_double} to {end_epoch:dec}{end_double}'
    seq:
      - id: len_key
        -orig-id: key_len
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: key
        size: len_key
        type: utf8_text
        doc: KQL path of the key, escaped as in a query.
      - id: num_column_ids
        type: u8
        valid:
          max: ((_io.size - _io.pos) / 4).as<u8>
      - id: column_ids
        type: s4
        repeat: expr
        repeat-expr: num_column_ids.as<s8>
        doc: Schema tree nodes that hold values of the key.
      - id: encoding
        -orig-id: encoding_type
        type: u8
        enum: timestamp_encoding
        doc: Whether the bounds are integers or floats.
      - id: begin_epoch
        -orig-id: epoch_start
        type: s8
        if: encoding == timestamp_encoding::epoch
        doc: Milliseconds from 0.5.0 on; before, whatever the values were.
      - id: end_epoch
        -orig-id: epoch_end
        type: s8
        if: encoding == timestamp_encoding::epoch
        doc: Latest value, in the unit of the earliest.
      - id: begin_double
        -orig-id: epoch_start
        type: f8
        if: encoding == timestamp_encoding::double_epoch
        doc: Earliest value, where values are floats.
      - id: end_double
        -orig-id: epoch_end
        type: f8
        if: encoding == timestamp_encoding::double_epoch
        doc: Latest value, where values are floats.
  timestamp_pattern:
    doc: |
      One pattern. Up to 0.4.1 percent signs start the specifiers, from 0.5.0
      on backslashes do and string patterns carry their quotes.
    -webide-representation: '{pattern_id:dec}: {pattern}'
    seq:
      - id: pattern_id
        type: u8
        doc: What columns of timestamps call it.
      - id: len_pattern
        -orig-id: pattern_len
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: pattern
        size: len_pattern
        type: utf8_text
enums:
  packet_type:
    0:
      id: archive_info
      -orig-id: ArchiveInfo
    1:
      id: archive_file_info
      -orig-id: ArchiveFileInfo
    2:
      id: timestamp_dictionary
      -orig-id: TimestampDictionary
    3:
      id: range_index
      -orig-id: RangeIndex
  timestamp_encoding:
    0: unknown
    1:
      id: epoch
      -orig-id: Epoch
    2:
      id: double_epoch
      -orig-id: DoubleEpoch
