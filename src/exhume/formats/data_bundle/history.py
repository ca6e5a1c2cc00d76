"""Replaced and deleted rows of the index, resolved against the shards that never change.

The index of a bundle is a database with file rows (where a file is in the stream of a shard) and record rows (where a
part of that stream is stored in the shard's file).  A file row that a later one replaced or deleted still says where
its bytes are, and its CRC-32C proves that they are still there.

Records of a shard that no row of the index places are found by alignment and codec: a stored record shows where it
ends, and the next one starts at the next multiple of the alignment.  Where one cannot be decoded, the walk continues at
the next place that could start a record.  Offsets in the stream follow from the record before; after a lost record they
are a guess (that the lost record was full), which only a file's CRC-32C can confirm.

Spec: data_bundle.txt, Shard Files; `docs/formats/data_bundle.md`, "Read".
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exhume.codecs import decompress_prefix
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span
from exhume.findings import Finding
from exhume.formats.data_bundle.bundle import View
from exhume.formats.data_bundle.index import FileRow, RecordRow, group_records, parse_file_row, parse_record_row
from exhume.formats.data_bundle.layout import FILE_PREFIX, RECORD_PREFIX
from exhume.formats.data_bundle.messages import Compression, RecordMetadata, ShardHeader, align, compression_name
from exhume.formats.data_bundle.names import shard_number
from exhume.formats.data_bundle.shard import read_header
from exhume.formats.leveldb import checks as leveldb_checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import DELETIONS, Status, Version
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

WINDOW = 1 << 20
"""Bytes that are searched at a time for the start of a record."""

_STORED_GROWTH = 64
"""Bytes, in addition to 1/6, by which a stored record may be larger than its contents."""


def complete_rows(
    source: Source, header: ShardHeader, rows: list[RecordRow], limits: Limits = DEFAULT_LIMITS
) -> list[RecordRow]:
    """Return the `rows` of one shard in stream order, together with those that the index has lost.

    The rows of shards without compression are returned unchanged, because their records cannot be recognized.
    """
    if header.compression not in (Compression.ZLIB, Compression.SNAPPY):
        return rows
    stored = [row.byte_offset for row in rows if row.byte_offset is not None]
    base = header.data_offset if stored and min(stored) == 0 else 0  # offsets may count from the first data byte
    known = {row.byte_offset + base: row for row in rows if row.byte_offset is not None}  # by offset in the shard
    made: dict[int, RecordRow] = {row.offset: row for row in rows}  # by offset in the stream
    # `expected`: offset in the stream of the next record; `sure`: whether that is not a guess.
    expected, sure = 0, True
    for place, size in _walk(source, header, sorted(known), limits):
        row = known.get(place)
        if row is not None:
            if sure and expected < row.offset and expected not in made:  # nothing is stored in between: these are zeros
                made[expected] = RecordRow(expected, None, RecordMetadata(header.shard_index, expected, all_zeros=True))
            expected, sure = row.offset, True
        elif size:
            expected = _after_zeros(expected, made, header.record_size)
            meta = RecordMetadata(header.shard_index, expected, place - base)
            made.setdefault(expected, RecordRow(expected, place - base, meta))
        expected += size or header.record_size  # a lost record was probably full
        sure = sure and size > 0  # size 0: something else than a record
    return sorted(made.values(), key=lambda row: row.offset)


def _after_zeros(offset: int, rows: dict[int, RecordRow], record_size: int) -> int:
    """Return where the stream continues after the records of zeros that start at `offset` according to the index."""
    while offset in rows and rows[offset].byte_offset is None:
        offset = min((other for other in rows if other > offset), default=offset + record_size)
    return offset


def _walk(source: Source, header: ShardHeader, known: list[int], limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield (offset in the shard, decoded size) of each record in file order, and with size 0 of other bytes.

    `known` are the offsets at which the index places records, sorted: a search ends there.
    """
    step = max(1, header.record_alignment)
    at = header.data_offset
    while at < source.size:
        decoded = _decode(source, header, at, limits)
        if decoded is not None:
            used, size = decoded
            yield at, size
            at = align(at + used, step)
            continue
        # Damage: try every place where a record may start, up to the next one that the index knows.
        lost = at
        while decoded is None and at < source.size:
            nearest = bisect_right(known, at)
            stop = known[nearest] if nearest < len(known) else source.size
            at = _next_start(source, header, at + 1, stop)
            if at == stop:
                break
            decoded = _decode(source, header, at, limits)
        yield lost, 0


