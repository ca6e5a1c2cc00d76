meta:
  id: leveldb_version_edit
  title: LevelDB version edit
  application:
    - LevelDB
    - RocksDB
    - dacha EmbeddedDB
  tags:
    - database
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - leveldb_bytes
    - leveldb_varint
  endian: le
doc: |
  One record of a manifest: what changed in the set of files that make up the
  database. Replaying all of them in order yields the current set.

  Tags up to 9 are LevelDB's; 10, 100 to 401 and those from 8192 are RocksDB's,
  where readers may skip the latter; 800 is dacha's. A field with a tag that is
  not listed and below 8192 cannot be skipped, for its length is not known.
doc-ref:
  - https://github.com/google/leveldb/blob/main/db/version_edit.cc
  - https://github.com/facebook/rocksdb/blob/main/db/version_edit.h
seq:
  - id: fields
    -lint-ok: A record is small and read as a whole.
    type: field
    repeat: eos
types:
  field:
    doc: A tag and what it announces.
    -webide-representation: '{tag}: {body}'
    seq:
      - id: raw_tag
        -orig-id: tag
        type: leveldb_varint
        valid:
          expr: |
            (_.value & 8192) != 0 or (_.value > 0 and _.value <= 10 and _.value != 8)
            or _.value == 100 or _.value == 102 or _.value == 103
            or (_.value >= 200 and _.value <= 203) or _.value == 300
            or _.value == 400 or _.value == 401 or _.value == 800
        doc: Any other tag has an unknown length.
      - id: body
        type:
          switch-on: tag
          cases:
            'tags::comparator': leveldb_bytes
            'tags::log_number': leveldb_varint
            'tags::next_file_number': leveldb_varint
            'tags::last_sequence': leveldb_varint
            'tags::compact_pointer': compact_pointer
            'tags::deleted_file': deleted_file
            'tags::new_file': new_file
            'tags::previous_log_number': leveldb_varint
            'tags::min_log_number_to_keep': leveldb_varint
            'tags::new_file2': new_file2
            'tags::new_file3': new_file3
            'tags::new_file4': new_file4
            'tags::column_family': leveldb_varint
            'tags::column_family_add': leveldb_bytes
            'tags::column_family_drop': no_payload
            'tags::max_column_family': leveldb_varint
            'tags::in_atomic_group': leveldb_varint
            'tags::blob_file_addition': blob_file_addition
            'tags::blob_file_garbage': blob_file_garbage
            'tags::compaction_waterline': leveldb_varint
            'tags::wal_addition': wal_addition
            'tags::wal_deletion': leveldb_varint
            'tags::ignorable': leveldb_bytes
        doc: Never raw bytes, for there is a case for every tag that is let in.
    instances:
      tag:
        value: |
          (raw_tag.value & 8192) != 0 and raw_tag.value != 8196 and raw_tag.value != 8197
          ? 8192 : raw_tag.value
        enum: tags
        -webide-parse-mode: eager
        doc: |
          Readers may skip every tag that has the bit 8192, since its length
          follows; early forms of two of them have none.
      name:
        value: body.as<leveldb_bytes>.data.to_s("UTF-8")
        if: tag == tags::comparator or tag == tags::column_family_add
        doc: The name of the comparator, or of the column family, as text.
        -webide-parse-mode: eager
  no_payload:
    doc: No payload.
  compact_pointer:
    doc: Where the next compaction of a level starts.
    -webide-representation: 'level {level}: {internal_key}'
    seq:
      - id: level
        type: leveldb_varint
        doc: Level of the tree of tables.
      - id: internal_key
        type: leveldb_bytes
        doc: Where the last compaction of the level ended.
  deleted_file:
    doc: A table that is no longer part of the database.
    -webide-representation: '{number}, level {level}'
    seq:
      - id: level
        type: leveldb_varint
        doc: Level that the table was in.
      - id: number
        type: leveldb_varint
        doc: Number of the table, which is its file name.
  new_file:
    doc: A table that is part of the database from now on.
    -webide-representation: '{number}, level {level}, {len_file} bytes'
    seq:
      - id: level
        type: leveldb_varint
        doc: Level that the table is in.
      - id: number
        type: leveldb_varint
        doc: Number of the table, which is its file name.
      - id: len_file
        -lint-ok: Of another file.
        -orig-id: file_size
        type: leveldb_varint
      - id: smallest
        type: leveldb_bytes
        doc: An internal key.
      - id: largest
        type: leveldb_bytes
        doc: An internal key.
  new_file2:
    doc: RocksDB; the only form that dacha writes.
    -webide-representation: '{file}'
    seq:
      - id: file
        type: new_file
      - id: smallest_sequence
        -orig-id: smallest_seqno
        type: leveldb_varint
        doc: Lowest sequence number in the table.
      - id: largest_sequence
        -orig-id: largest_seqno
        type: leveldb_varint
        doc: Highest sequence number in the table.
  new_file3:
    doc: RocksDB; adds the path that holds the table.
    -webide-representation: '{number}, level {level}, {len_file} bytes'
    seq:
      - id: level
        type: leveldb_varint
        doc: Level that the table is in.
      - id: number
        type: leveldb_varint
        doc: Number of the table, which is its file name.
      - id: path_id
        type: leveldb_varint
        doc: Which of the paths of the database holds the file.
      - id: len_file
        -lint-ok: Of another file.
        -orig-id: file_size
        type: leveldb_varint
      - id: smallest
        type: leveldb_bytes
        doc: An internal key.
      - id: largest
        type: leveldb_bytes
        doc: An internal key.
      - id: smallest_sequence
        -orig-id: smallest_seqno
        type: leveldb_varint
        doc: Lowest sequence number in the table.
      - id: largest_sequence
        -orig-id: largest_seqno
        type: leveldb_varint
        doc: Highest sequence number in the table.
  new_file4:
    doc: RocksDB; adds attributes that may be skipped.
    -webide-representation: '{file}'
    seq:
      - id: file
        type: new_file2
      - id: attributes
        type: attribute
        repeat: until
        repeat-until: _.tag.value == 1
  attribute:
    doc: One attribute of a table.
    -webide-representation: '{name}: {data}'
    seq:
      - id: tag
        type: leveldb_varint
        doc: |
          What the attribute is; one that a reader does not know may be skipped
          below 64.
      - id: data
        type: leveldb_bytes
        if: tag.value != 1
        doc: Its value, whose form depends on the tag.
    instances:
      name:
        value: tag.value
        enum: attribute_tags
        doc: The tag by its name.
        -webide-parse-mode: eager
  wal_addition:
    doc: A log, as RocksDB 6.15 tracked it; later ones write tag 8199.
    -webide-representation: '{number}'
    seq:
      - id: number
        -orig-id: log number
        type: leveldb_varint
        doc: Number of the log.
      - id: attributes
        type: wal_attribute
        repeat: until
        repeat-until: _.tag.value == 1
  wal_attribute:
    doc: One attribute of a log.
    -webide-representation: '{tag}: {len_synced}'
    seq:
      - id: tag
        type: leveldb_varint
        valid:
          expr: _.value == 1 or _.value == 2
        doc: 1 ends the list.
      - id: len_synced
        -lint-ok: Of another file.
        -orig-id: synced size
        type: leveldb_varint
        if: tag.value == 2
        doc: Bytes of the log that are synchronized.
  blob_file_addition:
    doc: A file of large values that is part of the database from now on.
    -webide-representation: '{number}: {num_blobs} values, {len_blobs} bytes'
    seq:
      - id: number
        -orig-id: blob_file_number
        type: leveldb_varint
        doc: Number of the file, which is its name.
      - id: num_blobs
        -lint-ok: Of another file.
        -orig-id: total_blob_count
        type: leveldb_varint
      - id: len_blobs
        -lint-ok: Of another file.
        -orig-id: total_blob_bytes
        type: leveldb_varint
      - id: checksum_method
        type: leveldb_bytes
        doc: Name of the checksum; empty when there is none.
      - id: checksum_value
        type: leveldb_bytes
        doc: Checksum of the whole file.
      - id: attributes
        type: blob_attribute
        repeat: until
        repeat-until: _.tag.value == 0
  blob_file_garbage:
    doc: Values in a blob file that nothing refers to any more.
    -webide-representation: '{number}: {num_blobs} values, {len_blobs} bytes'
    seq:
      - id: number
        -orig-id: blob_file_number
        type: leveldb_varint
        doc: Number of the file, which is its name.
      - id: num_blobs
        -lint-ok: Of another file.
        -orig-id: garbage_blob_count
        type: leveldb_varint
      - id: len_blobs
        -lint-ok: Of another file.
        -orig-id: garbage_blob_bytes
        type: leveldb_varint
      - id: attributes
        type: blob_attribute
        repeat: until
        repeat-until: _.tag.value == 0
  blob_attribute:
    doc: One attribute of a blob file.
    -webide-representation: '{tag}: {data}'
    seq:
      - id: tag
        type: leveldb_varint
        doc: 0 ends the list.
      - id: data
        type: leveldb_bytes
        if: tag.value != 0
        doc: Its value, whose form depends on the tag.
