meta:
  id: ark_serializable_file
  title: Ark rbuf serializable file
  application: Ark robotics framework
  tags:
    - robotics
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ark_manifest
    - ark_rbuf
  encoding: UTF-8
  endian: le
doc: |
  An rbuf object in a file of its own, followed by a trailer with the name and
  the schema registry of its type. The manifests of logs are such files.

  To be parsed from the end. A file without the magic holds nothing but the
  object.
doc-ref: https://ark.tbdrobotics.com/docs/overviews/logging/format/ Manifest File Format
instances:
  footer:
    pos: _io.size - 29
    type: file_footer((_io.size - 29).as<u8>)
  content:
    pos: 0
    size: footer.len_content
    doc: The object, from its header byte on.
  manifest:
    pos: 0
    size: footer.len_content
    type: ark_manifest
    if: 'footer.len_trailer > 0 and trailer.type_name.value == "ark::logging::Manifest"'
    doc: The same bytes, when the trailer calls them a log manifest.
  trailer:
    pos: footer.len_content.as<s8>
    size: footer.len_trailer
    type: file_trailer
    if: footer.len_trailer > 0
    doc: Absent when the writer embedded no schema.
types:
  file_trailer:
    doc: What the content is, for readers that know nothing of it.
    seq:
      - id: type_name
        type: ark_rbuf::text
        doc: Qualified name of the type of the content.
      - id: schema_registry
        type: ark_rbuf::text
        doc: JSON text with every schema and enumeration that the type needs.
  file_footer:
    doc: The last 29 bytes of the file.
    params:
      - id: len_before
        type: u8
        doc: Bytes before the footer.
    seq:
      - id: len_trailer
        -orig-id: trailer_size
        type: u4
        valid:
          max: len_before
      - id: len_content
        -orig-id: content_size
        type: u8
        valid:
          max: len_before - len_trailer
        doc: Content, trailer and footer together fill the file.
      - id: version
        type: u1
        doc: Always 1.
      - id: magic
        contents: [0xb6, 0x48, 0xf0, 0xe8, 0xfc, 0xe9, 0xeb, 0x53, 0x1f, 0xea, 0x4c, 0x6b, 0x29, 0xab, 0x81, 0xbc]
        doc: GUID 53ebe9fc-e8f0-48b6-bc81-ab296b4cea1f in wire order.
