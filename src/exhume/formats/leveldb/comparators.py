"""Orders of keys: the known comparators, and what is assumed of an unknown one.

A comparator is a program; a database stores only its name.  For each known one, this module has a function from a key
to a Python value: these values compare as the comparator compares the keys.  A schema cannot express that.

Spec: LevelDB doc/index.md, "Comparators"; RocksDB util/comparator.cc; Chromium
content/browser/indexed_db/indexed_db_leveldb_coding.cc (`idb_cmp1`), docs/leveldb_coding_scheme.md.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from typing import Any, Final

from exhume.formats.leveldb.layout import LayoutError, read_leveldb_varint
from exhume.formats.leveldb.model import BYTEWISE
from exhume.tuples import NamedTuple

TIMESTAMP = 8
"""Bytes of a timestamp at the end of a key, of the comparators of RocksDB that have one."""

# Names of comparators, as databases store them.
REVERSE = "rocksdb.ReverseBytewiseComparator"
INDEXED_DB = "idb_cmp1"


class Comparator(NamedTuple):
    """An order of keys.

    `order` returns the sort key of a key without timestamp, and two keys are the same if it is equal; None for a key
    that the comparator cannot interpret.  If the comparator is not `known`, keys are sorted and compared as bytes.  The
    last `timestamp` bytes of a key, a little-endian number, state which version of the rest it is; newer ones sort
    first.
    """

    name: str
    known: bool
    order: Callable[[bytes], Any]
    timestamp: int = 0

    @property
    def is_bytewise(self) -> bool:
        """Whether keys are ordered as bytes, so that files can be merged and searched by key."""
        return self.name == BYTEWISE

    def user_key(self, key: bytes) -> bytes:
        """A key without its timestamp."""
        return key[: -self.timestamp] if self.timestamp else key

    def sort_key(self, key: bytes) -> tuple[bool, Any, int]:
        """Return (whether the key is invalid, its order, negative timestamp): invalid keys come last, of the same key
        the newest first.
        """
        rank = self.order(self.user_key(key))
        stamp = -int.from_bytes(key[-self.timestamp :], "little") if self.timestamp else 0
        return rank is None, key if rank is None else rank, stamp

    def rank(self, key: bytes) -> Any:
        """Return a value that compares as the key does without its timestamp; that of invalid keys is the highest."""
        if self.is_bytewise:
            return key
        is_invalid, order, _ = self.sort_key(key)
        return is_invalid, order

    def after(self, key: bytes) -> Any:
        """Return a value above the `rank` of a key, and below that of every key that sorts after it."""
        return key + b"\0" if self.is_bytewise else (*self.rank(key), None)  # a longer tuple comes after its start

    def precedes(self, left: bytes, right: bytes) -> bool | None:
        """Whether one key sorts before another; None where they are the same key, or where that is not known."""
        if not self.known:
            return None
        one, other = self.sort_key(left), self.sort_key(right)
        (one_is_invalid, *_), (other_is_invalid, *_) = one, other
        if one_is_invalid or other_is_invalid or one == other:  # an invalid key has no defined order
            return None
        return one < other


# Sort key for the reverse order of bytes, which no built-in type has.
_reversed: Final[Callable[[bytes], Any]] = functools.cmp_to_key(lambda left, right: (left < right) - (left > right))


def comparator_of(name: str) -> Comparator:
    """Return the comparator with a name. An unknown one orders keys as bytes and says that it is not known."""
    return _KNOWN.get(name) or Comparator(name, known=False, order=bytes)


# Chromium's IndexedDB.  A key starts with the numbers of a database, of an object store in it, and of an index of that
# store.  Database 0: the key is about all databases; store 0: about one database ("facts" here).  Numbers are
# little-endian, or varints; text is UTF-16, big-endian, after the number of its characters.

_DATA, _EXISTS, _BLOBS, _FIRST_INDEX = 1, 2, 3, 30
"""Numbers of indexes; those below the last are parts of the store itself, not indexes."""
# The kinds are named as in the document of the module docstring, which lists their numbers.
_SIMPLE_GLOBALS, _SCOPES, _FREE_DATABASES, _DATABASE_NAMES = 7, 50, 100, 201
_SIMPLE_FACTS, _STORE_FACTS, _INDEX_FACTS, _FREE_STORES, _FREE_INDEXES, _STORE_NAMES, _INDEX_NAMES = (
    6, 50, 100, 150, 151, 200, 201,
)  # fmt: skip
"""Kinds of facts about all databases, and about one.  A kind below the first number of its line is the whole key."""
_KINDS: Final = {5: 0, 3: 1, 2: 2, 1: 3, 6: 4, 4: 5, 0: 6}
"""The rank of each kind of key value by its byte: smallest, number, date, text, binary, array, largest."""
# Bytes of the kinds in `_KINDS` that have a content; smallest (5) and largest (0) have none.
_TEXT, _DATE, _NUMBER, _ARRAY, _BINARY = 1, 2, 3, 4, 6
_DOUBLE = struct.Struct("<d")  # numbers and dates
_MOST_NESTED = 200
"""Deepest nesting of arrays that is read, well below Python's limit for recursion."""


