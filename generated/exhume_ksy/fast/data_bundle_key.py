"""Compiled from ksy/data_bundle_key.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, native, short


class DataBundleKey:
    """Keys are made of parts whose bytes sort as their values do. The first part is the number of a table: 1
    configuration, 2 files, 3 records.

    The design of the format names the parts of a key without spelling bytes. These are as this project writes them,
    with encodings that dacha has for such keys.
    """
    __slots__ = ('table', 'body', '_table_name')
    table: int
    """Which table the row is of."""
    body: ConfigKey | FileKey | RecordKey | UnknownKey
    """The rest of the key, in the form of its table."""

    @property
    def table_name(self) -> int:
        """The number of the table by its name."""
        try:
            return self._table_name
        except AttributeError:
            pass
        self._table_name = self.table if self.table < 4 else 0
        return self._table_name


def read_data_bundle_key(view: View, at: int, end: int) -> tuple[DataBundleKey, int]:
    """`data_bundle_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleKey()
    if at < end and (table := view[at]) < 0x80:
        at += 1
    else:
        try:
            table, at = read_varuint(view, at, end)
        except LayoutError as error:
            error.within("table")
            raise
    value.table = table
    on = table if table < 4 else 0
    if on == 1:
        try:
            body, at = read_config_key(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 2:
        try:
            body, at = read_file_key(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 3:
        try:
            body, at = read_record_key(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    else:
        try:
            body, at = read_unknown_key(view, at, end)
        except LayoutError as error:
            error.within("body")
            raise
    value.body = body
    return value, at


class ConfigKey:
    """There is one such row; its key ends here."""
    __slots__ = ()


def read_config_key(view: View, at: int, end: int) -> tuple[ConfigKey, int]:
    """`data_bundle_key::config_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = ConfigKey()
    return value, at


class FileKey:
    """Where a file or directory is in the tree; the parts joined are its path."""
    __slots__ = ('directory', 'name')
    directory: Escaped
    """Starts and ends with a slash; `/` alone for the top."""
    name: Escaped


def read_file_key(view: View, at: int, end: int) -> tuple[FileKey, int]:
    """`data_bundle_key::file_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileKey()
    try:
        directory, at = read_escaped(view, at, end)
    except LayoutError as error:
        error.within("directory")
        raise
    value.directory = directory
    try:
        name, at = read_escaped(view, at, end)
    except LayoutError as error:
        error.within("name")
        raise
    value.name = name
    return value, at


class RecordKey:
    """Where a record starts; rows sort by shard, then by offset."""
    __slots__ = ('shard_index', 'shard_uncompressed_offset')
    shard_index: int
    """Number of the shard."""
    shard_uncompressed_offset: int
    """Where the record starts in the uncompressed stream of the shard."""


def read_record_key(view: View, at: int, end: int) -> tuple[RecordKey, int]:
    """`data_bundle_key::record_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = RecordKey()
    if at < end and (shard_index := view[at]) < 0x80:
        at += 1
    else:
        try:
            shard_index, at = read_varuint(view, at, end)
        except LayoutError as error:
            error.within("shard_index")
            raise
    value.shard_index = shard_index
    if at < end and (shard_uncompressed_offset := view[at]) < 0x80:
        at += 1
    else:
        try:
            shard_uncompressed_offset, at = read_varuint(view, at, end)
        except LayoutError as error:
            error.within("shard_uncompressed_offset")
            raise
    value.shard_uncompressed_offset = shard_uncompressed_offset
    return value, at


def flat_record_key(view: View, at: int, end: int) -> tuple[int, int, int]:
    """Where the `data_bundle_key::record_key` at `at` ends, and its fields: shard_index, shard_uncompressed_offset.
    Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_data_bundle_key_record_key(view, at, end)) is not None:
        return found
    if at < end and (shard_index := view[at]) < 0x80:
        at += 1
    else:
        try:
            shard_index, at = read_varuint(view, at, end)
        except LayoutError as error:
            error.within("shard_index")
            raise
    if at < end and (shard_uncompressed_offset := view[at]) < 0x80:
        at += 1
    else:
        try:
            shard_uncompressed_offset, at = read_varuint(view, at, end)
        except LayoutError as error:
            error.within("shard_uncompressed_offset")
            raise
    return at, shard_index, shard_uncompressed_offset


class UnknownKey:
    """Rows of an undefined table."""
    __slots__ = ('rest',)
    rest: View


def read_unknown_key(view: View, at: int, end: int) -> tuple[UnknownKey, int]:
    """`data_bundle_key::unknown_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = UnknownKey()
    rest = view[at:end]
    at = max(at, end)
    value.rest = rest
    return value, at


