"""The rows of a damaged database that survive: the newest readable version of each key, sorted.

Without a usable manifest, all files count.  A merge operand is a version of a key that changes the older value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.deletions import DeletionsByFamily
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.model import CURRENT_STATE, DELETIONS, Status, ValueTypes, Verdict, Version
from exhume.formats.leveldb.ranges import tally_of, versions_of
from exhume.formats.leveldb.table_writer import Row
from exhume.recovery import SalvageReport, VerifiedBy


def surviving_rows(database: Database, collect: checks.Report, report: SalvageReport, jobs: int = 1) -> Iterator[Row]:
    """Yield (key, value) of the newest state that can be read, sorted; entries with a bad checksum are ignored.

    A deletion with a bad checksum is ignored as well. Files that an intact manifest does not name are left out; if the
    manifest is lost or damaged, all files count.
    """
    has_manifest = usable_manifest(database) and not database.errors
    # An intact database: its live rows, as for `cat`.
    if has_manifest and database.is_sound(jobs):
        for pairs, verdicts, others in database.map_versions(
            _sound_rows, collect, unreferenced=False, older=False, jobs=jobs, lean=True
        ):
            for what, count in others.items():
                report.add_lost(what, count)
            for verdict in verdicts:
                report.set_verified_by(_VERIFIED_BY[Verdict(verdict)])
            yield from pairs
        return
    # A damaged one: all versions, sorted by key, newest first.
    versions: Iterable[Version] = chain.from_iterable(
        database.map_versions(versions_of, collect, unreferenced=not has_manifest, lean=True)
    )
    if not has_manifest:
        versions = found = sorted(versions, key=database.version_key)
        deletions = database.deletions(found, unreferenced=True, intact=True)
        if deletions.of_all:
            report.notes.append("range deletions reach over all keys that they name, without the limits of a manifest")
    else:
        deletions = database.deletions((), intact=True)
    yield from _newest_rows(database, versions, deletions, report)


def _newest_rows(
    database: Database,
    versions: Iterable[Version],
    deletions: DeletionsByFamily,
    report: SalvageReport,
) -> Iterator[Row]:
    """Yield (key, value) of the newest believable version of each key; `versions` are sorted."""
    is_wiped = partial(database.is_wiped, deletions=deletions)
    doubtful = {one.sequence for one in database.live_state(checks.ignore).ranges if not one.intact}
    # What the versions of one key have in common: its bytes, or, as a comparator may treat different ones as equal, the
    # first three parts of `version_key`.
    same: Callable[[Version], Any] = (
        attrgetter("key") if database.order(0).is_bytewise else lambda version: database.version_key(version)[:3]
    )
    proofs: set[Verdict] = set()  # verdicts that the report has already
    for _, group in groupby(_believable(versions, report), same):
        older = iter(group)
        newest = next(older)
        is_live = newest.status is not Status.DELETED and newest.checksum != Verdict.BAD and not is_wiped(newest)
        # Most rows: the newest version is the value.
        if is_live and newest.value_type == ValueTypes.VALUE and newest.extra is None:
            _count_bad(older, report)
            yielded: Row = newest.key, newest.value
        else:
            parts = _surviving(chain([newest], older), report, is_wiped, doubtful)
            if not parts:
                continue
            newest = parts[0]
            value = database.resolve_large(0, newest.key, [one.part for one in parts])
            if value is None:
                report.add_lost("values that cannot be determined")
                continue
            yielded = newest.key, value
            for what in _omitted(newest, parts[-1]):
                report.add_lost(what)
        if newest.checksum not in proofs:
            proofs.add(newest.checksum)
            report.set_verified_by(verified_how(newest))
        yield yielded


def _count_bad(versions: Iterable[Version], report: SalvageReport) -> None:
    """Count the older versions of a key whose checksum is bad."""
    for version in versions:
        if version.checksum == Verdict.BAD:
            report.add_lost("versions with a bad checksum")


def usable_manifest(database: Database) -> bool:
    """Whether the manifest was read completely and states what every manifest does."""
    manifest = database.manifest
    return manifest is not None and not manifest.damaged and manifest.next_file_number is not None


def _believable(versions: Iterable[Version], report: SalvageReport) -> Iterator[Version]:
    """The versions that may be part of the state of the default column family."""
    for version in versions:
        if version.status in _NEVER_LIVE:
            continue
        if version.value_type == ValueTypes.RANGE_DELETION:
            if version.checksum == Verdict.BAD:
                report.add_lost("versions with a bad checksum")
            continue
        if version.value_type == ValueTypes.MERGE and version.status in CURRENT_STATE:
            continue  # the value that its operands make, and they follow
        if version.column_family:
            report.add_lost("versions in other column families")
            continue
        yield version


def _surviving(
    versions: Iterable[Version], report: SalvageReport, is_wiped: Callable[[Version], bool], doubtful: set[int]
) -> list[Version]:
    """Return the versions that make the newest readable value of a key, newest first; none of a deleted key.

    `versions` are all of the key, newest first; `is_wiped` says whether a range deletion hides one.  Those with a bad
    checksum are counted as lost and passed over; `doubtful` has the numbers of range deletions with one.
    """
    chain: list[Version] = []
    disbelieved = set(doubtful)  # sequence numbers of deletions that are passed over
    done = False  # whether the value, or a deletion, is complete
    for version in versions:
        if version.checksum == Verdict.BAD:
            report.add_lost("versions with a bad checksum")
            if not done:
                disbelieved.add(version.sequence)
                chain.clear()  # operands alone, which make no value without this one
            continue
        if done or (chain and version.sequence == chain[-1].sequence):
            continue
        # The version is deleted by a range deletion, or by a deletion left out above; any other is its key's newest.
        wiped = (version.status is Status.DELETED and version.superseded_by not in disbelieved) or is_wiped(version)
        gone = version.value_type in DELETIONS or wiped
        if not gone:
            chain.append(version)
        done = gone or version.value_type != ValueTypes.MERGE
    return chain


def _omitted(version: Version, base: Version) -> Iterator[str]:
    """Yield what the output has no place for: columns other than the value, and the timestamp of the key.

    `base` is what merge operands were applied to, or the version itself.
    """
    if base.columns is not None and any(base.columns):
        yield "entities with columns"
    if version.timestamp is not None:
        yield "timestamps of keys"


def _sound_rows(rows: LeveldbRows) -> tuple[Sequence[Row], Counter[str], Counter[str]]:
    """Return (live rows, number of rows by verdict, number of lost versions by reason) for an undamaged database."""
    if rows.family:
        statuses = tally_of(rows).statuses
        return [], Counter(), Counter({"versions in other column families": len(rows) - statuses[Status.BEYOND]})
    rows.choose(True, None, None, None)
    tally = tally_of(rows)
    unresolved = tally.statuses[Status.UNRESOLVED]
    if not unresolved and not rows.extras:
        return rows.pairs(), tally.verdicts, Counter()
    found = [one for one in versions_of(rows) if one.status is Status.LIVE]
    lost = Counter(what for one in found for what in _omitted(one, one))
    lost += Counter({"values that cannot be determined": unresolved})
    return [(one.key, one.content) for one in found], Counter(str(one.checksum) for one in found), lost


# Statuses of versions that no database would return, and how far a verdict of a checksum proves content.
_NEVER_LIVE = (Status.BEYOND, Status.PREPARED, Status.ROLLED_BACK)
_VERIFIED_BY = {Verdict.GOOD: VerifiedBy.CHECKSUMS, Verdict.NONE: VerifiedBy.STRUCTURE, Verdict.BAD: VerifiedBy.NONE}


def verified_how(version: Version) -> VerifiedBy:
    """Return what verified a version: the checksum of its block or log record, if there is one and it matches."""
    return _VERIFIED_BY[Verdict(version.checksum)]
