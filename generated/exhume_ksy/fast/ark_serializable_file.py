"""Compiled from ksy/ark_serializable_file.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .ark_rbuf import read_text

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<Q").unpack_from


class ArkSerializableFile:
    """An rbuf object in a file of its own, followed by a trailer with the name and the schema registry of its type.
    The manifests of logs are such files.

    To be parsed from the end. A file without the magic holds nothing but the object.
    """
    __slots__ = ('_footer', '_content', '_manifest', '_trailer', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def footer(self) -> FileFooter:
        try:
            return self._footer
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 29
        if at < base:
            raise LayoutError("footer", base, end, "a position in the stream", at - base)
        try:
            footer, at = read_file_footer(view, at, end, end - base - 29)
        except LayoutError as error:
            error.within("footer")
            raise
        self._footer = footer
        return self._footer

    @property
    def content(self) -> View:
        """The object, from its header byte on."""
        try:
            return self._content
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        size = self.footer.len_content
        if not 0 <= size <= max(0, end - at):
            raise short("content", at, end, size)
        content = view[at : at + size]
        at += size
        self._content = content
        return self._content

    @property
    def manifest(self) -> ArkManifest | None:
        """The same bytes, when the trailer calls them a log manifest."""
        try:
            return self._manifest
        except AttributeError:
            pass
        from .ark_manifest import read_ark_manifest
        view, base, end = self._io
        if not (self.footer.len_trailer > 0 and self.trailer.type_name == 'ark::logging::Manifest'):
            self._manifest = None
            return None
        at = base + 0
        size = self.footer.len_content
        if not 0 <= size <= max(0, end - at):
            raise short("manifest", at, end, size)
        stop = at + size
        try:
            manifest, _ = read_ark_manifest(view, at, stop)
        except LayoutError as error:
            error.within("manifest")
            raise
        at = stop
        self._manifest = manifest
        return self._manifest

    @property
    def trailer(self) -> FileTrailer | None:
        """Absent when the writer embedded no schema."""
        try:
            return self._trailer
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.len_trailer > 0):
            self._trailer = None
            return None
        at = base + self.footer.len_content
        if at < base:
            raise LayoutError("trailer", base, end, "a position in the stream", at - base)
        size = self.footer.len_trailer
        if not 0 <= size <= max(0, end - at):
            raise short("trailer", at, end, size)
        stop = at + size
        try:
            trailer, _ = read_file_trailer(view, at, stop)
        except LayoutError as error:
            error.within("trailer")
            raise
        at = stop
        self._trailer = trailer
        return self._trailer


def read_ark_serializable_file(view: View, at: int, end: int, base: int | None = None) -> tuple[ArkSerializableFile, int]:
    """`ark_serializable_file` at `at`, and where it ends. Raises `LayoutError`."""
    value = ArkSerializableFile()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class FileTrailer:
    """What the content is, for readers that know nothing of it."""
    __slots__ = ('type_name', 'schema_registry')
    type_name: str
    """Qualified name of the type of the content."""
    schema_registry: str
    """JSON text with every schema and enumeration that the type needs."""


def read_file_trailer(view: View, at: int, end: int) -> tuple[FileTrailer, int]:
    """`ark_serializable_file::file_trailer` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileTrailer()
    try:
        type_name, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("type_name")
        raise
    value.type_name = type_name
    try:
        schema_registry, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("schema_registry")
        raise
    value.schema_registry = schema_registry
    return value, at


class FileFooter:
    """The last 29 bytes of the file."""
    __slots__ = ('len_before', 'len_trailer', 'len_content', 'version', 'magic')
    len_before: int
    """Bytes before the footer."""
    len_trailer: int
    len_content: int
    """Content, trailer and footer together fill the file."""
    version: int
    """Always 1."""
    magic: View
    """GUID 53ebe9fc-e8f0-48b6-bc81-ab296b4cea1f in wire order."""


def read_file_footer(view: View, at: int, end: int, len_before: int) -> tuple[FileFooter, int]:
    """`ark_serializable_file::file_footer` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileFooter()
    value.len_before = len_before
    if end - at < 4:
        raise short("len_trailer", at, end, 4)
    (len_trailer,) = _unpack0(view, at)
    at += 4
    if len_trailer > len_before:
        raise LayoutError("len_trailer", at - 4, at, f"at most {len_before}", len_trailer)
    value.len_trailer = len_trailer
    if end - at < 8:
        raise short("len_content", at, end, 8)
    (len_content,) = _unpack1(view, at)
    at += 8
    if len_content > len_before - len_trailer:
        raise LayoutError("len_content", at - 8, at, f"at most {len_before - len_trailer}", len_content)
    value.len_content = len_content
    if at >= end:
        raise short("version", at, end, 1)
    version = view[at]
    at += 1
    value.version = version
    if end - at < 16:
        raise short("magic", at, end, 16)
    magic = view[at : at + 16]
    if magic != b'\xb6H\xf0\xe8\xfc\xe9\xebS\x1f\xeaLk)\xab\x81\xbc':
        raise LayoutError("magic", at, at + 16, b'\xb6H\xf0\xe8\xfc\xe9\xebS\x1f\xeaLk)\xab\x81\xbc', magic)
    at += 16
    value.magic = magic
    return value, at
