"""Compiled from ksy/clp_s.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .zstd_frame import read_zstd_frame

_unpack0 = struct.Struct("<QQ32sIHH").unpack_from
_unpack1 = struct.Struct("<HBB").unpack_from
_unpack2 = struct.Struct("<q").unpack_from
_unpack3 = struct.Struct("<d").unpack_from


class ClpS:
    """JSON logs, compressed by column and searchable. A fixed header, a compressed stream of metadata packets, then
    sections that are compressed one by one.

    The offsets of the sections are in MessagePack inside the compressed metadata. An archive whose payloads are
    stored (zstd raw blocks) therefore shows everything in place, every table by its columns; of any other archive
    this schema shows the frames, and the `clp_s_*` schemas of the payloads take the decompressed bytes. A stored
    dictionary or structure of more than one block (128 KiB) shows its blocks only.
    """
    __slots__ = ('header', '_ofs_files', '_metadata', '_metadata_payload', '_files', '_file_entries', '_sections', '_schema_tree', '_schema_map', '_table_metadata', '_tables', '_io')
    header: FileHeader
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def ofs_files(self) -> int:
        """Where the sections start."""
        try:
            return self._ofs_files
        except AttributeError:
            pass
        self._ofs_files = 64 + self.header.len_metadata
        return self._ofs_files

    @property
    def metadata(self) -> ZstdFrame:
        try:
            return self._metadata
        except AttributeError:
            pass
        from .zstd_frame import read_zstd_frame
        view, base, end = self._io
        at = base + 64
        size = self.header.len_metadata
        if not 0 <= size <= max(0, end - at):
            raise short("metadata", at, end, size)
        stop = at + size
        try:
            metadata, _ = read_zstd_frame(view, at, stop)
        except LayoutError as error:
            error.within("metadata")
            raise
        at = stop
        self._metadata = metadata
        return self._metadata

    @property
    def metadata_payload(self) -> ClpSMetadata | None:
        """The metadata packets, in place, when they are stored uncompressed."""
        try:
            return self._metadata_payload
        except AttributeError:
            pass
        from .clp_s_metadata import read_clp_s_metadata
        view, base, end = self._io
        if not (self.metadata.is_stored):
            self._metadata_payload = None
            return None
        view, base, end = self.metadata.frames[0].body.blocks[0].content._io
        at = base + 0
        try:
            metadata_payload, _ = read_clp_s_metadata(view, at, end)
        except LayoutError as error:
            error.within("metadata_payload")
            raise
        at = max(at, end)
        self._metadata_payload = metadata_payload
        return self._metadata_payload

    @property
    def files(self) -> View | None:
        """The sections, back to back; only the metadata states their offsets."""
        try:
            return self._files
        except AttributeError:
            pass
        view, base, end = self._io
        if not (not self.metadata.is_stored):
            self._files = None
            return None
        at = base + self.ofs_files
        if at < base:
            raise LayoutError("files", base, end, "a position in the stream", at - base)
        start = at
        size = self.header.len_archive - self.ofs_files
        if not 0 <= size <= max(0, end - at):
            raise short("files", at, end, size)
        files = view[at : at + size]
        at += size
        if not (len(files) == self.header.len_archive - self.ofs_files):
            raise LayoutError("files", start, at, '_.length.as<u8> == header.len_archive - ofs_files', files)
        self._files = files
        return self._files

    @property
    def file_entries(self) -> list[ClpSMsgpack] | None:
        """Names and offsets of the sections. The packet that holds them is the second in every archive known."""
        try:
            return self._file_entries
        except AttributeError:
            pass
        if not (self.metadata.is_stored):
            self._file_entries = None
            return None
        self._file_entries = self.metadata_payload.packets[1].body.content.map_items[0].value.array_items
        return self._file_entries

    @property
    def sections(self) -> list[Section] | None:
        """The sections; the names are always the same, and so is their order."""
        try:
            return self._sections
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.metadata.is_stored):
            self._sections = None
            return None
        at = base + self.ofs_files
        if at < base:
            raise LayoutError("sections", base, end, "a position in the stream", at - base)
        sections = []
        try:
            for _ in range(len(self.file_entries)):
                one, at = read_section(view, at, end, base, self, len(sections))
                sections.append(one)
        except LayoutError as error:
            error.within(f"sections[{len(sections)}]")
            raise
        self._sections = sections
        return self._sections

    @property
    def schema_tree(self) -> ClpSSchemaTree | None:
        """The keys of all records, which name the columns of the tables."""
        try:
            return self._schema_tree
        except AttributeError:
            pass
        if not (self.metadata.is_stored and self.sections[0].name == '/schema_tree'):
            self._schema_tree = None
            return None
        self._schema_tree = self.sections[0].body.payload
        return self._schema_tree

    @property
    def schema_map(self) -> ClpSSchemaIds | None:
        """Which keys the records of each schema have."""
        try:
            return self._schema_map
        except AttributeError:
            pass
        if not (self.metadata.is_stored and self.sections[1].name == '/schema_ids'):
            self._schema_map = None
            return None
        self._schema_map = self.sections[1].body.payload
        return self._schema_map

    @property
    def table_metadata(self) -> ClpSTableMetadata | None:
        """Offsets of the tables."""
        try:
            return self._table_metadata
        except AttributeError:
            pass
        if not (self.metadata.is_stored and self.sections[2].name == '/table_metadata'):
            self._table_metadata = None
            return None
        self._table_metadata = self.sections[2].body.payload
        return self._table_metadata

    @property
    def tables(self) -> list[Table] | None:
        """Every table with its columns, each by its key, when its stream is stored uncompressed."""
        try:
            return self._tables
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.metadata.is_stored and self.table_metadata.num_tables > 0):
            self._tables = None
            return None
        at = base + 0
        tables = []
        try:
            for _ in range(self.table_metadata.num_tables):
                one, at = read_table(view, at, end, base, self, len(tables))
                tables.append(one)
        except LayoutError as error:
            error.within(f"tables[{len(tables)}]")
            raise
        self._tables = tables
        return self._tables


def read_clp_s(view: View, at: int, end: int, base: int | None = None) -> tuple[ClpS, int]:
    """`clp_s` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpS()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        header, at = read_file_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    return value, at


