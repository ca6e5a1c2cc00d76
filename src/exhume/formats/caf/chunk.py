"""One chunk being written: the data as it arrives, then the index and the footer.

The index is exactly as the reference writers write it, byte for byte; names are converted for it here.  Which names are
taken, and when the next chunk begins, is decided by the writer.

A chunk is a CAF file; the files in it are its members.  There are two reference writers, whose indexes differ: that in
Go sorts names, that in TypeScript keeps the order of insertion, and each escapes other characters in JSON (`order`).
A name that is not UTF-8 becomes text with U+FFFD in the index.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from exhume.archive import Progress
from exhume.counts import counted
from exhume.errors import WriterError, shorten
from exhume.formats.caf.layout import FOOTER_SIZE, MAX_INDEX, MIN_INDEX, build_footer
from exhume.formats.caf.pykernel import PUNCTUATION
from exhume.formats.caf.table import PREFIX, SUFFIX, insertion_order, sort_key
from exhume.io.files import naming, write_pieces
from exhume.io.output.atomic import AtomicFile
from exhume.io.output.stream import copy_between, read_all, write_all
from exhume.io.source import STREAM_CHUNK, source_error
from exhume.limits import DEFAULT_LIMITS
from exhume.tuples import NamedTuple

IndexOrder = Literal["sorted", "insertion"]
"""The index of the Go writer, or that of the TypeScript writer."""
ORDERS: tuple[IndexOrder, ...] = ("sorted", "insertion")

# How each writer escapes characters (tables of `str.translate`), and what finds a character to escape.
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_GO = str.maketrans(_CONTROLS | _SHORT | {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_TS = str.maketrans(_CONTROLS | _SHORT | {"\b": "\\b", "\f": "\\f"})
_GO_SPECIAL = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_TS_SPECIAL = re.compile('[\x00-\x1f"\\\\\ud800-\udfff]')
_LONE = re.compile("[\ud800-\udfff]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")  # as `surrogateescape` decodes it

NO_RAW: Mapping[str, bytes] = MappingProxyType({})
"""No names that were not UTF-8."""

BLOCK = 4096
"""Entries per piece of index text."""

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
"""Errors of copying that are about the output."""


def escape_sorted(name: str) -> bytes:
    """A name between the quotes of a JSON string, as Go 1.21 and older spell it.

    A lone surrogate, which a Go string cannot hold, is written as its escape.
    """
    if _GO_SPECIAL.search(name) is None:
        return name.encode("utf-8")
    return _escape_lone(name.translate(_GO)).encode("utf-8")


def escape_insertion(name: str) -> bytes:
    """Return a name as JavaScript spells it in a JSON string, without the quotes."""
    if _TS_SPECIAL.search(name) is None:
        return name.encode("utf-8")
    return _escape_lone(name.translate(_TS)).encode("utf-8")


def _escape_lone(text: str) -> str:
    """Replace lone surrogates by their escapes."""
    return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_SPECIAL = {"sorted": _GO_SPECIAL, "insertion": _TS_SPECIAL}
"""By order: finds a character that has to be escaped."""

ESCAPES: dict[str, Callable[[str], bytes]] = {"sorted": escape_sorted, "insertion": escape_insertion}
"""Functions that spell a name as each writer does."""


def order_names(names: Iterable[str], order: IndexOrder, raw: Mapping[str, bytes] = NO_RAW) -> list[str]:
    """Return names in the order of the index; `raw` has the original bytes of those that are not UTF-8."""
    if order == "insertion":
        return insertion_order(names)
    if not raw:
        return sorted(names)  # by code points, which is the order of the UTF-8 bytes
    return sorted(names, key=lambda name: raw.get(name) or sort_key(name))


def spell_raw(name: bytes) -> bytes:
    """Return a name that is not UTF-8 as Go spells it: the escape of U+FFFD for each bad byte."""
    text = name.decode("utf-8", "surrogateescape").translate(_GO)
    return _BAD_BYTE.sub("\\\\ufffd", text).encode("utf-8")


def iter_index(
    files: Mapping[str, tuple[int, int]], order: IndexOrder = "sorted", raw: Mapping[str, bytes] = NO_RAW
) -> Iterator[bytes]:
    """Yield the text of the index in chunks.

    `files` maps names to half-open ranges, in the order of adding; `raw` maps names that were not UTF-8 to their
    original bytes.
    """
    escape, special = ESCAPES[order], _SPECIAL[order]
    if order == "insertion":  # the TypeScript writer spells such a name as the text that it has become
        raw = NO_RAW
    yield PREFIX
    comma = b""
    names = order_names(files, order, raw)
    for at in range(0, len(names), BLOCK):
        block = names[at : at + BLOCK]
        yield comma
        if not raw and special.search("".join(block)) is None:  # nothing to escape, as a rule
            places = map(files.__getitem__, block)
            plain = [
                f'"{name}":{{"start_byte":{start},"end_byte":{end}}}'
                for name, (start, end) in zip(block, places, strict=True)
            ]
            yield ",".join(plain).encode("utf-8")
        else:
            entries = [
                b'"%b":{"start_byte":%d,"end_byte":%d}'
                % (spell_raw(raw[name]) if name in raw else escape(name), *files[name])
                for name in block
            ]
            yield b",".join(entries)
        comma = b","
    yield SUFFIX


def build_index(
    files: Mapping[str, tuple[int, int]], order: IndexOrder = "sorted", raw: Mapping[str, bytes] = NO_RAW
) -> bytes:
    """The index text as one piece; see `iter_index`."""
    return b"".join(iter_index(files, order, raw))


def entry_size(spelled: int, start: int, end: int) -> int:
    """Bytes that one entry adds to the index, its comma included; `spelled` is the size of the escaped name."""
    return spelled + PUNCTUATION + len(str(start)) + len(str(end))


PLAIN = 4096
"""Most characters of a name for which `are_plain` and `member_name` have a fast path."""

_UNSAFE = re.compile(r'[\x00-\x1f"\\<>&]')
"""Finds ASCII characters that one of the writers escapes."""


class MemberName(NamedTuple):
    """The name of a member, in its forms."""

    text: str
    """The name as readers see it."""
    spelled: int
    """Number of bytes of the escaped name in the index."""
    raw: bytes | None = None
    """The original bytes of a name that is not UTF-8."""

    def wrong_length(self, length: int, got: str) -> WriterError:
        """The error for a member with more or fewer bytes than announced."""
        return WriterError(
            "the announced length is wrong",
            format="caf",
            expected=f"{counted(length, 'bytes')} in {shorten(self.text)!r}",
            actual=got,
        )


def are_plain(names: Sequence[str]) -> bool:
    """Whether all names are short ASCII without anything that an index spells differently: text equals spelling."""
    everything = "/".join(names)
    return everything.isascii() and _UNSAFE.search(everything) is None and max(map(len, names), default=0) <= PLAIN


def member_name(name: str | bytes, order: IndexOrder) -> MemberName:
    """The name to store.  Raises `WriterError` when it is longer than readers can be expected to accept."""
    if isinstance(name, str) and name.isascii() and len(name) <= PLAIN and _UNSAFE.search(name) is None:
        return MemberName(name, len(name))
    raw = None
    if isinstance(name, str):
        text = name
    else:
        try:
            text = name.decode("utf-8")
        except UnicodeDecodeError:
            text, raw = _collapse(name, order), name
    if len(text) > DEFAULT_LIMITS.name_size:
        raise WriterError(
            "member name too long",
            format="caf",
            expected=f"at most {counted(DEFAULT_LIMITS.name_size, 'characters')}",
            actual=shorten(text),
        )
    spelled = spell_raw(raw) if raw is not None and order == "sorted" else ESCAPES[order](text)
    return MemberName(text, len(spelled), raw)


def _collapse(name: bytes, order: IndexOrder) -> str:
    """Return a name that is not UTF-8 as readers will see it: JavaScript and Go replace bad bytes differently."""
    if order == "insertion":
        return name.decode("utf-8", "replace")
    text = name.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


def from_file_system(name: str) -> str | bytes:
    """A name from `os` calls: text, or its bytes if they are not UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name


