meta:
  id: leveldb_manifest
  title: LevelDB manifest
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  xref:
    justsolve: LevelDB
  tags:
    - database
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_log
  endian: le
doc: |
  A manifest (`MANIFEST-NNNNNN`): version edits, each a record in the framing of
  `leveldb_log`. Replayed in order they give the files that make up the database.
doc-ref: https://github.com/google/leveldb/blob/main/doc/log_format.md
instances:
  blocks:
    pos: 0
    size: '_io.size - _io.pos < 32768 ? (_io.size - _io.pos).as<s8> : (32768).as<s8>'
    type: leveldb_log::block(true)
    repeat: eos
    if: _io.size > 0
