meta:
  id: leveldb_table
  title: LevelDB or RocksDB table
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
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
    - leveldb_data_block
    - leveldb_filter
    - leveldb_footer
    - leveldb_index_delta
    - leveldb_properties
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
  metaindex:
    pos: 0
    type: >-
      block(footer.is_leveldb ? footer.leveldb.metaindex.ofs_block.value :
      footer.version < 6 ? footer.rocksdb.metaindex.ofs_block.value :
      (_io.size - 53 - 5 - footer.rocksdb6.len_metaindex).as<u8>,
      footer.is_leveldb ? footer.leveldb.metaindex.len_block.value :
      footer.version < 6 ? footer.rocksdb.metaindex.len_block.value : footer.rocksdb6.len_metaindex.as<u8>, kinds::handles)
    if: footer.is_leveldb or footer.is_rocksdb
    doc: |
      Names of meta blocks (filter, properties) and their handles; in RocksDB from
      version 6 the index is among them.
  meta_blocks:
    pos: 0
    type: meta_block(_index)
    repeat: expr
    repeat-expr: metaindex.content.as<leveldb_block>.entries.entries.size
    if: (footer.is_leveldb or footer.is_rocksdb) and metaindex.is_stored
    doc: Every block that the metaindex names, if that is not compressed.
  search:
    pos: 0
    type: index_search(_index)
    repeat: until
    repeat-until: _.is_over
    if: >-
      footer.is_rocksdb and footer.version >= 6 and metaindex.is_stored and
      metaindex.content.as<leveldb_block>.entries.entries.size > 0
    doc: The entries of the metaindex one by one, up to that of the index.
  has_index:
    value: >-
      has_handles or (footer.is_rocksdb and footer.version >= 6 and metaindex.is_stored and
      metaindex.content.as<leveldb_block>.entries.entries.size > 0 and search.last.is_index)
    doc: The footer, or else the metaindex, has the offset of the index.
  index:
    pos: 0
    type: >-
      block(footer.is_leveldb ? footer.leveldb.index.ofs_block.value :
      footer.version < 6 ? footer.rocksdb.index.ofs_block.value :
      meta_blocks[search.size - 1].handle.ofs_block.value,
      footer.is_leveldb ? footer.leveldb.index.len_block.value :
      footer.version < 6 ? footer.rocksdb.index.len_block.value :
      meta_blocks[search.size - 1].handle.len_block.value,
      footer.is_leveldb or footer.version < 4 ? kinds::handles : kinds::handle_deltas)
    if: has_index
    doc: |
      One entry per data block, a key not below its last and its handle. From
      RocksDB version 4 in the form of `leveldb_index_delta.ksy`.
  data_blocks:
    pos: 0
    type: data_block(_index)
    repeat: expr
    repeat-expr: index.content.as<leveldb_block>.entries.entries.size
    if: has_index and index.is_stored and (footer.is_leveldb or footer.version < 4)
    doc: Every block that the index names, if the index itself is not compressed.
  delta_blocks:
    pos: 0
    type: delta_block(_index)
    repeat: expr
    repeat-expr: index.content.as<leveldb_index_delta>.entries.entries.size
    if: has_index and index.is_stored and footer.is_rocksdb and footer.version >= 4
    doc: The same for an index of deltas.
