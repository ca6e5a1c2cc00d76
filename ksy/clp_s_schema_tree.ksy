meta:
  id: clp_s_schema_tree
  title: clp-s schema tree, decompressed
  application: clp-s
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  The merged parse tree: every key path and value type that occurs in any
  record of the archive. A node is numbered by its position and comes after
  its parent. Read from the source code of clp-s; the format description
  leaves this section open.
doc-ref: https://github.com/y-scope/clp/tree/main/components/core/src/clp_s SchemaTree
seq:
  - id: num_nodes
    type: u8
    valid:
      max: ((_io.size - _io.pos) / 13).as<u8>
  - id: nodes
    type: node
    repeat: expr
    repeat-expr: num_nodes.as<s8>
types:
  node:
    -columns: true
    doc: One key below its parent, with the type of its values.
    -webide-representation: '{path}: {type}'
    seq:
      - id: parent_id
        type: s4
        doc: Position of the parent, or -1 for the root of a namespace.
      - id: len_key
        type: u8
        valid:
          max: (_io.size - _io.pos).as<u8>
      - id: key
        size: len_key
        doc: Unescaped key of the JSON object in UTF-8.
      - id: type
        type: u1
        enum: node_type
        doc: What its values are.
    instances:
      name:
        value: key.to_s("UTF-8")
        doc: The key as text.
      path:
        value: >-
          parent_id < 0 ? name :
          _parent.nodes[parent_id].parent_id < 0 ? _parent.nodes[parent_id].path.as<str> + name :
          _parent.nodes[parent_id].path.as<str> + "." + name
        doc: The keys from the root down to this one, joined by dots.
        -webide-parse-mode: eager
enums:
  node_type:
    0:
      id: integer
      -orig-id: Integer
    1:
      id: float
      -orig-id: Float
      doc: A number whose text form is not kept, printed with six decimals.
    2:
      id: clp_string
      -orig-id: ClpString
      doc: A string with at least one space, split into log type and variables.
    3:
      id: var_string
      -orig-id: VarString
      doc: A string without a space, kept whole in the variable dictionary.
    4:
      id: boolean
      -orig-id: Boolean
    5:
      id: object
      -orig-id: Object
    6:
      id: unstructured_array
      -orig-id: UnstructuredArray
      doc: A whole array kept as its source text.
    7:
      id: null_value
      -orig-id: NullValue
    8:
      id: date_string
      -orig-id: [DateString, DeprecatedDateString]
      doc: Epoch and pattern of a timestamp string, up to 0.4.1.
    9:
      id: structured_array
      -orig-id: StructuredArray
    10:
      id: metadata
      -orig-id: Metadata
      doc: Root of the internal columns.
    11:
      id: delta_integer
      -orig-id: DeltaInteger
      doc: Integer stored as difference to the row before, from 0.3.2 on.
    12:
      id: formatted_float
      -orig-id: FormattedFloat
      doc: Number with the format of its source text, from 0.4.1 on.
    13:
      id: dictionary_float
      -orig-id: DictionaryFloat
      doc: Number kept as text in the variable dictionary, from 0.4.1 on.
    14:
      id: timestamp
      -orig-id: Timestamp
      doc: Nanoseconds and pattern of any timestamp value, from 0.5.0 on.
    255:
      id: unknown
      -orig-id: Unknown
