"""Compiled from ksy/leveldb_version_edit.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_varint import read_leveldb_varint


class LeveldbVersionEdit:
    """One record of a manifest: what changed in the set of files that make up the database. Replaying all of them in
    order yields the current set.

    Tags up to 9 are LevelDB's; 10, 100 to 401 and those from 8192 are RocksDB's, where readers may skip the latter;
    800 is dacha's. A field with a tag that is not listed and below 8192 cannot be skipped, for its length is not
    known.
    """
    __slots__ = ('fields',)
    fields: list[Field]


def read_leveldb_version_edit(view: View, at: int, end: int) -> tuple[LeveldbVersionEdit, int]:
    """`leveldb_version_edit` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbVersionEdit()
    fields = []
    try:
        while at < end:
            one, at = read_field(view, at, end)
            fields.append(one)
    except LayoutError as error:
        error.within(f"fields[{len(fields)}]")
        raise
    value.fields = fields
    return value, at


class Field:
    """A tag and what it announces."""
    __slots__ = ('raw_tag', 'body', '_tag', '_name')
    raw_tag: int
    """Any other tag has an unknown length."""
    body: BlobFileAddition | BlobFileGarbage | CompactPointer | DeletedFile | LeveldbBytes | NewFile | NewFile2 | NewFile3 | NewFile4 | NoPayload | None | WalAddition | int
    """Never raw bytes, for there is a case for every tag that is let in."""

    @property
    def tag(self) -> int:
        """Readers may skip every tag that has the bit 8192, since its length follows; early forms of two of them have
        none.
        """
        try:
            return self._tag
        except AttributeError:
            pass
        self._tag = 0x2000 if self.raw_tag & 0x2000 != 0 and self.raw_tag != 0x2004 and self.raw_tag != 0x2005 else self.raw_tag
        return self._tag

    @property
    def name(self) -> str | None:
        """The name of the comparator, or of the column family, as text."""
        try:
            return self._name
        except AttributeError:
            pass
        if not (self.tag in (1, 201)):
            self._name = None
            return None
        self._name = str(self.body.data, 'UTF-8')
        return self._name


