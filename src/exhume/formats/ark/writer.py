"""Writing Ark logs: columns of channels, split files that roll over, crash-safe flushes, manifests.

A column is a group of channels that share split files and a codec; a channel is a named series of messages, declared by
an object with a GUID.  A split that is full is closed, and the next message begins another (the column rolls over).

A split file is `[header area][index area of fixed capacity][messages]`.  A flush writes messages, waits for the disk,
then index entries, then the count in the header, so that a log stopped at any moment keeps everything flushed: its
manifest is called `<guid>.partial` until the log is closed, and `exhume repair` makes a log of it.

Spec: ark_log.txt; choices that it leaves open: `docs/formats/ark.md`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from exhume import codecs
from exhume.archive import Writer
from exhume.choices import hint
from exhume.counts import counted
from exhume.errors import WriterError, shorten
from exhume.formats.ark.assumptions import DEFAULT_MAXIMUM_ITEMS
from exhume.formats.ark.derive import derived_file
from exhume.formats.ark.filters import ACCEPT_ALL, Filter
from exhume.formats.ark.layout import CODEC_NUMBERS, ENTRY_SIZE, build_message_footer
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SplitDeclaration,
    build_manifest,
)
from exhume.formats.ark.names import PARTIAL_SUFFIX
from exhume.formats.ark.rbuf.encoder import Encoder, encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.rbuf.layout import guid_bytes, new_guid
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.splitwriter import SplitWriter
from exhume.io.files import naming
from exhume.io.output.atomic import AtomicFile, exists_error, sync_directory
from exhume.io.output.scratch import discard
from exhume.tuples import NamedTuple

TIME_MAX: Final = (1 << 64) - 1
"""The last time in nanoseconds that a log can have."""
MAX_SPLIT_BYTES: Final = (1 << 32) - 1
"""Offsets in a split are 32 bits wide."""

DEFAULT_SPLIT_BYTES: Final = 1 << 30
"""Bytes of messages of a split, unless the caller chooses."""

Compression = Literal["none", "lz4", "zstd", "bz2", "lzma"]
"""Compressions of the messages of a column."""


class MessagePacking(NamedTuple):
    """Encoding of a column's messages for storage; picklable, for worker processes."""

    codec: str | None
    """Name in `codecs.CODECS`; None: bytes are stored as they are."""
    level: int | None
    compression: str
    """Name in the manifest."""

    @classmethod
    def of(cls, compression: str, level: int | None) -> MessagePacking:
        """That of a column of this compression; `none`, and one that does not exist, leave bytes as they are."""
        plain = compression.strip().lower() in ("", "none") or compression not in CODEC_NUMBERS
        return cls(None if plain else {"zstd": "zstd-frame"}.get(compression, compression), level, compression)

    def pack(self, data: bytes) -> bytes:
        """The stored bytes of a message."""
        if self.codec is None:
            return data
        return codecs.compress(self.codec, data, level=self.level) + build_message_footer(len(data), self.compression)


class ChannelWriter:
    """One channel of a log that is being written; get it from `ArkWriter.channel`."""

    __slots__ = ("_append", "_encode", "column", "declaration", "encoder", "written")

    def __init__(self, column: ColumnWriter, declaration: ObjectDeclaration, encoder: Encoder | None) -> None:
        """Write to one channel of a column. Without an encoder, messages are bytes."""
        self.column: ColumnWriter = column
        self.declaration: ObjectDeclaration = declaration
        self.encoder: Encoder | None = encoder
        self.written: int = 0
        self._append = column.append  # kept, as `_encode` is, to save a look-up per message
        self._encode = encoder.encode if encoder is not None else None

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.declaration.name

    def write(self, time_ns: int, message: Mapping[str, Any] | bytes | bytearray | memoryview) -> None:
        """Add a message: a value of the channel's type, or its bytes.

        `time_ns` is an unsigned 64-bit number of nanoseconds of a steady clock; messages need not come in time order.
        Raises `WriterError` for values that do not fit.
        """
        if type(message) is not bytes:
            if isinstance(message, (bytearray, memoryview)):
                message = bytes(message)
            elif self._encode is None:
                raise no_schema(self.name)
            else:
                message = self._encode(message)  # type: ignore[arg-type]
        self._append(self.declaration, time_ns, message)