def read_varuint(view: View, at: int, end: int) -> tuple[int, int]:
    """`data_bundle_key::varuint` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if at >= end:
        raise short("first", at, end, 1)
    first = view[at]
    if first < 0x80:
        return first, at + 1
    if at + 1 >= end:
        raise short("byte1", at + 1, end, 1)
    byte1 = view[at + 1]
    if first < 0xc0:
        return first % 64 * 0x100 + byte1, at + 2
    if at + 2 >= end:
        raise short("byte2", at + 2, end, 1)
    byte2 = view[at + 2]
    if first < 0xe0:
        return (first % 32 * 0x100 + byte1) * 0x100 + byte2, at + 3
    if at + 3 >= end:
        raise short("byte3", at + 3, end, 1)
    byte3 = view[at + 3]
    if first < 0xf0:
        return ((first % 16 * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3, at + 4
    if at + 4 >= end:
        raise short("byte4", at + 4, end, 1)
    byte4 = view[at + 4]
    if first < 0xf8:
        return (((first % 8 * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4, at + 5
    if at + 5 >= end:
        raise short("byte5", at + 5, end, 1)
    byte5 = view[at + 5]
    if first < 0xfc:
        return ((((first % 4 * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5, at + 6
    if at + 6 >= end:
        raise short("byte6", at + 6, end, 1)
    byte6 = view[at + 6]
    if first < 0xfe:
        return (((((first % 2 * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6, at + 7
    if at + 7 >= end:
        raise short("byte7", at + 7, end, 1)
    byte7 = view[at + 7]
    if first != 0xff:
        return (((((byte1 * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7, at + 8
    if at + 8 >= end:
        raise short("byte8", at + 8, end, 1)
    byte8 = view[at + 8]
    return ((((((byte1 * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7) * 0x100 + byte8, at + 9


class Escaped:
    """A byte string that ends with `00 00`; a zero byte in it is written as `00 ff`. Longer strings so sort after
    their prefixes.
    """
    __slots__ = ('text', 'marker', 'more', '_content')
    text: View
    """Bytes up to the first zero byte; as a rule all there are."""
    marker: int
    """0xff when the zero byte belongs to the string, 0 when it ended it."""
    more: list[Chunk] | None
    """What follows zero bytes that belong to the string."""

    @property
    def content(self) -> str:
        """The same as text."""
        try:
            return self._content
        except AttributeError:
            pass
        self._content = str(self.text, 'UTF-8')
        return self._content


def read_escaped(view: View, at: int, end: int) -> tuple[Escaped, int]:
    """`data_bundle_key::escaped` at `at`, and where it ends. Raises `LayoutError`."""
    value = Escaped()
    stop = view.find(b'\x00', at, end) if isinstance(view, bytes) else at + bytes(view[at:end]).find(b'\x00')
    if stop < at:
        raise short("text", at, end, end - at + 1)
    text = view[at : stop]
    at = stop + 1
    value.text = text
    if at >= end:
        raise short("marker", at, end, 1)
    marker = view[at]
    at += 1
    if not (marker in (0, 0xff,)):
        raise LayoutError("marker", at - 1, at, (0, 0xff,), marker)
    value.marker = marker
    if marker != 0:
        more = []
        try:
            while True:
                one, at = read_chunk(view, at, end)
                more.append(one)
                if one.marker == 0:
                    break
        except LayoutError as error:
            error.within(f"more[{len(more)}]")
            raise
    else:
        more = None
    value.more = more
    return value, at


class Chunk:
    """Bytes after a zero byte of the string, up to the next one."""
    __slots__ = ('text', 'marker', '_content')
    text: View
    """Bytes up to the next zero byte."""
    marker: int
    """0xff when that zero byte belongs to the string, too, 0 when it ended it."""

    @property
    def content(self) -> str:
        """The same as text."""
        try:
            return self._content
        except AttributeError:
            pass
        self._content = str(self.text, 'UTF-8')
        return self._content


def read_chunk(view: View, at: int, end: int) -> tuple[Chunk, int]:
    """`data_bundle_key::chunk` at `at`, and where it ends. Raises `LayoutError`."""
    value = Chunk()
    stop = view.find(b'\x00', at, end) if isinstance(view, bytes) else at + bytes(view[at:end]).find(b'\x00')
    if stop < at:
        raise short("text", at, end, end - at + 1)
    text = view[at : stop]
    at = stop + 1
    value.text = text
    if at >= end:
        raise short("marker", at, end, 1)
    marker = view[at]
    at += 1
    if not (marker in (0, 0xff,)):
        raise LayoutError("marker", at - 1, at, (0, 0xff,), marker)
    value.marker = marker
    return value, at


def flat_chunk(view: View, at: int, end: int) -> tuple[int, int, int, int]:
    """Where the `data_bundle_key::chunk` at `at` ends, and its fields: text_start, text_end, marker. Raises
    `LayoutError`.
    """
    if native is not None and (found := native.flat_data_bundle_key_chunk(view, at, end)) is not None:
        return found
    stop = view.find(b'\x00', at, end) if isinstance(view, bytes) else at + bytes(view[at:end]).find(b'\x00')
    if stop < at:
        raise short("text", at, end, end - at + 1)
    at_text = at
    end_text = stop
    at = stop + 1
    if at >= end:
        raise short("marker", at, end, 1)
    marker = view[at]
    at += 1
    if not (marker in (0, 0xff,)):
        raise LayoutError("marker", at - 1, at, (0, 0xff,), marker)
    return at, at_text, end_text, marker
