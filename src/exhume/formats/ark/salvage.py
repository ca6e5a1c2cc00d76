"""Salvage: a clean log of everything that is whole in a damaged one, with every message unaltered.

Undamaged splits are copied; from the others, the messages whose entries and bytes pass the checks are written to new
splits.  Sections and filters are kept where the manifest can be read.

A split is a file of messages with an index; the manifest declares splits in columns (groups of channels) of sections.
The report states the outcome of every byte of the damaged files, in spans.  `recover` finds what is usable.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.attach import column_of_split
from exhume.formats.ark.checks import UNREFERENCED
from exhume.formats.ark.collection import ArkLogSet, open_archive
from exhume.formats.ark.kernel import ark_portions
from exhume.formats.ark.layout import ENTRY_SIZE
from exhume.formats.ark.lines import lines_of
from exhume.formats.ark.log import SplitReference
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    SchemaSource,
    SplitDeclaration,
    build_manifest,
)
from exhume.formats.ark.names import is_guid
from exhume.formats.ark.probe import is_split
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.layout import HEADERS, NIL, new_guid
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.recover import UNTIMED, SplitFile, SplitSurvey, statistics_of, survey_splits, untimed_messages
from exhume.formats.ark.splits import BATCH_BYTES, Array, Split, places_of
from exhume.formats.ark.splitwriter import SplitWriter, header_area
from exhume.formats.ark.verify import named_splits
from exhume.io.files import naming, open_input
from exhume.io.jsonout import dumps
from exhume.io.output.atomic import AtomicDirectory, AtomicFile, named_after
from exhume.io.output.scratch import ScratchDirectory
from exhume.io.output.stream import copy_range
from exhume.io.parallel import BackgroundRunner
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.tuples import NamedTuple

BATCH = 4096
"""Entries of an index that are examined at a time."""

UNUSED = "header, index and unused bytes"
"""The content of spans of a split outside of its messages."""


def salvage(
    source: Source | Tree,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    log: str | None = None,
) -> SalvageReport:
    """Write what survives of a log as a new log in the directory `output` (or as JSON lines); see `SalvageReport`.

    The manifest is read by the last rung of its ladder if need be; without any manifest, each split becomes a column
    whose channels are called by their GUIDs.  `jobs` share the check of the messages (0: one per core).  `log` chooses
    one of several.  Raises the manifest's error when no split can be attached to it.
    """
    reader = _open(source, limits, log)
    report = SalvageReport("ark", str(output))
    if mode is SalvageMode.ARCHIVE:
        with AtomicDirectory(output) as folder, named_after(output, folder.temporary):
            _Salvage(reader, folder.temporary, report, progress, jobs).run()
    else:
        with ScratchDirectory(output) as scratch, named_after(output, scratch):
            root = scratch / "log"
            _Salvage(reader, root, report, progress, jobs).run()
            _write_lines(root, output, limits, jobs, report)
    return report


def _write_lines(root: Path, output: Path, limits: Limits, jobs: int, report: SalvageReport) -> None:
    """Write the messages of the clean log at `root` to `output` as JSON lines, and correct the count in `report`."""
    from exhume.io.local import LocalTree

    shown = 0
    with open_archive(LocalTree(root), limits=limits) as clean, AtomicFile(output) as file:
        assert isinstance(clean, ArkArchive)
        for lines, count in lines_of(clean, {}, findings=[], jobs=jobs):
            shown += count
            file.file.write(lines)
        for untimed in sorted((root / UNTIMED).glob("*.jsonl")):
            with open_input(untimed) as kept:
                shutil.copyfileobj(kept, file.file)
    if shown != (stored := report.recovered["messages"]):
        report.recovered["messages"] = shown
        report.notes.append(f"the log's columns and filters show {shown} of {counted(stored, 'messages')}")


def _open(source: Source | Tree, limits: Limits, log: str | None) -> ArkArchive:
    """Open the log as far as that is possible; where there is no manifest, the splits alone."""
    try:
        opened = open_archive(source, limits=limits, log=log, salvage=True, unfinished=True)
    except ExhumeError:
        if not isinstance(source, Tree):
            raise
        loaded = _without_manifest(source)
        if loaded is None:
            raise
        return ArkArchive(source, None, source, loaded, limits=limits)
    if isinstance(opened, ArkLogSet):
        next(opened.messages())  # raises: one of the logs has to be named
    assert isinstance(opened, ArkArchive)
    return opened


def _without_manifest(tree: Tree) -> LoadedManifest | None:
    """A manifest that names every split of a root, for a root whose own manifests are lost."""
    columns: list[Column] = []
    for name in tree.names("splits"):
        last = PurePosixPath(name).name
        if is_guid(last):
            with tree.source(name) as source:
                column = column_of_split(source, last.lower(), b"")
            if column is not None:
                columns.append(column)
    if not columns:
        return None
    manifest = Manifest(NIL, NIL, "", (ManifestSection(tuple(columns)),))
    return LoadedManifest(manifest, SchemaSource.SALVAGE)


class _Lost(NamedTuple):
    """A lost message: its bytes `[start, end)` in the file, and why it is lost."""

    start: int
    end: int
    why: Finding


class _Salvage:
    """One run over a log, which writes the clean one to the directory `root`.

    A `reference` is the first mention of a split in the manifest; `found` is what is usable in the split.
    """

    def __init__(self, reader: ArkArchive, root: Path, report: SalvageReport, progress: Progress, jobs: int) -> None:
        self.reader, self.root, self.report, self.progress, self.jobs = reader, root, report, progress, jobs
        self.background = BackgroundRunner(jobs)  # a split is copied while the messages of the next are checked

    def run(self) -> None:
        """Write the clean log."""
        reader, report = self.reader, self.report
        for name in ("manifests", "splits"):
            with naming(self.root / name):  # errors of the system then name it
                (self.root / name).mkdir(parents=True)
        report.notes.append(f"manifest read with: {reader.schema_source}")
        if reader.loaded.schema_source is SchemaSource.SALVAGE and isinstance(reader.source, Tree):
            report.add_lost("manifests")  # with the names, schemas and filters that it had
        report.notes += [str(finding) for finding in reader.loaded.findings]
        # Reversed twice: the first reference to each split, in order.
        named = {each.identifier: each for each in reversed(reader.all_references())}
        references = list(reversed(named.values()))
        new: dict[str, SplitDeclaration | None] = {}
        surveyed = survey_splits(reader, references, self.jobs)
        try:
            for done, (each, found) in enumerate(zip(references, surveyed, strict=True)):
                new[each.identifier] = self._split(each, found)
                self.progress(done + 1, len(references), "splits")
        finally:
            self.background.wait()  # after an error, too: nothing may be written into a folder that is removed
        manifest = self._manifest(new)
        with AtomicFile(self.root / "manifests" / manifest.identifier) as file:
            file.file.write(build_manifest(manifest))
        if reader.manifest_source is not None:
            span = reader.manifest_source.span(0, reader.manifest_source.size)
            report.add_span(span, Outcome.REBUILT, "manifest")
        if reader.root is not None and isinstance(reader.source, Tree):
            self._account_others(reader.root)

    def _account_others(self, root: Tree) -> None:
        """Account for files of the root that are not read: nothing is kept of splits that no manifest names."""
        reader, report = self.reader, self.report
        # Files that were read, and splits that some manifest names.
        mine = {reader.split_name(split.identifier) for _, _, split in reader.manifest.splits()}
        if reader.manifest_source is not None:
            mine.add(f"manifests/{PurePosixPath(reader.manifest_source.name).name}")
        named = named_splits(reader, root)
        unnamed = 0
        for name in root.names():
            if name in mine:
                continue
            folder, last = PurePosixPath(name).parent.name, PurePosixPath(name).name
            try:
                with root.source(name) as source:
                    span = source.span(0, source.size)
                    if folder == "splits" and last.lower() not in named and (is_guid(last) or is_split(source)):
                        report.add_span(span, Outcome.LOST, "split", UNREFERENCED.title, UNREFERENCED.code)
                        unnamed += 1
                    elif folder == "manifests" and reader.manifest_source is None:
                        report.add_span(span, Outcome.LOST, "manifest", "no log can be opened with it")
                    else:
                        report.add_span(span, Outcome.IGNORED, "not part of the log")
            except ExhumeError as error:
                report.notes.append(f"{name}: {error}")
        if unnamed:
            report.add_lost("splits that no manifest names", unnamed)
            report.notes.append("a split that no manifest names can be salvaged separately: pass its file")

    def _manifest(self, new: dict[str, SplitDeclaration | None]) -> Manifest:
        """Return the manifest of the new log; `new` has the new declaration by old GUID, None if nothing is left."""
        old = self.reader.manifest
        if more := self.reader.loaded.unknown_fields:  # `verify` names them
            self.report.add_lost("fields of the manifest", len(more))
        sections = []
        for section in old.sections:
            columns = []
            for column in section.columns:
                # Dictionaries drop repetitions of a GUID; the first declaration of an object is kept.
                splits = {split.identifier: new[split.identifier] for split in column.splits}
                objects = {each.identifier: self._declaration(each) for each in reversed(column.objects)}
                kept = tuple(split for split in splits.values() if split is not None)
                columns.append(column._replace(objects=tuple(reversed(objects.values())), splits=kept))
            if not section.filter.is_understood:  # only the part that is understood is written
                self.report.notes.append("an unknown filter was omitted: more messages may be shown than before")
            sections.append(section._replace(columns=tuple(columns)))
        fresh = new_guid()
        common = old.common_identifier if old.common_identifier != NIL else fresh
        return old._replace(identifier=fresh, common_identifier=common, sections=tuple(sections))

    def _declaration(self, each: Any) -> Any:
        """A declaration without a registry that cannot be used (its messages stay bytes)."""
        try:
            if each.registry is not None:
                decoder_for(each.registry, each.type)
        except ExhumeError as error:
            self.report.notes.append(f"channel {each.name}: its schema registry is damaged ({error.message})")
            return replace(each, schema_registry="")
        return each

    def _split(self, reference: SplitReference, surveyed: SplitFile) -> SplitDeclaration | None:
        """Copies or rewrites one split; None when nothing of it is left."""
        report = self.report
        source, found, error = surveyed
        if source is None:
            assert error is not None
            self._lose(reference, error)
            return None
        try:
            if found is None:
                assert error is not None
                report.add_span(source.span(0, source.size), Outcome.LOST, "split", error.message, error.code)
                self._lose(reference, error)
                self._untimed(reference, source, None)
                return None
            # A split without damage is copied as it is.
            if found.is_whole:
                self.background.submit(self._copy, reference.identifier)
                self._count_kept(reference, found)
                if found.num_lost:
                    report.add_lost("messages", found.num_lost)
                report.notes += map(str, found.unlike_manifest)
                end = self._last_byte(found)
                report.add_span(source.span(0, end), Outcome.RECOVERED, "split without damage")
                self._account_rest(found, end, source.size)
                return SplitDeclaration(reference.identifier, statistics_of(found.split.header, found.entries))
            return self._rewrite(reference, found)
        finally:
            if source is not self.reader.single_split:
                source.close()

    def _copy(self, identifier: str) -> None:
        """Copy an undamaged split unchanged."""
        source = self.reader.split_source(identifier)  # of its own: the caller closes that of the survey
        try:
            path = self.root / "splits" / identifier
            with AtomicFile(path) as file, naming(path):
                copy_range(source, 0, source.size, file.file.fileno())
        finally:
            if source is not self.reader.single_split:
                source.close()

    def _rewrite(self, reference: SplitReference, found: SplitSurvey) -> SplitDeclaration | None:
        """Copy the usable messages of a split to a new split file and return its declaration.

        None if no message is usable. Messages keep their stored bytes and times; one above `BATCH_BYTES` is copied in
        chunks.
        """
        report, split = self.report, found.split
        report.notes += [f"split {reference.identifier}: {note}" for note in found.notes]
        report.add_lost("messages", found.num_lost)
        self._account(found)
        if not len(found.entries):
            self._untimed(reference, split.source, found)
            return None
        identifier = new_guid()
        total = int(found.entries["len_data"].sum(dtype=np.int64))
        path = self.root / "splits" / identifier
        objects = len({mapping.short for mapping in split.header.mappings})
        writer = SplitWriter(path, identifier, objects, len(found.entries), total)
        try:
            for start in range(0, len(found.entries), BATCH):
                self._copy_messages(split, found.entries[start : start + BATCH], writer)
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        self._count_kept(reference, found)
        return SplitDeclaration(identifier, writer.statistics())

    def _copy_messages(self, split: Split, entries: Array, writer: SplitWriter) -> None:
        """Copy the messages of these index entries as they are stored."""
        names = {mapping.short: mapping.identifier for mapping in split.header.mappings}
        offsets, sizes = places_of(entries)
        times, shorts = entries["timestamp_ns"].tolist(), entries["object_identifier"].tolist()
        for first, stop in ark_portions(sizes, BATCH_BYTES):
            if sizes[first] > BATCH_BYTES:  # such a message is a range by itself
                chunks = split.source.chunks(offsets[first], offsets[first] + sizes[first])
                writer.add(names[shorts[first]], times[first], chunks, sizes[first])
                continue
            stored = split.read_messages(offsets[first:stop], sizes[first:stop])
            for number, data in enumerate(stored, first):
                writer.add(names[shorts[number]], times[number], data, len(data))

    def _count_kept(self, reference: SplitReference, found: SplitSurvey) -> None:
        """Counts messages that were written, and records how they were verified: the format has no checksums."""
        self.report.add_recovered("messages", len(found.entries))
        if len(found.entries):
            self.report.set_verified_by(VerifiedBy.NONE if found.unchecked else VerifiedBy.STRUCTURE)
        for identifier in sorted(found.unchecked):
            name = reference.channels[identifier].name
            note = f"channel {name}: neither a codec nor a schema can tell whether its messages are what they were"
            if note not in self.report.notes:
                self.report.notes.append(note)

    def _account(self, found: SplitSurvey) -> None:
        """Account for every byte of a rewritten split: a good entry's bytes are kept, whatever other entries say."""
        source = found.split.source
        starts = found.entries["ofs_data"].astype(np.int64)
        ends = starts + found.entries["len_data"]
        order = np.argsort(starts)
        spans = ((int(entry["ofs_data"]), int(entry["len_data"]), finding) for entry, finding in found.lost)
        lost = deque(sorted((_Lost(at, at + size, finding) for at, size, finding in spans), key=attrgetter("start")))
        at = 0
        for start, end in zip(starts[order].tolist(), ends[order].tolist(), strict=True):
            self._unread(found, lost, at, start)
            self.report.add_span(source.span(max(at, start), max(at, end)), Outcome.RECOVERED, "messages")
            at = max(at, end)
        self._unread(found, lost, at, source.size)

    def _unread(self, found: SplitSurvey, lost: deque[_Lost], at: int, end: int) -> None:
        """Account for bytes between messages: they belong to `lost` ones (in order of the file) or to none."""
        source = found.split.source
        while at < end:
            while lost and lost[0].end <= at:
                lost.popleft()
            if not lost or lost[0].start >= end:
                self._account_rest(found, at, end)
                return
            start, stop, why = lost[0]
            self._account_rest(found, at, max(at, start))
            # The lost message is from `start` (or the start of this range) to `at`, where the loop continues.
            at, start = min(end, stop), max(at, start)
            self.report.add_span(source.span(start, at), Outcome.LOST, "message", why.message, why.code)

    def _last_byte(self, found: SplitSurvey) -> int:
        """Where the last message ends, or where the index ends if there is no message."""
        ends = found.entries["ofs_data"].astype(np.int64) + found.entries["len_data"]
        return min(found.split.source.size, int(ends.max(initial=found.index_end)))

    def _account_rest(self, found: SplitSurvey, start: int, end: int) -> None:
        """Account for bytes that belong to no entry's message: non-zero bytes after the index were messages."""
        source = found.split.source
        first, last = found.index_span  # an index that was sorted when the split was closed is after the messages
        if start < last and first < end and found.index_end <= first:
            if start < first:
                self._account_rest(found, start, first)
            self.report.add_span(source.span(max(start, first), min(end, last)), Outcome.REBUILT, UNUSED)
            start = min(end, last)
        border = min(end, max(start, found.index_end))
        self.report.add_span(source.span(start, border), Outcome.REBUILT, UNUSED)
        if source.is_zero(border, end):
            self.report.add_span(source.span(border, end), Outcome.REBUILT, UNUSED)
        else:
            self.report.add_span(source.span(border, end), Outcome.LOST, "message", "no index entry names these bytes")
            self.report.add_lost("spans without an index entry")

    def _lose(self, reference: SplitReference, error: ExhumeError) -> None:
        """Report a lost split, with the messages that the manifest counts in it."""
        self.report.add_lost("splits")
        self.report.add_lost("messages", reference.declaration.stated_count)
        self.report.notes.append(f"split {reference.identifier}: {error}")

    def _untimed(self, reference: SplitReference, source: Source, found: SplitSurvey | None) -> None:
        """Keep messages that have no usable index entry, without times, next to the log."""
        # After the header if the slots of the index are zero, else after the index.
        start = min(self._data_starts(reference, source, found), default=source.size)
        rows = list(untimed_messages(self.reader, reference, source, start))
        if not rows:
            return
        folder = self.root / UNTIMED
        with naming(folder):
            folder.mkdir(exist_ok=True)
        with AtomicFile(folder / f"{reference.identifier}.jsonl") as file:
            for offset, end, value in rows:
                place = source.span(offset, end)
                line = {"split": reference.identifier, "offset": place.start, "size": place.size, "value": value}
                file.file.write((dumps(line) + "\n").encode("ascii"))
        self.report.add_recovered("messages without time", len(rows))
        self.report.set_verified_by(VerifiedBy.STRUCTURE)
        self.report.notes.append(
            f"split {reference.identifier}: no index: untimed/ has {counted(len(rows), 'messages')} without times"
        )

    def _data_starts(self, reference: SplitReference, source: Source, found: SplitSurvey | None) -> Iterator[int]:
        """Where the messages of a split without index begin: the first object after the header or the index area."""
        area = header_area(len(reference.channels))
        starts = [area]
        if found is not None:
            starts.append(area + found.split.header.maximum_count * ENTRY_SIZE)
        for start in starts:
            at = min(start, source.size)
            # Unused index slots and padding are zeros; the first other byte has to be the header of an object.
            for chunk in source.chunks(at, source.size):
                rest = chunk.lstrip(b"\0")
                at += len(chunk) - len(rest)
                if rest:
                    if rest[0] in HEADERS:
                        yield at
                    break
