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
    - clp_s_table_metadata
    - zstd_frame
  encoding: UTF-8
  endian: le
doc: |
  JSON logs, compressed by column and searchable. A fixed header, a compressed
  stream of metadata packets, then sections that are compressed one by one.

  Where the sections lie is told by MessagePack inside the compressed
  metadata. An archive whose payloads are stored (zstd raw blocks) therefore
  shows everything in place; of any other archive this schema shows the frames
  and the `clp_s_*` schemas of the payloads take the decompressed bytes.
doc-ref: https://docs.yscope.com/clp/main/dev-docs/design-clp-s-single-file-archive.html
seq:
  - id: header
    type: file_header
instances:
  ofs_metadata:
    value: 64
  ofs_files:
    value: 64 + header.len_metadata
  metadata:
    pos: ofs_metadata
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
    pos: ofs_files
    size: header.len_archive - ofs_files
    if: not metadata.is_stored
    doc: The sections, back to back.
  file_sections:
    pos: ofs_files
    type: file_section(_index)
    repeat: expr
    repeat-expr: num_file_sections
    if: metadata.is_stored
  num_file_sections:
    value: file_entries.size
    if: metadata.is_stored
  file_entries:
    value: metadata_payload.packets[1].body.content.as<clp_s_msgpack>.map_items[0].value.array_items
    if: metadata.is_stored
    doc: |
      Names and offsets of the sections. The packet that holds them is the
      second in every archive known.
types:
  file_header:
    doc: The first 64 bytes.
    doc-ref: clp-s format description, Header section
    seq:
      - id: magic
        contents: [0xfd, 0x2f, 0xc5, 0x30]
      - id: version
        type: version
      - id: len_original
        -orig-id: original_uncompressed_size
        type: u8
        doc: Bytes of JSON (or of decompressed KV-IR) that went in.
      - id: len_archive
        -orig-id: compressed_archive_size
        type: u8
        doc: Size of the whole file, this header included.
      - id: reserved1
        -orig-id: reserved_padding1
        size: 32
      - id: len_metadata
        -orig-id: metadata_section_size
        type: u4
        doc: Compressed size of the metadata section.
      - id: compression_type
        type: u2
        enum: compression
      - id: reserved2
        -orig-id: reserved_padding2
        type: u2
  version:
    doc: |
      Version of the format. It decides the encoding of text (changed in
      0.4.0) and of timestamp patterns (changed in 0.5.0).
    seq:
      - id: patch
        type: u2
      - id: minor
        type: u1
      - id: major
        type: u1
  file_section:
    doc: One section of the files part, found by its entry in the metadata.
    params:
      - id: idx
        type: u4
    instances:
      entry:
        value: _root.file_entries[idx]
      name:
        value: >-
          entry.map_items[0].key.str_value == "n" ? entry.map_items[0].value.str_value :
          entry.map_items[1].value.str_value
      ofs_section:
        value: >-
          entry.map_items[0].key.str_value == "n" ? entry.map_items[1].value.uint_value :
          entry.map_items[0].value.uint_value
      next_entry:
        value: _root.file_entries[idx + 1]
        if: idx + 1 < _root.file_entries.size
      ofs_next:
        value: >-
          idx + 1 == _root.file_entries.size ? _root.header.len_archive - _root.ofs_files :
          next_entry.map_items[0].key.str_value == "n" ? next_entry.map_items[1].value.uint_value :
          next_entry.map_items[0].value.uint_value
      body:
        io: _root._io
        pos: _root.ofs_files + ofs_section
        size: ofs_next - ofs_section
        type:
          switch-on: name
          cases:
            '"/schema_tree"': schema_tree_section
            '"/schema_ids"': schema_ids_section
            '"/table_metadata"': table_metadata_section
            '"/var.dict"': clp_s_dictionary
            '"/log.dict"': clp_s_dictionary
            '"/array.dict"': clp_s_dictionary
            '"/0"': zstd_frame
            '"/tables"': zstd_frame
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
  schema_ids_section:
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
enums:
  compression:
    0: zstd
