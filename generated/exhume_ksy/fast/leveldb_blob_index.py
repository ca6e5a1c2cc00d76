"""Compiled from ksy/leveldb_blob_index.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short
from .leveldb_varint import read_leveldb_varint


class LeveldbBlobIndex:
    """The value of an entry of type `blob_index`: where the value itself is. The forms with a time of expiry are those
    of the old BlobDB, which kept its values next to the database.
    """
    __slots__ = ('kind', 'expiration', 'inlined', 'file_number', 'ofs_value', 'len_value', 'compression')
    kind: int
    """What follows."""
    expiration: int | None
    """When the value expires, in seconds since 1970."""
    inlined: View | None
    """The value itself."""
    file_number: int | None
    """Number of the blob file, which is its name. 0 is the table itself."""
    ofs_value: int | None
    """Where the value starts in the file, after the head of its record and the key."""
    len_value: int | None
    """Bytes of the value as it is stored, which may be compressed."""
    compression: int | None
    """How the value is compressed; the numbers are those of table blocks."""


def read_leveldb_blob_index(view: View, at: int, end: int) -> tuple[LeveldbBlobIndex, int]:
    """`leveldb_blob_index` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBlobIndex()
    if at >= end:
        raise short("kind", at, end, 1)
    kind = view[at]
    at += 1
    if not (kind in range(0, 3)):
        raise LayoutError("kind", at - 1, at, "a value of kinds", kind)
    value.kind = kind
    if kind != 1:
        if at < end and (expiration := view[at]) < 0x80:
            at += 1
        else:
            try:
                expiration, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("expiration")
                raise
    else:
        expiration = None
    value.expiration = expiration
    if kind == 0:
        inlined = view[at:end]
        at = max(at, end)
    else:
        inlined = None
    value.inlined = inlined
    if kind != 0:
        if at < end and (file_number := view[at]) < 0x80:
            at += 1
        else:
            try:
                file_number, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("file_number")
                raise
    else:
        file_number = None
    value.file_number = file_number
    if kind != 0:
        if at < end and (ofs_value := view[at]) < 0x80:
            at += 1
        else:
            try:
                ofs_value, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("ofs_value")
                raise
    else:
        ofs_value = None
    value.ofs_value = ofs_value
    if kind != 0:
        if at < end and (len_value := view[at]) < 0x80:
            at += 1
        else:
            try:
                len_value, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("len_value")
                raise
    else:
        len_value = None
    value.len_value = len_value
    if kind != 0:
        if at >= end:
            raise short("compression", at, end, 1)
        compression = view[at]
        at += 1
    else:
        compression = None
    value.compression = compression
    return value, at
