"""Compiled from ksy/data_bundle_key.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short


class DataBundleKey:
    """Keys are made of parts whose bytes sort as their values do. The first part is the number of a table: 1
    configuration, 2 files, 3 records.
    """
    __slots__ = ('table', 'body')
    table: Varuint
    body: ConfigKey | FileKey | RecordKey | UnknownKey
    """A number below 128 is its only byte."""


def read_data_bundle_key(view: View, at: int, end: int) -> tuple[DataBundleKey, int]:
    """`data_bundle_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleKey()
    try:
        table, at = read_varuint(view, at, end)
    except LayoutError as error:
        error.within("table")
        raise
    value.table = table
    on = table.first
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
    shard_index: Varuint
    shard_uncompressed_offset: Varuint


def read_record_key(view: View, at: int, end: int) -> tuple[RecordKey, int]:
    """`data_bundle_key::record_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = RecordKey()
    try:
        shard_index, at = read_varuint(view, at, end)
    except LayoutError as error:
        error.within("shard_index")
        raise
    value.shard_index = shard_index
    try:
        shard_uncompressed_offset, at = read_varuint(view, at, end)
    except LayoutError as error:
        error.within("shard_uncompressed_offset")
        raise
    value.shard_uncompressed_offset = shard_uncompressed_offset
    return value, at


class UnknownKey:
    """Rows of a table that nobody defined."""
    __slots__ = ('rest',)
    rest: View


def read_unknown_key(view: View, at: int, end: int) -> tuple[UnknownKey, int]:
    """`data_bundle_key::unknown_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = UnknownKey()
    rest = view[at:end]
    at = max(at, end)
    value.rest = rest
    return value, at


class Varuint:
    """An unsigned integer in 1 to 9 bytes. As many one bits as there are further bytes, a zero bit, then the value,
    most significant bits first.
    """
    __slots__ = ('first', 'rest', '_num_rest', '_high', '_after1', '_after2', '_after3', '_after4', '_after5', '_after6', '_after7', '_value')
    first: int
    rest: memoryview[int]

    @property
    def num_rest(self) -> int:
        try:
            return self._num_rest
        except AttributeError:
            pass
        self._num_rest = 0 if self.first < 0x80 else 1 if self.first < 0xc0 else 2 if self.first < 0xe0 else 3 if self.first < 0xf0 else 4 if self.first < 0xf8 else 5 if self.first < 0xfc else 6 if self.first < 0xfe else 7 if self.first < 0xff else 8
        return self._num_rest

    @property
    def high(self) -> int:
        """Bits of the value in the first byte."""
        try:
            return self._high
        except AttributeError:
            pass
        self._high = self.first if self.num_rest == 0 else self.first % 64 if self.num_rest == 1 else self.first % 32 if self.num_rest == 2 else self.first % 16 if self.num_rest == 3 else self.first % 8 if self.num_rest == 4 else self.first % 4 if self.num_rest == 5 else self.first % 2 if self.num_rest == 6 else 0
        return self._high

    @property
    def after1(self) -> int:
        try:
            return self._after1
        except AttributeError:
            pass
        self._after1 = self.high * 0x100 + self.rest[0] if self.num_rest > 0 else self.high
        return self._after1

    @property
    def after2(self) -> int:
        try:
            return self._after2
        except AttributeError:
            pass
        self._after2 = self.after1 * 0x100 + self.rest[1] if self.num_rest > 1 else self.after1
        return self._after2

    @property
    def after3(self) -> int:
        try:
            return self._after3
        except AttributeError:
            pass
        self._after3 = self.after2 * 0x100 + self.rest[2] if self.num_rest > 2 else self.after2
        return self._after3

    @property
    def after4(self) -> int:
        try:
            return self._after4
        except AttributeError:
            pass
        self._after4 = self.after3 * 0x100 + self.rest[3] if self.num_rest > 3 else self.after3
        return self._after4

    @property
    def after5(self) -> int:
        try:
            return self._after5
        except AttributeError:
            pass
        self._after5 = self.after4 * 0x100 + self.rest[4] if self.num_rest > 4 else self.after4
        return self._after5

    @property
    def after6(self) -> int:
        try:
            return self._after6
        except AttributeError:
            pass
        self._after6 = self.after5 * 0x100 + self.rest[5] if self.num_rest > 5 else self.after5
        return self._after6

    @property
    def after7(self) -> int:
        try:
            return self._after7
        except AttributeError:
            pass
        self._after7 = self.after6 * 0x100 + self.rest[6] if self.num_rest > 6 else self.after6
        return self._after7

    @property
    def value(self) -> int:
        try:
            return self._value
        except AttributeError:
            pass
        self._value = self.after7 * 0x100 + self.rest[7] if self.num_rest > 7 else self.after7
        return self._value


def read_varuint(view: View, at: int, end: int) -> tuple[Varuint, int]:
    """`data_bundle_key::varuint` at `at`, and where it ends. Raises `LayoutError`."""
    value = Varuint()
    if at >= end:
        raise short("first", at, end, 1)
    first = view[at]
    at += 1
    value.first = first
    many = max(0, 0 if first < 0x80 else 1 if first < 0xc0 else 2 if first < 0xe0 else 3 if first < 0xf0 else 4 if first < 0xf8 else 5 if first < 0xfc else 6 if first < 0xfe else 7 if first < 0xff else 8)
    if many > end - at:
        many = max(0, end - at) // 1
        raise short(f"rest[{many}]", at + many * 1, end, 1)
    rest = view[at : at + many]
    at += many
    value.rest = rest
    return value, at


class Escaped:
    """A byte string that ends with `00 00`; a zero byte in it is written as `00 ff`. Longer strings so sort after
    their prefixes.
    """
    __slots__ = ('chunks',)
    chunks: list[Chunk]


def read_escaped(view: View, at: int, end: int) -> tuple[Escaped, int]:
    """`data_bundle_key::escaped` at `at`, and where it ends. Raises `LayoutError`."""
    value = Escaped()
    chunks = []
    try:
        while True:
            one, at = read_chunk(view, at, end)
            chunks.append(one)
            if one.marker == 0:
                break
    except LayoutError as error:
        error.within(f"chunks[{len(chunks)}]")
        raise
    value.chunks = chunks
    return value, at


class Chunk:
    """Bytes up to a zero byte, and what that zero byte means."""
    __slots__ = ('text', 'marker', '_content')
    text: View
    """Bytes up to the next zero byte."""
    marker: int
    """0xff when the zero byte belongs to the string, 0 when it ended it."""

    @property
    def content(self) -> str:
        try:
            return self._content
        except AttributeError:
            pass
        self._content = str(self.text, 'UTF-8')
        return self._content


def read_chunk(view: View, at: int, end: int) -> tuple[Chunk, int]:
    """`data_bundle_key::chunk` at `at`, and where it ends. Raises `LayoutError`."""
    value = Chunk()
    stop = bytes(view[at:end]).find(b'\x00')
    if stop < 0:
        raise short("text", at, end, end - at + 1)
    text = view[at : at + stop]
    at = min(end, at + stop + 1)
    value.text = text
    start = at
    if at >= end:
        raise short("marker", at, end, 1)
    marker = view[at]
    at += 1
    if not (marker in (0, 0xff,)):
        raise LayoutError("marker", start, at, (0, 0xff,), marker)
    value.marker = marker
    return value, at
