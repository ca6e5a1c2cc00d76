"""Rebuilding damaged databases: live rows as a clean database, or every version as JSON lines.

A merge operand is a version of a key that changes the older value.  The report accounts for every byte of every file:
recovered, rebuilt (structure that the output has in another form), ignored or lost.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.findings import CheckOutcome, Finding, Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.blobs import BlobFile
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.forensics import data_handles, find_data_blocks
from exhume.formats.leveldb.layout_facts import BLOB_HEADER, CHECKED, NUMBERED_FRAGMENTS, NUMBERED_HEADER
from exhume.formats.leveldb.log import BLOCK, HEADER, LogReader
from exhume.formats.leveldb.model import Role, Version
from exhume.formats.leveldb.names import PEBBLE
from exhume.formats.leveldb.ranges import versions_of
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.survivors import surviving_rows, usable_manifest, verified_how
from exhume.formats.leveldb.table_writer import write_database
from exhume.io.jsonout import bytes_value, large_pieces
from exhume.io.output.atomic import AtomicDirectory, AtomicFile
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.io.values import LargeValue
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport


def salvage(
    source: Source | Tree,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
) -> SalvageReport:
    """Write the state that survives (`ARCHIVE`), or every version of every key (`RECORDS`).

    Without a usable manifest, every table and log is used, and the newest version of a key counts, wherever it is;
    range deletions reach over all keys that they name.
    """
    with LevelDbArchive(source, limits=limits) as archive:
        return _salvage(archive.database, output, mode, progress, jobs)


def _salvage(database: Database, output: Path, mode: SalvageMode, progress: Progress, jobs: int) -> SalvageReport:
    """Write the output of `mode` and account for the files of the database.

    With `RECORDS`, every version becomes a JSON line; otherwise the newest readable row of each key goes into a new
    database, in bytewise order.
    """
    report = SalvageReport("leveldb", str(output))
    found: list[Finding] = []
    collect = checks.collector(found.append)
    if mode is SalvageMode.RECORDS:
        with AtomicFile(output) as file:
            found_rows = database.map_versions(versions_of, collect, lean=True)
            for done, version in enumerate(chain.from_iterable(found_rows), 1):
                file.file.writelines(_line(version))
                report.add_recovered("versions")
                if version.known_value is None:
                    report.add_lost("values that cannot be determined")
                report.set_verified_by(verified_how(version))
                progress(done, None, "versions")
    else:
        with AtomicDirectory(output) as folder:
            rows = surviving_rows(database, collect, report, jobs)
            order = database.order(0)
            if not order.is_bytewise:  # the output is always in the order of bytes
                rows = iter(sorted(rows))
                named = f"by the comparator {order.name}" if order.name else "by a comparator without a name"
                report.notes.append(f"the keys were ordered {named}; they are written in the order of bytes")
            count = write_database(folder.create, rows)
            report.add_recovered("rows", count)
            progress(count, count, "rows")
    _account(database, found, report, everything=mode is SalvageMode.RECORDS)
    return report


def _line(version: Version) -> Iterator[bytes]:
    """Yield the JSON line of a version in chunks, so that a large value need not be in memory."""
    content, known = version.content, version.known_value
    large = content if isinstance(content, LargeValue) and known is not None else None
    value = bytes_value(known) if known is not None and large is None else None
    line = json.dumps({"key": bytes_value(version.key), "value": value, **version.to_dict()}, default=bytes_value)
    if large is not None:
        # Put the value in place of the null; a key cannot contain this text, as its quotes are escaped.
        before, empty, line = line.partition('"value": null')
        yield f"{before}{empty.removesuffix('null')}".encode()
        yield from (piece.encode() for piece in large_pieces(large, " "))
    yield f"{line}\n".encode()


def _account(database: Database, found: list[Finding], report: SalvageReport, *, everything: bool) -> None:
    """Account for every file: content is recovered where a block or log record was read, and nothing else is.

    `found`: findings of reading.  `everything`: the output also has versions in files that are no longer used.
    """
    damaged: dict[str, list[Damage]] = {}  # by the name of the file
    for finding in found:
        if finding.span is not None and finding.severity is not Severity.NOTE:
            damaged.setdefault(finding.span.source, []).append((finding.span, finding))
    whole = usable_manifest(database) and not database.errors
    _note_manifest(database, report)
    for file in database.files:
        # Files that are missing, and files other than tables, logs and blob files.
        if file.size is None:
            report.add_lost("blob files" if file.kind == "blob" else "tables")
            report.notes.append(f"{file.name} is missing")
            continue
        source = database.source(file.name)
        if file.kind not in ("table", "log", "blob"):
            _account_other(file, source.span(0, file.size), report)
            continue
        # Files that the database no longer uses.
        kind = "data" if file.role is Role.LIVE else f"{file.role} {file.kind}"
        if whole and file.role is not Role.LIVE and not everything:
            reason = "the database no longer uses this file"
            if file.role is Role.ORPHAN:
                reason = "no manifest names this file"
                report.notes.append(f"{file.name} is not read: {reason}; a truncated manifest looks the same")
            report.add_span(source.span(0, file.size), Outcome.IGNORED, kind, reason)
            continue
        if not file.size and file.expected_size:
            report.add_lost("tables")
            report.notes.append(f"{file.name} is empty: the manifest states {counted(file.expected_size, 'bytes')}")
        # Live files: what can be read, and what is missing at their ends.
        content, rest = _content(database, file)
        if file.kind == "table" and file.size and not content and rest is Outcome.LOST:
            report.add_lost("tables")
            report.notes.append(f"{file.name}: nothing of it can be read")
        elif file.expected_size is not None and 0 < file.size < file.expected_size:
            missing = counted(file.expected_size - file.size, "bytes")
            report.add_lost("ends of tables")
            report.notes.append(f"{file.name} ends {missing} earlier than the manifest states")
        _account_file(source, content, rest, damaged.get(source.name, []), kind, report)
    _note_missing(database, report, everything=everything)


def _note_manifest(database: Database, report: SalvageReport) -> None:
    """Report that it is not known which files belong to the database."""
    if any(file.kind == PEBBLE for file in database.files):
        report.notes.append("only the tables of a Pebble database are read: which of them it uses is not known")
    elif not usable_manifest(database):
        report.add_lost("manifests")
        report.notes.append("the manifest is missing or damaged: which files belong to the database is not known")


def _account_other(file: DbFile, span: Span, report: SalvageReport) -> None:
    """Account for a file that has no content, or none that is read."""
    if file.kind == PEBBLE:
        if span.size:
            report.add_lost("files of Pebble")
        report.add_span(span, Outcome.LOST, file.name, checks.PEBBLE.title, checks.PEBBLE.code)
    else:
        report.add_span(span, Outcome.REBUILT if file.kind != "other" else Outcome.IGNORED, file.name)


def _note_missing(database: Database, report: SalvageReport, *, everything: bool) -> None:
    """Count missing logs, and report what the losses mean for the rows; `everything` as in `_account`."""
    for name in database.missing_logs:
        report.add_lost("logs")
        report.notes.append(f"{name} is missing")
    if not everything and any(report.lost[kind] for kind in _NEWER_MAY_BE_LOST):
        report.notes.append("the lost rows may have replaced or deleted rows that were written")
    # RocksDB hides a value that was updated in place after a range deletion; the output has no such deletion.
    if not everything and (hidden := database.updates_in_place()):
        report.notes.append(f"a range deletion may hide rows that were written: {hidden[0]}")


_NEWER_MAY_BE_LOST = ("logs", "files of Pebble", "tables", "ends of tables", "spans", "versions with a bad checksum")
"""Losses of rows whose keys are unknown: each may have been the newest version of a row that was written."""

Range = tuple[int, int]
"""A half-open range of a file."""

Content = tuple[int, int, Outcome, str]
"""A range of a file that was read, what became of it, and why, unless it was recovered."""

Damage = tuple[Span, Finding]
"""A finding with its place."""


def _content(database: Database, file: DbFile) -> tuple[list[Content], Outcome]:
    """Return the ranges of a table, log or blob file that can be read, disjoint and in order, and the outcome of all
    others.
    """
    if file.kind == "log":
        source = database.source(file.name)
        reader = LogReader(source, checks.ignore, database.limits, file.number)
        found = [
            (one.offset - source.origin, one.end - source.origin, Outcome.RECOVERED, "")
            for one in reader
            if not one.earlier
        ]
        found += [(start, stop, Outcome.REBUILT, "what the log states about itself") for start, stop in reader.about]
        if reader.remains is not None:  # a recycled log, whose file has records of an older one at its end
            found.append((reader.remains, source.size, Outcome.IGNORED, "from an earlier use of the file"))
        found = _disjoint(found)
        return _disjoint([*found, *_filler(source, found)]), Outcome.LOST
    rest = Outcome.LOST
    if file.kind == "blob":
        places = _blob_content(BlobFile(database.source(file.name), database.limits))
    else:
        table = database.table(file)
        handles = data_handles(table, checks.ignore)
        if handles is None:  # the index cannot be read: blocks are searched for
            places = [(block.handle.offset, block.handle.stop) for block in find_data_blocks(table)]
        else:
            places = [(handle.offset, min(handle.stop, table.source.size)) for handle in handles]
            rest = Outcome.REBUILT  # around these blocks is only structure, which the output has in another form
    return _disjoint((*one, Outcome.RECOVERED, "") for one in places), rest


def _disjoint(found: Iterable[Content]) -> list[Content]:
    """Return ranges in order, each without the bytes that an earlier one has."""
    out: list[Content] = []
    at = 0
    for start, end, outcome, why in sorted(found):
        start = max(start, at)
        if start < end:  # a block that begins after the end of the file has no bytes
            out.append((start, end, outcome, why))
            at = end
    return out


def _filler(source: Source, found: list[Content]) -> Iterator[Content]:
    """Yield the zeros between two records of a log at the end of a 32 KiB block: they are fewer than a fragment's
    header, so no fragment fits there.  The header is longer in a recycled log, as the fragment after them shows.
    """
    for (_, at, *_), (start, *_) in pairwise(found):
        if start == at or start % BLOCK:
            continue
        [kind] = source.read_at(start + CHECKED, 1)
        header = NUMBERED_HEADER if kind in NUMBERED_FRAGMENTS else HEADER
        if start - at < header and source.is_zero(at, start):
            yield at, start, Outcome.IGNORED, "filler at the end of a block"


def _blob_content(blobs: BlobFile) -> list[Range]:
    """Return the ranges of the header, of the records whose checksums match, and of the footer."""
    out: list[Range] = []
    with suppress(ExhumeError):
        out.append((0, blobs.header and BLOB_HEADER))
        for record in blobs.records(checks.ignore):
            found = (blobs.check_record(record, name).outcome for name in ("head_checksum", "checksum"))
            if all(outcome is CheckOutcome.MATCHES for outcome in found):
                out.append((record.offset, record.end))
    if blobs.footer is not None:
        out.append((blobs.room, blobs.source.size))
    return out


def _account_file(
    source: Source, content: list[Content], rest: Outcome, damaged: list[Damage], kind: str, report: SalvageReport
) -> None:
    """Account for the bytes of a file; damage that findings report is lost, wherever it is.

    `content` are the ranges that were read, `rest` is the outcome of others, `kind` what the report calls the content.
    """
    at = source.origin  # everything before it is accounted for
    for span, finding in sorted(damaged, key=lambda one: (one[0].start, one[0].end)):
        start, end = max(at, span.start), min(span.end, source.origin + source.size)
        # Skipped: what an earlier finding covers, and warnings about structure, which is rebuilt.
        if end <= at or (finding.severity is Severity.WARNING and _is_structure(source, content, rest, span)):
            continue
        _account_between(source, content, rest, (at, start), kind, report)
        report.add_span(Span(source.name, start, end), Outcome.LOST, kind, finding.message, finding.code)
        report.add_lost("spans")
        at = end
    _account_between(source, content, rest, (at, source.origin + source.size), kind, report)


def _is_structure(source: Source, content: list[Content], rest: Outcome, span: Span) -> bool:
    """Whether a range of a table has no content, and the `rest` of it is rebuilt: other bytes replace it."""
    start, end = span.start - source.origin, span.end - source.origin
    return rest is Outcome.REBUILT and not any(first < end and start < stop for first, stop, *_ in content)


def _account_between(
    source: Source, content: list[Content], rest: Outcome, between: Range, kind: str, report: SalvageReport
) -> None:
    """Account for an undamaged range `between`: its content, and the rest around that; see `_account_file`."""
    at, stop = (offset - source.origin for offset in between)
    first = bisect_right(content, at, key=itemgetter(1))  # the first range that ends after `at`
    beyond = bisect_left(content, stop, key=itemgetter(0))  # the first range that begins after it
    for start, end, outcome, why in content[first:beyond]:
        _account_rest(source, at, start, rest, kind, report)
        start, at = max(start, at), min(end, stop)
        report.add_span(source.span(start, at), outcome, kind, why)
    _account_rest(source, at, stop, rest, kind, report)


def _account_rest(source: Source, start: int, end: int, rest: Outcome, kind: str, report: SalvageReport) -> None:
    """Account for bytes between ranges that were read, by `rest`; zeros in an unused log (by `kind`) are ignored."""
    if start >= end:
        return
    span = source.span(start, end)
    if rest is Outcome.REBUILT:
        report.add_span(span, rest, "index and other structure of the file")
        return
    is_zero = source.is_zero(start, end)
    why = "zeros: never written, or overwritten" if is_zero else "no block or record is found here"
    outcome = Outcome.IGNORED if is_zero and kind.endswith("log") else Outcome.LOST
    if outcome is Outcome.LOST:
        report.add_lost("spans")
    report.add_span(span, outcome, kind, why)
