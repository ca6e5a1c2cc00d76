"""Rebuilding damaged bundles: a clean bundle, or plain files, of every file whose CRC-32C matches.

A bundle has an index (a database with a row for each file and each record) and shards, whose streams (uncompressed
content) are stored as records, or as they are ("flat").  Old versions of rows remain in the index for some time, and
the content that they refer to remains in the shards.  Pieces are ranges of a stream that no row names.  `found` are all
versions of file rows, `history` reads the rows and what they refer to.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError
from exhume.findings import NOT_CHECKED, Severity
from exhume.formats.data_bundle.history import FileVersion, History
from exhume.formats.data_bundle.names import shard_name
from exhume.formats.data_bundle.reader import open_archive
from exhume.formats.data_bundle.shard import Shard
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.formats.leveldb.model import Status, Verdict
from exhume.formats.leveldb.survivors import verified_how
from exhume.io.files import safe_parts
from exhume.io.output.atomic import AtomicFile
from exhume.io.output.tree import OutputTree
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy


def salvage(
    source: Source | Tree,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    include_deleted: bool = False,
    unreferenced: bool = False,
) -> SalvageReport:
    """Recover every file whose bytes can be read and match their CRC-32C.

    Records that a damaged index no longer refers to are found by alignment and codec.  Bytes without a name are kept as
    `unreferenced/SHARD/START-END.bin`, with offsets in the uncompressed stream (with `unreferenced`, even if the index
    is intact).

    `ARCHIVE` writes a new bundle (zlib), `FILES` a directory, `RECORDS` one JSON line per version of a file row with
    the proof of its bytes.  For each path, the newest version that proves good is taken; with `include_deleted`, this
    includes paths that were deleted on purpose.
    """
    report = SalvageReport("databundle", str(output))
    with open_archive(source, limits=limits, check=False) as archive:
        history = archive.history()
        try:
            holes = history.has_holes
            if holes:
                history.complete_records()
            found = list(history.files(jobs=jobs))
            if mode is SalvageMode.RECORDS:
                _write_lines(found, output, report)
                pieces = []
            else:
                chosen = choose(found, report, include_deleted=include_deleted)
                pieces = list(history.unnamed()) if holes or unreferenced else []
                _write_members(history, chosen, pieces, output, mode, limits, report, progress, jobs)
            if not history.versions:
                report.add_lost("indexes")
            _account(archive.tree, history, _in_stream(found, pieces), report, jobs)
            # Rows of directories and of empty files leave no trace in a shard, nor does any row of a missing shard.
            broken = sum(finding.severity is Severity.ERROR for finding in history.problems)
            if broken and not report.lost:
                report.add_lost("parts of the index", broken)
        finally:
            history.close()
    return report


UNPROVEN = "unproven/"
"""The directory for files whose CRC-32C matches, but whose name is in an index block with a bad checksum."""


def choose(found: list[FileVersion], report: SalvageReport, *, include_deleted: bool) -> dict[str, FileVersion]:
    """Choose, per path, the newest version that can be read; count and note losses.

    Rows of blocks with a bad checksum are used last and go below `UNPROVEN`, because any of their bytes may be wrong.
    Among them, empty files and directories have no proof at all.
    """
    best: dict[str, FileVersion] = {}  # the versions that are chosen
    gone: set[str] = set()  # paths whose newest row is a deletion
    wanted: dict[str, ExhumeError | None] = {}  # paths that should be there, and the error of the newest version
    newest = sorted(found, key=lambda file: -file.version.sequence)
    for entry in (file for file in newest if file.version.checksum != Verdict.BAD):
        path = entry.path
        if entry.checksum_status is None:  # a deletion
            if entry.version.status is Status.TOMBSTONE and path not in wanted:
                gone.add(path)
            continue
        if path in gone and not include_deleted:
            continue
        wanted.setdefault(path, entry.error)
        if path in best or entry.checksum_status != "good":
            continue
        best[path] = entry
        if entry.version.status is not Status.LIVE:
            report.notes.append(f"{path}: an older version (sequence {entry.version.sequence}) was taken")
    for path in sorted(wanted.keys() - best.keys()):
        problem = wanted[path]
        # Findings report damage; other reasons, such as a limit, are stated here.
        why = f": {problem}" if isinstance(problem, NOT_CHECKED) else ""
        report.add_lost("files")
        report.notes.append(f"{path}: no version can be read{why}")
    _choose_unproven([file for file in newest if file.version.checksum == Verdict.BAD], best, report)
    return best


def _choose_unproven(found: list[FileVersion], best: dict[str, FileVersion], report: SalvageReport) -> None:
    """Choose versions from index blocks with a bad checksum, for paths without a readable one from another block.

    `found` are these versions, newest first; those that are chosen are added to `best`.
    A file whose content matches its CRC-32C is kept below `UNPROVEN`: only its name may be wrong.  All other rows,
    those of empty files and directories included, are counted as lost.
    """
    have = set(best)  # paths with a version that was chosen before
    for entry in found:
        if entry.checksum_status is None or entry.path in have:  # None: a deletion
            continue
        if entry.checksum_status == "good" and entry.row is not None and entry.row.meta.size:
            name = UNPROVEN + entry.path
            while name in best:  # a file of this name is there already
                name = UNPROVEN + name
            best[name] = entry
            have.add(entry.path)
            report.add_lost("names of files")
        else:
            report.add_lost("rows of files")


def _write_members(
    history: History,
    chosen: dict[str, FileVersion],
    pieces: list[tuple[int, int, int]],
    output: Path,
    mode: SalvageMode,
    limits: Limits,
    report: SalvageReport,
    progress: Progress,
    jobs: int,
) -> None:
    """Write the chosen file versions to a new bundle or, in the mode `FILES`, to a directory.

    `chosen` maps paths to versions; `pieces` are ranges of content that no file covers, as (shard number, start, stop)
    in its uncompressed stream. Files with unsafe paths count as lost in `report`.
    """
    usable: list[tuple[str, FileVersion]] = []
    for path, entry in sorted(chosen.items()):
        try:
            safe_parts(path)
            usable.append((path, entry))
        except ExhumeError as error:
            report.add_lost("files")
            report.notes.append(f"{path!r}: {error.message}")
    if any(path.startswith(UNPROVEN) for path, _ in usable):
        report.notes.append(f"files named by an index block with a bad checksum were put below {UNPROVEN}")
    if mode is SalvageMode.FILES:
        with OutputTree(output, limits=limits) as tree:
            for done, (path, entry) in enumerate(usable, 1):
                _count(report, entry, lambda path=path, entry=entry: _write_file(history, tree, path, entry))
                progress(done, len(usable), "files")
            for number, start, end in pieces:
                tree.write(_piece_name(number, start, end), history.view.shard(number).iter_range(start, end))
            _note_pieces(history, report, pieces)
        return
    with DataBundleWriter(output, jobs=jobs, progress=progress) as writer:
        for path, entry in usable:
            _count(report, entry, lambda path=path, entry=entry: _add(history, writer, path, entry, report))
        for piece in pieces:
            _add_piece(history, writer, *piece)
        _note_pieces(history, report, pieces)


def _add_piece(history: History, writer: DataBundleWriter, number: int, start: int, end: int) -> None:
    """Add the bytes `[start, end)` of the stream of shard `number` to the new bundle as a file."""
    shard = history.view.shard(number)
    name = _piece_name(number, start, end)
    writer.add_reader(name, end - start, lambda low, high: shard.read(start + low, start + high))


def _piece_name(number: int, start: int, end: int) -> str:
    """Name of the file for bytes of a shard's stream that no row names."""
    return f"unreferenced/{shard_name(number)}/{start}-{end}.bin"


