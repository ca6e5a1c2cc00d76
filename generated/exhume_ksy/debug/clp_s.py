# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import clp_s_metadata
from . import zstd_frame
from . import clp_s_schema_ids
from . import clp_s_schema_tree
from . import clp_s_dictionary
from . import clp_s_table_metadata
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpS(KaitaiStruct):
    """JSON logs, compressed by column and searchable. A fixed header, a compressed
    stream of metadata packets, then sections that are compressed one by one.
    
    Where the sections lie is told by MessagePack inside the compressed
    metadata. An archive whose payloads are stored (zstd raw blocks) therefore
    shows everything in place; of any other archive this schema shows the frames
    and the `clp_s_*` schemas of the payloads take the decompressed bytes.
    
    .. seealso::
       Source - https://docs.yscope.com/clp/main/dev-docs/design-clp-s-single-file-archive.html
    """

    class Compression(IntEnum):
        zstd = 0
    SEQ_FIELDS = ["header"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpS, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self.header = ClpS.FileHeader(self._io, self, self._root)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        _ = self.file_sections
        if hasattr(self, '_m_file_sections'):
            pass
            for i in range(len(self._m_file_sections)):
                pass
                self._m_file_sections[i]._fetch_instances()


        _ = self.files
        if hasattr(self, '_m_files'):
            pass

        _ = self.metadata
        if hasattr(self, '_m_metadata'):
            pass
            self._m_metadata._fetch_instances()

        _ = self.metadata_payload
        if hasattr(self, '_m_metadata_payload'):
            pass
            self._m_metadata_payload._fetch_instances()


    class FileHeader(KaitaiStruct):
        """The first 64 bytes.
        
        .. seealso::
           clp-s format description, Header section
        """
        SEQ_FIELDS = ["magic", "version", "len_original", "len_archive", "reserved1", "len_metadata", "compression_type", "reserved2"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_bytes(4)
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == b"\xFD\x2F\xC5\x30":
                raise kaitaistruct.ValidationNotEqualError(b"\xFD\x2F\xC5\x30", self.magic, self._io, u"/types/file_header/seq/0")
            self._debug['version']['start'] = self._io.pos()
            self.version = ClpS.Version(self._io, self, self._root)
            self.version._read()
            self._debug['version']['end'] = self._io.pos()
            self._debug['len_original']['start'] = self._io.pos()
            self.len_original = self._io.read_u8le()
            self._debug['len_original']['end'] = self._io.pos()
            self._debug['len_archive']['start'] = self._io.pos()
            self.len_archive = self._io.read_u8le()
            self._debug['len_archive']['end'] = self._io.pos()
            self._debug['reserved1']['start'] = self._io.pos()
            self.reserved1 = self._io.read_bytes(32)
            self._debug['reserved1']['end'] = self._io.pos()
            self._debug['len_metadata']['start'] = self._io.pos()
            self.len_metadata = self._io.read_u4le()
            self._debug['len_metadata']['end'] = self._io.pos()
            self._debug['compression_type']['start'] = self._io.pos()
            self.compression_type = KaitaiStream.resolve_enum(ClpS.Compression, self._io.read_u2le())
            self._debug['compression_type']['end'] = self._io.pos()
            self._debug['reserved2']['start'] = self._io.pos()
            self.reserved2 = self._io.read_u2le()
            self._debug['reserved2']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.version._fetch_instances()


    class FileSection(KaitaiStruct):
        """One section of the files part, found by its entry in the metadata."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.FileSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.body
            if hasattr(self, '_m_body'):
                pass
                _on = self.name
                if _on == u"/0":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/array.dict":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/log.dict":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/schema_ids":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/schema_tree":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/table_metadata":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/tables":
                    pass
                    self._m_body._fetch_instances()
                elif _on == u"/var.dict":
                    pass
                    self._m_body._fetch_instances()
                else:
                    pass


        @property
        def body(self):
            """Raw bytes when the section has a name that no version writes."""
            if hasattr(self, '_m_body'):
                return self._m_body

            io = self._root._io
            _pos = io.pos()
            io.seek(self._root.ofs_files + self.ofs_section)
            self._debug['_m_body']['start'] = io.pos()
            _on = self.name
            if _on == u"/0":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = zstd_frame.ZstdFrame(_io__raw__m_body)
                self._m_body._read()
            elif _on == u"/array.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
                self._m_body._read()
            elif _on == u"/log.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
                self._m_body._read()
            elif _on == u"/schema_ids":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.SchemaIdsSection(_io__raw__m_body, self, self._root)
                self._m_body._read()
            elif _on == u"/schema_tree":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.SchemaTreeSection(_io__raw__m_body, self, self._root)
                self._m_body._read()
            elif _on == u"/table_metadata":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.TableMetadataSection(_io__raw__m_body, self, self._root)
                self._m_body._read()
            elif _on == u"/tables":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = zstd_frame.ZstdFrame(_io__raw__m_body)
                self._m_body._read()
            elif _on == u"/var.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
                self._m_body._read()
            else:
                pass
                self._m_body = io.read_bytes(self.ofs_next - self.ofs_section)
            self._debug['_m_body']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_body', None)

        @property
        def entry(self):
            if hasattr(self, '_m_entry'):
                return self._m_entry

            self._m_entry = self._root.file_entries[self.idx]
            return getattr(self, '_m_entry', None)

        @property
        def name(self):
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = (self.entry.map_items[0].value.str_value if self.entry.map_items[0].key.str_value == u"n" else self.entry.map_items[1].value.str_value)
            return getattr(self, '_m_name', None)

        @property
        def next_entry(self):
            if hasattr(self, '_m_next_entry'):
                return self._m_next_entry

            if self.idx + 1 < len(self._root.file_entries):
                pass
                self._m_next_entry = self._root.file_entries[self.idx + 1]

            return getattr(self, '_m_next_entry', None)

        @property
        def ofs_next(self):
            if hasattr(self, '_m_ofs_next'):
                return self._m_ofs_next

            self._m_ofs_next = (self._root.header.len_archive - self._root.ofs_files if self.idx + 1 == len(self._root.file_entries) else (self.next_entry.map_items[1].value.uint_value if self.next_entry.map_items[0].key.str_value == u"n" else self.next_entry.map_items[0].value.uint_value))
            return getattr(self, '_m_ofs_next', None)

        @property
        def ofs_section(self):
            if hasattr(self, '_m_ofs_section'):
                return self._m_ofs_section

            self._m_ofs_section = (self.entry.map_items[1].value.uint_value if self.entry.map_items[0].key.str_value == u"n" else self.entry.map_items[0].value.uint_value)
            return getattr(self, '_m_ofs_section', None)


    class SchemaIdsSection(KaitaiStruct):
        """The schema map; its content too when it is stored uncompressed."""
        SEQ_FIELDS = ["compressed"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.SchemaIdsSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['compressed']['start'] = self._io.pos()
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)
            self.compressed._read()
            self._debug['compressed']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.compressed._fetch_instances()
            _ = self.payload
            if hasattr(self, '_m_payload'):
                pass
                self._m_payload._fetch_instances()


        @property
        def payload(self):
            if hasattr(self, '_m_payload'):
                return self._m_payload

            if self.compressed.is_stored:
                pass
                io = self.compressed.frames[0].body.blocks[0].content._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_payload']['start'] = io.pos()
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_schema_ids.ClpSSchemaIds(_io__raw__m_payload)
                self._m_payload._read()
                self._debug['_m_payload']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class SchemaTreeSection(KaitaiStruct):
        """The schema tree; its content too when it is stored uncompressed."""
        SEQ_FIELDS = ["compressed"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.SchemaTreeSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['compressed']['start'] = self._io.pos()
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)
            self.compressed._read()
            self._debug['compressed']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.compressed._fetch_instances()
            _ = self.payload
            if hasattr(self, '_m_payload'):
                pass
                self._m_payload._fetch_instances()


        @property
        def payload(self):
            if hasattr(self, '_m_payload'):
                return self._m_payload

            if self.compressed.is_stored:
                pass
                io = self.compressed.frames[0].body.blocks[0].content._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_payload']['start'] = io.pos()
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_schema_tree.ClpSSchemaTree(_io__raw__m_payload)
                self._m_payload._read()
                self._debug['_m_payload']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class TableMetadataSection(KaitaiStruct):
        """The table metadata; its content too when it is stored uncompressed."""
        SEQ_FIELDS = ["compressed"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.TableMetadataSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['compressed']['start'] = self._io.pos()
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)
            self.compressed._read()
            self._debug['compressed']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.compressed._fetch_instances()
            _ = self.payload
            if hasattr(self, '_m_payload'):
                pass
                self._m_payload._fetch_instances()


        @property
        def payload(self):
            if hasattr(self, '_m_payload'):
                return self._m_payload

            if self.compressed.is_stored:
                pass
                io = self.compressed.frames[0].body.blocks[0].content._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_payload']['start'] = io.pos()
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_table_metadata.ClpSTableMetadata(_io__raw__m_payload)
                self._m_payload._read()
                self._debug['_m_payload']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class Version(KaitaiStruct):
        """Version of the format. It decides the encoding of text (changed in
        0.4.0) and of timestamp patterns (changed in 0.5.0).
        """
        SEQ_FIELDS = ["patch", "minor", "major"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.Version, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['patch']['start'] = self._io.pos()
            self.patch = self._io.read_u2le()
            self._debug['patch']['end'] = self._io.pos()
            self._debug['minor']['start'] = self._io.pos()
            self.minor = self._io.read_u1()
            self._debug['minor']['end'] = self._io.pos()
            self._debug['major']['start'] = self._io.pos()
            self.major = self._io.read_u1()
            self._debug['major']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    @property
    def file_entries(self):
        """Names and offsets of the sections. The packet that holds them is the
        second in every archive known.
        """
        if hasattr(self, '_m_file_entries'):
            return self._m_file_entries

        if self.metadata.is_stored:
            pass
            self._m_file_entries = self.metadata_payload.packets[1].body.content.map_items[0].value.array_items

        return getattr(self, '_m_file_entries', None)

    @property
    def file_sections(self):
        if hasattr(self, '_m_file_sections'):
            return self._m_file_sections

        if self.metadata.is_stored:
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_files)
            self._debug['_m_file_sections']['start'] = self._io.pos()
            self._debug['_m_file_sections']['arr'] = []
            self._m_file_sections = []
            for i in range(self.num_file_sections):
                self._debug['_m_file_sections']['arr'].append({'start': self._io.pos()})
                _t__m_file_sections = ClpS.FileSection(i, self._io, self, self._root)
                try:
                    _t__m_file_sections._read()
                finally:
                    self._m_file_sections.append(_t__m_file_sections)
                self._debug['_m_file_sections']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_file_sections']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_file_sections', None)

    @property
    def files(self):
        """The sections, back to back."""
        if hasattr(self, '_m_files'):
            return self._m_files

        if (not (self.metadata.is_stored)):
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_files)
            self._debug['_m_files']['start'] = self._io.pos()
            self._m_files = self._io.read_bytes(self.header.len_archive - self.ofs_files)
            self._debug['_m_files']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_files', None)

    @property
    def metadata(self):
        if hasattr(self, '_m_metadata'):
            return self._m_metadata

        _pos = self._io.pos()
        self._io.seek(self.ofs_metadata)
        self._debug['_m_metadata']['start'] = self._io.pos()
        self._raw__m_metadata = self._io.read_bytes(self.header.len_metadata)
        _io__raw__m_metadata = KaitaiStream(BytesIO(self._raw__m_metadata))
        self._m_metadata = zstd_frame.ZstdFrame(_io__raw__m_metadata)
        self._m_metadata._read()
        self._debug['_m_metadata']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_metadata', None)

    @property
    def metadata_payload(self):
        """The metadata packets, in place, when they are stored uncompressed."""
        if hasattr(self, '_m_metadata_payload'):
            return self._m_metadata_payload

        if self.metadata.is_stored:
            pass
            io = self.metadata.frames[0].body.blocks[0].content._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_metadata_payload']['start'] = io.pos()
            self._raw__m_metadata_payload = io.read_bytes_full()
            _io__raw__m_metadata_payload = KaitaiStream(BytesIO(self._raw__m_metadata_payload))
            self._m_metadata_payload = clp_s_metadata.ClpSMetadata(_io__raw__m_metadata_payload)
            self._m_metadata_payload._read()
            self._debug['_m_metadata_payload']['end'] = io.pos()
            io.seek(_pos)

        return getattr(self, '_m_metadata_payload', None)

    @property
    def num_file_sections(self):
        if hasattr(self, '_m_num_file_sections'):
            return self._m_num_file_sections

        if self.metadata.is_stored:
            pass
            self._m_num_file_sections = len(self.file_entries)

        return getattr(self, '_m_num_file_sections', None)

    @property
    def ofs_files(self):
        if hasattr(self, '_m_ofs_files'):
            return self._m_ofs_files

        self._m_ofs_files = 64 + self.header.len_metadata
        return getattr(self, '_m_ofs_files', None)

    @property
    def ofs_metadata(self):
        if hasattr(self, '_m_ofs_metadata'):
            return self._m_ofs_metadata

        self._m_ofs_metadata = 64
        return getattr(self, '_m_ofs_metadata', None)


