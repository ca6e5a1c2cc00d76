# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import ark_rbuf


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ArkManifest(KaitaiStruct):
    """The object ark::logging::Manifest: which split files make up a log, which
    channels they contain and what a query of them may see. It is the content of a
    serializable file.
    
    The layout of `query` and of `split_declaration` is not published; what is
    here is what this project writes. A manifest of another writer carries its
    own registry, which is then correct for these two.
    
    .. seealso::
       Manifest File Format - https://ark.tbdrobotics.com/docs/overviews/logging/format/
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkManifest, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
        self.log_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
        self.common_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
        self.name = ark_rbuf.ArkRbuf.Text(self._io)
        self.num_v1_columns = self._io.read_u4le()
        if not self.num_v1_columns <= self._io.size() - self._io.pos():
            raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_v1_columns, self._io, u"/seq/4")
        self.v1_columns = []
        for i in range(self.num_v1_columns):
            self.v1_columns.append(ArkManifest.ColumnDeclaration(self._io, self, self._root))

        if self.header.groups_follow:
            pass
            self.groups = []
            i = 0
            while True:
                _ = ArkManifest.Group(self._io, self, self._root)
                self.groups.append(_)
                if (not (_.header.has_more)):
                    break
                i += 1



    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        self.log_identifier._fetch_instances()
        self.common_identifier._fetch_instances()
        self.name._fetch_instances()
        for i in range(len(self.v1_columns)):
            pass
            self.v1_columns[i]._fetch_instances()

        if self.header.groups_follow:
            pass
            for i in range(len(self.groups)):
                pass
                self.groups[i]._fetch_instances()



    class ColumnDeclaration(KaitaiStruct):
        """The object ark::logging::ColumnDeclaration: channels that share split
        files and a compression type.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ColumnDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.name = ark_rbuf.ArkRbuf.Text(self._io)
            self.compression_type = ark_rbuf.ArkRbuf.Text(self._io)
            self.num_object_types = self._io.read_u4le()
            if not self.num_object_types <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_object_types, self._io, u"/types/column_declaration/seq/3")
            self.object_types = []
            for i in range(self.num_object_types):
                self.object_types.append(ArkManifest.ObjectDeclaration(self._io, self, self._root))

            self.num_splits = self._io.read_u4le()
            if not self.num_splits <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_splits, self._io, u"/types/column_declaration/seq/5")
            self.splits = []
            for i in range(self.num_splits):
                self.splits.append(ArkManifest.SplitDeclaration(self._io, self, self._root))

            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.name._fetch_instances()
            self.compression_type._fetch_instances()
            for i in range(len(self.object_types)):
                pass
                self.object_types[i]._fetch_instances()

            for i in range(len(self.splits)):
                pass
                self.splits[i]._fetch_instances()

            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class Group(KaitaiStruct):
        """A group of the manifest; other numbers than 0 and 1 are kept as bytes."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Group, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.GroupHeader(self._io)
            _on = self.header.number
            if _on == 0:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.SectionList(_io__raw_body, self, self._root)
            elif _on == 1:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.Metadata(_io__raw_body, self, self._root)
            else:
                pass
                self.body = self._io.read_bytes(self.header.len_body)


        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            _on = self.header.number
            if _on == 0:
                pass
                self.body._fetch_instances()
            elif _on == 1:
                pass
                self.body._fetch_instances()
            else:
                pass


    class Latching(KaitaiStruct):
        """Group 0: whether the channel is latched."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Latching, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.latched = self._io.read_u1()


        def _fetch_instances(self):
            pass


    class Metadata(KaitaiStruct):
        """The object ark::logging::LogMetadataEntries."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Metadata, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.num_entries = self._io.read_u4le()
            if not self.num_entries <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_entries, self._io, u"/types/metadata/seq/1")
            self.entries = []
            for i in range(self.num_entries):
                self.entries.append(ArkManifest.MetadataEntry(self._io, self, self._root))

            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()

            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class MetadataEntry(KaitaiStruct):
        """One key with its value."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.MetadataEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key = ark_rbuf.ArkRbuf.Text(self._io)
            self.value = ark_rbuf.ArkRbuf.Text(self._io)


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


    class ObjectDeclaration(KaitaiStruct):
        """The object ark::logging::ObjectDeclaration: one channel."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ObjectDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.name = ark_rbuf.ArkRbuf.Text(self._io)
            self.type_identifier = ark_rbuf.ArkRbuf.Text(self._io)
            self.identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.schema_registry = ark_rbuf.ArkRbuf.Text(self._io)
            if self.header.groups_follow:
                pass
                self.groups = []
                i = 0
                while True:
                    _ = ArkManifest.ObjectGroup(self._io, self, self._root)
                    self.groups.append(_)
                    if (not (_.header.has_more)):
                        break
                    i += 1



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.name._fetch_instances()
            self.type_identifier._fetch_instances()
            self.identifier._fetch_instances()
            self.schema_registry._fetch_instances()
            if self.header.groups_follow:
                pass
                for i in range(len(self.groups)):
                    pass
                    self.groups[i]._fetch_instances()




    class ObjectGroup(KaitaiStruct):
        """A group of an object declaration."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ObjectGroup, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.GroupHeader(self._io)
            _on = self.header.number
            if _on == 0:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.Latching(_io__raw_body, self, self._root)
            else:
                pass
                self.body = self._io.read_bytes(self.header.len_body)


        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            _on = self.header.number
            if _on == 0:
                pass
                self.body._fetch_instances()
            else:
                pass


    class Query(KaitaiStruct):
        """The object ark::logging::Query: what the following sections may show.
        An empty allow list allows all channels.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Query, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.minimum_time = ark_rbuf.ArkRbuf.OptionalTime(self._io)
            self.maximum_time = ark_rbuf.ArkRbuf.OptionalTime(self._io)
            self.message_allow_list = ark_rbuf.ArkRbuf.StringList(self._io)
            self.message_deny_list = ark_rbuf.ArkRbuf.StringList(self._io)
            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.minimum_time._fetch_instances()
            self.maximum_time._fetch_instances()
            self.message_allow_list._fetch_instances()
            self.message_deny_list._fetch_instances()
            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class Section(KaitaiStruct):
        """The object ark::logging::ManifestSection."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Section, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.num_columns = self._io.read_u4le()
            if not self.num_columns <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_columns, self._io, u"/types/section/seq/1")
            self.columns = []
            for i in range(self.num_columns):
                self.columns.append(ArkManifest.ColumnDeclaration(self._io, self, self._root))

            self.original_log_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.acceptance_filter = ArkManifest.Query(self._io, self, self._root)
            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            for i in range(len(self.columns)):
                pass
                self.columns[i]._fetch_instances()

            self.original_log_identifier._fetch_instances()
            self.acceptance_filter._fetch_instances()
            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class SectionList(KaitaiStruct):
        """Group 0: the sections of the log."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SectionList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_sections = self._io.read_u4le()
            if not self.num_sections <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_sections, self._io, u"/types/section_list/seq/0")
            self.sections = []
            for i in range(self.num_sections):
                self.sections.append(ArkManifest.Section(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.sections)):
                pass
                self.sections[i]._fetch_instances()



    class SplitDeclaration(KaitaiStruct):
        """The object ark::logging::SplitDeclaration: one split file."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SplitDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.num_statistics = self._io.read_u4le()
            if not self.num_statistics <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_statistics, self._io, u"/types/split_declaration/seq/2")
            self.statistics = []
            for i in range(self.num_statistics):
                self.statistics.append(ArkManifest.SplitObjectStatistics(self._io, self, self._root))

            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.identifier._fetch_instances()
            for i in range(len(self.statistics)):
                pass
                self.statistics[i]._fetch_instances()

            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class SplitObjectStatistics(KaitaiStruct):
        """Number and size of the messages of one channel in a split file."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SplitObjectStatistics, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.object_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.num_items = self._io.read_u8le()
            self.num_bytes = self._io.read_u8le()
            self.minimum_time = self._io.read_u8le()
            self.maximum_time = self._io.read_u8le()
            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.object_identifier._fetch_instances()
            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()




