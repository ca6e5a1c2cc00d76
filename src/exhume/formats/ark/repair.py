"""Repair: writes a new manifest without what cannot be read, and with the messages of unclosed splits.

The old manifest and its splits are left as they are.

A split is a file of messages with an index, which has reserved slots; a writer that was stopped leaves it unclosed,
with entries that its header does not count.  The manifest declares splits by GUID, in columns (groups of channels) of
sections.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import UnsupportedOperationError
from exhume.findings import Finding
from exhume.formats.ark.derive import derived_file, manifest_folder
from exhume.formats.ark.layout import ENTRY_SIZE, SplitHeader, build_split_header
from exhume.formats.ark.log import SplitReference
from exhume.formats.ark.manifest import Manifest, SplitDeclaration
from exhume.formats.ark.rbuf.layout import new_guid
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.recover import SplitFile, SplitSurvey, statistics_of, survey_splits
from exhume.formats.ark.splits import Array, Split
from exhume.io.output.atomic import AtomicFile
from exhume.io.output.scratch import discard
from exhume.io.source import STREAM_CHUNK


@dataclass(slots=True)
class RepairReport:
    """Result of a repair; `path` is the new manifest."""

    path: Path
    manifest: Manifest
    kept: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    """The reason why a split was dropped, by its GUID."""
    rebuilt: dict[str, str] = field(default_factory=dict)
    """The GUID of the closed copy of a split, by the GUID of the old split."""
    recovered_messages: int = 0
    """Messages that no index counted before."""
    lost_messages: int = 0
    """Index entries without a readable message, and messages that only the header or the manifest counts."""
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume repair --json`."""
        return {
            "manifest": os.fspath(self.path),
            "log_identifier": self.manifest.identifier,
            "common_identifier": self.manifest.common_identifier,
            "kept": list(self.kept),
            "dropped": dict(self.dropped),
            "rebuilt": dict(self.rebuilt),
            "recovered_messages": self.recovered_messages,
            "lost_messages": self.lost_messages,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def repair_log(
    log: ArkArchive,
    *,
    identifier: str | None = None,
    name: str | None = None,
    guids: Callable[[], str] = new_guid,
    progress: Progress = no_progress,
) -> RepairReport:
    """Write a readable manifest next to that of `log`: a new log GUID, the same common GUID.

    Every message is read.  Missing and unreadable splits are left out.  A split that was not closed (entries past its
    indexed count), whose index is damaged, or with messages that do not decompress or decode, is copied under a new
    GUID with an index of its readable messages.  Open the log with `salvage=True, unfinished=True`, as `exhume repair`
    does.  Raises `UnsupportedOperationError` for a log that is not on the local disk.
    """
    folder = manifest_folder(log)
    splits = folder.parent / "splits"
    if log.root is None or not splits.is_dir():
        raise UnsupportedOperationError("no directory `splits` next to that of the manifest", span=log.manifest_span)
    fresh = identifier or guids()
    report = RepairReport(folder / fresh, log.manifest)
    report.findings += log.loaded.findings
    # Decide on each split once, however often the manifest names it.
    replaced: dict[str, SplitDeclaration | None] = {}
    # Reversed twice: the first reference to each split, in order.
    named = {each.identifier: each for each in reversed(log.all_references())}
    references = list(reversed(named.values()))
    with _all_or_nothing(splits, report):
        surveyed = survey_splits(log, references, jobs=1)
        for done, (reference, found) in enumerate(zip(references, surveyed, strict=True)):
            replaced[reference.identifier] = _new_declaration(reference, found, splits, guids, report)
            progress(done + 1, len(references), "splits")
        # The same sections, with mended declarations in place of the old ones.
        sections = tuple(
            section._replace(
                columns=tuple(
                    column._replace(
                        splits=tuple(
                            mended
                            for mended in (
                                split if replaced[split.identifier] is _UNCHANGED else replaced[split.identifier]
                                for split in _once(column.splits)
                            )
                            if mended is not None
                        ),
                    )
                    for column in section.columns
                ),
            )
            for section in log.manifest.sections
        )
        manifest = log.manifest._replace(
            identifier=fresh, name=log.manifest.name if name is None else name, sections=sections
        )
        with AtomicFile(report.path) as file:
            file.file.write(derived_file(log.loaded, manifest, in_front=0))
    report.manifest = manifest
    return report


@contextmanager
def _all_or_nothing(folder: Path, report: RepairReport) -> Iterator[None]:
    """Remove the copies of splits that the body made in `folder` if it fails."""
    try:
        yield
    except BaseException:
        for identifier in report.rebuilt.values():
            discard(folder / identifier)
        raise


_UNCHANGED = SplitDeclaration("")
"""Stands for the old declaration of a split that is kept."""


def _once(splits: tuple[SplitDeclaration, ...]) -> tuple[SplitDeclaration, ...]:
    """Declarations without repetitions of a GUID; the first of each is kept, in order."""
    return tuple({split.identifier: split for split in reversed(splits)}.values())[::-1]


def _new_declaration(
    reference: SplitReference, surveyed: SplitFile, folder: Path, guids: Callable[[], str], report: RepairReport
) -> SplitDeclaration | None:
    """The declaration to use for a split from now on; None if it is to be left out.

    `folder` is the directory of the splits, for a new one, which gets the next GUID of `guids`.
    """
    source, found, error = surveyed
    with ExitStack() as files:
        if source is not None:
            files.enter_context(source)
        if found is None:
            assert error is not None
            report.dropped[reference.identifier] = error.message
            report.findings.append(Finding.from_error(error))
            report.lost_messages += reference.declaration.stated_count
            return None
        report.lost_messages += found.num_lost
        report.findings += [*(finding for _, finding in found.lost), *found.unlike_manifest]
        if found.is_whole:
            report.kept.append(reference.identifier)
            if not found.unlike_manifest:
                return _UNCHANGED
            return SplitDeclaration(reference.identifier, statistics_of(found.split.header, found.entries))
        if not len(found.entries):
            report.dropped[reference.identifier] = "no entry of its index is usable"
            return None
        # A copy has only the usable entries, and those that no index counted.
        report.recovered_messages += found.more
        declared = _rebuild(reference, found, folder, guids())
        report.rebuilt[reference.identifier] = declared.identifier
        return declared


def _rebuild(reference: SplitReference, found: SplitSurvey, folder: Path, identifier: str) -> SplitDeclaration:
    """Copy a split under a new GUID: the same bytes, with an index of its usable entries in time order.

    The index stays where it was if it fits there, otherwise it is at the end.
    """
    split, entries = found.split, found.entries
    source = split.source
    old = split.header
    mappings = tuple(each for each in old.mappings if each.identifier in reference.channels)
    in_place = old.index_offset >= old.size and len(entries) <= _capacity(split, entries)
    index_offset = old.index_offset if in_place else source.size
    header = SplitHeader(
        identifier, index_offset, len(entries), max(old.maximum_count, len(entries)), mappings, old.size
    )
    with AtomicFile(folder / identifier) as out:
        for chunk in source.chunks(size=STREAM_CHUNK):
            out.file.write(chunk)
        out.file.seek(0)
        out.file.write(build_split_header(header).ljust(old.size, b"\0"))
        out.file.seek(index_offset)
        out.file.write(entries.tobytes())
        if in_place:
            # Slots that are no longer used must not look like those of a writer that was stopped.
            slots = min(_capacity(split, entries), max(old.maximum_count, old.item_count))
            out.file.write(bytes(max(0, slots - len(entries)) * ENTRY_SIZE))
    return SplitDeclaration(identifier, statistics_of(old, entries))


def _capacity(split: Split, entries: Array) -> int:
    """Entries that fit at the old index offset without touching a message."""
    start = split.header.index_offset
    following = [int(offset) for offset in entries["ofs_data"] if int(offset) >= start]
    return (min(following, default=split.source.size) - start) // ENTRY_SIZE
