# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import clp_s_table
from . import clp_s_metadata
from . import clp_s_table_metadata
from . import clp_s_schema_ids
from . import clp_s_schema_tree
from . import clp_s_dictionary
from . import zstd_frame
from enum import IntEnum


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
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpS, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = ClpS.FileHeader(self._io, self, self._root)


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
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Column, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

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
                _on = self.type_number
                if _on == 0:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IntegerColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 1:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.FloatColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 11:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IntegerColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 12:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.FormattedFloatColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 13:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IdColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 14:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.TimestampColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 2:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.ClpColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 3:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.IdColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 4:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.BooleanColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 6:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.ClpColumn(self._parent.num_messages, _io__raw__m_content)
                elif _on == 8:
                    pass
                    self._raw__m_content = io.read_bytes(self.ofs_after - self.ofs_column)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = clp_s_table.ClpSTable.DateColumn(self._parent.num_messages, _io__raw__m_content)
                else:
                    pass
                    self._m_content = io.read_bytes(self.ofs_after - self.ofs_column)
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
                self._m_num_variables = ClpS.Word(self.ofs_column + 8 * self._parent.num_messages, False, self._io, self, self._root)
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
                self._m_pieces = []
                for i in range(((self.ofs_after - 1) // self._parent.stream.len_block - self.num_block) + 1):
                    self._m_pieces.append(ClpS.Piece(self.ofs_column + 8 * self.num_words, self.ofs_after, self.num_block + i, self._io, self, self._root))

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
                self._m_words = []
                for i in range(self.num_words):
                    self._m_words.append(ClpS.Word(self.ofs_column + 8 * i,  ((self.type_number == 1) or (self.type_number == 12)) , self._io, self, self._root))

                self._io.seek(_pos)

            return getattr(self, '_m_words', None)


    class FileHeader(KaitaiStruct):
        """The first 64 bytes.
        
        .. seealso::
           clp-s format description, Header section
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bytes(4)
            if not self.magic == b"\xFD\x2F\xC5\x30":
                raise kaitaistruct.ValidationNotEqualError(b"\xFD\x2F\xC5\x30", self.magic, self._io, u"/types/file_header/seq/0")
            self.version = ClpS.Version(self._io, self, self._root)
            self.len_original = self._io.read_u8le()
            self.len_archive = self._io.read_u8le()
            self.reserved1 = self._io.read_bytes(32)
            self.len_metadata = self._io.read_u4le()
            self.compression_type = KaitaiStream.resolve_enum(ClpS.Compression, self._io.read_u2le())
            self.reserved2 = self._io.read_u2le()


        def _fetch_instances(self):
            pass
            self.version._fetch_instances()


    class Piece(KaitaiStruct):
        """The part of a column in one block."""
        def __init__(self, ofs_start, ofs_end, num_block, _io, _parent=None, _root=None):
            super(ClpS.Piece, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_start = ofs_start
            self.ofs_end = ofs_end
            self.num_block = num_block
            self._read()

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
                self._m_data = io.read_bytes(self.ofs_last - self.ofs_first)
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
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.SchemaMapSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)


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
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_schema_ids.ClpSSchemaIds(_io__raw__m_payload)
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class SchemaSearch(KaitaiStruct):
        """Whether a place of the schema map has the wanted schema, or is its last."""
        def __init__(self, idx, schema_id, _io, _parent=None, _root=None):
            super(ClpS.SchemaSearch, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self.schema_id = schema_id
            self._read()

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
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.SchemaTreeSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)


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
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_schema_tree.ClpSSchemaTree(_io__raw__m_payload)
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class Section(KaitaiStruct):
        """One section of the files part, found by its entry in the metadata."""
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Section, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

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
            _on = self.name
            if _on == u"/0":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.TablesSection(_io__raw__m_body, self, self._root)
            elif _on == u"/array.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
            elif _on == u"/log.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
            elif _on == u"/schema_ids":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.SchemaMapSection(_io__raw__m_body, self, self._root)
            elif _on == u"/schema_tree":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.SchemaTreeSection(_io__raw__m_body, self, self._root)
            elif _on == u"/table_metadata":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.TableMetadataSection(_io__raw__m_body, self, self._root)
            elif _on == u"/tables":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = ClpS.TablesSection(_io__raw__m_body, self, self._root)
            elif _on == u"/var.dict":
                pass
                self._raw__m_body = io.read_bytes(self.ofs_next - self.ofs_section)
                _io__raw__m_body = KaitaiStream(BytesIO(self._raw__m_body))
                self._m_body = clp_s_dictionary.ClpSDictionary(_io__raw__m_body)
            else:
                pass
                self._m_body = io.read_bytes(self.ofs_next - self.ofs_section)
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
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Stream, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

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
            self._raw__m_compressed = self._io.read_bytes(self.ofs_next - self.ofs_stream)
            _io__raw__m_compressed = KaitaiStream(BytesIO(self._raw__m_compressed))
            self._m_compressed = zstd_frame.ZstdFrame(_io__raw__m_compressed)
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
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(ClpS.Table, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

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
                self._m_columns = []
                for i in range(self.num_columns):
                    self._m_columns.append(ClpS.Column(i, self._io, self, self._root))

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
            self._m_search = []
            i = 0
            while True:
                _ = ClpS.SchemaSearch(i, self.schema_id, self._io, self, self._root)
                self._m_search.append(_)
                if _.is_over:
                    break
                i += 1
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
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.TableMetadataSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self._raw_compressed = self._io.read_bytes_full()
            _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
            self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)


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
                self._raw__m_payload = io.read_bytes_full()
                _io__raw__m_payload = KaitaiStream(BytesIO(self._raw__m_payload))
                self._m_payload = clp_s_table_metadata.ClpSTableMetadata(_io__raw__m_payload)
                io.seek(_pos)

            return getattr(self, '_m_payload', None)


    class TablesSection(KaitaiStruct):
        """The packed streams back to back, at the offsets in the table metadata."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.TablesSection, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

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
            self._m_streams = []
            for i in range(self._root.table_metadata.num_streams):
                self._m_streams.append(ClpS.Stream(i, self._io, self, self._root))

            self._io.seek(_pos)
            return getattr(self, '_m_streams', None)


    class Version(KaitaiStruct):
        """Version of the format. It decides the encoding of text (changed in
        0.4.0) and of timestamp patterns (changed in 0.5.0).
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpS.Version, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.patch = self._io.read_u2le()
            self.minor = self._io.read_u1()
            self.major = self._io.read_u1()


        def _fetch_instances(self):
            pass


    class Word(KaitaiStruct):
        """Eight bytes of a stream, which a block's end may part; counted as `ofs_word`
        in the bytes of the stream without what frames its blocks.
        """
        def __init__(self, ofs_word, is_float, _io, _parent=None, _root=None):
            super(ClpS.Word, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_word = ofs_word
            self.is_float = is_float
            self._read()

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
                self._m_head = io.read_bytes(self.len_head)
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
                self._m_number = io.read_f8le()
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
                self._m_tail = io.read_bytes(8 - self.len_head)
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
                self._m_whole = io.read_s8le()
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
            self._m_files = self._io.read_bytes(self.header.len_archive - self.ofs_files)
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
        self._raw__m_metadata = self._io.read_bytes(self.header.len_metadata)
        _io__raw__m_metadata = KaitaiStream(BytesIO(self._raw__m_metadata))
        self._m_metadata = zstd_frame.ZstdFrame(_io__raw__m_metadata)
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
            self._raw__m_metadata_payload = io.read_bytes_full()
            _io__raw__m_metadata_payload = KaitaiStream(BytesIO(self._raw__m_metadata_payload))
            self._m_metadata_payload = clp_s_metadata.ClpSMetadata(_io__raw__m_metadata_payload)
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
            self._m_sections = []
            for i in range(len(self.file_entries)):
                self._m_sections.append(ClpS.Section(i, self._io, self, self._root))

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
            self._m_tables = []
            for i in range(self.table_metadata.num_tables):
                self._m_tables.append(ClpS.Table(i, self._io, self, self._root))

            self._io.seek(_pos)

        return getattr(self, '_m_tables', None)