class _NonsenseError(Exception):
    """A key that the comparator cannot read."""


class _Reader:
    """Reads a key from its start.  Every method raises `_NonsenseError` if it cannot read what it should."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0  # offset of the next byte

    @property
    def rest(self) -> bytes:
        """The bytes that were not read yet."""
        return self.data[self.at :]

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise _NonsenseError
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        """Return the next byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """Return the varint at the current position."""
        try:
            value, self.at = read_leveldb_varint(self.data, self.at, len(self.data))
        except LayoutError as error:
            raise _NonsenseError from error
        return value

    def text(self) -> bytes:
        """Return a string as its bytes of UTF-16, which sort as Chromium compares strings."""
        return self.take(2 * self.varint())

    def value(self, depth: int = 0) -> Any:
        """Return a key value as a tuple that sorts like it: its rank in `_KINDS`, then the content.

        `depth` is the number of arrays around it.
        """
        kind = self.byte()
        rank = _KINDS.get(kind)
        if rank is None or depth > _MOST_NESTED:
            raise _NonsenseError
        if kind == _ARRAY:
            return rank, tuple([self.value(depth + 1) for _ in range(self.within(self.varint()))])
        if kind == _TEXT:
            return rank, self.text()
        if kind == _BINARY:
            return rank, self.take(self.varint())
        if kind in (_DATE, _NUMBER):
            number = _DOUBLE.unpack(self.take(_DOUBLE.size))[0]
            if math.isnan(number):  # not comparable, so not a valid key
                raise _NonsenseError
            return rank, number
        return (rank,)

    def within(self, count: int) -> int:
        """Return `count`, a number of elements, if so many can follow: each takes at least one byte."""
        if count > len(self.data) - self.at:
            raise _NonsenseError
        return count


def _indexed_db(key: bytes) -> Any:
    """Return the sort key of a key of IndexedDB; None if it is not valid."""
    try:
        return _indexed_db_key(_Reader(key))
    except _NonsenseError:
        return None


def _indexed_db_key(reader: _Reader) -> Any:
    """Return the sort key of an IndexedDB key of Chromium: ((database, store, index), remainder).

    Raises `_NonsenseError` for bytes that are not such a key.
    """
    head = reader.byte()
    # The first byte has the lengths of the three numbers, less one: 3 bits, 3 bits, 2 bits.
    widths = (head >> 5 & 7) + 1, (head >> 2 & 7) + 1, (head & 3) + 1
    database, store, index = (int.from_bytes(reader.take(width), "little") for width in widths)
    prefix = database, store, index
    if database == 0:
        return prefix, _global_fact(reader)
    if store == 0:
        return prefix, _database_fact(reader)
    if index in (_DATA, _EXISTS, _BLOBS):
        return prefix, reader.value() if reader.rest else ()
    if index < _FIRST_INDEX:
        raise _NonsenseError
    return prefix, _index_entry(reader) if reader.rest else ()


def _global_fact(reader: _Reader) -> Any:
    """Return a global key of IndexedDB as a tuple that sorts like it."""
    kind = reader.byte()
    if kind < _SIMPLE_GLOBALS:
        return (kind,)
    if kind == _SCOPES:
        return kind, reader.rest
    if kind == _FREE_DATABASES:
        return kind, reader.varint()
    if kind == _DATABASE_NAMES:
        return kind, reader.text(), reader.text()
    raise _NonsenseError


def _database_fact(reader: _Reader) -> Any:
    """Return the sort key of a key with metadata of a database: its kind, then numbers or a name."""
    kind = reader.byte()
    if kind < _SIMPLE_FACTS:
        return (kind,)
    if kind == _STORE_FACTS:
        return kind, reader.varint(), reader.byte()
    if kind == _INDEX_FACTS:
        return kind, reader.varint(), reader.varint(), reader.byte()
    if kind == _FREE_STORES:
        return kind, reader.varint()
    if kind == _FREE_INDEXES:
        return kind, reader.varint(), reader.varint()
    if kind == _STORE_NAMES:
        return kind, reader.text()
    if kind == _INDEX_NAMES:
        return kind, reader.varint(), reader.text()
    raise _NonsenseError


def _index_entry(reader: _Reader) -> Any:
    """Return the sort key of an entry of an index: the indexed value, the primary key, and the number that tells equal
    ones apart.

    In the stored key, that number is before the primary key; both may be missing.
    """
    found = reader.value()
    number = reader.varint() if reader.rest else -1  # before any stored number
    return found, (reader.value(), number) if reader.rest else ()


# The comparators by name; those of RocksDB with timestamps have ".u64ts" at the end.
_KNOWN: Final = {
    one.name: one
    for one in (
        Comparator(BYTEWISE, known=True, order=bytes),
        Comparator(REVERSE, known=True, order=_reversed),
        Comparator(f"{BYTEWISE}.u64ts", known=True, order=bytes, timestamp=TIMESTAMP),
        Comparator(f"{REVERSE}.u64ts", known=True, order=_reversed, timestamp=TIMESTAMP),
        Comparator(INDEXED_DB, known=True, order=_indexed_db),
    )
}