def _note_pieces(history: History, report: SalvageReport, pieces: list[tuple[int, int, int]]) -> None:
    """Report pieces of shards that no row names: at best, their records were decompressed, as no checksum is known."""
    for number, _, _ in pieces:
        report.set_verified_by(VerifiedBy.NONE if history.view.shard(number).is_flat else VerifiedBy.STRUCTURE)
    if pieces:
        report.add_recovered("pieces without a name", len(pieces))
        report.add_lost("names of pieces", len(pieces))
        report.notes.append("bytes that no row of the index names were kept below unreferenced/")


def _count(report: SalvageReport, entry: FileVersion, work: Any) -> None:
    """Call `work`, which writes one file, and count it as recovered or lost.

    Errors of reading and writing files (EX-6xx) are raised: they say nothing about the bundle.
    """
    kind = "directories" if entry.row is not None and entry.row.meta.is_directory else "files"
    try:
        work()
    except ExhumeError as error:
        if error.is_reading_failure:
            raise
        report.add_lost(kind)
        report.notes.append(f"{entry.path}: {error}")
        return
    report.add_recovered(kind)
    # The CRC-32C of the bytes matches, but it is part of the row, and the name in an unchecked row may be wrong.
    report.set_verified_by(VerifiedBy.CHECKSUMS if entry.version.checksum == Verdict.GOOD else VerifiedBy.STRUCTURE)


def _write_file(history: History, tree: OutputTree, path: str, entry: FileVersion) -> None:
    """Write a recovered file or directory below the output directory."""
    assert entry.row is not None
    if entry.row.meta.is_directory:
        tree.make_directory(path)
    else:
        tree.write(path, history.view.chunks(entry.row))


def _add(history: History, writer: DataBundleWriter, path: str, entry: FileVersion, report: SalvageReport) -> None:
    """Add a recovered file or directory to the new bundle; a type and fields that are not known count as lost."""
    assert entry.row is not None
    meta = entry.row.meta
    if meta.is_directory:
        writer.add_directory(path, user_data=meta.user_data)
    else:
        row, view = entry.row, history.view
        writer.add_reader(path, meta.size, lambda start, stop: view.read(row, start, stop), user_data=meta.user_data)
    if meta.strange:
        report.add_lost("attributes of files")
        report.notes.append(f"{path}: not known, and not kept: {meta.strange}")


