meta:
  id: leveldb_table
  title: LevelDB or RocksDB table
  application: LevelDB, RocksDB, dacha EmbeddedDB
  file-extension:
    - ldb
    - sst
  xref:
    justsolve: LevelDB
  tags:
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_block
    - leveldb_block_handle
    - leveldb_footer
  endian: le
doc: |
  An immutable sorted table of entries (`NNNNNN.ldb`, `NNNNNN.sst`): data blocks,
  then meta blocks (filter, properties), the metaindex, the index, and a footer
  at the end that says where the last two are.

  Blocks are compressed one by one as a rule. Those stored as they are open right
  here; the others are parsed by `leveldb_block.ksy` once decompressed.
doc-ref: https://github.com/google/leveldb/blob/main/doc/table_format.md
instances:
  magic:
    pos: _io.size - 8
    size: 8
  len_footer:
    value: 'magic == [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb] ? 48 : 53'
    doc: RocksDB's own footer is five bytes longer than LevelDB's.
  footer:
    pos: _io.size - len_footer
    size: len_footer
    type: leveldb_footer
  has_handles:
    value: footer.is_leveldb or (footer.is_rocksdb and footer.version < 6)
    doc: False when nothing is known, or only where the metaindex is.
  handles:
    value: 'footer.is_leveldb ? footer.leveldb : footer.rocksdb'
    if: has_handles
  metaindex:
    pos: 0
    type: block(handles.metaindex.ofs_block.value, handles.metaindex.len_block.value, true)
    if: has_handles
    doc: Names of meta blocks (filter, properties) and their handles.
  metaindex6:
    pos: 0
    type: block(_io.size - 53 - 5 - footer.rocksdb6.len_metaindex, footer.rocksdb6.len_metaindex, true)
    if: footer.is_rocksdb and footer.version >= 6
    doc: RocksDB from version 6; names the index among the rest.
  index:
    pos: 0
    type: block(handles.index.ofs_block.value, handles.index.len_block.value, footer.is_leveldb or footer.version < 4)
    if: has_handles
    doc: |
      One entry per data block, a key not below its last and its handle. From
      RocksDB version 4 in the form of `leveldb_index_delta.ksy`.
  num_meta_blocks:
    value: metaindex.content.entries.entries.size
    if: footer.is_leveldb and metaindex.is_stored
  meta_blocks:
    pos: 0
    type: meta_block(_index)
    repeat: expr
    repeat-expr: num_meta_blocks
    if: footer.is_leveldb and metaindex.is_stored
    doc: Every block that the metaindex names, if it is not compressed.
  num_data_blocks:
    value: index.content.entries.entries.size
    if: footer.is_leveldb and index.is_stored
  data_blocks:
    pos: 0
    type: data_block(_index)
    repeat: expr
    repeat-expr: num_data_blocks
    if: footer.is_leveldb and index.is_stored
    doc: Every block that the index names, if the index itself is not compressed.
types:
  block_trailer:
    doc: The five bytes behind every block.
    seq:
      - id: compression
        type: u1
        enum: compressions
        doc: How the contents before it are compressed.
      - id: checksum
        -checksum: of the block
        type: u4
        doc: |
          Over contents and compression byte; of the kind that the footer names,
          CRC-32C rotated right by 15 bits plus 0xa282ead8 in LevelDB.
  block:
    doc: Contents, compression type and checksum of one block.
    params:
      - id: ofs_block
        type: u8
      - id: len_block
        type: u8
      - id: has_common_form
        type: bool
        doc: False for an index of deltas.
    instances:
      contents:
        pos: ofs_block
        size: len_block
      compression:
        pos: ofs_block + len_block
        type: u1
        enum: compressions
      checksum:
        pos: ofs_block + len_block + 1
        type: u4
        doc: |
          Over contents and compression byte; of the kind that the footer names,
          CRC-32C rotated right by 15 bits plus 0xa282ead8 in LevelDB.
      is_stored:
        value: compression == compressions::none
      content:
        pos: ofs_block
        size: len_block
        type: leveldb_block
        if: is_stored and has_common_form
        doc: The entries, if they are not compressed and no index of deltas.
  meta_block:
    doc: A meta block by way of its entry in the metaindex; its key is the name.
    params:
      - id: idx
        type: u4
    instances:
      handle:
        io: _parent.metaindex.content.entries.entries[idx].value._io
        pos: 0
        type: leveldb_block_handle
      contents:
        io: _root._io
        pos: handle.ofs_block.value
        size: handle.len_block.value
      compression:
        io: _root._io
        pos: handle.ofs_block.value + handle.len_block.value
        type: u1
        enum: compressions
      checksum:
        io: _root._io
        pos: handle.ofs_block.value + handle.len_block.value + 1
        type: u4
  data_block:
    doc: A data block by way of its entry in the index.
    params:
      - id: idx
        type: u4
    instances:
      handle:
        io: _parent.index.content.entries.entries[idx].value._io
        pos: 0
        type: leveldb_block_handle
      block:
        io: _root._io
        pos: 0
        type: block(handle.ofs_block.value, handle.len_block.value, true)
enums:
  compressions:
    0: none
    1: snappy
    2:
      id: zlib
      doc: |
        Raw deflate in RocksDB, a zlib stream in dacha, a zstd frame in newer
        LevelDB.
    3: bzip2
    4: lz4
    5: lz4hc
    6: xpress
    7: zstd