types:
  block_trailer:
    -element: true
    doc: The five bytes after every block.
    seq:
      - id: compression
        -orig-id: type
        type: u1
        enum: compressions
        doc: How the contents before it are compressed.
      - id: checksum
        -orig-id: crc
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
      - id: kind
        type: s4
        enum: kinds
        doc: Kind of the block, known only from the reference to it.
    instances:
      contents:
        pos: ofs_block.as<s8>
        size: len_block
        valid:
          expr: _.length.as<u8> == len_block
        doc: The block as it is stored.
      trailer:
        pos: (ofs_block + len_block).as<s8>
        type: block_trailer
      is_stored:
        value: trailer.compression == compressions::none
      content:
        pos: ofs_block.as<s8>
        size: len_block
        type:
          switch-on: kind
          cases:
            'kinds::handles': leveldb_block
            'kinds::data': leveldb_data_block
            'kinds::filter': leveldb_filter
            'kinds::properties': leveldb_properties
            'kinds::handle_deltas': leveldb_index_delta
        if: is_stored and kind != kinds::unknown
        doc: What is in it, if it is not compressed; never raw bytes.
  meta_block:
    doc: A meta block by way of its entry in the metaindex; its key is the name.
    -webide-representation: '{name}'
    params:
      - id: idx
        type: s4
        doc: Position of its entry in the metaindex.
    instances:
      name:
        value: _parent.metaindex.content.as<leveldb_block>.entries.entries[idx].key_suffix.to_s("ISO-8859-1")
        doc: |
          Without what it has in common with the name before, which in metaindexes
          is nothing.
        -webide-parse-mode: eager
      handle:
        io: _parent.metaindex.content.as<leveldb_block>.entries.entries[idx].value._io
        pos: 0
        type: leveldb_block_handle
      kind:
        value: >-
          name.length > 7 and name.substring(0, 7) == "filter." ? kinds::filter :
          name == "rocksdb.properties" ? kinds::properties :
          name == "rocksdb.range_del" ? kinds::data :
          name == "rocksdb.index" and _root.footer.version >= 4 ? kinds::handle_deltas : kinds::unknown
        doc: Filters of RocksDB have names of their own and are bits without a frame.
      block:
        io: _root._io
        pos: 0
        type: block(handle.ofs_block.value, handle.len_block.value, kind)
  index_search:
    doc: Whether an entry of the metaindex is that of the index, or the last.
    -webide-representation: 'entry {idx:dec}'
    params:
      - id: idx
        type: s4
        doc: Position of the entry in the metaindex.
    instances:
      is_index:
        value: _parent.meta_blocks[idx].name == "rocksdb.index"
      is_over:
        value: is_index or idx + 1 >= _parent.meta_blocks.size
  data_block:
    doc: A data block by way of its entry in the index.
    -webide-representation: '{handle}'
    params:
      - id: idx
        type: s4
        doc: Position of its entry in the index.
    instances:
      handle:
        -webide-parse-mode: eager
        io: _parent.index.content.as<leveldb_block>.entries.entries[idx].value._io
        pos: 0
        type: leveldb_block_handle
      block:
        io: _root._io
        pos: 0
        type: block(handle.ofs_block.value, handle.len_block.value, kinds::data)
  delta_block:
    doc: A data block by way of its entry in an index of deltas.
    -webide-representation: '{len_block:dec} bytes at {ofs_block:dec}'
    params:
      - id: idx
        type: s4
        doc: Position of its entry in the index.
    instances:
      ofs_block:
        -webide-parse-mode: eager
        value: >-
          _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].len_shared.value == 0 or idx == 0 ?
          _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].handle.ofs_block.value :
          (_parent.delta_blocks[idx - 1].ofs_block.as<u8> + _parent.delta_blocks[idx - 1].len_block.as<u8> + 5).as<u8>
        doc: Right after the block before, except at a restart.
      len_block:
        -webide-parse-mode: eager
        value: >-
          _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].len_shared.value == 0 or idx == 0 ?
          _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].handle.len_block.value :
          (_parent.delta_blocks[idx - 1].len_block.as<u8> + (raw_delta % 2 == 0 ? raw_delta / 2 : -1 - raw_delta / 2)).as<u8>
      raw_delta:
        value: _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].raw_delta.value
        if: _parent.index.content.as<leveldb_index_delta>.entries.entries[idx].len_shared.value != 0
        doc: How much longer the block is than the one before, as zigzag.
      block:
        pos: 0
        type: 'block(ofs_block, len_block, _parent.delta_blocks[0].ofs_block.as<u8> == 0 ? kinds::data : kinds::handle_deltas)'
        doc: |
          A table starts with data; an index whose first block is elsewhere has
          two levels, and names parts of the index.
enums:
  compressions:
    0:
      id: none
      -orig-id: kNoCompression
    1:
      id: snappy
      -orig-id: kSnappyCompression
    2:
      id: zlib
      -orig-id: [kZlibCompression, kZstdCompression]
      doc: |
        Raw deflate in RocksDB, a zlib stream in dacha, a zstd frame in newer
        LevelDB.
    3:
      id: bzip2
      -orig-id: kBZip2Compression
    4:
      id: lz4
      -orig-id: kLZ4Compression
    5:
      id: lz4hc
      -orig-id: kLZ4HCCompression
    6:
      id: xpress
      -orig-id: kXpressCompression
    7:
      id: zstd
      -orig-id: kZSTD
    64:
      id: early_zstd
      -orig-id: kZSTDNotFinalCompression
      doc: RocksDB, before the format of Zstandard was final.
  kinds:
    0:
      id: unknown
      doc: Opened by nothing.
    1:
      id: handles
      doc: Names or keys, each with a handle.
    2: data
    3: filter
    4: properties
    5:
      id: handle_deltas
      doc: An index of deltas.