def _write_lines(found: list[FileVersion], output: Path, report: SalvageReport) -> None:
    """Write each version found as a JSON line."""
    with AtomicFile(output) as file:
        for entry in found:
            file.file.write(json.dumps({"path": entry.path, **entry.to_dict()}).encode() + b"\n")
            report.add_recovered("versions")
            report.set_verified_by(verified_how(entry.version))


StreamRange = tuple[int, int, Outcome, str]
"""(start, stop, outcome, reason) of a range of a shard's uncompressed stream."""

Ranges = dict[int, list[StreamRange]]
"""Ranges by number of the shard."""


def _in_stream(found: list[FileVersion], pieces: list[tuple[int, int, int]]) -> Ranges:
    """The ranges that rows name, with the outcome of their files, and those of pieces without a name."""
    ranges: Ranges = {}
    for entry in found:
        if entry.checksum_status is not None and entry.row is not None and not entry.row.meta.is_directory:
            meta, good = entry.row.meta, entry.checksum_status == "good"
            outcome = Outcome.RECOVERED if good else Outcome.LOST
            why = "" if good else "the bytes do not match the checksum in the row"
            ranges.setdefault(meta.shard_index, []).append((meta.offset, meta.offset + meta.size, outcome, why))
    for number, start, end in pieces:
        ranges.setdefault(number, []).append((start, end, Outcome.RECOVERED, ""))
    return ranges


def _account(tree: Tree, history: History, ranges: Ranges, report: SalvageReport, jobs: int) -> None:
    """Account for every file of the bundle: for shards by record (by file where they are flat), for each index file
    as a whole.
    """
    shards = _shards(tree)
    for number in sorted(shards):
        source = history.view.source(number)
        try:
            shard = history.view.shard(number)
        except ExhumeError as error:
            report.add_span(source.span(0, source.size), Outcome.LOST, "shard", error.message, error.code)
            report.add_lost("shards")
            continue
        report.add_span(source.span(0, shard.header.data_offset), Outcome.REBUILT, "shard header")
        if shard.is_flat:
            _account_flat(source, shard.header.data_offset, ranges.get(number, []), report)
        else:
            _account_records(source, shard, report, jobs)
    # The other files: index, and files that do not belong to the bundle.
    indexed: set[str] = set()
    for file in history.database.files:
        if file.size:
            source = history.database.source(file.name)
            indexed.add(source.name)
            report.add_span(source.span(0, file.size), Outcome.REBUILT, "index")
    for name in sorted(set(tree.names()) - indexed - set(shards.values())):
        with tree.source(name) as source:
            report.add_span(source.span(0, source.size), Outcome.IGNORED, "not part of the bundle")
    report.notes += dict.fromkeys(str(finding) for finding in history.problems)


def _account_flat(source: Source, base: int, ranges: list[StreamRange], report: SalvageReport) -> None:
    """Account for the data of a shard without records, from `base` on, by the ranges of files."""
    size = source.size
    report.add_span(source.span(base, size), Outcome.IGNORED, "bytes that no row names")
    for first, last, outcome, why in ranges:
        report.add_span(source.span(min(base + first, size), min(base + last, size)), outcome, "data", why)


def _account_records(source: Source, shard: Shard, report: SalvageReport, jobs: int) -> None:
    """Account for the records of a shard, each of which is decoded to see whether it is intact."""
    at = shard.header.data_offset
    chosen: list[tuple[int, int, int, int]] = []  # (record, end of the one before, start, end at the latest)
    for index, place in enumerate(shard.places):
        if place is not None and at <= place <= source.size:
            bound = max(shard.bounds[index], place)
            chosen.append((index, at, place, bound))
            at = bound
    errors = map_ordered(partial(_problem, shard), (index for index, *_ in chosen), jobs)
    for (_, before, place, bound), problem in zip(chosen, errors, strict=True):
        _account_rest(report, source, before, place)
        if problem is None:
            report.add_span(source.span(place, bound), Outcome.RECOVERED, "record")
        else:
            report.add_span(source.span(place, bound), Outcome.LOST, "record", problem.message, problem.code)
            report.add_lost("records")
    _account_rest(report, source, at, source.size)


def _problem(shard: Shard, index: int) -> ExhumeError | None:
    """Why a record cannot be decoded; None where it can."""
    try:
        shard.measure(index)
    except ExhumeError as error:
        return error
    return None


def _account_rest(report: SalvageReport, source: Source, start: int, end: int) -> None:
    """Account for the bytes of a shard that belong to no record: filler, or records that could not be found."""
    if source.is_zero(start, end):
        report.add_span(source.span(start, end), Outcome.IGNORED, "no record")
    else:
        report.add_span(source.span(start, end), Outcome.LOST, "record", "it cannot be decoded and no row places it")
        report.add_lost("records")


def _shards(tree: Tree) -> dict[int, str]:
    """Return the shards of a bundle by number, from the names of its files."""
    from exhume.formats.data_bundle.names import shard_number

    found = {}
    for name in tree.names():
        number = shard_number(name)
        if number is not None:
            found[number] = shard_name(number)
    return found
