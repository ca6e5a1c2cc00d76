"""Every rule of a bundle; never stops at the first finding.

It checks the index database first, then its rows, then each shard against rows and configuration, then each file, then
old rows.  A file row states where a file is in the stream of a shard (its uncompressed content), a record row where a
part of that stream is stored.  With `quick`, no record is decompressed and no file read.

Spec: data_bundle.txt; the rules are in `checks`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress
from exhume.errors import ExhumeError, SourceError, Span, UnsafePathError
from exhume.findings import CappedFindings, Finding, Rule, Severity
from exhume.formats.data_bundle import checks, layout
from exhume.formats.data_bundle.bundle import View
from exhume.formats.data_bundle.content import Content, pieces
from exhume.formats.data_bundle.history import History
from exhume.formats.data_bundle.index import (
    FileRow,
    RecordRow,
    group_records,
    parse_config,
    parse_file_row,
    parse_record_row,
    plain_file_row,
    plain_record_row,
)
from exhume.formats.data_bundle.layout import CONFIG_KEY, FILE_PREFIX, Tables, parse_table
from exhume.formats.data_bundle.messages import BundleConfig, Compression, FileType
from exhume.formats.data_bundle.names import shard_name
from exhume.formats.data_bundle.shard import DEFAULT_RECORD_SIZE, Shard
from exhume.formats.leveldb.model import Status, Version
from exhume.formats.leveldb.verify import verify_database
from exhume.formats.leveldb.wire import WireError
from exhume.io.files import safe_parts
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.data_bundle.bundle import OpenBundle


REPORTED_BEFORE = ("DBND-202", "DBND-313", "DBND-315", "DBND-316")
"""Rules that were reported with the record or row, before files are read."""


def verify_bundle(archive: OpenBundle, *, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
    """Findings on index, rows, shards and files; `quick` decompresses no record and reads no file."""
    is_unread = False
    for finding in verify_database(archive.database, quick=quick, jobs=jobs):
        is_unread |= finding.severity is Severity.UNCHECKED
        yield finding
    if is_unread:
        return  # rows of files and records may be missing, without which nothing can be said of the shards
    walk = _BundleWalk(archive)
    try:
        yield from walk.read_rows()
        if unread := walk.unread.findings():  # rows that seem to be missing may be in the part that was not read
            yield from unread
            return
        yield from walk.check_shards(quick, jobs)
        yield from walk.check_stream()
        if not quick:
            yield from walk.check_files(jobs, progress)
            yield from walk.check_old_rows()
    finally:
        walk.view.close()


class _BundleWalk:
    """One run over a bundle: `read_rows` first, as the other checks use the rows."""

    def __init__(self, archive: OpenBundle) -> None:
        """Prepare to check the rows of a bundle against its shards."""
        self.archive = archive
        self.config: BundleConfig | None = None
        self.files: list[FileRow] = []
        """Rows of all live files and directories."""
        self.found: dict[int, Version] = {}
        """Where the index has each file row, by the `id` of that."""
        self.records: dict[int, list[RecordRow]] = {}
        """Record rows by shard."""
        self.shards: dict[int, Shard] = {}
        """Shards that could be opened."""
        self.view = View(archive.tree, lambda number: self.records.get(number, []), archive.limits)
        self.old_rows = False
        """Whether the index still has replaced or deleted file rows."""
        self.unread = CappedFindings()
        """The limits and unsupported features that kept parts of the index from being read."""
        self.proven: set[int] = set()
        """The `id` of each file row whose CRC-32C was found to be right."""

    def read_rows(self) -> Iterator[Finding]:
        """Every live row, parsed; damage to the index itself has already been reported."""
        records: list[RecordRow] = []
        for version in self.archive.database.versions(self._note):
            if version.status is not Status.LIVE:
                self.old_rows = self.old_rows or version.key.startswith(FILE_PREFIX)
                continue
            if version.unresolved is not None:
                continue  # for a reason that is in `unread`
            key, value = version.key, version.value
            try:
                table = parse_table(key)
                if key == CONFIG_KEY:
                    self.config = parse_config(value, version.span)
                    yield from _note_unknown(self.config.unknown, version.span)
                elif table == Tables.FILES:
                    row = plain_file_row(key, value) or parse_file_row(key, value, version.span)
                    self.files.append(row)
                    self.found[id(row)] = version
                    yield from _check_file_row(row, version)
                elif table == Tables.RECORDS:
                    record = plain_record_row(key, value) or parse_record_row(key, value, version.span)
                    records.append(record)
                    yield from _note_unknown(record.meta.unknown, version.span)
                else:
                    yield checks.UNKNOWN_ROW.finding(span=version.span, actual=key)
            except WireError:
                yield checks.UNKNOWN_ROW.finding(span=version.span, actual=key)
            except ExhumeError as error:
                yield Finding.from_error(error)
        self.records = group_records(records)
        if not self.unread.findings():
            yield from self._check_config()

    def _check_config(self) -> Iterator[Finding]:
        """Yield a finding if the configuration is missing, or its compression is not known."""
        where = Span("index", 0, 0)
        if self.config is None:
            yield checks.NO_CONFIG.finding(span=where)
            return
        compression = self.config.compression
        if compression == Compression.UNKNOWN:
            yield checks.COMPRESSION.finding("configuration", span=where, actual=compression, severity=Severity.WARNING)
        elif compression not in tuple(Compression):
            yield checks.COMPRESSION.finding("configuration", span=where, actual=compression)

    def _note(self, rule: Rule, detail: str = "", **more: Any) -> None:
        """Note what keeps a part of the index from being read; every other fault has been reported."""
        if rule.severity is Severity.UNCHECKED:
            self.unread.append(rule.finding(detail, **more))

    def check_shards(self, quick: bool, jobs: int) -> Iterator[Finding]:
        """Shard files against rows, both ways; headers; records."""
        there = self.archive.shard_files()
        used = {row.meta.shard_index for row in self.files if row.meta.size} | set(self.records)
        for number in sorted(used - set(there)):
            yield checks.MISSING_SHARD.finding(span=Span(shard_name(number), 0, 0), actual=number)
        for number, name in there.items():
            if number not in used and any(row.meta.size for row in self.files):
                yield checks.UNUSED_SHARD.finding(span=Span(name, 0, 0))
            try:
                shard = self.shards[number] = self.view.shard(number)
            except ExhumeError as error:
                yield Finding.from_error(error)
                continue
            yield from self._check_header(shard, len(there))
            yield from _check_places(shard)
            if not quick and not shard.is_flat:
                yield from self._check_content(shard, jobs)
        known = set(there.values())
        for name in self.archive.tree.names():
            if name not in known and not name.startswith("index/"):
                yield checks.EXTRA_FILE.finding(span=Span(name, 0, 0))

    def _check_content(self, shard: Shard, jobs: int) -> Iterator[Finding]:
        """Each record by itself; the files that turn out to be right meanwhile need not be read again."""
        shard.source.will_read(shard.header.data_offset, shard.source.size)
        content = Content(shard, self.in_stream.get(shard.number, []))
        for findings in content.check(jobs):
            yield from findings
        self.proven |= content.proven

    @functools.cached_property
    def in_stream(self) -> dict[int, list[FileRow]]:
        """The files of each shard that are not empty, in the order of their bytes."""
        out: dict[int, list[FileRow]] = {}
        for row in self.files:
            if row.meta.size and not row.meta.is_directory:
                out.setdefault(row.meta.shard_index, []).append(row)
        for rows in out.values():
            rows.sort(key=lambda row: (row.meta.offset, row.meta.size))
        return out

    def _check_header(self, shard: Shard, count: int) -> Iterator[Finding]:
        """Compare a shard's header with the number of shards (`count`) and the bundle's settings."""
        header, source = shard.header, shard.source
        where = source.span(0, min(source.size, header.data_offset))
        if header.shard_count != count:
            yield checks.SHARD_COUNT.finding(span=where, expected=header.shard_count, actual=count)
        yield from _note_unknown(header.unknown, where)
        if header.metadata != "external":
            yield checks.METADATA_PLACE.finding(span=where, actual=header.metadata)
        if header.compression not in tuple(Compression):
            yield checks.COMPRESSION.finding("shard", span=where, actual=header.compression)
        # The configuration in the index has to agree.
        config = self.config
        if config is not None:
            pairs = (
                ("record size", config.record_size, header.record_size),
                ("alignment", config.block_size, header.record_alignment),
                ("compression", config.compression, header.compression),
            )
            for what, stated, found in pairs:
                if stated and found and stated != found:
                    yield checks.SETTINGS.finding(what, span=where, expected=stated, actual=found)
            if config.raw_packed and not shard.is_flat:
                yield checks.SETTINGS.finding("raw packed, but there are record rows", span=where)
        if header.record_alignment and header.data_offset % header.record_alignment:
            yield checks.RECORD_ALIGN.finding(
                "data", span=where, expected=header.record_alignment, actual=header.data_offset
            )
        # Bytes between the header and the data are zero.
        end = layout.shard_header_end(source.read_at(0, layout.FIXED_HEADER), where)
        for at, chunk in pieces(source, end, header.data_offset):
            if chunk.count(0) != len(chunk):
                yield checks.HEADER_FILL.finding(span=source.span(at, at + len(chunk)))
                break
        if shard.is_relative:
            yield checks.RELATIVE.finding(span=where)

    def check_stream(self) -> Iterator[Finding]:
        """Files against the stream of their shard: coverage, overlap, unused bytes."""
        for number, rows in sorted(self.in_stream.items()):
            shard = self.shards.get(number)
            name = shard_name(number)
            at = 0
            for row in rows:
                start, end = row.meta.offset, row.meta.offset + row.meta.size
                if start < at:
                    yield checks.FILE_OVERLAP.finding(
                        row.path, span=Span(name, 0, 0), expected=f"from {at}", actual=start
                    )
                elif start > at:
                    yield checks.STREAM_GAP.finding(span=Span(name, 0, 0), actual=f"stream bytes {at} to {start}")
                at = max(at, end)
                if shard is not None:
                    yield from _check_cover(shard, row)
            # Where the last record starts after all files, none uses it.
            if shard is not None and shard.rows and at < shard.starts[-1]:
                yield checks.STREAM_GAP.finding(span=Span(name, 0, 0), actual=f"records from stream byte {at}")

    def check_files(self, jobs: int, progress: Progress) -> Iterator[Finding]:
        """The CRC-32C of every file."""
        rows = sorted(
            (row for row in self.files if not row.meta.is_directory),
            key=lambda row: (row.meta.shard_index, row.meta.offset),
        )

        def one(row: FileRow) -> Finding | None:
            """Return the finding about a file that cannot be read; None if its CRC-32C matches."""
            try:
                for _ in self.view.chunks(row):
                    pass
            except ExhumeError as error:
                found = Finding.from_error(error)
                if error.code == checks.FILE_CRC.code:  # the row states the checksum
                    found = found._replace(declared_at=self.found[id(row)].span)
                return found
            return None

        for shard in self.shards.values():
            shard.source.will_read(shard.header.data_offset, shard.source.size)
        self._prove_flat(jobs)
        left = [row for row in rows if id(row) not in self.proven]
        progress(len(rows) - len(left), len(rows), "files")
        for done, finding in enumerate(map_ordered(one, left, jobs), len(rows) - len(left) + 1):
            progress(done, len(rows), "files")
            if finding is not None and finding.code not in REPORTED_BEFORE:
                yield finding

    def _prove_flat(self, jobs: int) -> None:
        """Read flat shards once from front to back; files that this proves need not be read one by one."""
        for shard in self.shards.values():
            if shard.is_flat:
                content = Content(shard, self.in_stream.get(shard.number, []))
                for _ in content.check(jobs):
                    pass
                self.proven |= content.proven

    def check_old_rows(self) -> Iterator[Finding]:
        """Deleted and replaced files whose bytes are still there."""
        if not self.old_rows:
            return
        history = History(self.archive.tree, self.archive.database, self.archive.limits)
        try:
            for found in history.files():
                dead = found.version.status is not Status.LIVE
                if dead and found.checksum_status == "good" and found.row is not None and found.row.meta.size:
                    detail = f"{found.path} ({found.version.history})"
                    yield checks.OLD_ROW.finding(detail, span=found.version.span)
        finally:
            history.close()


def _note_unknown(numbers: Sequence[int], span: Span) -> Iterator[Finding]:
    """Yield a finding if a message has fields of these numbers, which are not known."""
    if numbers:
        yield checks.UNKNOWN_FIELDS.finding(span=span, actual=", ".join(f"field {number}" for number in numbers))


def _check_file_row(row: FileRow, version: Version) -> Iterator[Finding]:
    """Yield a finding for a directory with size or checksum, another type of file, and an unsafe or malformed name."""
    meta, (directory, name) = row.meta, row.key
    yield from _note_unknown(meta.unknown, version.span)
    if meta.is_directory and (meta.size or meta.crc32c):
        yield checks.DIRECTORY_SIZE.finding(row.path, span=version.span, actual=meta.size)
    if meta.type not in (FileType.REGULAR_FILE, FileType.DIRECTORY):
        severity = Severity.NOTE if meta.type == FileType.UNKNOWN else Severity.UNCHECKED
        yield checks.FILE_TYPE.finding(row.path, span=version.span, actual=meta.type, severity=severity)
    # The name: extraction must be able to use it, and the key has slashes around the directory only.
    reason = ""
    try:
        safe_parts(row.path)
        if not (directory.startswith(b"/") and directory.endswith(b"/")) or b"/" in name:
            reason = "directory without slashes around it"
    except UnsafePathError as error:
        reason = error.message
    if reason:
        yield checks.NAME.finding(reason, span=version.span, actual=directory + name)


def _check_places(shard: Shard) -> Iterator[Finding]:
    """Check that offsets of records are inside the data, growing and aligned, and sizes of zero records possible."""
    header, source = shard.header, shard.source
    alignment = max(1, header.record_alignment)
    last = header.data_offset  # where the record before starts
    for index, place in enumerate(shard.places):
        if place is None:  # a record of zeros stores nothing, so only its size is checked
            length = shard.known_length(index)
            most = header.record_size or DEFAULT_RECORD_SIZE
            if length is not None and length > most:
                yield checks.ZERO_RECORD.finding(
                    span=Span(source.name, 0, 0), expected=f"at most {most}", actual=length
                )
            continue
        where = source.span(min(place, source.size), min(place, source.size))
        if not header.data_offset <= place <= source.size:
            yield checks.RECORD_PLACE.finding(
                span=where, expected=f"{header.data_offset} to {source.size}", actual=place
            )
            continue
        # Only two stored records in sequence may not start together: before the first, `last` is the start of the data.
        if place < last or (place == last and index and shard.places[index - 1] is not None):
            yield checks.RECORD_ORDER.finding(span=where, expected=f"after {last}", actual=place)
        if place % alignment:
            yield checks.RECORD_ALIGN.finding(span=where, expected=alignment, actual=place)
        last = place
    if shard.rows and shard.starts[0] != 0:
        yield checks.STREAM_GAP.finding(
            "the first record", span=Span(source.name, 0, 0), actual=f"starts at {shard.starts[0]}"
        )


def _check_cover(shard: Shard, row: FileRow) -> Iterator[Finding]:
    """Yield a finding if records (or the flat data) do not cover a file.

    Rows state where records start, so the end of the last one is known only by decoding it (`_last_size`).  If that
    fails, there is no finding here: reading the record reports it.
    """
    end = row.meta.offset + row.meta.size
    where = Span(shard.source.name, 0, 0)
    if end >= 1 << 64:
        yield checks.FILE_PLACE.finding(row.path, span=where, actual=end)
    elif shard.is_flat:
        room = shard.source.size - shard.header.data_offset
        if end > room:
            yield checks.FILE_PLACE.finding(row.path, span=where, expected=f"at most {room}", actual=end)
    elif not shard.rows:
        yield checks.FILE_PLACE.finding(row.path, span=where, expected="rows of compressed records", actual="none")
    elif row.meta.offset < shard.starts[0]:
        yield checks.FILE_PLACE.finding(
            row.path, span=where, expected=f"at least {shard.starts[0]}", actual=row.meta.offset
        )
    elif end > shard.starts[-1]:
        size = _last_size(shard)
        if size is not None and end > shard.starts[-1] + size:
            yield checks.FILE_PLACE.finding(
                row.path, span=where, expected=f"at most {shard.starts[-1] + size}", actual=end
            )


def _last_size(shard: Shard) -> int | None:
    """The decoded size of the last record, or what a record of zeros can hold; None when it cannot be decoded."""
    index = len(shard.rows) - 1
    if shard.places[index] is None:
        return max(shard.header.record_size, DEFAULT_RECORD_SIZE)
    try:
        size, _ = shard.measure(index)
        return size
    except SourceError:
        raise
    except ExhumeError:
        return None


__all__ = ["verify_bundle"]
