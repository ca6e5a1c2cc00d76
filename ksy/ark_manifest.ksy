meta:
  id: ark_manifest
  title: Ark log manifest
  application: Ark robotics framework
  tags:
    - archive
    - robotics
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ark_rbuf
  encoding: UTF-8
  endian: le
doc: |
  The object ark::logging::Manifest: which split files make up a log, which
  channels they contain and what a query of them may see. It is the content of a
  serializable file.

  The layout of `query` and of `split_declaration` is not published; what is
  here is what this project writes. A manifest of another writer carries its
  own registry, which is then correct for these two.
doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ Manifest File Format
seq:
  - id: header
    -orig-id: rbuf bitstream header
    type: ark_rbuf::object_header
  - id: log_identifier
    type: ark_rbuf::guid
    doc: Identifier of this log, a particular view of the data.
  - id: common_identifier
    type: ark_rbuf::guid
    doc: Identifier shared by all logs that share data with this one.
  - id: name
    type: ark_rbuf::text
    doc: Name for people.
  - id: num_v1_columns
    type: u4
    valid:
      max: _io.size - _io.pos
    doc: Count of a removed list, always 0.
  - id: v1_columns
    type: column_declaration
    repeat: expr
    repeat-expr: num_v1_columns
  - id: groups
    type: group
    repeat: until
    repeat-until: not _.header.has_more
    if: header.groups_follow
types:
  group:
    doc: A group of the manifest; other numbers than 0 and 1 are kept as bytes.
    -webide-representation: 'group {header.number:dec}, {header.len_body:dec} bytes'
    seq:
      - id: header
        type: ark_rbuf::group_header
      - id: body
        -lint-ok: Groups have numbers and no names.
        size: header.len_body
        type:
          switch-on: header.number
          cases:
            0: section_list
            1: metadata
        doc: Groups of other numbers, of later versions, stay bytes.
  section_list:
    doc: 'Group 0: the sections of the log.'
    seq:
      - id: num_sections
        -orig-id: length of manifest sections
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: sections
        type: section
        repeat: expr
        repeat-expr: num_sections
        doc: In order; the filter of each applies to all that follow it.
  metadata:
    doc: The object ark::logging::LogMetadataEntries.
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: num_entries
        -orig-id: number of metadata pairs
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: entries
        type: metadata_entry
        repeat: expr
        repeat-expr: num_entries
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  metadata_entry:
    doc: One key with its value.
    -webide-representation: '{key}: {value}'
    seq:
      - id: key
        type: ark_rbuf::text
        doc: Any name.
      - id: value
        type: ark_rbuf::text
        doc: JSON text.
  section:
    doc: The object ark::logging::ManifestSection.
    -webide-representation: '{num_columns:dec} columns of log {original_log_identifier}'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: num_columns
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: columns
        type: column_declaration
        repeat: expr
        repeat-expr: num_columns
      - id: original_log_identifier
        type: ark_rbuf::guid
        doc: The log that the section came from.
      - id: acceptance_filter
        type: query
        doc: Applies to every section after this one, not to this one.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  query:
    doc: |
      The object ark::logging::Query: what the following sections may show.
      An empty allow list allows all channels.
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: minimum_time
        type: ark_rbuf::optional_time
        doc: Earliest time shown.
      - id: maximum_time
        type: ark_rbuf::optional_time
        doc: Latest time shown, inclusive.
      - id: message_allow_list
        type: ark_rbuf::string_list
        doc: Channel names or regular expressions.
      - id: message_deny_list
        type: ark_rbuf::string_list
        doc: Channel names or regular expressions.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  column_declaration:
    doc: |
      The object ark::logging::ColumnDeclaration: channels that share split
      files and a compression type.
    -webide-representation: '{name}: {num_object_types:dec} channels, {num_splits:dec} splits'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: name
        type: ark_rbuf::text
        doc: Name of the column.
      - id: compression_type
        type: ark_rbuf::text
        doc: '`none`, `lz4`, `zstd`, `bz2` or `lzma`.'
      - id: num_object_types
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: object_types
        type: object_declaration
        repeat: expr
        repeat-expr: num_object_types
        doc: The channels.
      - id: num_splits
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: splits
        type: split_declaration
        repeat: expr
        repeat-expr: num_splits
        doc: The files, in sequence.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  object_declaration:
    doc: 'The object ark::logging::ObjectDeclaration: one channel.'
    -webide-representation: '{name}: {type_identifier}'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: name
        type: ark_rbuf::text
        doc: Name of the channel.
      - id: type_identifier
        type: ark_rbuf::text
        doc: Qualified name of the type of its messages.
      - id: identifier
        type: ark_rbuf::guid
        doc: What the headers of split files call the channel.
      - id: schema_registry
        type: ark_rbuf::text
        doc: JSON text with every schema and enumeration that the type needs.
      - id: groups
        type: object_group
        repeat: until
        repeat-until: not _.header.has_more
        if: header.groups_follow
  object_group:
    doc: A group of an object declaration.
    -webide-representation: 'group {header.number:dec}, {header.len_body:dec} bytes'
    seq:
      - id: header
        type: ark_rbuf::group_header
      - id: body
        size: header.len_body
        type:
          switch-on: header.number
          cases:
            0: latching
        doc: Groups of other numbers, of later versions, stay bytes.
  latching:
    doc: 'Group 0: whether the channel is latched.'
    seq:
      - id: latched
        type: u1
        doc: |
          Not 0 when the last message of this channel is to be given at the
          beginning of any query.
  split_declaration:
    doc: 'The object ark::logging::SplitDeclaration: one split file.'
    -webide-representation: 'split {identifier}, {num_statistics:dec} channels'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: identifier
        type: ark_rbuf::guid
        doc: Name of the split file.
      - id: num_statistics
        type: u4
        valid:
          max: _io.size - _io.pos
      - id: statistics
        type: split_object_statistics
        repeat: expr
        repeat-expr: num_statistics
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  split_object_statistics:
    doc: Number and size of the messages of one channel in a split file.
    -webide-representation: '{object_identifier}: {num_items:dec} messages, {num_bytes:dec} bytes'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: object_identifier
        type: ark_rbuf::guid
      - id: num_items
        -lint-ok: Of the split file, not of this one.
        -orig-id: item_count
        type: u8
        doc: Messages.
      - id: num_bytes
        -lint-ok: Of the split file, not of this one.
        -orig-id: byte_count
        type: u8
        doc: Stored bytes of the messages.
      - id: minimum_time
        type: u8
        doc: Time of the first message in nanoseconds.
      - id: maximum_time
        type: u8
        doc: Time of the last message in nanoseconds.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
