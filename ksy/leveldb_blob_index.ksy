meta:
  id: leveldb_blob_index
  title: RocksDB reference to a value in a blob file
  application: RocksDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_varint
  endian: le
doc: |
  The value of an entry of type `blob_index`: where the value itself is. The
  forms with a time of expiry are those of the old BlobDB, which kept its values
  next to the database.
doc-ref: https://github.com/facebook/rocksdb/blob/main/db/blob/blob_index.h
-webide-representation: '{kind}: {len_value} bytes at {ofs_value} of {file_number}'
seq:
  - id: kind
    -orig-id: type
    type: u1
    enum: kinds
    valid:
      in-enum: true
    doc: What follows.
  - id: expiration
    type: leveldb_varint
    if: kind != kinds::blob
    doc: When the value expires, in seconds since 1970.
  - id: inlined
    -lint-ok: The value is all that follows.
    size-eos: true
    if: kind == kinds::inlined_ttl
    doc: The value itself.
  - id: file_number
    type: leveldb_varint
    if: kind != kinds::inlined_ttl
    doc: Number of the blob file, which is its name. 0 is the table itself.
  - id: ofs_value
    -lint-ok: In another file.
    -orig-id: offset
    type: leveldb_varint
    if: kind != kinds::inlined_ttl
    doc: Where the value starts in the file, after the head of its record and the key.
  - id: len_value
    -lint-ok: In another file.
    -orig-id: size
    type: leveldb_varint
    if: kind != kinds::inlined_ttl
    doc: Bytes of the value as it is stored, which may be compressed.
  - id: compression
    type: u1
    if: kind != kinds::inlined_ttl
    doc: How the value is compressed; the numbers are those of table blocks.
enums:
  kinds:
    0:
      id: inlined_ttl
      -orig-id: kInlinedTTL
    1:
      id: blob
      -orig-id: kBlob
    2:
      id: blob_ttl
      -orig-id: kBlobTTL