class FileHeader:
    """The first 64 bytes."""
    __slots__ = ('magic', 'version', 'len_original', 'len_archive', 'reserved1', 'len_metadata', 'compression_type', 'reserved2')
    magic: View
    version: Version
    len_original: int
    """Bytes of JSON (or of decompressed KV-IR) that went in."""
    len_archive: int
    """Size of the whole file, this header included."""
    reserved1: View
    len_metadata: int
    """Compressed size of the metadata section."""
    compression_type: int
    """How the metadata and the sections are compressed."""
    reserved2: int


def read_file_header(view: View, at: int, end: int) -> tuple[FileHeader, int]:
    """`clp_s::file_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileHeader()
    if end - at < 4:
        raise short("magic", at, end, 4)
    magic = view[at : at + 4]
    if magic != b'\xfd/\xc50':
        raise LayoutError("magic", at, at + 4, b'\xfd/\xc50', magic)
    at += 4
    value.magic = magic
    try:
        version, at = read_version(view, at, end)
    except LayoutError as error:
        error.within("version")
        raise
    value.version = version
    if end - at < 56:
        raise short((("len_original", 8), ("len_archive", 16), ("reserved1", 48), ("len_metadata", 52), ("compression_type", 54), ("reserved2", 56),), at, end, 56)
    len_original, len_archive, reserved1, len_metadata, compression_type, reserved2 = _unpack0(view, at)
    at += 56
    value.len_original = len_original
    value.len_archive = len_archive
    value.reserved1 = reserved1
    value.len_metadata = len_metadata
    value.compression_type = compression_type
    value.reserved2 = reserved2
    return value, at


class Version:
    """Version of the format. It decides the encoding of text (changed in 0.4.0) and of timestamp patterns (changed in
    0.5.0).
    """
    __slots__ = ('patch', 'minor', 'major')
    patch: int
    """Fixes that change no layout."""
    minor: int
    """Grows with what readers must know."""
    major: int
    """0 so far."""


def read_version(view: View, at: int, end: int) -> tuple[Version, int]:
    """`clp_s::version` at `at`, and where it ends. Raises `LayoutError`."""
    value = Version()
    if end - at < 4:
        raise short((("patch", 2), ("minor", 3), ("major", 4),), at, end, 4)
    patch, minor, major = _unpack1(view, at)
    at += 4
    value.patch = patch
    value.minor = minor
    value.major = major
    return value, at


class Section:
    """One section of the files part, found by its entry in the metadata."""
    __slots__ = ('idx', '_name', '_ofs_section', '_ofs_next', '_body', '_io', '_root')
    idx: int
    """Position of the section in the list of the metadata."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def name(self) -> str:
        """What the metadata call the section."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = self._root.file_entries[self.idx].map_items[0].value.str_value if self._root.file_entries[self.idx].map_items[0].key.str_value == 'n' else self._root.file_entries[self.idx].map_items[1].value.str_value
        return self._name

    @property
    def ofs_section(self) -> int:
        """Counted from the start of the sections."""
        try:
            return self._ofs_section
        except AttributeError:
            pass
        self._ofs_section = self._root.file_entries[self.idx].map_items[1].value.uint_value if self._root.file_entries[self.idx].map_items[0].key.str_value == 'n' else self._root.file_entries[self.idx].map_items[0].value.uint_value
        return self._ofs_section

    @property
    def ofs_next(self) -> int:
        try:
            return self._ofs_next
        except AttributeError:
            pass
        self._ofs_next = self._root.sections[self.idx + 1].ofs_section if self.idx + 1 < len(self._root.file_entries) else self._root.header.len_archive - self._root.ofs_files
        return self._ofs_next

    @property
    def body(self) -> ClpSDictionary | SchemaMapSection | SchemaTreeSection | TableMetadataSection | TablesSection | View:
        """Raw bytes when the section has a name that no version writes."""
        try:
            return self._body
        except AttributeError:
            pass
        from .clp_s_dictionary import read_clp_s_dictionary
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self._root.ofs_files + self.ofs_section
        if at < base:
            raise LayoutError("body", base, end, "a position in the stream", at - base)
        start = at
        size = self.ofs_next - self.ofs_section
        if not 0 <= size <= max(0, end - at):
            raise short("body", at, end, size)
        stop = at + size
        on = self.name
        if on == '/schema_tree':
            try:
                body, _ = read_schema_tree_section(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/schema_ids':
            try:
                body, _ = read_schema_map_section(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/table_metadata':
            try:
                body, _ = read_table_metadata_section(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/var.dict':
            try:
                body, _ = read_clp_s_dictionary(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/log.dict':
            try:
                body, _ = read_clp_s_dictionary(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/array.dict':
            try:
                body, _ = read_clp_s_dictionary(view, at, stop, at)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/0':
            try:
                body, _ = read_tables_section(view, at, stop, at, self._root)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/tables':
            try:
                body, _ = read_tables_section(view, at, stop, at, self._root)
            except LayoutError as error:
                error.within("body")
                raise
        else:
            body = view[at:stop]
        at = stop
        if self.ofs_next > self._root._io[2] - self._root._io[1] - self._root.ofs_files:
            raise LayoutError("body", start, at, 'ofs_next <= _root._io.size.as<u8> - _root.ofs_files', body)
        self._body = body
        return self._body


def read_section(view: View, at: int, end: int, base: int | None, root: ClpS | None, idx: int) -> tuple[Section, int]:
    """`clp_s::section` at `at`, and where it ends. Raises `LayoutError`."""
    value = Section()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    value.idx = idx
    return value, at


class SchemaTreeSection:
    """The schema tree; its content too when it is stored uncompressed."""
    __slots__ = ('compressed', '_payload', '_io')
    compressed: ZstdFrame
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def payload(self) -> ClpSSchemaTree | None:
        try:
            return self._payload
        except AttributeError:
            pass
        from .clp_s_schema_tree import read_clp_s_schema_tree
        view, base, end = self._io
        if not (self.compressed.is_stored):
            self._payload = None
            return None
        view, base, end = self.compressed.frames[0].body.blocks[0].content._io
        at = base + 0
        try:
            payload, _ = read_clp_s_schema_tree(view, at, end)
        except LayoutError as error:
            error.within("payload")
            raise
        at = max(at, end)
        self._payload = payload
        return self._payload


def read_schema_tree_section(view: View, at: int, end: int, base: int | None = None) -> tuple[SchemaTreeSection, int]:
    """`clp_s::schema_tree_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = SchemaTreeSection()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        compressed, _ = read_zstd_frame(view, at, end)
    except LayoutError as error:
        error.within("compressed")
        raise
    at = max(at, end)
    value.compressed = compressed
    return value, at


class SchemaMapSection:
    """The schema map; its content too when it is stored uncompressed."""
    __slots__ = ('compressed', '_payload', '_io')
    compressed: ZstdFrame
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def payload(self) -> ClpSSchemaIds | None:
        try:
            return self._payload
        except AttributeError:
            pass
        from .clp_s_schema_ids import read_clp_s_schema_ids
        view, base, end = self._io
        if not (self.compressed.is_stored):
            self._payload = None
            return None
        view, base, end = self.compressed.frames[0].body.blocks[0].content._io
        at = base + 0
        try:
            payload, _ = read_clp_s_schema_ids(view, at, end)
        except LayoutError as error:
            error.within("payload")
            raise
        at = max(at, end)
        self._payload = payload
        return self._payload


def read_schema_map_section(view: View, at: int, end: int, base: int | None = None) -> tuple[SchemaMapSection, int]:
    """`clp_s::schema_map_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = SchemaMapSection()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        compressed, _ = read_zstd_frame(view, at, end)
    except LayoutError as error:
        error.within("compressed")
        raise
    at = max(at, end)
    value.compressed = compressed
    return value, at


