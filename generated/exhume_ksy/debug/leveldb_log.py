# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_write_batch
from . import leveldb_version_edit
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbLog(KaitaiStruct):
    """Write-ahead logs (`NNNNNN.log`) and manifests (`MANIFEST-NNNNNN`, opened by
    `leveldb_manifest.ksy`) share this framing: blocks of 32 KiB filled with
    fragments of records. A record that does not fit the rest of a block is split
    into a first, middle and last fragment.
    
    What the fragments of a record join up to is a write batch in a log
    (`leveldb_write_batch.ksy`) and a version edit in a manifest
    (`leveldb_version_edit.ksy`). A spec cannot join them; a record that fits one
    fragment is opened in place.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/doc/log_format.md
    """

    class Compressions(IntEnum):
        none = 0
        zstd = 7

    class FragmentTypes(IntEnum):
        zero = 0
        full = 1
        first = 2
        middle = 3
        last = 4
        recyclable_full = 5
        recyclable_first = 6
        recyclable_middle = 7
        recyclable_last = 8
        set_compression = 9
        user_defined_timestamp_size = 10
        recyclable_user_defined_timestamp_size = 11
        early_predecessor_log = 33
        early_recyclable_predecessor_log = 34
        predecessor_log = 130
        recyclable_predecessor_log = 131
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbLog, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.blocks
        if hasattr(self, '_m_blocks'):
            pass
            for i in range(len(self._m_blocks)):
                pass
                self._m_blocks[i]._fetch_instances()



    class Block(KaitaiStruct):
        """32 KiB of fragments; the last block ends where the file ends. Damage never
        spreads past the next block border.
        """
        SEQ_FIELDS = ["fragments", "trailer"]
        def __init__(self, is_manifest, _io, _parent=None, _root=None):
            super(LeveldbLog.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.is_manifest = is_manifest
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if self._io.size() >= 7:
                pass
                self._debug['fragments']['start'] = self._io.pos()
                self._debug['fragments']['arr'] = []
                self.fragments = []
                if not self._io.passes(self, 'fragments', lambda i, io: LeveldbLog.Fragment(self.is_manifest, io, self, self._root), given=(self.is_manifest,), until=lambda _, io: ((io.size() - io.pos() < 7) or (_.is_zero_fill))):
                    i = 0
                    while True:
                        self._debug['fragments']['arr'].append({'start': self._io.pos()})
                        _t_fragments = LeveldbLog.Fragment(self.is_manifest, self._io, self, self._root)
                        try:
                            _t_fragments._read()
                        finally:
                            _ = _t_fragments
                            self.fragments.append(_)
                        self._debug['fragments']['arr'][len(self.fragments) - 1]['end'] = self._io.pos()
                        if  ((self._io.size() - self._io.pos() < 7) or (_.is_zero_fill)) :
                            break
                        i += 1
                self._debug['fragments']['end'] = self._io.pos()

            self._debug['trailer']['start'] = self._io.pos()
            self.trailer = self._io.read_bytes_full()
            self._debug['trailer']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            if self._io.size() >= 7:
                pass
                for i in range(len(self.fragments)):
                    pass
                    self.fragments[i]._fetch_instances()




    class Fragment(KaitaiStruct):
        """A record, or a fragment of one, after a header of 7 bytes (or 11)."""
        SEQ_FIELDS = ["checksum", "len_data", "fragment_type", "log_number", "data"]
        def __init__(self, is_manifest, _io, _parent=None, _root=None):
            super(LeveldbLog.Fragment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.is_manifest = is_manifest
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['checksum']['start'] = self._io.pos()
            self.checksum = self._io.read_u4le()
            self._debug['checksum']['end'] = self._io.pos()
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u2le()
            self._debug['len_data']['end'] = self._io.pos()
            if not self.len_data <= (self._io.size() - self._io.pos()) - 1:
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()) - 1, self.len_data, self._io, u"/types/fragment/seq/1")
            self._debug['fragment_type']['start'] = self._io.pos()
            self.fragment_type = KaitaiStream.resolve_enum(LeveldbLog.FragmentTypes, self._io.read_u1())
            self._debug['fragment_type']['end'] = self._io.pos()
            if self.is_recyclable:
                pass
                self._debug['log_number']['start'] = self._io.pos()
                self.log_number = self._io.read_u4le()
                self._debug['log_number']['end'] = self._io.pos()

            self._debug['data']['start'] = self._io.pos()
            self._raw_data = self._io.read_bytes(self.len_data)
            _io__raw_data = KaitaiStream(BytesIO(self._raw_data))
            self.data = LeveldbLog.FragmentData(self.is_manifest, self.is_whole, int(self.fragment_type), _io__raw_data, self, self._root)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            if self.is_recyclable:
                pass

            self.data._fetch_instances()

        @property
        def is_recyclable(self):
            """The list in RocksDB's reader; a type that is not on it has the header
            of 7 bytes.
            """
            if hasattr(self, '_m_is_recyclable'):
                return self._m_is_recyclable

            self._m_is_recyclable =  ((self.fragment_type == LeveldbLog.FragmentTypes.recyclable_full) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_first) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_middle) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_last) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_user_defined_timestamp_size) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_predecessor_log) or (self.fragment_type == LeveldbLog.FragmentTypes.early_recyclable_predecessor_log)) 
            return getattr(self, '_m_is_recyclable', None)

        @property
        def is_whole(self):
            if hasattr(self, '_m_is_whole'):
                return self._m_is_whole

            self._m_is_whole =  ((self.fragment_type == LeveldbLog.FragmentTypes.full) or (self.fragment_type == LeveldbLog.FragmentTypes.recyclable_full)) 
            return getattr(self, '_m_is_whole', None)

        @property
        def is_zero_fill(self):
            if hasattr(self, '_m_is_zero_fill'):
                return self._m_is_zero_fill

            self._m_is_zero_fill =  ((self.fragment_type == LeveldbLog.FragmentTypes.zero) and (self.len_data == 0)) 
            return getattr(self, '_m_is_zero_fill', None)


    class FragmentData(KaitaiStruct):
        """The bytes of a fragment; those of a whole record open."""
        SEQ_FIELDS = ["bytes"]
        def __init__(self, is_manifest, is_whole, kind, _io, _parent=None, _root=None):
            super(LeveldbLog.FragmentData, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.is_manifest = is_manifest
            self.is_whole = is_whole
            self.kind = kind
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['bytes']['start'] = self._io.pos()
            self.bytes = self._io.read_bytes_full()
            self._debug['bytes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _ = self.batch
            if hasattr(self, '_m_batch'):
                pass
                self._m_batch._fetch_instances()

            _ = self.compression
            if hasattr(self, '_m_compression'):
                pass

            _ = self.stored_magic
            if hasattr(self, '_m_stored_magic'):
                pass

            _ = self.timestamp_sizes
            if hasattr(self, '_m_timestamp_sizes'):
                pass
                for i in range(len(self._m_timestamp_sizes)):
                    pass
                    self._m_timestamp_sizes[i]._fetch_instances()


            _ = self.version_edit
            if hasattr(self, '_m_version_edit'):
                pass
                self._m_version_edit._fetch_instances()


        @property
        def batch(self):
            if hasattr(self, '_m_batch'):
                return self._m_batch

            if  ((self.is_whole) and ((not (self.is_manifest))) and ((not (self.is_compressed)))) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_batch']['start'] = self._io.pos()
                self._raw__m_batch = self._io.read_bytes_full()
                _io__raw__m_batch = KaitaiStream(BytesIO(self._raw__m_batch))
                self._m_batch = leveldb_write_batch.LeveldbWriteBatch(_io__raw__m_batch)
                self._m_batch._read()
                self._debug['_m_batch']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_batch', None)

        @property
        def compression(self):
            """How the records that follow are compressed, each by itself."""
            if hasattr(self, '_m_compression'):
                return self._m_compression

            if  ((self.kind == 9) and (self._io.size() >= 4)) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_compression']['start'] = self._io.pos()
                self._m_compression = KaitaiStream.resolve_enum(LeveldbLog.Compressions, self._io.read_u4le())
                self._debug['_m_compression']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_compression', None)

        @property
        def is_compressed(self):
            """The record is a frame of zstd, whose content is a write batch.
            """
            if hasattr(self, '_m_is_compressed'):
                return self._m_is_compressed

            self._m_is_compressed =  ((self.is_whole) and (self._io.size() >= 4) and (self.stored_magic == 4247762216)) 
            return getattr(self, '_m_is_compressed', None)

        @property
        def stored_magic(self):
            """The magic number of zstd, where the log is compressed."""
            if hasattr(self, '_m_stored_magic'):
                return self._m_stored_magic

            if  ((self.is_whole) and (self._io.size() >= 4)) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_stored_magic']['start'] = self._io.pos()
                self._m_stored_magic = self._io.read_u4le()
                self._debug['_m_stored_magic']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_stored_magic', None)

        @property
        def timestamp_sizes(self):
            if hasattr(self, '_m_timestamp_sizes'):
                return self._m_timestamp_sizes

            if  ((self.kind == 10) or (self.kind == 11)) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_timestamp_sizes']['start'] = self._io.pos()
                self._debug['_m_timestamp_sizes']['arr'] = []
                self._m_timestamp_sizes = []
                if not self._io.passes(self, '_m_timestamp_sizes', lambda i, io: LeveldbLog.TimestampSize(io, self, self._root)):
                    i = 0
                    while not self._io.is_eof():
                        self._debug['_m_timestamp_sizes']['arr'].append({'start': self._io.pos()})
                        _t__m_timestamp_sizes = LeveldbLog.TimestampSize(self._io, self, self._root)
                        try:
                            _t__m_timestamp_sizes._read()
                        finally:
                            self._m_timestamp_sizes.append(_t__m_timestamp_sizes)
                        self._debug['_m_timestamp_sizes']['arr'][len(self._m_timestamp_sizes) - 1]['end'] = self._io.pos()
                        i += 1

                self._debug['_m_timestamp_sizes']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_timestamp_sizes', None)

        @property
        def version_edit(self):
            if hasattr(self, '_m_version_edit'):
                return self._m_version_edit

            if  ((self.is_whole) and (self.is_manifest)) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_version_edit']['start'] = self._io.pos()
                self._raw__m_version_edit = self._io.read_bytes_full()
                _io__raw__m_version_edit = KaitaiStream(BytesIO(self._raw__m_version_edit))
                self._m_version_edit = leveldb_version_edit.LeveldbVersionEdit(_io__raw__m_version_edit)
                self._m_version_edit._read()
                self._debug['_m_version_edit']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_version_edit', None)


    class TimestampSize(KaitaiStruct):
        """Keys of a column family end in a timestamp of the application."""
        SEQ_FIELDS = ["column_family", "len_timestamp"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbLog.TimestampSize, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['column_family']['start'] = self._io.pos()
            self.column_family = self._io.read_u4le()
            self._debug['column_family']['end'] = self._io.pos()
            self._debug['len_timestamp']['start'] = self._io.pos()
            self.len_timestamp = self._io.read_u2le()
            self._debug['len_timestamp']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    @property
    def blocks(self):
        if hasattr(self, '_m_blocks'):
            return self._m_blocks

        if self._io.size() > 0:
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_blocks']['start'] = self._io.pos()
            self._debug['_m_blocks']['arr'] = []
            self._raw__m_blocks = []
            self._m_blocks = []
            if not self._io.passes(self, '_m_blocks', lambda i, io: LeveldbLog.Block(False, io, self, self._root), given=(False,), size=lambda: ((self._io.size() - self._io.pos()) if self._io.size() - self._io.pos() < 32768 else 32768)):
                i = 0
                while not self._io.is_eof():
                    self._debug['_m_blocks']['arr'].append({'start': self._io.pos()})
                    self._raw__m_blocks.append(self._io.read_bytes(((self._io.size() - self._io.pos()) if self._io.size() - self._io.pos() < 32768 else 32768)))
                    _io__raw__m_blocks = KaitaiStream(BytesIO(self._raw__m_blocks[-1]))
                    _t__m_blocks = LeveldbLog.Block(False, _io__raw__m_blocks, self, self._root)
                    try:
                        _t__m_blocks._read()
                    finally:
                        self._m_blocks.append(_t__m_blocks)
                    self._debug['_m_blocks']['arr'][len(self._m_blocks) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['_m_blocks']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_blocks', None)


