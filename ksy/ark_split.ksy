meta:
  id: ark_split
  title: Ark log split file
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
  Holds messages of one column of an Ark log: a header, an index in time order
  and the bytes of the messages, in any order and without framing. The
  manifest of the log says what the objects are and how they are compressed.

  Writers reserve space for the header and for an index of a fixed capacity
  before the messages, so the index usually starts at 1024.
doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ Split File Format
seq:
  - id: header
    type: file_header
instances:
  index:
    pos: header.ofs_index
    type: index_entry
    repeat: expr
    repeat-expr: header.num_indexed_items
    doc: The messages of this file in time order.
  index_bytes:
    pos: header.ofs_index
    size: header.num_indexed_items * 18
    doc: The same index, for readers that take it as one array.
types:
  file_header:
    doc: The object ark::logging::SplitFileHeader at the start of the file.
    doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ Split File Format
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: format_version
        type: u2
        doc: Always 1.
      - id: split_identifier
        type: ark_rbuf::guid
        doc: The GUID that manifests call this file by; also its name.
      - id: ofs_index
        -lint-ok: A file truncated opens as far as it goes; reading past its end is refused.
        -orig-id: index_offset
        type: u4
        doc: Offset of the index in the file.
      - id: num_indexed_items
        -orig-id: indexed_item_count
        type: u4
        valid:
          max: 238609294
        doc: Entries of the index. Stale in a file whose writer was stopped.
      - id: num_maximum_items
        -lint-ok: Room that the writer kept; nothing is read by it.
        -orig-id: maximum_item_count
        type: u4
        doc: Capacity of the index in entries.
      - id: num_type_mappings
        -orig-id: length of the type_mappings list
        type: u4
        valid:
          max: 256
      - id: type_mappings
        type: type_mapping
        repeat: expr
        repeat-expr: num_type_mappings
        doc: Which object each short identifier of the index stands for.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  type_mapping:
    doc: The object ark::logging::SplitTypeMappingInfo.
    -webide-representation: '{short_identifier:dec}: {object_identifier}'
    seq:
      - id: header
        -orig-id: rbuf bitstream header
        type: ark_rbuf::object_header
      - id: object_identifier
        type: ark_rbuf::guid
        doc: Identifier of the object (channel) in the manifest.
      - id: short_identifier
        type: u1
        doc: What index entries of this file call it.
      - id: groups
        type: ark_rbuf::group_list
        if: header.groups_follow
        doc: Fields of later versions.
  entry_list:
    doc: The bytes of the index on their own, as a section of the file.
    seq:
      - id: entries
        type: index_entry
        repeat: eos
  index_entry:
    -element: true
    doc: The packed C structure SplitIndexEntry, 18 bytes.
    -webide-representation: '{len_data:dec} bytes at {ofs_data:dec}, time {timestamp_ns:dec}'
    seq:
      - id: timestamp_ns
        type: u8
        doc: Indexed time in nanoseconds of the steady clock, not of a calendar.
      - id: ofs_data
        -lint-ok: In the file, of which only the index may be here.
        -orig-id: offset
        type: u4
        doc: Offset of the message in the file.
      - id: len_data
        -lint-ok: In the file, of which only the index may be here.
        -orig-id: size
        type: u4
        doc: Stored, that is compressed, bytes of the message.
      - id: object_identifier
        type: u1
        doc: Short identifier; see the type mappings of the header.
      - id: flags
        type: u1
        doc: Reserved, 0.
    instances:
      data:
        io: _root._io
        pos: ofs_data
        size: len_data
        doc: The message as stored.