class TableMetadataSection:
    """The table metadata; its content too when it is stored uncompressed."""
    __slots__ = ('compressed', '_payload', '_io')
    compressed: ZstdFrame
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def payload(self) -> ClpSTableMetadata | None:
        try:
            return self._payload
        except AttributeError:
            pass
        from .clp_s_table_metadata import read_clp_s_table_metadata
        view, base, end = self._io
        if not (self.compressed.is_stored):
            self._payload = None
            return None
        view, base, end = self.compressed.frames[0].body.blocks[0].content._io
        at = base + 0
        try:
            payload, _ = read_clp_s_table_metadata(view, at, end)
        except LayoutError as error:
            error.within("payload")
            raise
        at = max(at, end)
        self._payload = payload
        return self._payload


def read_table_metadata_section(view: View, at: int, end: int, base: int | None = None) -> tuple[TableMetadataSection, int]:
    """`clp_s::table_metadata_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = TableMetadataSection()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        compressed, _ = read_zstd_frame(view, at, end)
    except LayoutError as error:
        error.within("compressed")
        raise
    at = max(at, end)
    value.compressed = compressed
    return value, at


class TablesSection:
    """The packed streams back to back, at the offsets in the table metadata."""
    __slots__ = ('_streams', '_io', '_root')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def streams(self) -> list[Stream]:
        try:
            return self._streams
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        streams = []
        try:
            for _ in range(self._root.table_metadata.num_streams):
                one, at = read_stream(view, at, end, base, self._root, len(streams))
                streams.append(one)
        except LayoutError as error:
            error.within(f"streams[{len(streams)}]")
            raise
        self._streams = streams
        return self._streams


def read_tables_section(view: View, at: int, end: int, base: int | None = None, root: ClpS | None = None) -> tuple[TablesSection, int]:
    """`clp_s::tables_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = TablesSection()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    return value, at


class Stream:
    """One packed stream, compressed by itself, with one table or several."""
    __slots__ = ('idx', '_ofs_stream', '_ofs_next', '_compressed', '_is_raw', '_len_block', '_io', '_root')
    idx: int
    """Position of the stream in the table metadata."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def ofs_stream(self) -> int:
        try:
            return self._ofs_stream
        except AttributeError:
            pass
        self._ofs_stream = self._root.table_metadata.streams[self.idx].ofs_stream
        return self._ofs_stream

    @property
    def ofs_next(self) -> int:
        try:
            return self._ofs_next
        except AttributeError:
            pass
        view, base, end = self._io
        self._ofs_next = self._root.table_metadata.streams[self.idx + 1].ofs_stream if self.idx + 1 < len(self._root.table_metadata.streams) else end - base
        return self._ofs_next

    @property
    def compressed(self) -> ZstdFrame:
        try:
            return self._compressed
        except AttributeError:
            pass
        from .zstd_frame import read_zstd_frame
        view, base, end = self._io
        at = base + self.ofs_stream
        if at < base:
            raise LayoutError("compressed", base, end, "a position in the stream", at - base)
        start = at
        size = self.ofs_next - self.ofs_stream
        if not 0 <= size <= max(0, end - at):
            raise short("compressed", at, end, size)
        stop = at + size
        try:
            compressed, _ = read_zstd_frame(view, at, stop)
        except LayoutError as error:
            error.within("compressed")
            raise
        at = stop
        if self.ofs_next > end - base:
            raise LayoutError("compressed", start, at, 'ofs_next <= _io.size.as<u8>', compressed)
        self._compressed = compressed
        return self._compressed

    @property
    def is_raw(self) -> bool:
        """Its bytes are stored uncompressed, so its tables can be read in place."""
        try:
            return self._is_raw
        except AttributeError:
            pass
        self._is_raw = len(self.compressed.frames) == 1 and self.compressed.frames[0].body.blocks[0].is_raw and self.compressed.frames[0].body.blocks[-1].is_raw and (len(self.compressed.frames[0].body.blocks) - 1) * self.len_block + self.compressed.frames[0].body.blocks[-1].header.len_block == self._root.table_metadata.streams[self.idx].len_uncompressed
        return self._is_raw

    @property
    def len_block(self) -> int:
        """Bytes in each of its blocks but the last."""
        try:
            return self._len_block
        except AttributeError:
            pass
        self._len_block = self.compressed.frames[0].body.blocks[0].header.len_block
        return self._len_block


def read_stream(view: View, at: int, end: int, base: int | None, root: ClpS | None, idx: int) -> tuple[Stream, int]:
    """`clp_s::stream` at `at`, and where it ends. Raises `LayoutError`."""
    value = Stream()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    value.idx = idx
    return value, at


class Table:
    """All records of one schema, column by column."""
    __slots__ = ('idx', '_schema_id', '_num_messages', '_ofs_table', '_stream', '_search', '_num_columns', '_columns', '_io', '_root')
    idx: int
    """Position of the table in the table metadata."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def schema_id(self) -> int:
        """The schema of its records, as the schema map names it."""
        try:
            return self._schema_id
        except AttributeError:
            pass
        self._schema_id = self._root.table_metadata.tables[self.idx].schema_id
        return self._schema_id

    @property
    def num_messages(self) -> int:
        try:
            return self._num_messages
        except AttributeError:
            pass
        self._num_messages = self._root.table_metadata.tables[self.idx].num_messages
        return self._num_messages

    @property
    def ofs_table(self) -> int:
        try:
            return self._ofs_table
        except AttributeError:
            pass
        self._ofs_table = self._root.table_metadata.tables[self.idx].ofs_table
        return self._ofs_table

    @property
    def stream(self) -> Stream:
        """The stream that holds it."""
        try:
            return self._stream
        except AttributeError:
            pass
        self._stream = self._root.sections[6].body.streams[self._root.table_metadata.tables[self.idx].stream_id]
        return self._stream

    @property
    def search(self) -> list[SchemaSearch]:
        """The schemas of the map one by one, up to the one of this table."""
        try:
            return self._search
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        search = []
        try:
            while True:
                one, at = read_schema_search(view, at, end, self._root, len(search), self.schema_id)
                search.append(one)
                if one.is_over:
                    break
        except LayoutError as error:
            error.within(f"search[{len(search)}]")
            raise
        self._search = search
        return self._search

    @property
    def num_columns(self) -> int:
        try:
            return self._num_columns
        except AttributeError:
            pass
        self._num_columns = self._root.schema_map.schemas[len(self.search) - 1].num_entries
        return self._num_columns

    @property
    def columns(self) -> list[Column] | None:
        """One for each entry of the schema, in its order."""
        try:
            return self._columns
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.stream.is_raw and self.num_messages > 0):
            self._columns = None
            return None
        at = base + 0
        columns = self._columns = []
        try:
            for _ in range(self.num_columns):
                one, at = read_column(view, at, end, base, self, self._root, len(columns))
                columns.append(one)
        except LayoutError as error:
            del self._columns
            error.within(f"columns[{len(columns)}]")
            raise
        self._columns = columns
        return self._columns


def read_table(view: View, at: int, end: int, base: int | None, root: ClpS | None, idx: int) -> tuple[Table, int]:
    """`clp_s::table` at `at`, and where it ends. Raises `LayoutError`."""
    value = Table()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    value.idx = idx
    return value, at


class SchemaSearch:
    """Whether a place of the schema map has the wanted schema, or is its last."""
    __slots__ = ('idx', 'schema_id', '_is_over', '_root')
    idx: int
    """Place in the schema map that is examined."""
    schema_id: int
    """The schema that is looked for."""

    @property
    def is_over(self) -> bool:
        try:
            return self._is_over
        except AttributeError:
            pass
        self._is_over = self._root.schema_map.schemas[self.idx].schema_id == self.schema_id or self.idx + 1 >= len(self._root.schema_map.schemas)
        return self._is_over


def read_schema_search(view: View, at: int, end: int, root: ClpS | None, idx: int, schema_id: int) -> tuple[SchemaSearch, int]:
    """`clp_s::schema_search` at `at`, and where it ends. Raises `LayoutError`."""
    value = SchemaSearch()
    value._root = root
    value.idx = idx
    value.schema_id = schema_id
    return value, at


class Column:
    """The values of one key. Objects, nulls and the marks of structured arrays have none."""
    __slots__ = ('idx', '_ofs_column', '_node_id', '_is_leaf', '_key', '_type_number', '_is_text', '_len_row', '_num_variables', '_ofs_after', '_num_block', '_is_inside', '_is_split', '_content', '_num_words', '_words', '_pieces', '_io', '_parent', '_root')
    idx: int
    """Position of the entry in the schema."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def ofs_column(self) -> int:
        """Counted in the bytes of the stream without what frames its blocks."""
        try:
            return self._ofs_column
        except AttributeError:
            pass
        self._ofs_column = self._parent.columns[self.idx - 1].ofs_after if self.idx > 0 else self._parent.ofs_table
        return self._ofs_column

    @property
    def node_id(self) -> int:
        """The node of the schema tree whose values these are."""
        try:
            return self._node_id
        except AttributeError:
            pass
        self._node_id = self._root.schema_map.schemas[len(self._parent.search) - 1].entries[self.idx].value
        return self._node_id

    @property
    def is_leaf(self) -> bool:
        try:
            return self._is_leaf
        except AttributeError:
            pass
        self._is_leaf = self.idx < self._root.schema_map.schemas[len(self._parent.search) - 1].num_ordered or not self._root.schema_map.schemas[len(self._parent.search) - 1].entries[self.idx].is_marker
        return self._is_leaf

    @property
    def key(self) -> str:
        """The keys from the root of the records down to this one; empty for a mark."""
        try:
            return self._key
        except AttributeError:
            pass
        self._key = self._root.schema_tree.nodes[self.node_id].path if self.is_leaf else ''
        return self._key

    @property
    def type_number(self) -> int:
        """What `node_type` of the schema tree says; 9, a structured array, for a mark."""
        try:
            return self._type_number
        except AttributeError:
            pass
        self._type_number = self._root.schema_tree.nodes[self.node_id].type if self.is_leaf else 9
        return self._type_number

    @property
    def is_text(self) -> bool:
        try:
            return self._is_text
        except AttributeError:
            pass
        self._is_text = self.type_number in (2, 6)
        return self._is_text

    @property
    def len_row(self) -> int:
        """Bytes that each record has in the column; those of text have variables besides."""
        try:
            return self._len_row
        except AttributeError:
            pass
        self._len_row = 1 if self.type_number == 4 else 10 if self.type_number == 12 else 16 if self.type_number in (8, 14) else 8 if self.type_number <= 3 or self.type_number == 6 or self.type_number == 11 or self.type_number == 13 else 0
        return self._len_row

    @property
    def num_variables(self) -> Word | None:
        try:
            return self._num_variables
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_text):
            self._num_variables = None
            return None
        at = base + 0
        try:
            num_variables, at = read_word(view, at, end, base, self, self.ofs_column + 8 * self._parent.num_messages, False)
        except LayoutError as error:
            error.within("num_variables")
            raise
        self._num_variables = num_variables
        return self._num_variables

    @property
    def ofs_after(self) -> int:
        """Where the next column starts."""
        try:
            return self._ofs_after
        except AttributeError:
            pass
        self._ofs_after = self.ofs_column + self.len_row * self._parent.num_messages + (8 + 8 * self.num_variables.integer if self.is_text else 0)
        return self._ofs_after

    @property
    def num_block(self) -> int:
        try:
            return self._num_block
        except AttributeError:
            pass
        self._num_block = self.ofs_column // self._parent.stream.len_block
        return self._num_block

    @property
    def is_inside(self) -> bool:
        """There are values, and they do not pass the end of the stream."""
        try:
            return self._is_inside
        except AttributeError:
            pass
        self._is_inside = self.ofs_after > self.ofs_column and self.ofs_after <= self._root.table_metadata.streams[self._parent.stream.idx].len_uncompressed
        return self._is_inside

    @property
    def is_split(self) -> bool:
        """The column contains block headers."""
        try:
            return self._is_split
        except AttributeError:
            pass
        self._is_split = self.is_inside and (self.ofs_after - 1) // self._parent.stream.len_block > self.num_block
        return self._is_split

    @property
    def content(self) -> BooleanColumn | ClpColumn | DateColumn | FloatColumn | FormattedFloatColumn | IdColumn | IntegerColumn | TimestampColumn | View | None:
        """All values, where no block ends among them; never raw bytes."""
        try:
            return self._content
        except AttributeError:
            pass
        from .clp_s_table import read_boolean_column, read_clp_column, read_date_column, read_float_column, read_formatted_float_column, read_id_column, read_integer_column, read_timestamp_column
        view, base, end = self._io
        if not (self.is_inside and not self.is_split):
            self._content = None
            return None
        view, base, end = self._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
        at = base + self.ofs_column % self._parent.stream.len_block
        if at < base:
            raise LayoutError("content", base, end, "a position in the stream", at - base)
        size = self.ofs_after - self.ofs_column
        if not 0 <= size <= max(0, end - at):
            raise short("content", at, end, size)
        stop = at + size
        on = self.type_number
        if on == 0:
            try:
                content, _ = read_integer_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 1:
            try:
                content, _ = read_float_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 2:
            try:
                content, _ = read_clp_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 3:
            try:
                content, _ = read_id_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 4:
            try:
                content, _ = read_boolean_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 6:
            try:
                content, _ = read_clp_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 8:
            try:
                content, _ = read_date_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 11:
            try:
                content, _ = read_integer_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 12:
            try:
                content, _ = read_formatted_float_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 13:
            try:
                content, _ = read_id_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 14:
            try:
                content, _ = read_timestamp_column(view, at, stop, self._parent.num_messages)
            except LayoutError as error:
                error.within("content")
                raise
        else:
            content = view[at:stop]
        at = stop
        self._content = content
        return self._content

    @property
    def num_words(self) -> int:
        try:
            return self._num_words
        except AttributeError:
            pass
        self._num_words = 0 if not self.is_split or self.type_number == 4 else self._parent.num_messages if self.type_number == 12 else (self.ofs_after - self.ofs_column) // 8
        return self._num_words

    @property
    def words(self) -> list[Word] | None:
        """The values of a column that several blocks share, in the order of `clp_s_table`."""
        try:
            return self._words
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.num_words > 0):
            self._words = None
            return None
        at = base + 0
        words = self._words = []
        try:
            for _ in range(self.num_words):
                one, at = read_word(view, at, end, base, self, self.ofs_column + 8 * len(words), self.type_number in (1, 12))
                words.append(one)
        except LayoutError as error:
            del self._words
            error.within(f"words[{len(words)}]")
            raise
        self._words = words
        return self._words

    @property
    def pieces(self) -> list[Piece] | None:
        """Truth values, or two bytes each of how numbers were written, block by block."""
        try:
            return self._pieces
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_split and self.type_number in (4, 12)):
            self._pieces = None
            return None
        at = base + 0
        pieces = self._pieces = []
        try:
            for _ in range((self.ofs_after - 1) // self._parent.stream.len_block - self.num_block + 1):
                one, at = read_piece(view, at, end, base, self, self.ofs_column + 8 * self.num_words, self.ofs_after, self.num_block + len(pieces))
                pieces.append(one)
        except LayoutError as error:
            del self._pieces
            error.within(f"pieces[{len(pieces)}]")
            raise
        self._pieces = pieces
        return self._pieces


def read_column(view: View, at: int, end: int, base: int | None, parent: Table | None, root: ClpS | None, idx: int) -> tuple[Column, int]:
    """`clp_s::column` at `at`, and where it ends. Raises `LayoutError`."""
    value = Column()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value._root = root
    value.idx = idx
    return value, at


class Word:
    """Eight bytes of a stream, which a block's end may part; counted as `ofs_word` in the bytes of the stream without
    what frames its blocks.
    """
    __slots__ = ('ofs_word', 'is_float', '_len_block', '_num_block', '_len_head', '_whole', '_number', '_head', '_tail', '_low', '_high', '_integer', '_io', '_parent')
    ofs_word: int
    is_float: bool
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def len_block(self) -> int:
        try:
            return self._len_block
        except AttributeError:
            pass
        self._len_block = self._parent._parent.stream.len_block
        return self._len_block

    @property
    def num_block(self) -> int:
        try:
            return self._num_block
        except AttributeError:
            pass
        self._num_block = self.ofs_word // self.len_block
        return self._num_block

    @property
    def len_head(self) -> int:
        """How many of the bytes the first block has."""
        try:
            return self._len_head
        except AttributeError:
            pass
        self._len_head = self.len_block - self.ofs_word % self.len_block if self.len_block - self.ofs_word % self.len_block < 8 else 8
        return self._len_head

    @property
    def whole(self) -> int | None:
        """The integer, where one block has all of it."""
        try:
            return self._whole
        except AttributeError:
            pass
        view, base, end = self._io
        if not (not self.is_float and self.len_head == 8):
            self._whole = None
            return None
        view, base, end = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
        at = base + self.ofs_word % self.len_block
        if at < base:
            raise LayoutError("whole", base, end, "a position in the stream", at - base)
        if end - at < 8:
            raise short("whole", at, end, 8)
        (whole,) = _unpack2(view, at)
        at += 8
        self._whole = whole
        return self._whole

    @property
    def number(self) -> float | None:
        """The float, where one block has all of it."""
        try:
            return self._number
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_float and self.len_head == 8):
            self._number = None
            return None
        view, base, end = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
        at = base + self.ofs_word % self.len_block
        if at < base:
            raise LayoutError("number", base, end, "a position in the stream", at - base)
        if end - at < 8:
            raise short("number", at, end, 8)
        (number,) = _unpack3(view, at)
        at += 8
        self._number = number
        return self._number

    @property
    def head(self) -> View | None:
        """The first bytes, where the end of a block parts them."""
        try:
            return self._head
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.len_head < 8):
            self._head = None
            return None
        view, base, end = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
        at = base + self.ofs_word % self.len_block
        if at < base:
            raise LayoutError("head", base, end, "a position in the stream", at - base)
        size = self.len_head
        if not 0 <= size <= max(0, end - at):
            raise short("head", at, end, size)
        head = view[at : at + size]
        at += size
        self._head = head
        return self._head

    @property
    def tail(self) -> View | None:
        """The other bytes, with which the next block starts."""
        try:
            return self._tail
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.len_head < 8):
            self._tail = None
            return None
        view, base, end = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block + 1].content._io
        at = base + 0
        size = 8 - self.len_head
        if not 0 <= size <= max(0, end - at):
            raise short("tail", at, end, size)
        tail = view[at : at + size]
        at += size
        self._tail = tail
        return self._tail

    @property
    def low(self) -> int | None:
        """The lower 32 bits, reassembled."""
        try:
            return self._low
        except AttributeError:
            pass
        if not (self.len_head < 8):
            self._low = None
            return None
        self._low = self.head[0] + 0x100 * (self.head[1] if self.len_head > 1 else self.tail[1 - self.len_head]) + 0x10000 * (self.head[2] if self.len_head > 2 else self.tail[2 - self.len_head]) + 0x1000000 * (self.head[3] if self.len_head > 3 else self.tail[3 - self.len_head])
        return self._low

    @property
    def high(self) -> int | None:
        """The upper 32 bits, reassembled."""
        try:
            return self._high
        except AttributeError:
            pass
        if not (self.len_head < 8):
            self._high = None
            return None
        self._high = (self.head[4] if self.len_head > 4 else self.tail[4 - self.len_head]) + 0x100 * (self.head[5] if self.len_head > 5 else self.tail[5 - self.len_head]) + 0x10000 * (self.head[6] if self.len_head > 6 else self.tail[6 - self.len_head]) + 0x1000000 * self.tail[7 - self.len_head]
        return self._high

    @property
    def integer(self) -> int | None:
        """The value, even if a block header splits its bytes."""
        try:
            return self._integer
        except AttributeError:
            pass
        if not (not self.is_float):
            self._integer = None
            return None
        self._integer = self.whole if self.len_head == 8 else (self.high if self.high < 0x80000000 else self.high - 0x100000000) * 0x100000000 + self.low
        return self._integer


def read_word(view: View, at: int, end: int, base: int | None, parent: Column | None, ofs_word: int, is_float: bool) -> tuple[Word, int]:
    """`clp_s::word` at `at`, and where it ends. Raises `LayoutError`."""
    value = Word()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value.ofs_word = ofs_word
    value.is_float = is_float
    return value, at


class Piece:
    """The part of a column in one block."""
    __slots__ = ('ofs_start', 'ofs_end', 'num_block', '_len_block', '_ofs_first', '_ofs_last', '_data', '_io', '_parent')
    ofs_start: int
    ofs_end: int
    num_block: int
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def len_block(self) -> int:
        try:
            return self._len_block
        except AttributeError:
            pass
        self._len_block = self._parent._parent.stream.len_block
        return self._len_block

    @property
    def ofs_first(self) -> int:
        try:
            return self._ofs_first
        except AttributeError:
            pass
        self._ofs_first = self.ofs_start - self.num_block * self.len_block if self.ofs_start > self.num_block * self.len_block else 0
        return self._ofs_first

    @property
    def ofs_last(self) -> int:
        try:
            return self._ofs_last
        except AttributeError:
            pass
        self._ofs_last = self.ofs_end - self.num_block * self.len_block if self.ofs_end < (self.num_block + 1) * self.len_block else self.len_block
        return self._ofs_last

    @property
    def data(self) -> View | None:
        """The bytes themselves."""
        try:
            return self._data
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.ofs_last > self.ofs_first):
            self._data = None
            return None
        view, base, end = self._parent._parent.stream.compressed.frames[0].body.blocks[self.num_block].content._io
        at = base + self.ofs_first
        if at < base:
            raise LayoutError("data", base, end, "a position in the stream", at - base)
        size = self.ofs_last - self.ofs_first
        if not 0 <= size <= max(0, end - at):
            raise short("data", at, end, size)
        data = view[at : at + size]
        at += size
        self._data = data
        return self._data


def read_piece(view: View, at: int, end: int, base: int | None, parent: Column | None, ofs_start: int, ofs_end: int, num_block: int) -> tuple[Piece, int]:
    """`clp_s::piece` at `at`, and where it ends. Raises `LayoutError`."""
    value = Piece()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value.ofs_start = ofs_start
    value.ofs_end = ofs_end
    value.num_block = num_block
    return value, at
