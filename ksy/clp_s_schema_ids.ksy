meta:
  id: clp_s_schema_ids
  title: clp-s schema map, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  The schemas of an archive: for each the leaf nodes of the schema tree that
  its records have, in column order, followed by the layout of their
  structured arrays.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s SchemaMap
seq:
  - id: num_schemas
    type: u8
    valid:
      max: ((_io.size - _io.pos) / 12).as<u8>
  - id: schemas
    type: schema
    repeat: expr
    repeat-expr: num_schemas.as<s8>
types:
  schema:
    -columns: true
    doc: One schema.
    -webide-representation: 'schema {schema_id:dec}: {num_entries:dec} entries'
    seq:
      - id: schema_id
        type: s4
        doc: What the table metadata call it.
      - id: num_entries
        type: u4
        valid:
          max: '(_io.size - _io.pos) / 4'
      - id: num_ordered
        type: u4
        valid:
          max: num_entries
        doc: |
          How many of the entries are plain leaves; the others describe
          structured arrays.
      - id: entries
        size: 4
        type: entry
        repeat: expr
        repeat-expr: num_entries
  entry:
    -columns: true
    doc: |
      A node of the schema tree or, among the unordered entries, a marker that
      opens a container.
    -webide-representation: '{value:dec}'
    seq:
      - id: value
        type: s4
        doc: A node of the schema tree, or a marker as `word` spells it.
    instances:
      word:
        pos: 0
        type: u4
        doc: The same four bytes without a sign.
      is_marker:
        value: word >= 0x1000000
        doc: |
          Only meaningful past the ordered entries.
      container_type:
        value: (word / 0x1000000).as<u4>
        enum: container_types
        if: is_marker
        doc: What the marker opens, by its number among the types of nodes.
      num_beneath:
        value: word % 0x1000000
        if: is_marker
        doc: How many of the entries that follow belong to the container.
enums:
  container_types:
    5:
      id: object
      -orig-id: Object
    9:
      id: structured_array
      -orig-id: StructuredArray
