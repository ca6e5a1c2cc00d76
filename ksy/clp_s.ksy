meta:
  id: clp_s
  title: clp-s single-file archive
  application: clp-s
  file-extension: clps
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - clp_s_dictionary
    - clp_s_metadata
    - clp_s_schema_ids
    - clp_s_schema_tree
    - clp_s_table
    - clp_s_table_metadata
    - zstd_frame
  encoding: UTF-8
  endian: le
doc: |
  JSON logs, compressed by column and searchable. A fixed header, a compressed
  stream of metadata packets, then sections that are compressed one by one.

  The offsets of the sections are in MessagePack inside the compressed
  metadata. An archive whose payloads are stored (zstd raw blocks) therefore
  shows everything in place, every table by its columns; of any other archive
  this schema shows the frames, and the `clp_s_*` schemas of the payloads take
  the decompressed bytes. A stored dictionary or structure of more than one
  block (128 KiB) shows its blocks only.
doc-ref: https://docs.yscope.com/clp/main/dev-docs/design-clp-s-single-file-archive.html
seq:
  - id: header
    type: file_header
instances:
  ofs_files:
    value: (64 + header.len_metadata).as<u8>
    doc: Where the sections start.
  metadata:
    pos: 64
    size: header.len_metadata
    type: zstd_frame
  metadata_payload:
    io: metadata.frames[0].body.blocks[0].content._io
    pos: 0
    size-eos: true
    type: clp_s_metadata
    if: metadata.is_stored
    doc: The metadata packets, in place, when they are stored uncompressed.
  files:
    pos: ofs_files.as<s8>
    size: header.len_archive - ofs_files
    valid:
      expr: _.length.as<u8> == header.len_archive - ofs_files
    if: not metadata.is_stored
    doc: The sections, back to back; only the metadata states their offsets.
  file_entries:
    value: metadata_payload.packets[1].body.content.as<clp_s_msgpack>.map_items[0].value.array_items
    if: metadata.is_stored
    doc: |
      Names and offsets of the sections. The packet that holds them is the
      second in every archive known.
  sections:
    pos: ofs_files.as<s8>
    type: section(_index)
    repeat: expr
    repeat-expr: file_entries.size
    if: metadata.is_stored
    doc: The sections; the names are always the same, and so is their order.
  schema_tree:
    value: sections[0].body.as<schema_tree_section>.payload
    if: metadata.is_stored and sections[0].name == "/schema_tree"
    doc: The keys of all records, which name the columns of the tables.
  schema_map:
    value: sections[1].body.as<schema_map_section>.payload
    if: metadata.is_stored and sections[1].name == "/schema_ids"
    doc: Which keys the records of each schema have.
  table_metadata:
    value: sections[2].body.as<table_metadata_section>.payload
    if: metadata.is_stored and sections[2].name == "/table_metadata"
    doc: Offsets of the tables.
  tables:
    pos: 0
    type: table(_index)
    repeat: expr
    repeat-expr: table_metadata.num_tables.as<s8>
    if: metadata.is_stored and table_metadata.num_tables > 0
    doc: |
      Every table with its columns, each by its key, when its stream is stored
      uncompressed.