enums:
  attribute_tags:
    1:
      id: terminate
      -orig-id: kTerminate
      doc: Ends the list.
    2:
      id: need_compaction
      -orig-id: kNeedCompaction
    3:
      id: min_log_number_to_keep
      -orig-id: kMinLogNumberToKeepHack
    4:
      id: oldest_blob_file_number
      -orig-id: kOldestBlobFileNumber
    5:
      id: oldest_ancestor_time
      -orig-id: kOldestAncesterTime
    6:
      id: file_creation_time
      -orig-id: kFileCreationTime
    7:
      id: file_checksum
      -orig-id: kFileChecksum
    8:
      id: file_checksum_function
      -orig-id: kFileChecksumFuncName
    9:
      id: temperature
      -orig-id: kTemperature
    10:
      id: min_timestamp
      -orig-id: kMinTimestamp
    11:
      id: max_timestamp
      -orig-id: kMaxTimestamp
    12:
      id: unique_id
      -orig-id: kUniqueId
    13:
      id: epoch_number
      -orig-id: kEpochNumber
    14:
      id: compensated_range_deletion_size
      -orig-id: kCompensatedRangeDeletionSize
    15:
      id: tail_size
      -orig-id: kTailSize
    16:
      id: user_defined_timestamps_persisted
      -orig-id: kUserDefinedTimestampsPersisted
    65:
      id: path_id
      -orig-id: kPathId
  tags:
    1:
      id: comparator
      -orig-id: kComparator
      doc: Name of the order of keys, `leveldb.BytewiseComparator` as a rule.
    2:
      id: log_number
      -orig-id: kLogNumber
      doc: Logs below this number are in tables already.
    3:
      id: next_file_number
      -orig-id: kNextFileNumber
    4:
      id: last_sequence
      -orig-id: kLastSequence
    5:
      id: compact_pointer
      -orig-id: kCompactPointer
    6:
      id: deleted_file
      -orig-id: kDeletedFile
    7:
      id: new_file
      -orig-id: kNewFile
    9:
      id: previous_log_number
      -orig-id: kPrevLogNumber
    10:
      id: min_log_number_to_keep
      -orig-id: kMinLogNumberToKeep
    100:
      id: new_file2
      -orig-id: kNewFile2
    102:
      id: new_file3
      -orig-id: kNewFile3
    103:
      id: new_file4
      -orig-id: kNewFile4
    200:
      id: column_family
      -orig-id: kColumnFamily
      doc: The edit is about this column family.
    201:
      id: column_family_add
      -orig-id: kColumnFamilyAdd
    202:
      id: column_family_drop
      -orig-id: kColumnFamilyDrop
    203:
      id: max_column_family
      -orig-id: kMaxColumnFamily
    300:
      id: in_atomic_group
      -orig-id: kInAtomicGroup
      doc: Edits that still follow in the group that is valid as a whole only.
    400:
      id: blob_file_addition
      -orig-id: kBlobFileAddition
    401:
      id: blob_file_garbage
      -orig-id: kBlobFileGarbage
    800:
      id: compaction_waterline
      doc: dacha only.
    8196:
      id: wal_addition
      -orig-id: kWalAddition
    8197:
      id: wal_deletion
      -orig-id: kWalDeletion
      doc: Logs below this number are gone.
    8192:
      id: ignorable
      -orig-id: kTagSafeIgnoreMask
