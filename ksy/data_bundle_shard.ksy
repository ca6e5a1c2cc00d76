meta:
  id: data_bundle_shard
  title: DataBundle shard
  application: dacha
  tags:
    - archive
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - data_bundle_shard_header
  endian: le
doc: |
  A file `shard-NNNNNNNN` of a DataBundle: a header, then records. A record is a
  chunk of the concatenated contents of the shard's files, usually compressed,
  and padded with zeros to the alignment.

  Where records start, and which files they contain, is in the index only.
doc-ref: https://github.com/dennisss/dacha/tree/master/pkg/bundle
seq:
  - id: magic
    contents: daBS
  - id: len_header
    -orig-id: header_size
    type: u4
    valid:
      max: _io.size - _io.pos - 4
    doc: Bytes of the header message.
  - id: ofs_data
    -lint-ok: A shard truncated opens as far as it goes; the header may be here without the records.
    -orig-id: data_offset
    type: u4
    valid:
      min: 12 + len_header
    doc: Where the first record starts; data cannot start inside the header.
  - id: header
    size: len_header
    type: data_bundle_shard_header
instances:
  padding:
    pos: 12 + len_header
    size: ofs_data - 12 - len_header
    doc: Zeros up to the first record.
  records:
    pos: ofs_data
    size-eos: true
    doc: All records with their padding.
