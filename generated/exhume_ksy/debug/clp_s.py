# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import clp_s_table
from . import clp_s_metadata
from . import clp_s_table_metadata
from . import clp_s_schema_ids
from . import clp_s_schema_tree
from . import clp_s_dictionary
from . import zstd_frame
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpS(KaitaiStruct):
    """JSON logs, compressed by column and searchable. A fixed header, a compressed
    stream of metadata packets, then sections that are compressed one by one.
    
    The offsets of the sections are in MessagePack inside the compressed
    metadata. An archive whose payloads are stored (zstd raw blocks) therefore
    shows everything in place, every table by its columns; of any other archive
    this schema shows the frames, and the `clp_s_*` schemas of the payloads take
    the decompressed bytes. A stored dictionary or structure of more than one
    block (128 KiB) shows its blocks only.
    
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

        _ = self.sections
        if hasattr(self, '_m_sections'):
            pass
            for i in range(len(self._m_sections)):
                pass
                self._m_sections[i]._fetch_instances()


        _ = self.tables
        if hasattr(self, '_m_tables'):
            pass
            for i in range(len(self._m_tables)):
                pass
                self._m_tables[i]._fetch_instances()



    class Column(KaitaiStruct):
        """The values of one key. Objects, nulls and the marks of structured arrays
        have none.
        """
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Column, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.content
            if hasattr(self, '_m_content'):
                pass
                _on = self.type_number
                if _on == 0:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 1:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 11:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 12:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 13:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 14:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 2:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 3:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 4:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 6:
                    pass
                    self._m_content._fetch_instances()
                elif _on == 8:
                    pass
                    self._m_content._fetch_instances()
                else:
                    pass

            _ = self.num_variables
            if hasattr(self, '_m_num_variables'):
                pass
                self._m_num_variables._fetch_instances()

            _ = self.pieces
            if hasattr(self, '_m_pieces'):
                pass
                for i in range(len(self._m_pieces)):
                    pass
                    self._m_pieces[i]._fetch_instances()


            _ = self.words
            if hasattr(self, '_m_words'):
                pass
                for i in range(len(self._m_words)):
                    pass
                    self._m_words[i]._fetch_instances()



        @property
        def content(self):
            """All values, where no block ends among them; never raw bytes."""
            if hasattr(self, '_m_content'):
                return self._m_content

            if  ((self.is_inside) and ((not (self.is_split)))) :
                pass
                io = self._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
                _pos = io.pos()
                io.seek(self.ofs_column % self._parent.stream.len_block)
                self._debug['_m_content']['start'] = io.pos()
                _on = self.type_number
                if _on == 0:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IntegerColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 1:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.FloatColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 11:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IntegerColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 12:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.FormattedFloatColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 13:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IdColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 14:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.TimestampColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 2:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.ClpColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 3:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IdColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 4:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.BooleanColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 6:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.ClpColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                elif _on == 8:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.DateColumn(self._parent.num_messages, _io__raw__m_content)
                    self._m_content._read()
                else:
                    pass
                    self._m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                self._debug['_m_content']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_content', None)

        @property
        def is_inside(self):
            """There are values, and they do not pass the end of the stream."""
            if hasattr(self, '_m_is_inside'):
                return self._m_is_inside

            self._m_is_inside =  ((self.ofs_after > self.ofs_column) and (self.ofs_after <= self._root.table_metadata.streams[self._parent.stream.idx].len_uncompressed)) 
            return getattr(self, '_m_is_inside', None)

        @property
        def is_leaf(self):
            if hasattr(self, '_m_is_leaf'):
                return self._m_is_leaf

            self._m_is_leaf =  ((self.idx < self._root.schema_map.schemas[len(self._parent.search) - 1].num_ordered) or ((not (self._root.schema_map.schemas[len(self._parent.search) - 1].entries[self.idx].is_marker)))) 
            return getattr(self, '_m_is_leaf', None)

        @property
        def is_split(self):
            """The column contains block headers."""
            if hasattr(self, '_m_is_split'):
                return self._m_is_split

            self._m_is_split =  ((self.is_inside) and ((self.ofs_after - 1) // self._parent.stream.len_block > self.num_block)) 
            return getattr(self, '_m_is_split', None)

        @property
        def is_text(self):
            if hasattr(self, '_m_is_text'):
                return self._m_is_text

            self._m_is_text =  ((self.type_number == 2) or (self.type_number == 6)) 
            return getattr(self, '_m_is_text', None)

        @property
        def key(self):
            """The keys from the root of the records down to this one; empty for a mark."""
            if hasattr(self, '_m_key'):
                return self._m_key

            self._m_key = (self._root.schema_tree.nodes[self.node_id].path if self.is_leaf else u"")
            return getattr(self, '_m_key', None)

        @property
        def len_row(self):
            """Bytes that each record has in the column; those of text have variables besides."""
            if hasattr(self, '_m_len_row'):
                return self._m_len_row

            self._m_len_row = (1 if self.type_number == 4 else (10 if self.type_number == 12 else (16 if  ((self.type_number == 8) or (self.type_number == 14))  else (8 if  ((self.type_number <= 3) or (self.type_number == 6) or (self.type_number == 11) or (self.type_number == 13))  else 0))))
            return getattr(self, '_m_len_row', None)

        @property
        def node_id(self):
            """The node of the schema tree whose values these are."""
            if hasattr(self, '_m_node_id'):
                return self._m_node_id

            self._m_node_id = self._root.schema_map.schemas[len(self._parent.search) - 1].entries[self.idx].value
            return getattr(self, '_m_node_id', None)

        @property
        def num_block(self):
            if hasattr(self, '_m_num_block'):
                return self._m_num_block

            self._m_num_block = (self.ofs_column // self._parent.stream.len_block)
            return getattr(self, '_m_num_block', None)

        @property
        def num_variables(self):
            if hasattr(self, '_m_num_variables'):
                return self._m_num_variables

            if self.is_text:
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_num_variables']['start'] = self._io.pos()
                self._m_num_variables = ClpS.Word(self.ofs_column + 8 * self._parent.num_messages, False, self._io, self, self._root)
                self._m_num_variables._read()
                self._debug['_m_num_variables']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_num_variables', None)

        @property
        def num_words(self):
            if hasattr(self, '_m_num_words'):
                return self._m_num_words

            self._m_num_words = (0 if  (((not (self.is_split))) or (self.type_number == 4))  else (self._parent.num_messages if self.type_number == 12 else (self.ofs_after - self.ofs_column) // 8))
            return getattr(self, '_m_num_words', None)

        @property
        def ofs_after(self):
            """Where the next column starts."""
            if hasattr(self, '_m_ofs_after'):
                return self._m_ofs_after

            self._m_ofs_after = ((self.ofs_column + self.len_row * self._parent.num_messages) + (8 + 8 * self.num_variables.integer if self.is_text else 0))
            return getattr(self, '_m_ofs_after', None)

        @property
        def ofs_column(self):
            """Counted in the bytes of the stream without what frames its blocks."""
            if hasattr(self, '_m_ofs_column'):
                return self._m_ofs_column

            self._m_ofs_column = (self._parent.columns[self.idx - 1].ofs_after if self.idx > 0 else self._parent.ofs_table)
            return getattr(self, '_m_ofs_column', None)

        @property
        def pieces(self):
            """Truth values, or two bytes each of how numbers were written, block by block."""
            if hasattr(self, '_m_pieces'):
                return self._m_pieces

            if  ((self.is_split) and ( ((self.type_number == 4) or (self.type_number == 12)) )) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_pieces']['start'] = self._io.pos()
                self._debug['_m_pieces']['arr'] = []
                self._m_pieces = []
                if not self._io.passes(self, '_m_pieces', lambda i, io: ClpS.Piece(self.ofs_column + 8 * self.num_words, self.ofs_after, self.num_block + i, io, self, self._root), indexed=True, times=((self.ofs_after - 1) // self._parent.stream.len_block - self.num_block) + 1):
                    for i in range(((self.ofs_after - 1) // self._parent.stream.len_block - self.num_block) + 1):
                        self._debug['_m_pieces']['arr'].append({'start': self._io.pos()})
                        _t__m_pieces = ClpS.Piece(self.ofs_column + 8 * self.num_words, self.ofs_after, self.num_block + i, self._io, self, self._root)
                        try:
                            _t__m_pieces._read()
                        finally:
                            self._m_pieces.append(_t__m_pieces)
                        self._debug['_m_pieces']['arr'][i]['end'] = self._io.pos()

                self._debug['_m_pieces']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_pieces', None)

        @property
        def type_number(self):
            """What `node_type` of the schema tree says; 9, a structured array, for a mark."""
            if hasattr(self, '_m_type_number'):
                return self._m_type_number

            self._m_type_number = (int(self._root.schema_tree.nodes[self.node_id].type) if self.is_leaf else 9)
            return getattr(self, '_m_type_number', None)

        @property
        def words(self):
            """The values of a column that several blocks share, in the order of `clp_s_table`."""
            if hasattr(self, '_m_words'):
                return self._m_words

            if self.num_words > 0:
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_words']['start'] = self._io.pos()
                self._debug['_m_words']['arr'] = []
                self._m_words = []
                if not self._io.passes(self, '_m_words', lambda i, io: ClpS.Word(self.ofs_column + 8 * i,  ((self.type_number == 1) or (self.type_number == 12)) , io, self, self._root), indexed=True, times=self.num_words):
                    for i in range(self.num_words):
                        self._debug['_m_words']['arr'].append({'start': self._io.pos()})
                        _t__m_words = ClpS.Word(self.ofs_column + 8 * i,  ((self.type_number == 1) or (self.type_number == 12)) , self._io, self, self._root)
                        try:
                            _t__m_words._read()
                        finally:
                            self._m_words.append(_t__m_words)
                        self._debug['_m_words']['arr'][i]['end'] = self._io.pos()

                self._debug['_m_words']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_words', None)


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


    class Piece(KaitaiStruct):
        """The part of a column in one block."""
        SEQ_FIELDS = []
        def __init__(self, ofs_start, ofs_end, num_block, _io, _parent=None, _root=None):
            super(ClpS.Piece, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_start = ofs_start
            self.ofs_end = ofs_end
            self.num_block = num_block
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.data
            if hasattr(self, '_m_data'):
                pass


        @property
        def data(self):
            """The bytes themselves."""
            if hasattr(self, '_m_data'):
                return self._m_data

            if self.ofs_last > self.ofs_first:
                pass
                io = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
                _pos = io.pos()
                io.seek(self.ofs_first)
                self._debug['_m_data']['start'] = io.pos()
                self._m_data = io.read_bytes(self.ofs_last - self.ofs_first)
                self._debug['_m_data']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_data', None)

        @property
        def len_block(self):
            if hasattr(self, '_m_len_block'):
                return self._m_len_block

            self._m_len_block = self._parent._parent.stream.len_block
            return getattr(self, '_m_len_block', None)

        @property
        def ofs_first(self):
            if hasattr(self, '_m_ofs_first'):
                return self._m_ofs_first

            self._m_ofs_first = (self.ofs_start - self.num_block * self.len_block if self.ofs_start > self.num_block * self.len_block else 0)
            return getattr(self, '_m_ofs_first', None)

        @property
        def ofs_last(self):
            if hasattr(self, '_m_ofs_last'):
                return self._m_ofs_last

            self._m_ofs_last = (self.ofs_end - self.num_block * self.len_block if self.ofs_end < (self.num_block + 1) * self.len_block else self.len_block)
            return getattr(self, '_m_ofs_last', None)


    class SchemaMapSection(KaitaiStruct):
        """The schema map; its content too when it is stored uncompressed."""
        SEQ_FIELDS = ["compressed"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.SchemaMapSection, self).__init__(_io)
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


    class SchemaSearch(KaitaiStruct):
        """Whether a place of the schema map has the wanted schema, or is its last."""
        SEQ_FIELDS = []
        def __init__(self, idx, schema_id, _io, _parent=None, _root=None):
            super(ClpS.SchemaSearch, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self.schema_id = schema_id
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass

        @property
        def is_over(self):
            if hasattr(self, '_m_is_over'):
                return self._m_is_over

            self._m_is_over =  ((self._root.schema_map.schemas[self.idx].schema_id == self.schema_id) or (self.idx + 1 >= len(self._root.schema_map.schemas))) 
            return getattr(self, '_m_is_over', None)


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


    class Section(KaitaiStruct):
        """One section of the files part, found by its entry in the metadata."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Section, self).__init__(_io)
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
            io.seek((self._root.ofs_files + self.ofs_section))
            self._debug['_m_body']['start'] = io.pos()
            _on = self.name
            if _on == u"/0":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.TablesSection(_io__raw__m_body, self, self._root)
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
                self._m_body = ClpS.SchemaMapSection(_io__raw__m_body, self, self._root)
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
                self._m_body = ClpS.TablesSection(_io__raw__m_body, self, self._root)
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
            _ = self._m_body
            if not self.ofs_next <= self._root._io.size() - self._root.ofs_files:
                raise kaitaistruct.ValidationExprError(self._m_body, self._io, u"/types/section/instances/body")
            io.seek(_pos)
            return getattr(self, '_m_body', None)

        @property
        def name(self):
            """What the metadata call the section."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = (self._root.file_entries[self.idx].map_items[0].value.str_value if self._root.file_entries[self.idx].map_items[0].key.str_value == u"n" else self._root.file_entries[self.idx].map_items[1].value.str_value)
            return getattr(self, '_m_name', None)

        @property
        def ofs_next(self):
            if hasattr(self, '_m_ofs_next'):
                return self._m_ofs_next

            self._m_ofs_next = (self._root.sections[self.idx + 1].ofs_section if self.idx + 1 < len(self._root.file_entries) else self._root.header.len_archive - self._root.ofs_files)
            return getattr(self, '_m_ofs_next', None)

        @property
        def ofs_section(self):
            """Counted from the start of the sections."""
            if hasattr(self, '_m_ofs_section'):
                return self._m_ofs_section

            self._m_ofs_section = (self._root.file_entries[self.idx].map_items[1].value.uint_value if self._root.file_entries[self.idx].map_items[0].key.str_value == u"n" else self._root.file_entries[self.idx].map_items[0].value.uint_value)
            return getattr(self, '_m_ofs_section', None)


    class Stream(KaitaiStruct):
        """One packed stream, compressed by itself, with one table or several."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Stream, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.compressed
            if hasattr(self, '_m_compressed'):
                pass
                self._m_compressed._fetch_instances()


        @property
        def compressed(self):
            if hasattr(self, '_m_compressed'):
                return self._m_compressed

            _pos = self._io.pos()
            self._io.seek(self.ofs_stream)
            self._debug['_m_compressed']['start'] = self._io.pos()
            self._raw__m_compressed = self._io.read_bytes(self.ofs_next - self.ofs_stream)
            _io__raw__m_compressed = KaitaiStream(BytesIO(self._raw__m_compressed))
            self._m_compressed = zstd_frame.ZstdFrame(_io__raw__m_compressed)
            self._m_compressed._read()
            self._debug['_m_compressed']['end'] = self._io.pos()
            _ = self._m_compressed
            if not self.ofs_next <= self._io.size():
                raise kaitaistruct.ValidationExprError(self._m_compressed, self._io, u"/types/stream/instances/compressed")
            self._io.seek(_pos)
            return getattr(self, '_m_compressed', None)

        @property
        def is_raw(self):
            """Its bytes are stored uncompressed, so its tables can be read in place."""
            if hasattr(self, '_m_is_raw'):
                return self._m_is_raw

            self._m_is_raw =  ((len(self.compressed.frames) == 1) and (self.compressed.frames[0].body.blocks[0].is_raw) and (self.compressed.frames[0].body.blocks[-1].is_raw) and ((len(self.compressed.frames[0].body.blocks) - 1) * self.len_block + self.compressed.frames[0].body.blocks[-1].header.len_block == self._root.table_metadata.streams[self.idx].len_uncompressed)) 
            return getattr(self, '_m_is_raw', None)

        @property
        def len_block(self):
            """Bytes in each of its blocks but the last."""
            if hasattr(self, '_m_len_block'):
                return self._m_len_block

            self._m_len_block = self.compressed.frames[0].body.blocks[0].header.len_block
            return getattr(self, '_m_len_block', None)

        @property
        def ofs_next(self):
            if hasattr(self, '_m_ofs_next'):
                return self._m_ofs_next

            self._m_ofs_next = (self._root.table_metadata.streams[self.idx + 1].ofs_stream if self.idx + 1 < len(self._root.table_metadata.streams) else self._io.size())
            return getattr(self, '_m_ofs_next', None)

        @property
        def ofs_stream(self):
            if hasattr(self, '_m_ofs_stream'):
                return self._m_ofs_stream

            self._m_ofs_stream = self._root.table_metadata.streams[self.idx].ofs_stream
            return getattr(self, '_m_ofs_stream', None)


    class Table(KaitaiStruct):
        """All records of one schema, column by column."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Table, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.columns
            if hasattr(self, '_m_columns'):
                pass
                for i in range(len(self._m_columns)):
                    pass
                    self._m_columns[i]._fetch_instances()


            _ = self.search
            if hasattr(self, '_m_search'):
                pass
                for i in range(len(self._m_search)):
                    pass
                    self._m_search[i]._fetch_instances()



        @property
        def columns(self):
            """One for each entry of the schema, in its order."""
            if hasattr(self, '_m_columns'):
                return self._m_columns

            if  ((self.stream.is_raw) and (self.num_messages > 0)) :
                pass
                _pos = self._io.pos()
                self._io.seek(0)
                self._debug['_m_columns']['start'] = self._io.pos()
                self._debug['_m_columns']['arr'] = []
                self._m_columns = []
                if not self._io.passes(self, '_m_columns', lambda i, io: ClpS.Column(i, io, self, self._root), indexed=True, times=self.num_columns):
                    for i in range(self.num_columns):
                        self._debug['_m_columns']['arr'].append({'start': self._io.pos()})
                        _t__m_columns = ClpS.Column(i, self._io, self, self._root)
                        try:
                            _t__m_columns._read()
                        finally:
                            self._m_columns.append(_t__m_columns)
                        self._debug['_m_columns']['arr'][i]['end'] = self._io.pos()

                self._debug['_m_columns']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_columns', None)

        @property
        def num_columns(self):
            if hasattr(self, '_m_num_columns'):
                return self._m_num_columns

            self._m_num_columns = self._root.schema_map.schemas[len(self.search) - 1].num_entries
            return getattr(self, '_m_num_columns', None)

        @property
        def num_messages(self):
            if hasattr(self, '_m_num_messages'):
                return self._m_num_messages

            self._m_num_messages = self._root.table_metadata.tables[self.idx].num_messages
            return getattr(self, '_m_num_messages', None)

        @property
        def ofs_table(self):
            if hasattr(self, '_m_ofs_table'):
                return self._m_ofs_table

            self._m_ofs_table = self._root.table_metadata.tables[self.idx].ofs_table
            return getattr(self, '_m_ofs_table', None)

        @property
        def schema_id(self):
            """The schema of its records, as the schema map names it."""
            if hasattr(self, '_m_schema_id'):
                return self._m_schema_id

            self._m_schema_id = self._root.table_metadata.tables[self.idx].schema_id
            return getattr(self, '_m_schema_id', None)

        @property
        def search(self):
            """The schemas of the map one by one, up to the one of this table."""
            if hasattr(self, '_m_search'):
                return self._m_search

            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_search']['start'] = self._io.pos()
            self._debug['_m_search']['arr'] = []
            self._m_search = []
            if not self._io.passes(self, '_m_search', lambda i, io: ClpS.SchemaSearch(i, self.schema_id, io, self, self._root), indexed=True, until=lambda _, io: _.is_over):
                i = 0
                while True:
                    self._debug['_m_search']['arr'].append({'start': self._io.pos()})
                    _t__m_search = ClpS.SchemaSearch(i, self.schema_id, self._io, self, self._root)
                    try:
                        _t__m_search._read()
                    finally:
                        _ = _t__m_search
                        self._m_search.append(_)
                    self._debug['_m_search']['arr'][len(self._m_search) - 1]['end'] = self._io.pos()
                    if _.is_over:
                        break
                    i += 1
            self._debug['_m_search']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_search', None)

        @property
        def stream(self):
            """The stream that holds it."""
            if hasattr(self, '_m_stream'):
                return self._m_stream

            self._m_stream = self._root.sections[6].body.streams[self._root.table_metadata.tables[self.idx].stream_id]
            return getattr(self, '_m_stream', None)


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


    class TablesSection(KaitaiStruct):
        """The packed streams back to back, at the offsets in the table metadata."""
        SEQ_FIELDS = []
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.TablesSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.streams
            if hasattr(self, '_m_streams'):
                pass
                for i in range(len(self._m_streams)):
                    pass
                    self._m_streams[i]._fetch_instances()



        @property
        def streams(self):
            if hasattr(self, '_m_streams'):
                return self._m_streams

            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_streams']['start'] = self._io.pos()
            self._debug['_m_streams']['arr'] = []
            self._m_streams = []
            if not self._io.passes(self, '_m_streams', lambda i, io: ClpS.Stream(i, io, self, self._root), indexed=True, times=self._root.table_metadata.num_streams):
                for i in range(self._root.table_metadata.num_streams):
                    self._debug['_m_streams']['arr'].append({'start': self._io.pos()})
                    _t__m_streams = ClpS.Stream(i, self._io, self, self._root)
                    try:
                        _t__m_streams._read()
                    finally:
                        self._m_streams.append(_t__m_streams)
                    self._debug['_m_streams']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_streams']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_streams', None)


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


    class Word(KaitaiStruct):
        """Eight bytes of a stream, which a block's end may part; counted as `ofs_word`
        in the bytes of the stream without what frames its blocks.
        """
        SEQ_FIELDS = []
        def __init__(self, ofs_word, is_float, _io, _parent=None, _root=None):
            super(ClpS.Word, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_word = ofs_word
            self.is_float = is_float
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.head
            if hasattr(self, '_m_head'):
                pass

            _ = self.number
            if hasattr(self, '_m_number'):
                pass

            _ = self.tail
            if hasattr(self, '_m_tail'):
                pass

            _ = self.whole
            if hasattr(self, '_m_whole'):
                pass


        @property
        def head(self):
            """The first bytes, where the end of a block parts them."""
            if hasattr(self, '_m_head'):
                return self._m_head

            if self.len_head < 8:
                pass
                io = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
                _pos = io.pos()
                io.seek(self.ofs_word % self.len_block)
                self._debug['_m_head']['start'] = io.pos()
                self._m_head = io.read_bytes(self.len_head)
                self._debug['_m_head']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_head', None)

        @property
        def high(self):
            """The upper 32 bits, reassembled."""
            if hasattr(self, '_m_high'):
                return self._m_high

            if self.len_head < 8:
                pass
                self._m_high = (((KaitaiStream.byte_array_index(self.head, 4) if self.len_head > 4 else KaitaiStream.byte_array_index(self.tail, 4 - self.len_head)) + 256 * (KaitaiStream.byte_array_index(self.head, 5) if self.len_head > 5 else KaitaiStream.byte_array_index(self.tail, 5 - self.len_head))) + 65536 * (KaitaiStream.byte_array_index(self.head, 6) if self.len_head > 6 else KaitaiStream.byte_array_index(self.tail, 6 - self.len_head))) + 16777216 * KaitaiStream.byte_array_index(self.tail, 7 - self.len_head)

            return getattr(self, '_m_high', None)

        @property
        def integer(self):
            """The value, even if a block header splits its bytes."""
            if hasattr(self, '_m_integer'):
                return self._m_integer

            if (not (self.is_float)):
                pass
                self._m_integer = (self.whole if self.len_head == 8 else ((self.high if self.high < 2147483648 else self.high - 4294967296) * 4294967296 + self.low))

            return getattr(self, '_m_integer', None)

        @property
        def len_block(self):
            if hasattr(self, '_m_len_block'):
                return self._m_len_block

            self._m_len_block = self._parent._parent.stream.len_block
            return getattr(self, '_m_len_block', None)

        @property
        def len_head(self):
            """How many of the bytes the first block has."""
            if hasattr(self, '_m_len_head'):
                return self._m_len_head

            self._m_len_head = (self.len_block - self.ofs_word % self.len_block if self.len_block - self.ofs_word % self.len_block < 8 else 8)
            return getattr(self, '_m_len_head', None)

        @property
        def low(self):
            """The lower 32 bits, reassembled."""
            if hasattr(self, '_m_low'):
                return self._m_low

            if self.len_head < 8:
                pass
                self._m_low = ((KaitaiStream.byte_array_index(self.head, 0) + 256 * (KaitaiStream.byte_array_index(self.head, 1) if self.len_head > 1 else KaitaiStream.byte_array_index(self.tail, 1 - self.len_head))) + 65536 * (KaitaiStream.byte_array_index(self.head, 2) if self.len_head > 2 else KaitaiStream.byte_array_index(self.tail, 2 - self.len_head))) + 16777216 * (KaitaiStream.byte_array_index(self.head, 3) if self.len_head > 3 else KaitaiStream.byte_array_index(self.tail, 3 - self.len_head))

            return getattr(self, '_m_low', None)

        @property
        def num_block(self):
            if hasattr(self, '_m_num_block'):
                return self._m_num_block

            self._m_num_block = (self.ofs_word // self.len_block)
            return getattr(self, '_m_num_block', None)

        @property
        def number(self):
            """The float, where one block has all of it."""
            if hasattr(self, '_m_number'):
                return self._m_number

            if  ((self.is_float) and (self.len_head == 8)) :
                pass
                io = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
                _pos = io.pos()
                io.seek(self.ofs_word % self.len_block)
                self._debug['_m_number']['start'] = io.pos()
                self._m_number = io.read_f8le()
                self._debug['_m_number']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_number', None)

        @property
        def tail(self):
            """The other bytes, with which the next block starts."""
            if hasattr(self, '_m_tail'):
                return self._m_tail

            if self.len_head < 8:
                pass
                io = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block + 1].content._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_tail']['start'] = io.pos()
                self._m_tail = io.read_bytes(8 - self.len_head)
                self._debug['_m_tail']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_tail', None)

        @property
        def whole(self):
            """The integer, where one block has all of it."""
            if hasattr(self, '_m_whole'):
                return self._m_whole

            if  (((not (self.is_float))) and (self.len_head == 8)) :
                pass
                io = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
                _pos = io.pos()
                io.seek(self.ofs_word % self.len_block)
                self._debug['_m_whole']['start'] = io.pos()
                self._m_whole = io.read_s8le()
                self._debug['_m_whole']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_whole', None)


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
    def files(self):
        """The sections, back to back; only the metadata states their offsets."""
        if hasattr(self, '_m_files'):
            return self._m_files

        if (not (self.metadata.is_stored)):
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_files)
            self._debug['_m_files']['start'] = self._io.pos()
            self._m_files = self._io.read_bytes(self.header.len_archive - self.ofs_files)
            self._debug['_m_files']['end'] = self._io.pos()
            _ = self._m_files
            if not len(_) == self.header.len_archive - self.ofs_files:
                raise kaitaistruct.ValidationExprError(self._m_files, self._io, u"/instances/files")
            self._io.seek(_pos)

        return getattr(self, '_m_files', None)

    @property
    def metadata(self):
        if hasattr(self, '_m_metadata'):
            return self._m_metadata

        _pos = self._io.pos()
        self._io.seek(64)
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
    def ofs_files(self):
        """Where the sections start."""
        if hasattr(self, '_m_ofs_files'):
            return self._m_ofs_files

        self._m_ofs_files = (64 + self.header.len_metadata)
        return getattr(self, '_m_ofs_files', None)

    @property
    def schema_map(self):
        """Which keys the records of each schema have."""
        if hasattr(self, '_m_schema_map'):
            return self._m_schema_map

        if  ((self.metadata.is_stored) and (self.sections[1].name == u"/schema_ids")) :
            pass
            self._m_schema_map = self.sections[1].body.payload

        return getattr(self, '_m_schema_map', None)

    @property
    def schema_tree(self):
        """The keys of all records, which name the columns of the tables."""
        if hasattr(self, '_m_schema_tree'):
            return self._m_schema_tree

        if  ((self.metadata.is_stored) and (self.sections[0].name == u"/schema_tree")) :
            pass
            self._m_schema_tree = self.sections[0].body.payload

        return getattr(self, '_m_schema_tree', None)

    @property
    def sections(self):
        """The sections; the names are always the same, and so is their order."""
        if hasattr(self, '_m_sections'):
            return self._m_sections

        if self.metadata.is_stored:
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_files)
            self._debug['_m_sections']['start'] = self._io.pos()
            self._debug['_m_sections']['arr'] = []
            self._m_sections = []
            if not self._io.passes(self, '_m_sections', lambda i, io: ClpS.Section(i, io, self, self._root), indexed=True, times=len(self.file_entries)):
                for i in range(len(self.file_entries)):
                    self._debug['_m_sections']['arr'].append({'start': self._io.pos()})
                    _t__m_sections = ClpS.Section(i, self._io, self, self._root)
                    try:
                        _t__m_sections._read()
                    finally:
                        self._m_sections.append(_t__m_sections)
                    self._debug['_m_sections']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_sections']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_sections', None)

    @property
    def table_metadata(self):
        """Offsets of the tables."""
        if hasattr(self, '_m_table_metadata'):
            return self._m_table_metadata

        if  ((self.metadata.is_stored) and (self.sections[2].name == u"/table_metadata")) :
            pass
            self._m_table_metadata = self.sections[2].body.payload

        return getattr(self, '_m_table_metadata', None)

    @property
    def tables(self):
        """Every table with its columns, each by its key, when its stream is stored
        uncompressed.
        """
        if hasattr(self, '_m_tables'):
            return self._m_tables

        if  ((self.metadata.is_stored) and (self.table_metadata.num_tables > 0)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_tables']['start'] = self._io.pos()
            self._debug['_m_tables']['arr'] = []
            self._m_tables = []
            if not self._io.passes(self, '_m_tables', lambda i, io: ClpS.Table(i, io, self, self._root), indexed=True, times=self.table_metadata.num_tables):
                for i in range(self.table_metadata.num_tables):
                    self._debug['_m_tables']['arr'].append({'start': self._io.pos()})
                    _t__m_tables = ClpS.Table(i, self._io, self, self._root)
                    try:
                        _t__m_tables._read()
                    finally:
                        self._m_tables.append(_t__m_tables)
                    self._debug['_m_tables']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_tables']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_tables', None)


