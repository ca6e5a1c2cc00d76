# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSSchemaTree(KaitaiStruct):
    """The merged parse tree: every key path and value type that occurs in any
    record of the archive. A node is numbered by its position and comes after
    its parent. Read from the source code of clp-s; the format description
    leaves this section open.
    
    .. seealso::
       SchemaTree - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """

    class NodeType(IntEnum):
        integer = 0
        float = 1
        clp_string = 2
        var_string = 3
        boolean = 4
        object = 5
        unstructured_array = 6
        null_value = 7
        date_string = 8
        structured_array = 9
        metadata = 10
        delta_integer = 11
        formatted_float = 12
        dictionary_float = 13
        timestamp = 14
        unknown = 255
    SEQ_FIELDS = ["num_nodes", "nodes"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSSchemaTree, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['num_nodes']['start'] = self._io.pos()
        self.num_nodes = self._io.read_u8le()
        self._debug['num_nodes']['end'] = self._io.pos()
        if not self.num_nodes <= ((self._io.size() - self._io.pos()) // 13):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 13), self.num_nodes, self._io, u"/seq/0")
        self._debug['nodes']['start'] = self._io.pos()
        self._debug['nodes']['arr'] = []
        self.nodes = []
        if not self._io.passes(self, 'nodes', lambda i, io: ClpSSchemaTree.Node(io, self, self._root), times=self.num_nodes):
            for i in range(self.num_nodes):
                self._debug['nodes']['arr'].append({'start': self._io.pos()})
                _t_nodes = ClpSSchemaTree.Node(self._io, self, self._root)
                try:
                    _t_nodes._read()
                finally:
                    self.nodes.append(_t_nodes)
                self._debug['nodes']['arr'][i]['end'] = self._io.pos()

        self._debug['nodes']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.nodes)):
            pass
            self.nodes[i]._fetch_instances()


    class Node(KaitaiStruct):
        """One key below its parent, with the type of its values."""
        SEQ_FIELDS = ["parent_id", "len_key", "key", "type"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSSchemaTree.Node, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['parent_id']['start'] = self._io.pos()
            self.parent_id = self._io.read_s4le()
            self._debug['parent_id']['end'] = self._io.pos()
            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = self._io.read_u8le()
            self._debug['len_key']['end'] = self._io.pos()
            if not self.len_key <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_key, self._io, u"/types/node/seq/1")
            self._debug['key']['start'] = self._io.pos()
            self.key = self._io.read_bytes(self.len_key)
            self._debug['key']['end'] = self._io.pos()
            self._debug['type']['start'] = self._io.pos()
            self.type = KaitaiStream.resolve_enum(ClpSSchemaTree.NodeType, self._io.read_u1())
            self._debug['type']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def name(self):
            """The key as text."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = (self.key).decode(u"UTF-8")
            return getattr(self, '_m_name', None)

        @property
        def path(self):
            """The keys from the root down to this one, joined by dots."""
            if hasattr(self, '_m_path'):
                return self._m_path

            self._m_path = (self.name if self.parent_id < 0 else (self._parent.nodes[self.parent_id].path + self.name if self._parent.nodes[self.parent_id].parent_id < 0 else (self._parent.nodes[self.parent_id].path + u".") + self.name))
            return getattr(self, '_m_path', None)