def _decode(source: Source, header: ShardHeader, at: int, limits: Limits) -> tuple[int, int] | None:
    """Stored and decoded size of the record at an offset, None when there is none."""
    most = min(max(header.record_size, 1), limits.payload_size)
    stored = source.read_up_to(at, most + most // 6 + _STORED_GROWTH)
    if not _could_start(stored, 0, header):
        return None
    try:
        decoded = decompress_prefix(compression_name(header.compression), stored, max_size=most)
    except (CodecError, LimitExceededError):
        return None
    return (decoded.consumed, len(decoded.data)) if decoded.data else None


def _could_start(stored: bytes, at: int, header: ShardHeader) -> bool:
    """Whether the bytes at `at` may start a compressed record: a cheap test before decoding."""
    if header.compression == Compression.ZLIB:  # as RFC 1950 requires: deflate, and a check of the first two bytes
        return len(stored) > at + 2 and stored[at] & 0x0F == 8 and (stored[at] << 8 | stored[at + 1]) % 31 == 0
    return len(stored) > at and stored[at] != 0  # Snappy starts with the size, which is not 0


def _next_start(source: Source, header: ShardHeader, at: int, stop: int) -> int:
    """The first place from `at` on where a record could start, at most `stop`."""
    step = max(1, header.record_alignment)
    if header.compression == Compression.SNAPPY and step == 1:
        return stop  # a record could start at any byte
    at = align(at, step)
    while at < stop:
        window = source.read_up_to(at, min(WINDOW, stop - at) + 2)  # `_could_start` examines two further bytes
        for offset in range(0, len(window), step):
            if _could_start(window, offset, header):
                return min(stop, at + offset)
        at += align(min(WINDOW, stop - at), step)
    return stop


def unclaimed(stream: Iterable[tuple[int, int]], claimed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of the ranges in `stream` that no range in `claimed` covers, in order, adjacent ones joined."""
    # Each edge is (offset, change of the ranges in `stream`, change of those in `claimed`).
    edges = [(at, step, 0) for start, end in stream for at, step in ((start, 1), (end, -1)) if end > start]
    edges += [(at, 0, step) for start, end in claimed for at, step in ((start, 1), (end, -1)) if end > start]
    there = taken = 0  # ranges of both kinds that cover the current offset
    begin: int | None = None  # where the current free part begins; None outside of one
    for at, group in itertools.groupby(sorted(edges), key=lambda edge: edge[0]):
        for _, one, other in group:
            there += one
            taken += other
        free = there > 0 and taken == 0
        if free and begin is None:
            begin = at
        elif not free and begin is not None:
            yield begin, at
            begin = None


TOGETHER = 64
"""Rows whose files one thread reads at a time."""


class FileVersion(NamedTuple):
    """One version of a file row.

    `checksum_status`: `good` (the bytes match their CRC), `bad`, `unreadable`, or None for a tombstone.  `row` is None
    for a tombstone, and for a row that cannot be read, whose `path` is then its key; `error` says why it is not good.
    """

    version: Version
    path: str
    row: FileRow | None
    checksum_status: str | None
    error: ExhumeError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON columns."""
        out = self.version.to_dict()
        out["checksum_status"] = self.checksum_status
        if self.row is not None:
            meta = self.row.meta
            out |= {"shard": meta.shard_index, "shard_offset": meta.offset, "crc32c": f"{meta.crc32c:08x}"}
        if self.error is not None:
            out |= {"problem": self.error.code, "reason": self.error.message}
        return out


class History:
    """Every version of every file row, and past states of the bundle."""

    def __init__(self, tree: Tree, database: Database, limits: Limits) -> None:
        """Read every version of every row of the index; unresolved ones become problems."""
        self.database = database
        self.problems: list[Finding] = []
        found = database.versions(leveldb_checks.collector(self.problems.append))
        self.versions: list[Version] = [one for one in found if one.unresolved is None]  # the others are reported
        limits.check("entries", len(self.versions))
        newest = list(self._newest_records())
        # Record rows by shard; the second, only those from undamaged blocks of the index.
        self._records = group_records(row for row, _ in newest)
        self._sound_records = group_records(row for row, sound in newest if sound)
        self.view: View = View(tree, lambda shard: self._records.get(shard, []), limits)

    @property
    def has_holes(self) -> bool:
        """Whether the index may lack rows: it is damaged, or a shard with records has none."""
        if self.problems or not self.versions:
            return True
        return next(self._packed_shards(self._records), None) is not None

    def complete_records(self) -> None:
        """Add the records that no row places, found in the shards themselves."""
        for number, header in self._packed_shards():
            rows = self._sound_records.get(number, [])
            made = complete_rows(self.view.source(number), header, rows, self.view.limits)
            known = {row.offset for row in made}
            # A block with a bad checksum is believed only about what no shard can show: records of zeros.
            doubtful = [
                record
                for record in self._records.get(number, [])
                if record.byte_offset is None and record.offset not in known
            ]
            self._records[number] = sorted(made + doubtful, key=lambda row: row.offset)

    def _packed_shards(self, known: Mapping[int, list[RecordRow]] | None = None) -> Iterator[tuple[int, ShardHeader]]:
        """Yield (number, header) of the shards that consist of records; without those that have `known` rows."""
        for name in self.view.tree.names():
            number = shard_number(name)
            if number is None or (known and known.get(number)):
                continue
            try:
                header = read_header(self.view.source(number), self.view.limits)
            except ExhumeError:
                continue
            if header.compression in (Compression.ZLIB, Compression.SNAPPY):
                yield number, header

    def unnamed(self) -> Iterator[tuple[int, int, int]]:
        """`(shard, start, end)` of bytes in the uncompressed streams that can be decoded and that no row names."""
        claimed: dict[int, list[tuple[int, int]]] = {}
        for version in self.versions:
            if version.key.startswith(FILE_PREFIX) and version.value_type not in DELETIONS:
                try:
                    meta = parse_file_row(version.key, version.value, version.span).meta
                except ExhumeError:
                    continue
                if not meta.is_directory:
                    claimed.setdefault(meta.shard_index, []).append((meta.offset, meta.offset + meta.size))
        numbers = {number for name in self.view.tree.names() if (number := shard_number(name)) is not None}
        for number in sorted(numbers):
            for start, end in unclaimed(self._stream(number), claimed.get(number, [])):
                yield number, start, end

    def _stream(self, number: int) -> Iterator[tuple[int, int]]:
        """The ranges of a shard's stream whose stored bytes can be decoded."""
        try:
            shard = self.view.shard(number)
        except ExhumeError:
            return
        if shard.is_flat:
            yield 0, shard.source.size - shard.header.data_offset
            return
        for index, start in enumerate(shard.starts):
            if shard.places[index] is None:
                continue
            try:
                size, _ = shard.measure(index)
            except ExhumeError:
                continue
            yield start, start + size

    def _newest_records(self) -> Iterator[tuple[RecordRow, bool]]:
        """The best row of each record, and whether its block is undamaged: shards never change, so a deleted row is as
        good as a live one.
        """
        best: dict[bytes, Version] = {}
        for version in self.versions:
            if version.key.startswith(RECORD_PREFIX) and version.value_type not in DELETIONS:
                known = best.get(version.key)
                if known is None or _rank(version) > _rank(known):
                    best[version.key] = version
        for key, version in best.items():
            try:
                yield parse_record_row(key, version.value, version.span), version.checksum != "bad"
            except ExhumeError as error:
                self.problems.append(Finding.from_error(error))

    def files(self, *, check: bool = True, jobs: int = 1) -> Iterator[FileVersion]:
        """Versions of file and directory rows in the order of `Database.versions`; `check` reads each and compares
        its CRC-32C.
        """
        rows = [version for version in self.versions if version.key.startswith(FILE_PREFIX)]
        pieces = [rows[at : at + TOGETHER] for at in range(0, len(rows), TOGETHER)]
        for found in map_ordered(lambda piece: [self.file(version, check) for version in piece], pieces, jobs):
            yield from found

    def file(self, version: Version, check: bool = True) -> FileVersion:
        """Return one of `versions` of a file row as a `FileVersion`; `check` as for `files`."""
        deleted = version.value_type in DELETIONS
        try:
            row = parse_file_row(version.key, b"" if deleted else version.value, version.span)
        except ExhumeError as error:
            return FileVersion(version, repr(version.key), None, "unreadable", error)
        if deleted:
            return FileVersion(version, row.path, None, None)
        proof, problem = self.prove(row) if check else (None, None)
        return FileVersion(version, row.path, row, proof, problem)

    def prove(self, row: FileRow) -> tuple[str, ExhumeError | None]:
        """Read a row; return `good`, `bad` (its CRC-32C does not match) or `unreadable`, and the error, if any."""
        if row.meta.is_directory:
            return "good", None
        try:
            for _ in self.view.chunks(row):
                pass
        except ExhumeError as error:
            if error.is_reading_failure:
                raise
            return ("bad" if error.code == "DBND-201" else "unreadable"), error
        return "good", None

    def at(self, sequence: int) -> dict[str, FileRow]:
        """Files and directories as of a sequence number, by path."""
        newest: dict[bytes, Version] = {}
        for version in self.versions:
            if (
                version.key.startswith(FILE_PREFIX)
                and version.sequence <= sequence
                and version.status is not Status.BEYOND
            ):
                known = newest.get(version.key)
                if known is None or version.sequence > known.sequence:
                    newest[version.key] = version
        out: dict[str, FileRow] = {}
        for key, version in sorted(newest.items()):
            if version.value_type not in DELETIONS:
                row = parse_file_row(key, version.value, version.span)
                out[row.path] = row
        return out

    @property
    def where(self) -> Span:
        """The span of the index as a whole, for errors."""
        return Span(self.database.tree.name, 0, 0)

    def close(self) -> None:
        """Close the shards (the database belongs to the caller)."""
        self.view.close()


def _rank(version: Version) -> tuple[bool, bool, int]:
    """Preference among versions of a record row: undamaged, then live, then newer."""
    return version.checksum != "bad", version.status is Status.LIVE, version.sequence
