meta:
  id: clp_s_table_metadata
  title: clp-s table metadata, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  Offset of each table. A table contains all records of one schema; tables are
  packed into streams that are compressed one by one.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s ArchiveWriter
seq:
  - id: num_streams
    type: u8
    valid:
      max: ((_io.size - _io.pos) / 16).as<u8>
  - id: streams
    type: stream
    repeat: expr
    repeat-expr: num_streams.as<s8>
  - id: num_separate_column_schemas
    -lint-ok: Always 0; nothing repeats by it.
    type: u8
    doc: Always 0.
  - id: num_tables
    type: u8
    valid:
      max: ((_io.size - _io.pos) / 28).as<u8>
  - id: tables
    type: table
    repeat: expr
    repeat-expr: num_tables.as<s8>
types:
  stream:
    -columns: true
    doc: One packed stream.
    -webide-representation: '{len_uncompressed:dec} bytes at {ofs_stream:dec}'
    seq:
      - id: ofs_stream
        -lint-ok: In the tables section, which is not here.
        -orig-id: file_offset
        type: u8
        doc: Offset of its compressed bytes in the tables section.
      - id: len_uncompressed
        -lint-ok: Of the stream once it is decompressed.
        -orig-id: uncompressed_size
        type: u8
  table:
    -columns: true
    doc: One table.
    -webide-representation: 'schema {schema_id:dec}, {num_messages:dec} records, at {ofs_table:dec} of stream {stream_id:dec}'
    seq:
      - id: stream_id
        type: u8
        doc: Position of its stream in the list above.
      - id: ofs_table
        -lint-ok: In the stream once it is decompressed.
        -orig-id: stream_offset
        type: u8
        doc: |
          Offset in the decompressed stream. The table ends where the next one
          of the same stream begins, or with the stream.
      - id: schema_id
        type: s4
        doc: The schema of its records, as the schema map names it.
      - id: num_messages
        -lint-ok: Of the table, which is not here.
        type: u8
        doc: Number of records.
