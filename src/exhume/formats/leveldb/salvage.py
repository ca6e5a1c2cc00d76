"""Rebuilding damaged databases: live rows as a clean database, or every version as JSON lines."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import Span
from exhume.findings import Finding, Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.model import CURRENT_STATE, DELETIONS, Role, Status, ValueTypes, Verdict, Version
from exhume.formats.leveldb.ranges import tally_of, versions_of
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.table_writer import write_database
from exhume.io.output.atomic import AtomicDirectory, AtomicFile
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Fate, SalvageMode, SalvageReport, Verified


def salvage(
    source: Source | Tree,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
) -> SalvageReport:
    """Writes the state that survives (`ARCHIVE`), or every version of every key (`RECORDS`).

    Without a usable manifest, every table and log is used, and the newest version of a key counts, wherever it is.
    """
    with LevelDbArchive(source, limits=limits) as archive:
        return _salvage(archive.database, output, mode, progress, jobs)


def _salvage(database: Database, output: Path, mode: SalvageMode, progress: Progress, jobs: int) -> SalvageReport:
    report = SalvageReport("leveldb", str(output))
    found: list[Finding] = []
    collect = checks.collector(found.append)
    if mode is SalvageMode.RECORDS:
        with AtomicFile(output) as file:
            for done, version in enumerate(database.versions(collect), 1):
                file.file.write(json.dumps(_line(version)).encode() + b"\n")
                report.keep("versions")
                report.vouch(vouched(version))
                progress(done, None, "versions")
    else:
        with AtomicDirectory(output) as folder:
            rows = surviving_rows(database, collect, report, jobs)
            order = database.order(0)
            if not order.is_bytewise:
                rows = iter(sorted(rows))
                named = f"by the comparator {order.name}" if order.name else "by a comparator without a name"
                report.notes.append(f"the keys were ordered {named}; they are written in the order of bytes")
            count = write_database(folder.create, rows)
            report.keep("rows", count)
            progress(count, count, "rows")
    _account(database, found, report)
    return report


def surviving_rows(
    database: Database, collect: checks.Report, report: SalvageReport, jobs: int = 1
) -> Iterator[tuple[bytes, bytes]]:
    """Rows of the newest state that can be read, sorted; entries whose checksum is bad are left out, deletions too.

    Files that a sound manifest does not use are left out; with a lost or damaged manifest, all files count.
    """
    manifest = database.manifest
    whole = manifest is not None and not manifest.damaged and not database.errors
    if whole and database.is_sound(jobs):
        for pairs, verdicts, others in database.map_versions(_sound_rows, collect, unreferenced=False, jobs=jobs):
            for what, count in others.items():
                report.lose(what, count)
            for verdict in verdicts:
                report.vouch(_VOUCHED[Verdict(verdict)])
            yield from pairs
        return
    versions: Iterator[Version] = database.versions(collect, unreferenced=not whole)
    if not whole:
        versions = iter(sorted(versions, key=database.version_key))
    believable = _believable(versions, report)
    for _, group in groupby(believable, lambda version: database.version_key(version)[:3]):
        chain = _surviving(group, report)
        if not chain:
            continue
        key = chain[0].key
        value = _value(database, chain)
        if value is None:
            report.lose("values that cannot be determined")
            continue
        report.vouch(vouched(chain[0]))
        yield key, value


def _believable(versions: Iterable[Version], report: SalvageReport) -> Iterator[Version]:
    """The versions that may be part of the state of the default column family."""
    for version in versions:
        if version.status in _NEVER_LIVE:
            continue
        if version.value_type == ValueTypes.MERGE and version.status in CURRENT_STATE:
            continue  # the value that its operands make, and they follow
        if version.column_family:
            report.lose("versions in other column families")
            continue
        yield version


def _surviving(versions: Iterable[Version], report: SalvageReport) -> list[Version]:
    """The versions, newest first, that make the newest value of a key that can be read; none of a deleted key."""
    chain: list[Version] = []
    disbelieved: int | None = None
    done = False
    for version in versions:
        if version.checksum == Verdict.BAD:
            report.lose("versions with a bad checksum")
            if not done:
                disbelieved = version.sequence
                chain.clear()  # operands alone, which make no value without this one
            continue
        if done or (chain and version.sequence == chain[-1].sequence):
            continue
        # The version is deleted by a range deletion, or by a deletion left out above; any other is its key's newest.
        wiped = version.status is Status.DELETED and disbelieved != version.superseded_by
        gone = version.value_type in DELETIONS or version.value_type == ValueTypes.RANGE_DELETION or wiped
        if not gone:
            chain.append(version)
        done = gone or version.value_type != ValueTypes.MERGE
    return chain


def _value(database: Database, chain: list[Version]) -> bytes | None:
    """The value that versions of a key make; None when it cannot be determined."""
    versions = [(int(ValueTypes.VALUE) if one.status is Status.LIVE else one.value_type, one.value) for one in chain]
    return database.resolve_value(0, versions)


def _sound_rows(rows: LeveldbRows) -> tuple[list[tuple[bytes, bytes]], Counter[str], Counter[str]]:
    """The live rows of an undamaged database, their verdicts, and how many versions are lost, by the reason."""
    if rows.family:
        statuses = tally_of(rows).statuses
        return [], Counter(), Counter({"versions in other column families": len(rows) - statuses[Status.BEYOND]})
    rows.choose(True, None, None, None)
    tally = tally_of(rows)
    unresolved = tally.statuses[Status.UNRESOLVED]
    if not unresolved:
        return rows.pairs(), tally.verdicts, Counter()
    found = [one for one in versions_of(rows) if one.status is Status.LIVE]
    lost = Counter({"values that cannot be determined": unresolved})
    return [(one.key, one.value) for one in found], Counter(str(one.checksum) for one in found), lost


_NEVER_LIVE = (Status.BEYOND, Status.PREPARED, Status.ROLLED_BACK)
_VOUCHED = {Verdict.GOOD: Verified.CHECKSUMS, Verdict.NONE: Verified.REREAD, Verdict.BAD: Verified.UNVERIFIABLE}


def vouched(version: Version) -> Verified:
    """What vouches for a version: the checksum of its block or log record, if there is one and it matches."""
    return _VOUCHED[Verdict(version.checksum)]


def _line(version: Version) -> dict[str, Any]:
    return {"key": _bytes(version.key), "value": _bytes(version.value), **version.to_dict()}


def _bytes(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": data.decode("utf-8", "replace"), "base64": base64.b64encode(data).decode()}


def _account(database: Database, found: list[Finding], report: SalvageReport) -> None:
    """Accounts for every file, and for every damaged span in it."""
    damaged: dict[str, list[tuple[Span, Finding]]] = {}
    for finding in found:
        if finding.span is not None and finding.severity is not Severity.NOTE:
            damaged.setdefault(finding.span.source, []).append((finding.span, finding))
    for file in database.files:
        if file.size is None:
            report.lose("tables")
            report.notes.append(f"{file.name} is missing")
            continue
        source = database.source(file.name)
        if file.kind not in ("table", "log"):
            report.account(source.span(0, file.size), Fate.REBUILT if file.kind != "other" else Fate.IGNORED, file.name)
            continue
        kind = "data" if file.role is Role.LIVE else f"{file.role} {file.kind}"
        at = source.origin
        for span, finding in sorted(damaged.get(source.name, ()), key=lambda pair: (pair[0].start, pair[0].end)):
            if span.end <= at:
                continue
            start = max(at, span.start)
            report.account(Span(source.name, at, start), Fate.RECOVERED, kind)
            report.account(Span(source.name, start, span.end), Fate.LOST, kind, finding.message, finding.code)
            report.lose("spans")
            at = span.end
        report.account(Span(source.name, at, source.origin + file.size), Fate.RECOVERED, kind)