types:
  file_header:
    doc: The first 64 bytes.
    doc-ref: clp-s format description, Header section
    seq:
      - id: magic
        -orig-id: magic_number
        contents: [0xfd, 0x2f, 0xc5, 0x30]
      - id: version
        type: version
      - id: len_original
        -lint-ok: Of the input, which is not here.
        -orig-id: original_uncompressed_size
        type: u8
        doc: Bytes of JSON (or of decompressed KV-IR) that went in.
      - id: len_archive
        -lint-ok: The header is also read alone; what lies past the end is refused where it is read.
        -orig-id: compressed_archive_size
        type: u8
        doc: Size of the whole file, this header included.
      - id: reserved1
        -orig-id: reserved_padding1
        size: 32
      - id: len_metadata
        -lint-ok: The header is also read alone; what lies past the end is refused where it is read.
        -orig-id: metadata_section_size
        type: u4
        doc: Compressed size of the metadata section.
      - id: compression_type
        type: u2
        enum: compression
        doc: How the metadata and the sections are compressed.
      - id: reserved2
        -orig-id: reserved_padding2
        type: u2
  version:
    doc: |
      Version of the format. It decides the encoding of text (changed in
      0.4.0) and of timestamp patterns (changed in 0.5.0).
    seq:
      - id: patch
        -orig-id: patch_version
        type: u2
        doc: Fixes that change no layout.
      - id: minor
        -orig-id: minor_version
        type: u1
        doc: Grows with what readers must know.
      - id: major
        -orig-id: major_version
        type: u1
        doc: 0 so far.
  section:
    doc: One section of the files part, found by its entry in the metadata.
    -webide-representation: '{name}'
    params:
      - id: idx
        type: s4
        doc: Position of the section in the list of the metadata.
    instances:
      name:
        -orig-id: n
        value: >-
          _root.file_entries[idx].map_items[0].key.str_value == "n" ?
          _root.file_entries[idx].map_items[0].value.str_value :
          _root.file_entries[idx].map_items[1].value.str_value
        doc: What the metadata call the section.
        -webide-parse-mode: eager
      ofs_section:
        -orig-id: o
        value: >-
          (_root.file_entries[idx].map_items[0].key.str_value == "n" ?
          _root.file_entries[idx].map_items[1].value.uint_value :
          _root.file_entries[idx].map_items[0].value.uint_value).as<u8>
        doc: Counted from the start of the sections.
      ofs_next:
        value: >-
          (idx + 1 < _root.file_entries.size ?
          _root.sections[idx + 1].ofs_section.as<u8> : _root.header.len_archive - _root.ofs_files).as<u8>
      body:
        io: _root._io
        pos: (_root.ofs_files + ofs_section).as<s8>
        size: ofs_next - ofs_section
        type:
          switch-on: name
          cases:
            '"/schema_tree"': schema_tree_section
            '"/schema_ids"': schema_map_section
            '"/table_metadata"': table_metadata_section
            '"/var.dict"': clp_s_dictionary
            '"/log.dict"': clp_s_dictionary
            '"/array.dict"': clp_s_dictionary
            '"/0"': tables_section
            '"/tables"': tables_section
        valid:
          expr: ofs_next <= _root._io.size.as<u8> - _root.ofs_files
        doc: Raw bytes when the section has a name that no version writes.
  schema_tree_section:
    doc: The schema tree; its content too when it is stored uncompressed.
    seq:
      - id: compressed
        size-eos: true
        type: zstd_frame
    instances:
      payload:
        io: compressed.frames[0].body.blocks[0].content._io
        pos: 0
        size-eos: true
        type: clp_s_schema_tree
        if: compressed.is_stored
  schema_map_section:
    doc: The schema map; its content too when it is stored uncompressed.
    seq:
      - id: compressed
        size-eos: true
        type: zstd_frame
    instances:
      payload:
        io: compressed.frames[0].body.blocks[0].content._io
        pos: 0
        size-eos: true
        type: clp_s_schema_ids
        if: compressed.is_stored
  table_metadata_section:
    doc: The table metadata; its content too when it is stored uncompressed.
    seq:
      - id: compressed
        size-eos: true
        type: zstd_frame
    instances:
      payload:
        io: compressed.frames[0].body.blocks[0].content._io
        pos: 0
        size-eos: true
        type: clp_s_table_metadata
        if: compressed.is_stored
  tables_section:
    doc: The packed streams back to back, at the offsets in the table metadata.
    instances:
      streams:
        pos: 0
        type: stream(_index)
        repeat: expr
        repeat-expr: _root.table_metadata.num_streams.as<s8>
  stream:
    doc: One packed stream, compressed by itself, with one table or several.
    -webide-representation: 'stream {idx:dec}'
    params:
      - id: idx
        type: s4
        doc: Position of the stream in the table metadata.
    instances:
      ofs_stream:
        value: _root.table_metadata.streams[idx].ofs_stream
      ofs_next:
        value: >-
          (idx + 1 < _root.table_metadata.streams.size ?
          _root.table_metadata.streams[idx + 1].ofs_stream : _io.size.as<u8>).as<u8>
      compressed:
        pos: ofs_stream.as<s8>
        size: ofs_next - ofs_stream
        type: zstd_frame
        valid:
          expr: ofs_next <= _io.size.as<u8>
      is_raw:
        value: >-
          compressed.frames.size == 1 and compressed.frames[0].body.blocks[0].is_raw and
          compressed.frames[0].body.blocks.last.is_raw and
          (compressed.frames[0].body.blocks.size - 1) * len_block
          + compressed.frames[0].body.blocks.last.header.len_block.as<s8>
          == _root.table_metadata.streams[idx].len_uncompressed.as<s8>
        doc: Its bytes are stored uncompressed, so its tables can be read in place.
      len_block:
        value: compressed.frames[0].body.blocks[0].header.len_block.as<s8>
        doc: Bytes in each of its blocks but the last.
  table:
    doc: All records of one schema, column by column.
    -webide-representation: 'schema {schema_id:dec}, {num_messages:dec} records'
    params:
      - id: idx
        type: s4
        doc: Position of the table in the table metadata.
    instances:
      schema_id:
        value: _root.table_metadata.tables[idx].schema_id
        doc: The schema of its records, as the schema map names it.
        -webide-parse-mode: eager
      num_messages:
        value: _root.table_metadata.tables[idx].num_messages.as<s8>
        -webide-parse-mode: eager
      ofs_table:
        value: _root.table_metadata.tables[idx].ofs_table.as<s8>
      stream:
        value: _root.sections[6].body.as<tables_section>.streams[_root.table_metadata.tables[idx].stream_id.as<s4>]
        doc: The stream that holds it.
      search:
        pos: 0
        type: schema_search(_index, schema_id)
        repeat: until
        repeat-until: _.is_over
        doc: The schemas of the map one by one, up to the one of this table.
      num_columns:
        value: _root.schema_map.schemas[search.size - 1].num_entries
      columns:
        pos: 0
        type: column(_index)
        repeat: expr
        repeat-expr: num_columns
        if: stream.is_raw and num_messages > 0
        doc: One for each entry of the schema, in its order.
  schema_search:
    doc: Whether a place of the schema map has the wanted schema, or is its last.
    -webide-representation: 'place {idx:dec}, schema {schema_id:dec}'
    params:
      - id: idx
        type: s4
        doc: Place in the schema map that is examined.
      - id: schema_id
        type: s4
        doc: The schema that is looked for.
    instances:
      is_over:
        value: >-
          _root.schema_map.schemas[idx].schema_id == schema_id or
          idx + 1 >= _root.schema_map.schemas.size
  column:
    doc: |
      The values of one key. Objects, nulls and the marks of structured arrays
      have none.
    -webide-representation: '{key}'
    params:
      - id: idx
        type: s4
        doc: Position of the entry in the schema.
    instances:
      ofs_column:
        value: 'idx > 0 ? _parent.columns[idx - 1].ofs_after.as<s8> : _parent.ofs_table'
        doc: Counted in the bytes of the stream without what frames its blocks.
      node_id:
        value: _root.schema_map.schemas[_parent.search.size - 1].entries[idx].value
        doc: The node of the schema tree whose values these are.
      is_leaf:
        value: >-
          idx < _root.schema_map.schemas[_parent.search.size - 1].num_ordered or
          not _root.schema_map.schemas[_parent.search.size - 1].entries[idx].is_marker
      key:
        value: 'is_leaf ? _root.schema_tree.nodes[node_id].path : ""'
        doc: The keys from the root of the records down to this one; empty for a mark.
        -webide-parse-mode: eager
      type_number:
        value: 'is_leaf ? _root.schema_tree.nodes[node_id].type.to_i : 9'
        doc: What `node_type` of the schema tree says; 9, a structured array, for a mark.
      is_text:
        value: type_number == 2 or type_number == 6
      len_row:
        value: >-
          (type_number == 4 ? 1 : type_number == 12 ? 10 : type_number == 8 or type_number == 14 ? 16 :
          type_number <= 3 or type_number == 6 or type_number == 11 or type_number == 13 ? 8 : 0).as<s8>
        doc: Bytes that each record has in the column; those of text have variables besides.
      num_variables:
        -lint-ok: Counted by the column, whose end `is_inside` compares with that of the stream.
        pos: 0
        type: word(ofs_column + 8 * _parent.num_messages, false)
        if: is_text
      ofs_after:
        value: >-
          (ofs_column + len_row * _parent.num_messages +
          (is_text ? 8 + 8 * num_variables.integer : 0)).as<s8>
        doc: Where the next column starts.
      num_block:
        value: (ofs_column / _parent.stream.len_block).as<s4>
      is_inside:
        value: >-
          ofs_after > ofs_column and
          ofs_after <= _root.table_metadata.streams[_parent.stream.idx].len_uncompressed.as<s8>
        doc: There are values, and they do not pass the end of the stream.
      is_split:
        value: is_inside and (ofs_after - 1) / _parent.stream.len_block > num_block
        doc: The column contains block headers.
      content:
        -lint-ok: The names are an enumeration of an imported specification, which the compiler does not find.
        io: _parent.stream.compressed.frames[0].body.blocks[num_block].content._io
        pos: ofs_column % _parent.stream.len_block
        size: ofs_after - ofs_column
        type:
          switch-on: type_number
          cases:
            0: clp_s_table::integer_column(_parent.num_messages)
            1: clp_s_table::float_column(_parent.num_messages)
            2: clp_s_table::clp_column(_parent.num_messages)
            3: clp_s_table::id_column(_parent.num_messages)
            4: clp_s_table::boolean_column(_parent.num_messages)
            6: clp_s_table::clp_column(_parent.num_messages)
            8: clp_s_table::date_column(_parent.num_messages)
            11: clp_s_table::integer_column(_parent.num_messages)
            12: clp_s_table::formatted_float_column(_parent.num_messages)
            13: clp_s_table::id_column(_parent.num_messages)
            14: clp_s_table::timestamp_column(_parent.num_messages)
        if: is_inside and not is_split
        doc: All values, where no block ends among them; never raw bytes.
      num_words:
        value: >-
          not is_split or type_number == 4 ? 0 :
          type_number == 12 ? _parent.num_messages : (ofs_after - ofs_column) / 8
      words:
        pos: 0
        type: word(ofs_column + 8 * _index, type_number == 1 or type_number == 12)
        repeat: expr
        repeat-expr: num_words
        if: num_words > 0
        doc: The values of a column that several blocks share, in the order of `clp_s_table`.
      pieces:
        pos: 0
        type: piece(ofs_column + 8 * num_words, ofs_after, num_block + _index)
        repeat: expr
        repeat-expr: (ofs_after - 1) / _parent.stream.len_block - num_block + 1
        if: is_split and (type_number == 4 or type_number == 12)
        doc: Truth values, or two bytes each of how numbers were written, block by block.
  word:
    doc: |
      Eight bytes of a stream, which a block's end may part; counted as `ofs_word`
      in the bytes of the stream without what frames its blocks.
    -webide-representation: '{integer:dec}{number}'
    params:
      - id: ofs_word
        type: s8
      - id: is_float
        type: bool
    instances:
      len_block:
        value: _parent._parent.stream.len_block
      num_block:
        value: (ofs_word / len_block).as<s4>
      len_head:
        value: 'len_block - ofs_word % len_block < 8 ? len_block - ofs_word % len_block : 8'
        doc: How many of the bytes the first block has.
      whole:
        io: _parent._parent.stream.compressed.frames[0].body.blocks[num_block].content._io
        pos: ofs_word % len_block
        type: s8
        if: not is_float and len_head == 8
        doc: The integer, where one block has all of it.
      number:
        io: _parent._parent.stream.compressed.frames[0].body.blocks[num_block].content._io
        pos: ofs_word % len_block
        type: f8
        if: is_float and len_head == 8
        doc: The float, where one block has all of it.
        -webide-parse-mode: eager
      head:
        io: _parent._parent.stream.compressed.frames[0].body.blocks[num_block].content._io
        pos: ofs_word % len_block
        size: len_head
        if: len_head < 8
        doc: The first bytes, where the end of a block parts them.
      tail:
        io: _parent._parent.stream.compressed.frames[0].body.blocks[num_block + 1].content._io
        pos: 0
        size: 8 - len_head
        if: len_head < 8
        doc: The other bytes, with which the next block starts.
      low:
        value: >-
          head[0] + 0x100 * (len_head > 1 ? head[1] : tail[1 - len_head])
          + 0x10000 * (len_head > 2 ? head[2] : tail[2 - len_head])
          + 0x1000000 * (len_head > 3 ? head[3] : tail[3 - len_head])
        if: len_head < 8
        doc: The lower 32 bits, reassembled.
      high:
        value: >-
          (len_head > 4 ? head[4] : tail[4 - len_head])
          + 0x100 * (len_head > 5 ? head[5] : tail[5 - len_head])
          + 0x10000 * (len_head > 6 ? head[6] : tail[6 - len_head])
          + 0x1000000 * tail[7 - len_head]
        if: len_head < 8
        doc: The upper 32 bits, reassembled.
      integer:
        value: >-
          len_head == 8 ? whole :
          ((high < 0x80000000 ? high : high - 0x100000000) * 0x100000000 + low).as<s8>
        if: not is_float
        doc: The value, even if a block header splits its bytes.
        -webide-parse-mode: eager
  piece:
    doc: The part of a column in one block.
    -webide-representation: 'bytes {ofs_start:dec} to {ofs_end:dec}, block {num_block:dec}'
    params:
      - id: ofs_start
        type: s8
      - id: ofs_end
        type: s8
      - id: num_block
        type: s4
    instances:
      len_block:
        value: _parent._parent.stream.len_block
      ofs_first:
        value: 'ofs_start > num_block * len_block ? ofs_start - num_block * len_block : 0'
      ofs_last:
        value: 'ofs_end < (num_block + 1) * len_block ? ofs_end - num_block * len_block : len_block'
      data:
        io: _parent._parent.stream.compressed.frames[0].body.blocks[num_block].content._io
        pos: ofs_first
        size: ofs_last - ofs_first
        if: ofs_last > ofs_first
        doc: The bytes themselves.
enums:
  compression:
    0:
      id: zstd
      -orig-id: ZStandard