class ColumnWriter:
    """Writes channels that share split files and a codec."""

    def __init__(
        self, log: ArkWriter, name: str, compression: str, level: int | None, max_items: int, max_bytes: int
    ) -> None:
        """Write the channels of one column into splits of at most `max_items` messages and `max_bytes` bytes."""
        self.log = log
        self.name = name
        self.compression = compression
        self.objects: dict[str, ObjectDeclaration] = {}  # by their identifiers, in the order of their declaration
        self.closed: list[SplitDeclaration] = []  # splits that are complete
        self.split: SplitWriter | None = None  # the current one
        self.packing: MessagePacking = MessagePacking.of(compression, level)
        self._max_items = max_items
        self._max_bytes = max_bytes

    def append(self, declaration: ObjectDeclaration, time_ns: int, data: bytes) -> None:
        """Add the bytes of a message.  Raises `WriterError` for a time outside of 64 bits."""
        self.add(declaration, time_ns, data if self.packing.codec is None else self.packing.pack(data))

    def add(self, declaration: ObjectDeclaration, time_ns: int, data: bytes) -> None:
        """Add a message that was packed already.  Raises `WriterError` for a time outside of 64 bits."""
        if not 0 <= time_ns <= TIME_MAX:
            raise WriterError("a time that does not fit into 64 bits", expected=f"0 to {TIME_MAX}", actual=time_ns)
        split = self.split
        size = len(data)
        if split is None or not split.add(declaration.identifier, time_ns, data, size):
            # There is no split, or it is full: begin another, unless the message fits into none.
            if not 0 < size <= self._max_bytes:
                raise WriterError(
                    "a message that does not fit into a split",
                    expected=f"1 to {counted(self._max_bytes, 'bytes')}",
                    actual=f"{counted(size, 'bytes')} on channel {shorten(declaration.name)}",
                )
            split = self._roll()
            # The header and the index take a part of the bytes that an offset can reach.
            if not split.add(declaration.identifier, time_ns, data, size):
                raise WriterError(
                    "a message that does not fit into a split",
                    expected=f"at most {counted(split.room, 'bytes')}",
                    actual=f"{counted(size, 'bytes')} on channel {shorten(declaration.name)}",
                )

    def _roll(self) -> SplitWriter:
        """Close the current split, if any, and begin the next."""
        self.close_split()
        path = self.log.split_path()
        self.split = SplitWriter(path, path.name, len(self.objects), self._max_items, self._max_bytes)
        return self.split

    def flush(self) -> None:
        """Make everything written so far durable."""
        if self.split is not None:
            self.split.flush()

    def close_split(self) -> None:
        """Finish the current split; the next message begins another.

        A split that cannot be finished stays the current one, so that this fails again: its log is never complete.
        """
        split = self.split
        if split is None:
            return
        try:
            split.close()
        except BaseException:
            split.abandon()
            raise
        self.split = None
        if split.count:
            self.closed.append(SplitDeclaration(split.identifier, split.statistics()))
        else:
            discard(split.path)

    def declare(self) -> Column:
        """The column as the manifest declares it now."""
        splits = list(self.closed)
        if self.split is not None and self.split.count:
            splits.append(SplitDeclaration(self.split.identifier))
        return Column(self.name, self.compression, tuple(self.objects.values()), tuple(splits))


