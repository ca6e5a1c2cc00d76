# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import ark_manifest
from . import ark_rbuf
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ArkSerializableFile(KaitaiStruct):
    """An rbuf object in a file of its own, followed by a trailer with the name and
    the schema registry of its type. The manifests of logs are such files.
    
    To be parsed from the end. A file without the magic holds nothing but the
    object.
    
    .. seealso::
       Manifest File Format - https://ark.tbdrobotics.com/docs/overviews/logging/format/
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkSerializableFile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.content
        if hasattr(self, '_m_content'):
            pass

        _ = self.footer
        if hasattr(self, '_m_footer'):
            pass
            self._m_footer._fetch_instances()

        _ = self.manifest
        if hasattr(self, '_m_manifest'):
            pass
            self._m_manifest._fetch_instances()

        _ = self.trailer
        if hasattr(self, '_m_trailer'):
            pass
            self._m_trailer._fetch_instances()


    class FileFooter(KaitaiStruct):
        """The last 29 bytes of the file."""
        SEQ_FIELDS = ["len_trailer", "len_content", "version", "magic"]
        def __init__(self, len_before, _io, _parent=None, _root=None):
            super(ArkSerializableFile.FileFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_before = len_before
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_trailer']['start'] = self._io.pos()
            self.len_trailer = self._io.read_u4le()
            self._debug['len_trailer']['end'] = self._io.pos()
            if not self.len_trailer <= self.len_before:
                raise kaitaistruct.ValidationGreaterThanError(self.len_before, self.len_trailer, self._io, u"/types/file_footer/seq/0")
            self._debug['len_content']['start'] = self._io.pos()
            self.len_content = self._io.read_u8le()
            self._debug['len_content']['end'] = self._io.pos()
            if not self.len_content <= self.len_before - self.len_trailer:
                raise kaitaistruct.ValidationGreaterThanError(self.len_before - self.len_trailer, self.len_content, self._io, u"/types/file_footer/seq/1")
            self._debug['version']['start'] = self._io.pos()
            self.version = self._io.read_u1()
            self._debug['version']['end'] = self._io.pos()
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_bytes(16)
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == b"\xB6\x48\xF0\xE8\xFC\xE9\xEB\x53\x1F\xEA\x4C\x6B\x29\xAB\x81\xBC":
                raise kaitaistruct.ValidationNotEqualError(b"\xB6\x48\xF0\xE8\xFC\xE9\xEB\x53\x1F\xEA\x4C\x6B\x29\xAB\x81\xBC", self.magic, self._io, u"/types/file_footer/seq/3")


        def _fetch_instances(self):
            pass


    class FileTrailer(KaitaiStruct):
        """What the content is, for readers that know nothing of it."""
        SEQ_FIELDS = ["type_name", "schema_registry"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSerializableFile.FileTrailer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['type_name']['start'] = self._io.pos()
            self.type_name = ark_rbuf.ArkRbuf.Text(self._io)
            self.type_name._read()
            self._debug['type_name']['end'] = self._io.pos()
            self._debug['schema_registry']['start'] = self._io.pos()
            self.schema_registry = ark_rbuf.ArkRbuf.Text(self._io)
            self.schema_registry._read()
            self._debug['schema_registry']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.type_name._fetch_instances()
            self.schema_registry._fetch_instances()


    @property
    def content(self):
        """The object, from its header byte on."""
        if hasattr(self, '_m_content'):
            return self._m_content

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_content']['start'] = self._io.pos()
        self._m_content = self._io.read_bytes(self.footer.len_content)
        self._debug['_m_content']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_content', None)

    @property
    def footer(self):
        if hasattr(self, '_m_footer'):
            return self._m_footer

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 29)
        self._debug['_m_footer']['start'] = self._io.pos()
        self._m_footer = ArkSerializableFile.FileFooter((self._io.size() - 29), self._io, self, self._root)
        self._m_footer._read()
        self._debug['_m_footer']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_footer', None)

    @property
    def manifest(self):
        """The same bytes, when the trailer calls them a log manifest."""
        if hasattr(self, '_m_manifest'):
            return self._m_manifest

        if  ((self.footer.len_trailer > 0) and (self.trailer.type_name.value == u"ark::logging::Manifest")) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_manifest']['start'] = self._io.pos()
            self._raw__m_manifest = self._io.read_bytes(self.footer.len_content)
            _io__raw__m_manifest = KaitaiStream(BytesIO(self._raw__m_manifest))
            self._m_manifest = ark_manifest.ArkManifest(_io__raw__m_manifest)
            self._m_manifest._read()
            self._debug['_m_manifest']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_manifest', None)

    @property
    def trailer(self):
        """Absent when the writer embedded no schema."""
        if hasattr(self, '_m_trailer'):
            return self._m_trailer

        if self.footer.len_trailer > 0:
            pass
            _pos = self._io.pos()
            self._io.seek(self.footer.len_content)
            self._debug['_m_trailer']['start'] = self._io.pos()
            self._raw__m_trailer = self._io.read_bytes(self.footer.len_trailer)
            _io__raw__m_trailer = KaitaiStream(BytesIO(self._raw__m_trailer))
            self._m_trailer = ArkSerializableFile.FileTrailer(_io__raw__m_trailer, self, self._root)
            self._m_trailer._read()
            self._debug['_m_trailer']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_trailer', None)


