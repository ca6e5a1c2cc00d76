meta:
  id: leveldb_log
  title: LevelDB log file framing
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  file-extension: log
  xref:
    justsolve: LevelDB
  tags:
    - database
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_version_edit
    - leveldb_write_batch
  endian: le
doc: |
  Write-ahead logs (`NNNNNN.log`) and manifests (`MANIFEST-NNNNNN`, opened by
  `leveldb_manifest.ksy`) share this framing: blocks of 32 KiB filled with
  fragments of records. A record that does not fit the rest of a block is split
  into a first, middle and last fragment.

  What the fragments of a record join up to is a write batch in a log
  (`leveldb_write_batch.ksy`) and a version edit in a manifest
  (`leveldb_version_edit.ksy`). A spec cannot join them; a record that fits one
  fragment is opened in place.
doc-ref: https://github.com/google/leveldb/blob/main/doc/log_format.md
instances:
  blocks:
    pos: 0
    size: '_io.size - _io.pos < 32768 ? (_io.size - _io.pos).as<s8> : (32768).as<s8>'
    type: block(false)
    repeat: eos
    if: _io.size > 0
types:
  block:
    doc: |
      32 KiB of fragments; the last block ends where the file ends. Damage never
      spreads past the next block border.
    -webide-representation: '{fragments}'
    params:
      - id: is_manifest
        type: bool
        doc: Whether records are version edits, else write batches.
    seq:
      - id: fragments
        -orig-id: record
        type: fragment(is_manifest)
        repeat: until
        repeat-until: _io.size - _io.pos < 7 or _.is_zero_fill
        if: _io.size >= 7
      - id: trailer
        size-eos: true
        doc: |
          Fewer than seven bytes cannot hold a header and are zero; after a
          header of zeros the whole rest of the block is zero (a preallocated
          file).
  fragment:
    -element: true
    doc: A record, or a fragment of one, after a header of 7 bytes (or 11).
    -webide-representation: '{fragment_type}, {len_data:dec} bytes'
    params:
      - id: is_manifest
        type: bool
    seq:
      - id: checksum
        -checksum: masked CRC-32C
        -covers: [fragment_type, log_number, data]
        type: u4
        doc: |
          CRC-32C over the type byte and the data (over type, log number and data
          for the recyclable types), rotated right by 15 bits, plus 0xa282ead8.
      - id: len_data
        -orig-id: length
        type: u2
        valid:
          max: _io.size - _io.pos - 1
      - id: fragment_type
        -orig-id: type
        type: u1
        enum: fragment_types
        doc: Which part of a record it is, and how long the header is.
      - id: log_number
        -orig-id: log number
        type: u4
        if: is_recyclable
        doc: Low 32 bits of the number of the log that wrote the fragment.
      - id: data
        size: len_data
        type: fragment_data(is_manifest, is_whole, fragment_type.to_i)
        doc: A whole record, or a piece of one.
    instances:
      is_whole:
        value: |
          fragment_type == fragment_types::full
          or fragment_type == fragment_types::recyclable_full
      is_zero_fill:
        value: fragment_type == fragment_types::zero and len_data == 0
      is_recyclable:
        value: |
          fragment_type == fragment_types::recyclable_full
          or fragment_type == fragment_types::recyclable_first
          or fragment_type == fragment_types::recyclable_middle
          or fragment_type == fragment_types::recyclable_last
          or fragment_type == fragment_types::recyclable_user_defined_timestamp_size
          or fragment_type == fragment_types::recyclable_predecessor_log
          or fragment_type == fragment_types::early_recyclable_predecessor_log
        doc: |
          The list in RocksDB's reader; a type that is not on it has the header
          of 7 bytes.
  fragment_data:
    doc: The bytes of a fragment; those of a whole record open.
    params:
      - id: is_manifest
        type: bool
      - id: is_whole
        type: bool
      - id: kind
        type: u1
        doc: The type of the fragment.
    seq:
      - id: bytes
        size-eos: true
    instances:
      stored_magic:
        pos: 0
        type: u4
        if: is_whole and _io.size >= 4
        doc: The magic number of zstd, where the log is compressed.
      is_compressed:
        value: is_whole and _io.size >= 4 and stored_magic == 0xfd2fb528
        doc: |
          The record is a frame of zstd, whose content is a write batch.
      batch:
        pos: 0
        size-eos: true
        type: leveldb_write_batch
        if: is_whole and not is_manifest and not is_compressed
      compression:
        pos: 0
        type: u4
        enum: compressions
        if: kind == 9 and _io.size >= 4
        doc: How the records that follow are compressed, each by itself.
      timestamp_sizes:
        pos: 0
        type: timestamp_size
        repeat: eos
        if: kind == 10 or kind == 11
      version_edit:
        pos: 0
        size-eos: true
        type: leveldb_version_edit
        if: is_whole and is_manifest
  timestamp_size:
    doc: Keys of a column family end in a timestamp of the application.
    -webide-representation: 'family {column_family:dec}: {len_timestamp:dec} bytes'
    seq:
      - id: column_family
        type: u4
        doc: Number of the column family.
      - id: len_timestamp
        -lint-ok: Of keys in other records.
        type: u2
        doc: Size of the timestamps.
enums:
  compressions:
    0:
      id: none
      -orig-id: kNoCompression
    7:
      id: zstd
      -orig-id: kZSTD
      doc: The only one that RocksDB writes.
  fragment_types:
    0:
      id: zero
      -orig-id: kZeroType
      doc: Preallocated space that was never written.
    1:
      id: full
      -orig-id: [FULL, kFullType]
    2:
      id: first
      -orig-id: [FIRST, kFirstType]
    3:
      id: middle
      -orig-id: [MIDDLE, kMiddleType]
    4:
      id: last
      -orig-id: [LAST, kLastType]
    5:
      id: recyclable_full
      -orig-id: kRecyclableFullType
      doc: RocksDB with recycled log files; the header has four more bytes.
    6:
      id: recyclable_first
      -orig-id: kRecyclableFirstType
    7:
      id: recyclable_middle
      -orig-id: kRecyclableMiddleType
    8:
      id: recyclable_last
      -orig-id: kRecyclableLastType
    9:
      id: set_compression
      -orig-id: kSetCompressionType
      doc: RocksDB; what follows is compressed.
    10:
      id: user_defined_timestamp_size
      -orig-id: kUserDefinedTimestampSizeType
    11:
      id: recyclable_user_defined_timestamp_size
      -orig-id: kRecyclableUserDefinedTimestampSizeType
    33:
      id: early_predecessor_log
      -orig-id: kPredecessorWALInfoType
      doc: |
        130 as RocksDB numbered it at first, when the bit that lets readers skip
        an unknown type was 32; no other version uses 33 and 34.
    34:
      id: early_recyclable_predecessor_log
      -orig-id: kRecyclePredecessorWALInfoType
      doc: 131 as RocksDB numbered it at first.
    130:
      id: predecessor_log
      -orig-id: kPredecessorWALInfoType
      doc: |
        RocksDB; number, size and last sequence number of the log before. A type
        of 128 or more that a reader does not know it may skip.
    131:
      id: recyclable_predecessor_log
      -orig-id: kRecyclePredecessorWALInfoType