class ArkWriter(Writer):
    """Writes one log below a root directory.

    A context manager: leaving it normally finishes the log.  An exception removes the output, unless `flush` made some
    of it durable: then the unfinished log stays for `exhume repair`.

    Args:
        target: Path of the directory, which is made when the first split is.
        name: Name of the log.
        metadata: JSON values by key.
        log_identifier: GUID of the log; None: a new one.
        common_identifier: GUID that logs of one recording share; None: a new one.
        split_items: The number of messages after which a split rolls over.
        split_bytes: The number of bytes after which a split rolls over.
        compression: Codec of columns that do not choose one: `lz4`, `zstd`, `bz2`, `lzma`; None: no compression.
        level: Level of that codec; None: its default.
        amends: Makes the log an amendment: its columns precede that manifest's sections.
        hide: The filter that then applies to the sections of the amended manifest.
        guids: Makes identifiers (tests give their own).

    Raises:
        WriterError: An option makes no sense, or (later) a message does not fit its type.
        OutputExistsError: `target` is a file or a directory of something else.

    Example:
        >>> with exhume.ark.create("day2", name="yard") as log:
        ...     battery = log.channel("/battery", "demo::Battery", "namespace demo; schema Battery { float volts; }")
        ...     battery.write(1_700_000_000_000_000_000, {"volts": 24.5})
        >>> [message.value for message in exhume.ark.open("day2").messages()]
        [{'volts': 24.5}]
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        name: str = "",
        metadata: Mapping[str, Any] | None = None,
        log_identifier: str | None = None,
        common_identifier: str | None = None,
        split_items: int = DEFAULT_MAXIMUM_ITEMS,
        split_bytes: int = DEFAULT_SPLIT_BYTES,
        compression: Compression | None = None,
        level: int | None = None,
        amends: LoadedManifest | None = None,
        hide: Filter = ACCEPT_ALL,
        guids: Callable[[], str] = new_guid,
    ) -> None:
        """Start a log below the directory `target`; see the class for the arguments."""
        self.root: Path = Path(target)
        if os.path.lexists(self.root) and not _may_hold_logs(self.root):
            raise exists_error(self.root)
        if not 1 <= split_items <= MAX_SPLIT_BYTES // ENTRY_SIZE or not 1 <= split_bytes <= MAX_SPLIT_BYTES:
            raise WriterError("a split has at least one message and less than 4 GiB", actual=(split_items, split_bytes))
        _check_compression(compression or "")
        self._guids = guids
        self.name: str = name if name or amends is None else amends.manifest.name
        self.identifier: str = _checked_guid(log_identifier or guids())
        common = common_identifier or (amends.manifest.common_identifier if amends is not None else guids())
        self.common_identifier: str = _checked_guid(common)
        self._split_items, self._split_bytes = split_items, split_bytes
        self._compression, self._level = compression, level
        self._amends, self._hide = amends, hide
        self._columns: dict[str, ColumnWriter] = {}
        self._channels: dict[str, ChannelWriter] = {}  # the first of each name
        self._metadata: dict[str, str] = dict(amends.manifest.metadata) if amends is not None else {}
        self._made: list[Path] = []  # directories that did not exist before
        self._splits: list[Path] = []
        self._durable = False  # whether `flush` was called
        self._done = False  # whether the log was finished or aborted
        self._published: tuple[Any, ...] | None = None  # what the partial manifest depends on, when it was written
        for key, value in (metadata or {}).items():
            self.set_metadata(key, value)

    # What the log consists of

    @property
    def columns(self) -> dict[str, ColumnWriter]:
        """The columns so far, by name."""
        return dict(self._columns)

    @property
    def compression(self) -> str | None:
        """The compression of columns that do not choose one; None when it was not given."""
        return self._compression

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata so far: JSON text by key."""
        return dict(self._metadata)

    def set_metadata(self, key: str, value: Any) -> None:
        """Set a metadata entry; the value is stored as JSON text.

        Raises `WriterError` if JSON cannot express it, or the log is finished.
        """
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise WriterError("metadata that JSON cannot hold", field_path=key, actual=error) from error
        self.set_metadata_text(key, text)

    def set_metadata_text(self, key: str, text: str) -> None:
        """Set a metadata entry to a string, stored unchanged.  Raises `WriterError` when the log is finished."""
        self._check_open()
        self._metadata[key] = text

    def _check_open(self) -> None:
        """Raise `WriterError` when the log is finished: what is added then would be in no file."""
        if self._done:
            raise WriterError("the log is finished")

    def column(
        self,
        name: str,
        compression: Compression | None = None,
        *,
        level: int | None = None,
        split_items: int | None = None,
        split_bytes: int | None = None,
    ) -> ColumnWriter:
        """A new column; `compression` is `none`, `lz4`, `zstd`, `bz2` or `lzma`, `level` the codec's own scale.

        Raises `WriterError` for a name that exists and an unknown compression.
        """
        self._check_open()
        if name in self._columns:
            raise WriterError("a column of this name exists already", actual=name)
        codec = (self._compression or "none") if compression is None else compression
        _check_compression(codec)
        if level is not None and codec in ("none", ""):
            raise WriterError("a column without compression has no level", actual=level)
        column = ColumnWriter(
            self,
            name,
            codec,
            self._level if level is None else level,
            split_items or self._split_items,
            min(split_bytes or self._split_bytes, MAX_SPLIT_BYTES),
        )
        self._columns[name] = column
        return column

    def packing(self, column: str, compression: Compression | None = None) -> MessagePacking:
        """The encoding of the messages of a column, which may not exist yet."""
        known = self._columns.get(column)
        return (
            known.packing
            if known is not None
            else MessagePacking.of(compression or self._compression or "", self._level)
        )

    def channel(
        self,
        name: str,
        type: str = "",
        registry: Registry | str | bytes | Mapping[str, Any] | None = None,
        *,
        column: str | ColumnWriter = "main",
        latched: bool = False,
        identifier: str | None = None,
    ) -> ChannelWriter:
        """A new channel.

        `registry` is a `Registry`, registry JSON or IDL text; the part that `type` needs is embedded.  Without one,
        only bytes can be written.  The column is made if there is none of that name.
        """
        where = column if isinstance(column, ColumnWriter) else self._columns.get(column) or self.column(column)
        text, encoder = "", None
        if registry is not None:
            loaded = load_registry(registry)
            encoder = encoder_for(loaded, type)
            # Registry JSON is embedded as it is; of anything else the part that the type needs.
            embedded = (
                loaded if isinstance(registry, str) and registry.lstrip().startswith("{") else loaded.closure(type)
            )
            text = embedded.to_json()
        declaration = ObjectDeclaration(
            name, type.removeprefix("::"), _checked_guid(identifier or self._guids()), text, latched
        )
        return self._add_channel(where, declaration, encoder)

    def declare(self, declaration: ObjectDeclaration, *, column: str | ColumnWriter = "main") -> ChannelWriter:
        """A channel exactly as another log declares it."""
        where = column if isinstance(column, ColumnWriter) else self._columns.get(column) or self.column(column)
        return self._add_channel(where, declaration, None)

    def _add_channel(
        self, column: ColumnWriter, declaration: ObjectDeclaration, encoder: Encoder | None
    ) -> ChannelWriter:
        """Declare a channel in a column; raise `WriterError` if its identifier exists there, or the log is finished."""
        self._check_open()
        if declaration.identifier in column.objects:
            raise WriterError(
                "a channel of this identifier exists already in the column", actual=declaration.identifier
            )
        channel = ChannelWriter(column, declaration, encoder)
        column.objects[declaration.identifier] = declaration
        self._channels.setdefault(declaration.name, channel)
        return channel

    def write(self, channel: str | ChannelWriter, time_ns: int, message: Mapping[str, Any] | bytes) -> None:
        """Add a message to a channel; a name means the first channel of that name.

        Raises `WriterError` for an unknown channel and for a value that does not fit.
        """
        if isinstance(channel, str):
            found = self._channels.get(channel)
            if found is None:
                raise WriterError("no such channel", actual=channel)
            channel = found
        channel.write(time_ns, message)

    # Files

    def split_path(self) -> Path:
        """A name for the next split, in a directory that exists.  Raises `WriterError` when the log is finished."""
        self._check_open()
        self._make_directories()
        path = self.root / "splits" / _checked_guid(self._guids())
        self._splits.append(path)
        return path

    def _make_directories(self) -> None:
        """Make the directories of the log; those that are new are synchronized with their parents."""
        for path in (self.root, self.root / "manifests", self.root / "splits"):
            if not path.is_dir():
                with naming(path):  # an error of the system then names it
                    path.mkdir()
                self._made.append(path)
                sync_directory(path.parent)

    @property
    def _partial_path(self) -> Path:
        """The manifest of the unfinished log."""
        return self.root / "manifests" / (self.identifier + PARTIAL_SUFFIX)

    def manifest(self) -> Manifest:
        """The current manifest."""
        columns = tuple(column.declare() for column in self._columns.values())
        own = ManifestSection(columns, self.identifier, self._hide)
        rest = self._amends.manifest.sections if self._amends is not None else ()
        return Manifest(self.identifier, self.common_identifier, self.name, (own, *rest), dict(self._metadata))

    def _manifest_file(self) -> bytes:
        """The bytes of the manifest; that of an amendment keeps the schema of the log that it amends."""
        if self._amends is None:
            return build_manifest(self.manifest())
        return derived_file(self._amends, self.manifest(), in_front=1)  # the section of this log is before the others

    def flush(self) -> None:
        """Make everything written so far durable: it survives a crash, and `exhume repair` finds it.

        Raises `WriterError` when the log is finished.
        """
        self._check_open()
        self._make_directories()
        for column in self._columns.values():
            column.flush()
        sync_directory(self.root / "splits")
        self._durable = True
        state = tuple(
            (len(column.objects), len(column.closed), column.split is not None and column.split.count > 0)
            for column in self._columns.values()
        ) + tuple(self._metadata.items())
        if state != self._published:
            with AtomicFile(self._partial_path, overwrite=True) as file:
                file.file.write(self._manifest_file())
            self._published = state

    def finish(self) -> None:
        """Close the splits and put the manifest in place."""
        if self._done:
            return
        self._make_directories()
        for column in self._columns.values():
            column.close_split()
        sync_directory(self.root / "splits")
        with AtomicFile(self.root / "manifests" / self.identifier) as file:
            file.file.write(self._manifest_file())
        self._done = True
        discard(self._partial_path)

    def abort(self) -> None:
        """Remove the output, unless `flush` made some of it durable."""
        if self._done:
            return
        self._done = True
        for column in self._columns.values():
            if column.split is not None:
                column.split.abandon()
        if self._durable:
            return
        for path in (*self._splits, self._partial_path):
            discard(path)
        for path in reversed(self._made):
            for _ in range(2):  # a call that fails once is repeated, as this is the last chance to remove it
                with suppress(OSError):  # also of a directory with other files in it
                    path.rmdir()


def no_schema(channel: str) -> WriterError:
    """The error of a value for a channel that can only hold bytes."""
    return WriterError("a channel without a schema takes bytes only", actual=channel)


def _may_hold_logs(path: Path) -> bool:
    """Whether a path is an empty directory, or one that holds logs already."""
    if not path.is_dir():
        return False
    names = {each.name for each in path.iterdir()}
    return not names or bool(names & {"manifests", "splits"})


def _check_compression(name: str) -> None:
    """Raise `WriterError` for a compression that the format does not have; "" stands for `none`."""
    if name and name not in CODEC_NUMBERS:
        known = ", ".join(CODEC_NUMBERS)
        raise WriterError(f"unknown compression{hint(name, CODEC_NUMBERS)}", expected=f"one of {known}", actual=name)


def _checked_guid(text: str) -> str:
    """Return a GUID in lower case. Raises `WriterError` if it is not one."""
    try:
        guid_bytes(text)
    except ValueError as error:
        raise WriterError(str(error)) from None
    return text.lower()