def read_field(view: View, at: int, end: int) -> tuple[Field, int]:
    """`leveldb_version_edit::field` at `at`, and where it ends. Raises `LayoutError`."""
    value = Field()
    start = at
    if at < end and (raw_tag := view[at]) < 0x80:
        at += 1
    else:
        try:
            raw_tag, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("raw_tag")
            raise
    if not (raw_tag & 0x2000 != 0 or raw_tag > 0 and raw_tag <= 10 and raw_tag != 8 or raw_tag == 0x64 or raw_tag == 0x66 or raw_tag == 0x67 or raw_tag >= 0xc8 and raw_tag <= 0xcb or raw_tag == 0x12c or raw_tag == 0x190 or raw_tag == 0x191 or raw_tag == 0x320):
        raise LayoutError("raw_tag", start, at, '(_.value & 8192) != 0 or (_.value > 0 and _.value <= 10 and _.value != 8) or _.value == 100 or _.value == 102 or _.value == 103 or (_.value >= 200 and _.value <= 203) or _.value == 300 or _.value == 400 or _.value == 401 or _.value == 800', raw_tag)
    value.raw_tag = raw_tag
    on = 0x2000 if raw_tag & 0x2000 != 0 and raw_tag != 0x2004 and raw_tag != 0x2005 else raw_tag
    if on == 1:
        try:
            body, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 2:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 3:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 4:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 5:
        try:
            body, at = read_compact_pointer(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 6:
        try:
            body, at = read_deleted_file(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 7:
        try:
            body, at = read_new_file(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 9:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 10:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 100:
        try:
            body, at = read_new_file2(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 102:
        try:
            body, at = read_new_file3(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 103:
        try:
            body, at = read_new_file4(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 200:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 201:
        try:
            body, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 202:
        try:
            body, at = read_no_payload(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 203:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 300:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 400:
        try:
            body, at = read_blob_file_addition(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 401:
        try:
            body, at = read_blob_file_garbage(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 800:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 8196:
        try:
            body, at = read_wal_addition(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 8197:
        if at < end and (body := view[at]) < 0x80:
            at += 1
        else:
            try:
                body, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("body")
                raise
    elif on == 8192:
        try:
            body, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    else:
        body = None
    value.body = body
    return value, at


class NoPayload:
    """No payload."""
    __slots__ = ()


def read_no_payload(view: View, at: int, end: int) -> tuple[NoPayload, int]:
    """`leveldb_version_edit::no_payload` at `at`, and where it ends. Raises `LayoutError`."""
    value = NoPayload()
    return value, at


class CompactPointer:
    """Where the next compaction of a level starts."""
    __slots__ = ('level', 'internal_key')
    level: int
    """Level of the tree of tables."""
    internal_key: LeveldbBytes
    """Where the last compaction of the level ended."""


def read_compact_pointer(view: View, at: int, end: int) -> tuple[CompactPointer, int]:
    """`leveldb_version_edit::compact_pointer` at `at`, and where it ends. Raises `LayoutError`."""
    value = CompactPointer()
    if at < end and (level := view[at]) < 0x80:
        at += 1
    else:
        try:
            level, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("level")
            raise
    value.level = level
    try:
        internal_key, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("internal_key")
        raise
    value.internal_key = internal_key
    return value, at


class DeletedFile:
    """A table that is no longer part of the database."""
    __slots__ = ('level', 'number')
    level: int
    """Level that the table was in."""
    number: int
    """Number of the table, which is its file name."""


def read_deleted_file(view: View, at: int, end: int) -> tuple[DeletedFile, int]:
    """`leveldb_version_edit::deleted_file` at `at`, and where it ends. Raises `LayoutError`."""
    value = DeletedFile()
    if at < end and (level := view[at]) < 0x80:
        at += 1
    else:
        try:
            level, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("level")
            raise
    value.level = level
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    return value, at


class NewFile:
    """A table that is part of the database from now on."""
    __slots__ = ('level', 'number', 'len_file', 'smallest', 'largest')
    level: int
    """Level that the table is in."""
    number: int
    """Number of the table, which is its file name."""
    len_file: int
    smallest: LeveldbBytes
    """An internal key."""
    largest: LeveldbBytes
    """An internal key."""


def read_new_file(view: View, at: int, end: int) -> tuple[NewFile, int]:
    """`leveldb_version_edit::new_file` at `at`, and where it ends. Raises `LayoutError`."""
    value = NewFile()
    if at < end and (level := view[at]) < 0x80:
        at += 1
    else:
        try:
            level, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("level")
            raise
    value.level = level
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    if at < end and (len_file := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_file, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_file")
            raise
    value.len_file = len_file
    try:
        smallest, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("smallest")
        raise
    value.smallest = smallest
    try:
        largest, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("largest")
        raise
    value.largest = largest
    return value, at


class NewFile2:
    """RocksDB; the only form that dacha writes."""
    __slots__ = ('file', 'smallest_sequence', 'largest_sequence')
    file: NewFile
    smallest_sequence: int
    """Lowest sequence number in the table."""
    largest_sequence: int
    """Highest sequence number in the table."""


def read_new_file2(view: View, at: int, end: int) -> tuple[NewFile2, int]:
    """`leveldb_version_edit::new_file2` at `at`, and where it ends. Raises `LayoutError`."""
    value = NewFile2()
    try:
        file, at = read_new_file(view, at, end)
    except LayoutError as error:
        error.within("file")
        raise
    value.file = file
    if at < end and (smallest_sequence := view[at]) < 0x80:
        at += 1
    else:
        try:
            smallest_sequence, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("smallest_sequence")
            raise
    value.smallest_sequence = smallest_sequence
    if at < end and (largest_sequence := view[at]) < 0x80:
        at += 1
    else:
        try:
            largest_sequence, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("largest_sequence")
            raise
    value.largest_sequence = largest_sequence
    return value, at


class NewFile3:
    """RocksDB; adds the path that holds the table."""
    __slots__ = ('level', 'number', 'path_id', 'len_file', 'smallest', 'largest', 'smallest_sequence', 'largest_sequence')
    level: int
    """Level that the table is in."""
    number: int
    """Number of the table, which is its file name."""
    path_id: int
    """Which of the paths of the database holds the file."""
    len_file: int
    smallest: LeveldbBytes
    """An internal key."""
    largest: LeveldbBytes
    """An internal key."""
    smallest_sequence: int
    """Lowest sequence number in the table."""
    largest_sequence: int
    """Highest sequence number in the table."""


def read_new_file3(view: View, at: int, end: int) -> tuple[NewFile3, int]:
    """`leveldb_version_edit::new_file3` at `at`, and where it ends. Raises `LayoutError`."""
    value = NewFile3()
    if at < end and (level := view[at]) < 0x80:
        at += 1
    else:
        try:
            level, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("level")
            raise
    value.level = level
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    if at < end and (path_id := view[at]) < 0x80:
        at += 1
    else:
        try:
            path_id, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("path_id")
            raise
    value.path_id = path_id
    if at < end and (len_file := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_file, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_file")
            raise
    value.len_file = len_file
    try:
        smallest, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("smallest")
        raise
    value.smallest = smallest
    try:
        largest, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("largest")
        raise
    value.largest = largest
    if at < end and (smallest_sequence := view[at]) < 0x80:
        at += 1
    else:
        try:
            smallest_sequence, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("smallest_sequence")
            raise
    value.smallest_sequence = smallest_sequence
    if at < end and (largest_sequence := view[at]) < 0x80:
        at += 1
    else:
        try:
            largest_sequence, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("largest_sequence")
            raise
    value.largest_sequence = largest_sequence
    return value, at


class NewFile4:
    """RocksDB; adds attributes that may be skipped."""
    __slots__ = ('file', 'attributes')
    file: NewFile2
    attributes: list[Attribute]


def read_new_file4(view: View, at: int, end: int) -> tuple[NewFile4, int]:
    """`leveldb_version_edit::new_file4` at `at`, and where it ends. Raises `LayoutError`."""
    value = NewFile4()
    try:
        file, at = read_new_file2(view, at, end)
    except LayoutError as error:
        error.within("file")
        raise
    value.file = file
    attributes = []
    try:
        while True:
            one, at = read_attribute(view, at, end)
            attributes.append(one)
            if one.tag == 1:
                break
    except LayoutError as error:
        error.within(f"attributes[{len(attributes)}]")
        raise
    value.attributes = attributes
    return value, at


class Attribute:
    """One attribute of a table."""
    __slots__ = ('tag', 'data', '_name')
    tag: int
    """What the attribute is; one that a reader does not know may be skipped below 64."""
    data: LeveldbBytes | None
    """Its value, whose form depends on the tag."""

    @property
    def name(self) -> int:
        """The tag by its name."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = self.tag
        return self._name


def read_attribute(view: View, at: int, end: int) -> tuple[Attribute, int]:
    """`leveldb_version_edit::attribute` at `at`, and where it ends. Raises `LayoutError`."""
    value = Attribute()
    if at < end and (tag := view[at]) < 0x80:
        at += 1
    else:
        try:
            tag, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("tag")
            raise
    value.tag = tag
    if tag != 1:
        try:
            data, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("data")
            raise
    else:
        data = None
    value.data = data
    return value, at


class WalAddition:
    """A log, as RocksDB 6.15 tracked it; later ones write tag 8199."""
    __slots__ = ('number', 'attributes')
    number: int
    """Number of the log."""
    attributes: list[WalAttribute]


def read_wal_addition(view: View, at: int, end: int) -> tuple[WalAddition, int]:
    """`leveldb_version_edit::wal_addition` at `at`, and where it ends. Raises `LayoutError`."""
    value = WalAddition()
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    attributes = []
    try:
        while True:
            one, at = read_wal_attribute(view, at, end)
            attributes.append(one)
            if one.tag == 1:
                break
    except LayoutError as error:
        error.within(f"attributes[{len(attributes)}]")
        raise
    value.attributes = attributes
    return value, at


class WalAttribute:
    """One attribute of a log."""
    __slots__ = ('tag', 'len_synced')
    tag: int
    """1 ends the list."""
    len_synced: int | None
    """Bytes of the log that are synchronized."""


def read_wal_attribute(view: View, at: int, end: int) -> tuple[WalAttribute, int]:
    """`leveldb_version_edit::wal_attribute` at `at`, and where it ends. Raises `LayoutError`."""
    value = WalAttribute()
    start = at
    if at < end and (tag := view[at]) < 0x80:
        at += 1
    else:
        try:
            tag, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("tag")
            raise
    if not (tag in (1, 2)):
        raise LayoutError("tag", start, at, '_.value == 1 or _.value == 2', tag)
    value.tag = tag
    if tag == 2:
        if at < end and (len_synced := view[at]) < 0x80:
            at += 1
        else:
            try:
                len_synced, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("len_synced")
                raise
    else:
        len_synced = None
    value.len_synced = len_synced
    return value, at


class BlobFileAddition:
    """A file of large values that is part of the database from now on."""
    __slots__ = ('number', 'num_blobs', 'len_blobs', 'checksum_method', 'checksum_value', 'attributes')
    number: int
    """Number of the file, which is its name."""
    num_blobs: int
    len_blobs: int
    checksum_method: LeveldbBytes
    """Name of the checksum; empty when there is none."""
    checksum_value: LeveldbBytes
    """Checksum of the whole file."""
    attributes: list[BlobAttribute]


def read_blob_file_addition(view: View, at: int, end: int) -> tuple[BlobFileAddition, int]:
    """`leveldb_version_edit::blob_file_addition` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlobFileAddition()
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    if at < end and (num_blobs := view[at]) < 0x80:
        at += 1
    else:
        try:
            num_blobs, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("num_blobs")
            raise
    value.num_blobs = num_blobs
    if at < end and (len_blobs := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_blobs, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_blobs")
            raise
    value.len_blobs = len_blobs
    try:
        checksum_method, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("checksum_method")
        raise
    value.checksum_method = checksum_method
    try:
        checksum_value, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("checksum_value")
        raise
    value.checksum_value = checksum_value
    attributes = []
    try:
        while True:
            one, at = read_blob_attribute(view, at, end)
            attributes.append(one)
            if one.tag == 0:
                break
    except LayoutError as error:
        error.within(f"attributes[{len(attributes)}]")
        raise
    value.attributes = attributes
    return value, at


class BlobFileGarbage:
    """Values in a blob file that nothing refers to any more."""
    __slots__ = ('number', 'num_blobs', 'len_blobs', 'attributes')
    number: int
    """Number of the file, which is its name."""
    num_blobs: int
    len_blobs: int
    attributes: list[BlobAttribute]


def read_blob_file_garbage(view: View, at: int, end: int) -> tuple[BlobFileGarbage, int]:
    """`leveldb_version_edit::blob_file_garbage` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlobFileGarbage()
    if at < end and (number := view[at]) < 0x80:
        at += 1
    else:
        try:
            number, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("number")
            raise
    value.number = number
    if at < end and (num_blobs := view[at]) < 0x80:
        at += 1
    else:
        try:
            num_blobs, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("num_blobs")
            raise
    value.num_blobs = num_blobs
    if at < end and (len_blobs := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_blobs, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_blobs")
            raise
    value.len_blobs = len_blobs
    attributes = []
    try:
        while True:
            one, at = read_blob_attribute(view, at, end)
            attributes.append(one)
            if one.tag == 0:
                break
    except LayoutError as error:
        error.within(f"attributes[{len(attributes)}]")
        raise
    value.attributes = attributes
    return value, at


class BlobAttribute:
    """One attribute of a blob file."""
    __slots__ = ('tag', 'data')
    tag: int
    """0 ends the list."""
    data: LeveldbBytes | None
    """Its value, whose form depends on the tag."""


def read_blob_attribute(view: View, at: int, end: int) -> tuple[BlobAttribute, int]:
    """`leveldb_version_edit::blob_attribute` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlobAttribute()
    if at < end and (tag := view[at]) < 0x80:
        at += 1
    else:
        try:
            tag, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("tag")
            raise
    value.tag = tag
    if tag != 0:
        try:
            data, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("data")
            raise
    else:
        data = None
    value.data = data
    return value, at
