# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import ark_rbuf
import collections


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
    SEQ_FIELDS = ["header", "log_identifier", "common_identifier", "name", "num_v1_columns", "v1_columns", "groups"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkManifest, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()
        self._debug['log_identifier']['start'] = self._io.pos()
        self.log_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
        self.log_identifier._read()
        self._debug['log_identifier']['end'] = self._io.pos()
        self._debug['common_identifier']['start'] = self._io.pos()
        self.common_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
        self.common_identifier._read()
        self._debug['common_identifier']['end'] = self._io.pos()
        self._debug['name']['start'] = self._io.pos()
        self.name = ark_rbuf.ArkRbuf.Text(self._io)
        self.name._read()
        self._debug['name']['end'] = self._io.pos()
        self._debug['num_v1_columns']['start'] = self._io.pos()
        self.num_v1_columns = self._io.read_u4le()
        self._debug['num_v1_columns']['end'] = self._io.pos()
        if not self.num_v1_columns <= self._io.size() - self._io.pos():
            raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_v1_columns, self._io, u"/seq/4")
        self._debug['v1_columns']['start'] = self._io.pos()
        self._debug['v1_columns']['arr'] = []
        self.v1_columns = []
        if not self._io.passes(self, 'v1_columns', lambda i, io: ArkManifest.ColumnDeclaration(io, self, self._root), times=self.num_v1_columns):
            for i in range(self.num_v1_columns):
                self._debug['v1_columns']['arr'].append({'start': self._io.pos()})
                _t_v1_columns = ArkManifest.ColumnDeclaration(self._io, self, self._root)
                try:
                    _t_v1_columns._read()
                finally:
                    self.v1_columns.append(_t_v1_columns)
                self._debug['v1_columns']['arr'][i]['end'] = self._io.pos()

        self._debug['v1_columns']['end'] = self._io.pos()
        if self.header.groups_follow:
            pass
            self._debug['groups']['start'] = self._io.pos()
            self._debug['groups']['arr'] = []
            self.groups = []
            if not self._io.passes(self, 'groups', lambda i, io: ArkManifest.Group(io, self, self._root), until=lambda _, io: (not (_.header.has_more))):
                i = 0
                while True:
                    self._debug['groups']['arr'].append({'start': self._io.pos()})
                    _t_groups = ArkManifest.Group(self._io, self, self._root)
                    try:
                        _t_groups._read()
                    finally:
                        _ = _t_groups
                        self.groups.append(_)
                    self._debug['groups']['arr'][len(self.groups) - 1]['end'] = self._io.pos()
                    if (not (_.header.has_more)):
                        break
                    i += 1
            self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["header", "name", "compression_type", "num_object_types", "object_types", "num_splits", "splits", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ColumnDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['name']['start'] = self._io.pos()
            self.name = ark_rbuf.ArkRbuf.Text(self._io)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['compression_type']['start'] = self._io.pos()
            self.compression_type = ark_rbuf.ArkRbuf.Text(self._io)
            self.compression_type._read()
            self._debug['compression_type']['end'] = self._io.pos()
            self._debug['num_object_types']['start'] = self._io.pos()
            self.num_object_types = self._io.read_u4le()
            self._debug['num_object_types']['end'] = self._io.pos()
            if not self.num_object_types <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_object_types, self._io, u"/types/column_declaration/seq/3")
            self._debug['object_types']['start'] = self._io.pos()
            self._debug['object_types']['arr'] = []
            self.object_types = []
            if not self._io.passes(self, 'object_types', lambda i, io: ArkManifest.ObjectDeclaration(io, self, self._root), times=self.num_object_types):
                for i in range(self.num_object_types):
                    self._debug['object_types']['arr'].append({'start': self._io.pos()})
                    _t_object_types = ArkManifest.ObjectDeclaration(self._io, self, self._root)
                    try:
                        _t_object_types._read()
                    finally:
                        self.object_types.append(_t_object_types)
                    self._debug['object_types']['arr'][i]['end'] = self._io.pos()

            self._debug['object_types']['end'] = self._io.pos()
            self._debug['num_splits']['start'] = self._io.pos()
            self.num_splits = self._io.read_u4le()
            self._debug['num_splits']['end'] = self._io.pos()
            if not self.num_splits <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_splits, self._io, u"/types/column_declaration/seq/5")
            self._debug['splits']['start'] = self._io.pos()
            self._debug['splits']['arr'] = []
            self.splits = []
            if not self._io.passes(self, 'splits', lambda i, io: ArkManifest.SplitDeclaration(io, self, self._root), times=self.num_splits):
                for i in range(self.num_splits):
                    self._debug['splits']['arr'].append({'start': self._io.pos()})
                    _t_splits = ArkManifest.SplitDeclaration(self._io, self, self._root)
                    try:
                        _t_splits._read()
                    finally:
                        self.splits.append(_t_splits)
                    self._debug['splits']['arr'][i]['end'] = self._io.pos()

            self._debug['splits']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["header", "body"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Group, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.GroupHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['body']['start'] = self._io.pos()
            _on = self.header.number
            if _on == 0:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.SectionList(_io__raw_body, self, self._root)
                self.body._read()
            elif _on == 1:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.Metadata(_io__raw_body, self, self._root)
                self.body._read()
            else:
                pass
                self.body = self._io.read_bytes(self.header.len_body)
            self._debug['body']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["latched"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Latching, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['latched']['start'] = self._io.pos()
            self.latched = self._io.read_u1()
            self._debug['latched']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Metadata(KaitaiStruct):
        """The object ark::logging::LogMetadataEntries."""
        SEQ_FIELDS = ["header", "num_entries", "entries", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Metadata, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['num_entries']['start'] = self._io.pos()
            self.num_entries = self._io.read_u4le()
            self._debug['num_entries']['end'] = self._io.pos()
            if not self.num_entries <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_entries, self._io, u"/types/metadata/seq/1")
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: ArkManifest.MetadataEntry(io, self, self._root), times=self.num_entries):
                for i in range(self.num_entries):
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    _t_entries = ArkManifest.MetadataEntry(self._io, self, self._root)
                    try:
                        _t_entries._read()
                    finally:
                        self.entries.append(_t_entries)
                    self._debug['entries']['arr'][i]['end'] = self._io.pos()

            self._debug['entries']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["key", "value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.MetadataEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ark_rbuf.ArkRbuf.Text(self._io)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = ark_rbuf.ArkRbuf.Text(self._io)
            self.value._read()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


    class ObjectDeclaration(KaitaiStruct):
        """The object ark::logging::ObjectDeclaration: one channel."""
        SEQ_FIELDS = ["header", "name", "type_identifier", "identifier", "schema_registry", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ObjectDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['name']['start'] = self._io.pos()
            self.name = ark_rbuf.ArkRbuf.Text(self._io)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['type_identifier']['start'] = self._io.pos()
            self.type_identifier = ark_rbuf.ArkRbuf.Text(self._io)
            self.type_identifier._read()
            self._debug['type_identifier']['end'] = self._io.pos()
            self._debug['identifier']['start'] = self._io.pos()
            self.identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.identifier._read()
            self._debug['identifier']['end'] = self._io.pos()
            self._debug['schema_registry']['start'] = self._io.pos()
            self.schema_registry = ark_rbuf.ArkRbuf.Text(self._io)
            self.schema_registry._read()
            self._debug['schema_registry']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self._debug['groups']['arr'] = []
                self.groups = []
                if not self._io.passes(self, 'groups', lambda i, io: ArkManifest.ObjectGroup(io, self, self._root), until=lambda _, io: (not (_.header.has_more))):
                    i = 0
                    while True:
                        self._debug['groups']['arr'].append({'start': self._io.pos()})
                        _t_groups = ArkManifest.ObjectGroup(self._io, self, self._root)
                        try:
                            _t_groups._read()
                        finally:
                            _ = _t_groups
                            self.groups.append(_)
                        self._debug['groups']['arr'][len(self.groups) - 1]['end'] = self._io.pos()
                        if (not (_.header.has_more)):
                            break
                        i += 1
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["header", "body"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.ObjectGroup, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.GroupHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['body']['start'] = self._io.pos()
            _on = self.header.number
            if _on == 0:
                pass
                self._raw_body = self._io.read_bytes(self.header.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = ArkManifest.Latching(_io__raw_body, self, self._root)
                self.body._read()
            else:
                pass
                self.body = self._io.read_bytes(self.header.len_body)
            self._debug['body']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["header", "minimum_time", "maximum_time", "message_allow_list", "message_deny_list", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Query, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['minimum_time']['start'] = self._io.pos()
            self.minimum_time = ark_rbuf.ArkRbuf.OptionalTime(self._io)
            self.minimum_time._read()
            self._debug['minimum_time']['end'] = self._io.pos()
            self._debug['maximum_time']['start'] = self._io.pos()
            self.maximum_time = ark_rbuf.ArkRbuf.OptionalTime(self._io)
            self.maximum_time._read()
            self._debug['maximum_time']['end'] = self._io.pos()
            self._debug['message_allow_list']['start'] = self._io.pos()
            self.message_allow_list = ark_rbuf.ArkRbuf.StringList(self._io)
            self.message_allow_list._read()
            self._debug['message_allow_list']['end'] = self._io.pos()
            self._debug['message_deny_list']['start'] = self._io.pos()
            self.message_deny_list = ark_rbuf.ArkRbuf.StringList(self._io)
            self.message_deny_list._read()
            self._debug['message_deny_list']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["header", "num_columns", "columns", "original_log_identifier", "acceptance_filter", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.Section, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['num_columns']['start'] = self._io.pos()
            self.num_columns = self._io.read_u4le()
            self._debug['num_columns']['end'] = self._io.pos()
            if not self.num_columns <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_columns, self._io, u"/types/section/seq/1")
            self._debug['columns']['start'] = self._io.pos()
            self._debug['columns']['arr'] = []
            self.columns = []
            if not self._io.passes(self, 'columns', lambda i, io: ArkManifest.ColumnDeclaration(io, self, self._root), times=self.num_columns):
                for i in range(self.num_columns):
                    self._debug['columns']['arr'].append({'start': self._io.pos()})
                    _t_columns = ArkManifest.ColumnDeclaration(self._io, self, self._root)
                    try:
                        _t_columns._read()
                    finally:
                        self.columns.append(_t_columns)
                    self._debug['columns']['arr'][i]['end'] = self._io.pos()

            self._debug['columns']['end'] = self._io.pos()
            self._debug['original_log_identifier']['start'] = self._io.pos()
            self.original_log_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.original_log_identifier._read()
            self._debug['original_log_identifier']['end'] = self._io.pos()
            self._debug['acceptance_filter']['start'] = self._io.pos()
            self.acceptance_filter = ArkManifest.Query(self._io, self, self._root)
            self.acceptance_filter._read()
            self._debug['acceptance_filter']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["num_sections", "sections"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SectionList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_sections']['start'] = self._io.pos()
            self.num_sections = self._io.read_u4le()
            self._debug['num_sections']['end'] = self._io.pos()
            if not self.num_sections <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_sections, self._io, u"/types/section_list/seq/0")
            self._debug['sections']['start'] = self._io.pos()
            self._debug['sections']['arr'] = []
            self.sections = []
            if not self._io.passes(self, 'sections', lambda i, io: ArkManifest.Section(io, self, self._root), times=self.num_sections):
                for i in range(self.num_sections):
                    self._debug['sections']['arr'].append({'start': self._io.pos()})
                    _t_sections = ArkManifest.Section(self._io, self, self._root)
                    try:
                        _t_sections._read()
                    finally:
                        self.sections.append(_t_sections)
                    self._debug['sections']['arr'][i]['end'] = self._io.pos()

            self._debug['sections']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.sections)):
                pass
                self.sections[i]._fetch_instances()



    class SplitDeclaration(KaitaiStruct):
        """The object ark::logging::SplitDeclaration: one split file."""
        SEQ_FIELDS = ["header", "identifier", "num_statistics", "statistics", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SplitDeclaration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['identifier']['start'] = self._io.pos()
            self.identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.identifier._read()
            self._debug['identifier']['end'] = self._io.pos()
            self._debug['num_statistics']['start'] = self._io.pos()
            self.num_statistics = self._io.read_u4le()
            self._debug['num_statistics']['end'] = self._io.pos()
            if not self.num_statistics <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.num_statistics, self._io, u"/types/split_declaration/seq/2")
            self._debug['statistics']['start'] = self._io.pos()
            self._debug['statistics']['arr'] = []
            self.statistics = []
            if not self._io.passes(self, 'statistics', lambda i, io: ArkManifest.SplitObjectStatistics(io, self, self._root), times=self.num_statistics):
                for i in range(self.num_statistics):
                    self._debug['statistics']['arr'].append({'start': self._io.pos()})
                    _t_statistics = ArkManifest.SplitObjectStatistics(self._io, self, self._root)
                    try:
                        _t_statistics._read()
                    finally:
                        self.statistics.append(_t_statistics)
                    self._debug['statistics']['arr'][i]['end'] = self._io.pos()

            self._debug['statistics']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["header", "object_identifier", "num_items", "num_bytes", "minimum_time", "maximum_time", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkManifest.SplitObjectStatistics, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['object_identifier']['start'] = self._io.pos()
            self.object_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.object_identifier._read()
            self._debug['object_identifier']['end'] = self._io.pos()
            self._debug['num_items']['start'] = self._io.pos()
            self.num_items = self._io.read_u8le()
            self._debug['num_items']['end'] = self._io.pos()
            self._debug['num_bytes']['start'] = self._io.pos()
            self.num_bytes = self._io.read_u8le()
            self._debug['num_bytes']['end'] = self._io.pos()
            self._debug['minimum_time']['start'] = self._io.pos()
            self.minimum_time = self._io.read_u8le()
            self._debug['minimum_time']['end'] = self._io.pos()
            self._debug['maximum_time']['start'] = self._io.pos()
            self.maximum_time = self._io.read_u8le()
            self._debug['maximum_time']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.object_identifier._fetch_instances()
            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()




