meta:
  id: caf
  title: Chunk Archive Format (CAF) 1.0
  application: jackal-js-worker
  file-extension: caf
  tags:
    - archive
  license: CC0-1.0
  ks-version: '0.9'
  encoding: UTF-8
  endian: le
doc: |
  Many files in one "chunk": their bytes back to back, then an index with the
  byte range of each file, then the size of that index. Written by queue
  workers that collect small objects into pieces of about 30 GiB for
  distributed storage. Not related to Apple's Core Audio Format, which uses the
  same file extension.

  There is no magic number, so everything starts at the end of the file: the
  last four bytes give the size of the index, the index is one JSON object.
  What a schema cannot say is checked by the reader: that the index is JSON,
  that every range is in the data section, and that no two of them overlap.
doc-ref: https://github.com/JackalLabs/jackal-js-worker/blob/main/FORMAT.md File Structure
instances:
  footer:
    -orig-id: Footer
    pos: _io.size - 4
    type: chunk_footer((_io.size - 4).as<u8>)
    doc-ref: CAF specification 1.0, "Footer Section"
  ofs_index:
    value: _io.size - 4 - footer.len_index.as<s8>
    doc: |
      Where the index starts, and so the size of the data section. In what the
      known writers make, it is also the end of the last file.
  index:
    -orig-id: File Index Section
    pos: ofs_index
    size: footer.len_index
    type: str
    doc: |
      One JSON object, without a final newline:
      `{"format_version":"1.0","files":{NAME:{"start_byte":N,"end_byte":N},...}}`.
      `start_byte` counts from the start of the chunk, `end_byte` is exclusive.
      Names are paths with `/`; the writers sort them by bytes (Go) or leave
      them in the order of writing (TypeScript), so their order is not that of
      the data. Any JSON white space is allowed, trailing commas are not.
    doc-ref: CAF specification 1.0, "File Index Section"
  data:
    -orig-id: File Data Section
    pos: 0
    size: ofs_index
    doc: |
      The files as they are, in the order of writing, without padding,
      separators, compression or checksums.
    doc-ref: CAF specification 1.0, "File Data Section"
types:
  chunk_footer:
    doc: The last four bytes of the chunk.
    params:
      - id: max_index
        type: u8
        doc: Bytes before the footer.
    seq:
      - id: len_index
        -orig-id: Index Size
        type: u4
        valid:
          max: max_index
        doc: |
          Size of the index in bytes, without this footer. One known writer
          stores the size modulo 4 GiB when the index is larger than that.
