"""Compiled from ksy/clp_s.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .clp_s_dictionary import read_clp_s_dictionary
from .clp_s_metadata import read_clp_s_metadata
from .clp_s_schema_ids import read_clp_s_schema_ids
from .clp_s_schema_tree import read_clp_s_schema_tree
from .clp_s_table_metadata import read_clp_s_table_metadata
from .zstd_frame import read_zstd_frame

_STRUCT0 = struct.Struct("<QQ32sIHH")
_STRUCT1 = struct.Struct("<HBB")


class ClpS:
    """JSON logs, compressed by column and searchable. A fixed header, a compressed stream of metadata packets, then
    sections that are compressed one by one.

    Where the sections lie is told by MessagePack inside the compressed metadata. An archive whose payloads are
    stored (zstd raw blocks) therefore shows everything in place; of any other archive this schema shows the frames
    and the `clp_s_*` schemas of the payloads take the decompressed bytes.
    """
    __slots__ = ('header', '_ofs_metadata', '_ofs_files', '_metadata', '_metadata_payload', '_files', '_file_sections', '_num_file_sections', '_file_entries', '_io')
    header: FileHeader

    @property
    def ofs_metadata(self) -> int:
        try:
            return self._ofs_metadata
        except AttributeError:
            pass
        self._ofs_metadata = 64
        return self._ofs_metadata

    @property
    def ofs_files(self) -> int:
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
        view, base, end = self._io
        at = base + self.ofs_metadata
        if at < base:
            raise LayoutError("metadata", base, "a position in the stream", at - base)
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
        """The sections, back to back."""
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
            raise LayoutError("files", base, "a position in the stream", at - base)
        size = self.header.len_archive - self.ofs_files
        if not 0 <= size <= max(0, end - at):
            raise short("files", at, end, size)
        files = view[at : at + size]
        at += size
        self._files = files
        return self._files

    @property
    def file_sections(self) -> list[FileSection] | None:
        try:
            return self._file_sections
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.metadata.is_stored):
            self._file_sections = None
            return None
        at = base + self.ofs_files
        if at < base:
            raise LayoutError("file_sections", base, "a position in the stream", at - base)
        file_sections = []
        try:
            for _ in range(self.num_file_sections):
                one, at = read_file_section(view, at, end, base, self, len(file_sections))
                file_sections.append(one)
        except LayoutError as error:
            error.within(f"file_sections[{len(file_sections)}]")
            raise
        self._file_sections = file_sections
        return self._file_sections

    @property
    def num_file_sections(self) -> int | None:
        try:
            return self._num_file_sections
        except AttributeError:
            pass
        if not (self.metadata.is_stored):
            self._num_file_sections = None
            return None
        self._num_file_sections = len(self.file_entries)
        return self._num_file_sections

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
    reserved2: int


def read_file_header(view: View, at: int, end: int) -> tuple[FileHeader, int]:
    """`clp_s::file_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileHeader()
    if end - at < 4:
        raise short("magic", at, end, 4)
    magic = view[at : at + 4]
    if magic != b'\xfd/\xc50':
        raise LayoutError("magic", at, b'\xfd/\xc50', magic)
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
    len_original, len_archive, reserved1, len_metadata, compression_type, reserved2 = _STRUCT0.unpack_from(view, at)
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
    minor: int
    major: int


def read_version(view: View, at: int, end: int) -> tuple[Version, int]:
    """`clp_s::version` at `at`, and where it ends. Raises `LayoutError`."""
    value = Version()
    if end - at < 4:
        raise short((("patch", 2), ("minor", 3), ("major", 4),), at, end, 4)
    patch, minor, major = _STRUCT1.unpack_from(view, at)
    at += 4
    value.patch = patch
    value.minor = minor
    value.major = major
    return value, at


class FileSection:
    """One section of the files part, found by its entry in the metadata."""
    __slots__ = ('idx', '_entry', '_name', '_ofs_section', '_next_entry', '_ofs_next', '_body', '_io', '_root')
    idx: int

    @property
    def entry(self) -> ClpSMsgpack:
        try:
            return self._entry
        except AttributeError:
            pass
        self._entry = self._root.file_entries[self.idx]
        return self._entry

    @property
    def name(self) -> str:
        try:
            return self._name
        except AttributeError:
            pass
        self._name = self.entry.map_items[0].value.str_value if self.entry.map_items[0].key.str_value == 'n' else self.entry.map_items[1].value.str_value
        return self._name

    @property
    def ofs_section(self) -> int:
        try:
            return self._ofs_section
        except AttributeError:
            pass
        self._ofs_section = self.entry.map_items[1].value.uint_value if self.entry.map_items[0].key.str_value == 'n' else self.entry.map_items[0].value.uint_value
        return self._ofs_section

    @property
    def next_entry(self) -> ClpSMsgpack | None:
        try:
            return self._next_entry
        except AttributeError:
            pass
        if not (self.idx + 1 < len(self._root.file_entries)):
            self._next_entry = None
            return None
        self._next_entry = self._root.file_entries[self.idx + 1]
        return self._next_entry

    @property
    def ofs_next(self) -> int:
        try:
            return self._ofs_next
        except AttributeError:
            pass
        self._ofs_next = self._root.header.len_archive - self._root.ofs_files if self.idx + 1 == len(self._root.file_entries) else self.next_entry.map_items[1].value.uint_value if self.next_entry.map_items[0].key.str_value == 'n' else self.next_entry.map_items[0].value.uint_value
        return self._ofs_next

    @property
    def body(self) -> ClpSDictionary | SchemaIdsSection | SchemaTreeSection | TableMetadataSection | View | ZstdFrame:
        """Raw bytes when the section has a name that no version writes."""
        try:
            return self._body
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self._root.ofs_files + self.ofs_section
        if at < base:
            raise LayoutError("body", base, "a position in the stream", at - base)
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
                body, _ = read_schema_ids_section(view, at, stop, at)
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
                body, _ = read_zstd_frame(view, at, stop)
            except LayoutError as error:
                error.within("body")
                raise
        elif on == '/tables':
            try:
                body, _ = read_zstd_frame(view, at, stop)
            except LayoutError as error:
                error.within("body")
                raise
        else:
            body = view[at:stop]
        at = stop
        self._body = body
        return self._body


def read_file_section(view: View, at: int, end: int, base: int | None, root: ClpS | None, idx: int) -> tuple[FileSection, int]:
    """`clp_s::file_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileSection()
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

    @property
    def payload(self) -> ClpSSchemaTree | None:
        try:
            return self._payload
        except AttributeError:
            pass
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


class SchemaIdsSection:
    """The schema map; its content too when it is stored uncompressed."""
    __slots__ = ('compressed', '_payload', '_io')
    compressed: ZstdFrame

    @property
    def payload(self) -> ClpSSchemaIds | None:
        try:
            return self._payload
        except AttributeError:
            pass
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


def read_schema_ids_section(view: View, at: int, end: int, base: int | None = None) -> tuple[SchemaIdsSection, int]:
    """`clp_s::schema_ids_section` at `at`, and where it ends. Raises `LayoutError`."""
    value = SchemaIdsSection()
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

    @property
    def payload(self) -> ClpSTableMetadata | None:
        try:
            return self._payload
        except AttributeError:
            pass
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