BUFFER = 1 << 20
"""Small members are collected up to this many bytes before they are written."""

MAX_PIECES = 1024
"""Pieces that one system call takes (IOV_MAX on Linux)."""

DIGEST_WINDOW = 64 << 10
"""Bytes at the end of a chunk whose SHA-256 identifies it: always the footer, and all of most indexes."""


class Chunk:
    """An `AtomicFile` with members; keeps its own position, so that a failed member can be taken back."""

    def __init__(self, path: Path, *, order: IndexOrder, limit: int, max_index: int, overwrite: bool) -> None:
        """Start a chunk of at most `limit` bytes at `path`, which appears when it is published.

        Its index may have `max_index` bytes.
        """
        self.path = path
        self.order: IndexOrder = order
        self.limit = limit
        self.max_index: int = min(max_index, MAX_INDEX)
        self.files: dict[str, tuple[int, int]] = {}
        """Range `[start, end)` of each member in the chunk, by name."""
        self.raw: dict[str, bytes] = {}
        """Original bytes of the names that are not UTF-8."""
        self.position: int = 0
        """Bytes written so far, those in the buffer included."""
        self.unreferenced_bytes: int = 0
        """Bytes of the data section that no member covers."""
        self.index_size: int = MIN_INDEX
        """Bytes that the index will take, were it written now."""
        self.size: int = 0
        """Bytes of the chunk; this and the digest of its end are known once it is sealed."""
        self.tail_sha256: str = ""
        self._atomic = AtomicFile(path, overwrite=overwrite)
        self._fd = self._atomic.file.fileno()
        self._buffer: list[bytes | memoryview] = []
        self._failed = False  # whether buffered bytes were lost by an error
        self._held = 0  # bytes in the buffer

    # -- sizes

    def index_size_with(self, name: MemberName, start: int, end: int) -> int:
        """Bytes of the index after `name` is added at `[start, end)`."""
        size = self.index_size + entry_size(name.spelled, start, end)
        old = self.files.get(name.text)
        if old is not None:
            earlier = self.raw.get(name.text)
            size -= entry_size(member_name(earlier or name.text, self.order).spelled, *old)
        elif not self.files:
            size -= 1  # no comma before the first entry
        return size

    def fits(self, name: MemberName, size: int) -> bool:
        """Whether a member of `size` bytes leaves the chunk, index and footer included, within its limits."""
        return self.fits_at(name, self.position, size)

    def fits_at(self, name: MemberName, start: int, size: int) -> bool:
        """`fits` for a member that starts at `start`."""
        index = self.index_size_with(name, start, start + size)
        return index <= self.max_index and start + size + index + FOOTER_SIZE <= self.limit

    # -- data

    def append(self, name: MemberName, data: bytes | memoryview) -> bool:
        """Add a new member if it fits, and return whether it does; this is the fast path for many small members."""
        start, size = self.position, len(data)
        end = start + size
        # As `index_size_with` computes it; no comma precedes the first entry.
        index = self.index_size + name.spelled + PUNCTUATION + len(str(start)) + len(str(end)) - (not self.files)
        if name.text in self.files or index > self.max_index or end + index + FOOTER_SIZE > self.limit:
            return False
        self.index_size = index
        self.files[name.text] = (start, end)
        if name.raw is not None:
            self.raw[name.text] = name.raw
        self.position = end
        self._held += size
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()
        return True

    def append_batch(self, names: Sequence[str], sizes: Sequence[int], data: memoryview) -> bool:
        """Add members with plain names, all different, whose bytes are consecutive in `data`.  False if not all fit."""
        edges = list(accumulate(sizes, initial=self.position))  # each is the end of a member and the start of the next
        digits = list(map(len, map(str, edges)))
        index = self.index_size + sum(map(len, names)) + PUNCTUATION * len(names) - (not self.files)
        index += 2 * sum(digits) - digits[0] - digits[-1]  # inner edges are stored twice
        if (
            index > self.max_index
            or edges[-1] + index + FOOTER_SIZE > self.limit
            or not self.files.keys().isdisjoint(names)
        ):
            return False
        self.index_size = index
        self.files.update(zip(names, pairwise(edges), strict=True))
        self.position = edges[-1]
        self._held += len(data)
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()
        return True

    def write(self, data: bytes) -> None:
        """Append bytes to the data section."""
        self.position += len(data)
        self._held += len(data)
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Pass the buffered bytes to the system.  Raises `WriterError` after an error, which lost some of them."""
        if self._failed:
            raise WriterError("the chunk could not be written completely", format="caf")
        if self._held:
            pieces, held = self._buffer, self._held
            self._buffer, self._held, self._failed = [], 0, True
            with naming(self.path):  # an error of the system then names the chunk
                done = write_pieces(self._fd, pieces) if len(pieces) <= MAX_PIECES else 0
                if done < held:  # too many pieces, or the system took only a part: the rest is written as one
                    write_all(self._fd, memoryview(b"".join(pieces))[done:])
            self._failed = False

    def copy_from(self, fd: int, size: int, offset: int | None = None) -> int:
        """Append up to `size` bytes of another file, in the kernel where possible; return how many it copied.

        They start at `offset`, or where the file is positioned.  Raises `SourceError` where no space is left for them.
        """
        self.flush()
        try:
            done = copy_between(fd, self._fd, size, offset)
        except OSError as error:
            if error.errno in _FULL:  # an error of this file, not of the other one
                raise source_error(error, os.fspath(self.path)) from error
            raise
        self.position += done
        return done

    def read_back(self, start: int, end: int) -> Iterable[bytes]:
        """Bytes of the data section that have already been written."""
        self.flush()
        for at in range(start, end, STREAM_CHUNK):
            with naming(self.path):
                piece = read_all(self._fd, min(STREAM_CHUNK, end - at), at)
            yield piece

    def take_back(self, start: int) -> None:
        """Remove everything from `start` on, such as a member that could not be read completely."""
        if self._failed:
            return  # nothing is made of this chunk any more
        self.flush()
        with naming(self.path):
            os.ftruncate(self._fd, start)
            os.lseek(self._fd, start, os.SEEK_SET)
        self.position = start

    def move_tail(self, start: int, other: Chunk) -> None:
        """Move the bytes from `start` on to the end of another chunk.

        Raises `WriterError` when the temporary file has shrunk.
        """
        self.flush()
        size = self.position - start
        if other.copy_from(self._fd, size, start) != size:
            raise WriterError("the temporary file shrank while it was written", format="caf")
        self.take_back(start)

    def add(self, name: MemberName, start: int) -> None:
        """Add the bytes between `start` and the current position to the index as a member."""
        end = self.position
        self.index_size = self.index_size_with(name, start, end)
        old = self.files.get(name.text)
        if old is not None:
            old_start, old_end = old
            self.unreferenced_bytes += old_end - old_start
        self.files[name.text] = (start, end)
        if name.raw is not None:
            self.raw[name.text] = name.raw
        elif old is not None:
            self.raw.pop(name.text, None)

    # -- the end

    def seal(self, progress: Progress) -> None:
        """Write index and footer, flush the file to disk and close it; it still has its temporary name.

        Raises `WriterError` when the index is larger than the footer can state.
        """
        self.flush()
        data_size = self.position
        for piece in iter_index(self.files, self.order, self.raw):
            self.write(piece)
            progress(self.position - data_size, self.index_size, "bytes of index")
        index_size = self.position - data_size
        # The computed size decided which members fit, so it has to be exact.
        if index_size != self.index_size or index_size > self.max_index:
            raise WriterError(
                "the index is larger than the footer can state",
                format="caf",
                expected=counted(self.index_size, "bytes"),
                actual=counted(index_size, "bytes"),
            )
        self.write(build_footer(index_size))
        self.flush()
        self.size = self.position
        window = min(DIGEST_WINDOW, self.size)
        with naming(self.path):
            self.tail_sha256 = hashlib.sha256(read_all(self._fd, window, self.size - window)).hexdigest()
        self._atomic.seal()

    def commit(self) -> None:
        """Rename a sealed chunk to its name."""
        self._atomic.commit()

    def abort(self) -> None:
        """Remove the file, whether it has its temporary or its final name."""
        self._atomic.roll_back()
